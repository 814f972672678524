/** Tests of {@linkcode readForm} and {@linkcode UploadedFile}: multipart forms and their files. */

import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { readBody } from "../src/body.ts";
import { HttpError } from "../src/errors.ts";
import {
  type FormLimits,
  type MultipartForm,
  readForm,
  UploadedFile,
} from "../src/upload.ts";

const type = "multipart/form-data; boundary=X";

/** A part of a form: its name, its text, and a file name where it is a file. */
function part(name: string, content: string, filename?: string): string {
  const file = filename === undefined
    ? ""
    : `; filename="${filename}"\r\nContent-Type: text/plain`;
  return `--X\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${content}\r\n`;
}

function read(
  text: string,
  limits?: FormLimits,
  as = type,
): Promise<MultipartForm> {
  return readForm(new TextEncoder().encode(text), as, limits);
}

async function refusalOf(form: Promise<unknown>): Promise<HttpError> {
  return await assertRejects(() => form, HttpError);
}

function upload(name: string, content = "content"): UploadedFile {
  return new UploadedFile(new Blob([content], { type: "text/plain" }), name);
}

/** Runs a test in a folder of its own; its path ends with a slash. */
async function inFolder(
  test: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await test(`${folder}/`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function namesIn(folder: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(folder), (entry) => entry.name))
    .sort();
}

Deno.test("`readForm()` tells text from files", async () => {
  const form = await read(
    part("a[b]", "1") + part("photo", "pixels", "a.txt") + "--X--\r\n",
  );
  assertEquals(JSON.stringify(form.fields), '{"a":{"b":"1"}}');
  const { photo } = form.files;
  assertInstanceOf(photo, UploadedFile);
  assertEquals([photo.name, photo.type, photo.size], [
    "a.txt",
    "text/plain",
    6,
  ]);
  assertEquals(await photo.text(), "pixels");
});

Deno.test("`readForm()` keeps the bytes of a file", async () => {
  const bytes = Uint8Array.from({ length: 1_000 }, (_, index) => index % 256);
  const form = new FormData();
  form.append("file", new Blob([bytes]), "all.bin");
  const sent = new Response(form);
  const { files } = await readForm(
    await sent.bytes(),
    sent.headers.get("content-type")!,
  );
  assertInstanceOf(files.file, UploadedFile);
  assertEquals(await files.file.bytes(), bytes);
});

Deno.test("`readForm()` makes a list of several files under one name", async () => {
  const files = part("p[]", "1", "a") + part("p[]", "2", "b") +
    part("q", "3", "c") +
    part("q", "4", "d") + part("r[x]", "5", "e") + part("r", "6", "f");
  const form = await read(files + "--X--");
  const names = JSON.stringify(
    form.files,
    (_, value) => value instanceof File ? value.name : value,
  );
  assertEquals(names, '{"p":["a","b"],"q":["c","d"],"r":{"0":"f","x":"e"}}');
});

Deno.test("`readForm()` passes over a file input that was left empty", async () => {
  const form = await read(
    part("a", "", "") + part("b", "", "empty.txt") + "--X--",
  );
  assertEquals(Object.keys(form.files), ["b"]);
});

Deno.test("`readForm()` takes names of the language as plain data", async () => {
  const form = await read(
    part("__proto__", "1") + part("__proto__", "2", "a") + "--X--",
  );
  assertEquals([Object.keys(form.fields), Object.keys(form.files)], [[
    "__proto__",
  ], ["__proto__"]]);
});

Deno.test("`readForm()` takes a quoted boundary with signs of regular expressions", async () => {
  const text = (part("a", "1") + part("b", "no --X") + "--X--\r\n").replaceAll(
    "--X",
    "--(a+b)?",
  );
  const form = await read(text, {}, 'Multipart/Form-Data; Boundary="(a+b)?"');
  assertEquals(JSON.stringify(form.fields), '{"a":"1","b":"no --(a+b)?"}');
});

Deno.test("`readForm()` refuses a malformed form with 400 and says what is wrong", async () => {
  const table: [string, string, string][] = [
    [part("a", "1") + "--X--", "multipart/form-data", "has no boundary"],
    [part("a", "1"), type, "closing boundary is missing"],
    [
      part("a", "1") + part("b", "half", "b.txt"),
      type,
      "closing boundary is missing",
    ],
    [part("a", "1") + "--X", type, "closing boundary is missing"],
    ["hello", type, "closing boundary is missing"],
    [
      part("a", "1") + "--X\r\n\r\nnameless\r\n--X--",
      type,
      "1 of its 2 parts cannot be read",
    ],
    [
      part("a", "1").replaceAll("\r\n", "\n") + "--X--",
      type,
      "closing boundary is missing",
    ],
  ];
  for (const [text, as, message] of table) {
    const error = await refusalOf(read(text, {}, as));
    assertEquals(error.status, 400, text);
    assertStringIncludes(error.message, message, text);
  }
});

Deno.test("`readForm()` refuses more fields, files or parts than the limits with 413", async () => {
  const table: [string, string][] = [
    [part("a", "1").repeat(3), "more than 2 fields"],
    [part("a", "1", "f").repeat(2), "more than 1 files"],
    [part("a", "1").repeat(4), "more than 3 parts"],
  ];
  for (const [text, message] of table) {
    const error = await refusalOf(
      read(`${text}--X--`, { fields: 2, files: 1 }),
    );
    assertEquals(error.status, 413);
    assertStringIncludes(error.message, message);
  }
  const form = await read(
    part("a[]", "1").repeat(2) + part("f", "", "f") + "--X--",
    {
      fields: 2,
      files: 1,
    },
  );
  assertEquals(Object.keys(form.files), ["f"]);
});

Deno.test("`readBody()` reads a multipart form into `data` and `files`", async () => {
  const form = new FormData();
  form.append("title", "A");
  form.append("file", new Blob(["x"]), "x.txt");
  const request = new Request("http://localhost/", {
    method: "PUT",
    body: form,
  });
  const body = await readBody(request, { bytes: 10_000 });
  assertEquals(body.data, Object.assign(Object.create(null), { title: "A" }));
  assertInstanceOf(body.files.file, UploadedFile);
});

Deno.test("`readBody()` keeps what is wrong with a form for whoever reads it", async () => {
  const headers = { "content-type": type };
  const request = new Request("http://localhost/", {
    method: "POST",
    headers,
    body: "cut",
  });
  const body = await readBody(request, { bytes: 10_000 });
  assertEquals(body.text(), "cut");
  for (const property of ["data", "files"] as const) {
    const error = await refusalOf(Promise.resolve().then(() => body[property]));
    assertEquals(error.status, 400, property);
  }
});

Deno.test("`readBody()` reads an empty multipart body as an empty form", async () => {
  const headers = { "content-type": type };
  const request = new Request("http://localhost/", {
    method: "POST",
    headers,
    body: "",
  });
  const body = await readBody(request, { bytes: 10_000 });
  assertEquals([Object.keys(body.data), Object.keys(body.files)], [[], []]);
});

Deno.test("`moveTo()` writes to a path and answers it", () =>
  inFolder(async (folder) => {
    const path = await upload("client.txt").moveTo(`${folder}mine.txt`);
    assertEquals(path, `${folder}mine.txt`);
    assertEquals(await Deno.readTextFile(path), "content");
  }));

Deno.test("`moveTo()` stores under the client's name in a folder, with or without a slash", () =>
  inFolder(async (folder) => {
    assertEquals(await upload("a.txt").moveTo(folder), `${folder}a.txt`);
    assertEquals(
      await upload("b.txt").moveTo(folder.slice(0, -1)),
      `${folder}b.txt`,
    );
    assertEquals(await namesIn(folder), ["a.txt", "b.txt"]);
  }));

Deno.test("`moveTo()` never leaves the folder through the client's name", async () => {
  const table: [string, string][] = [
    ["../../etc/passwd", "passwd"],
    ["..\\..\\boot.ini", "boot.ini"],
    ["/etc/passwd", "passwd"],
    ["C:\\temp\\a.txt", "a.txt"],
    ["..", "upload"],
    [".", "upload"],
    ["", "upload"],
    ["a/", "upload"],
    ["../", "upload"],
    [".htaccess", "htaccess"],
    ["... .profile", "profile"],
    ["a.txt. .", "a.txt"],
    ["a\0.php\r\n.txt", "a.php.txt"],
    ["invoice\u202Etxt.exe", "invoicetxt.exe"],
    ['a<b>:"|?*.txt', "a_b______.txt"],
    ["file.txt::$DATA", "file.txt__$DATA"],
    ["con", "_con"],
    ["NUL.txt", "_NUL.txt"],
    ["com1.tar.gz", "_com1.tar.gz"],
    ["console.txt", "console.txt"],
    ["u\u0308ber straße.txt", "über straße.txt"],
  ];
  for (const [name, stored] of table) {
    await inFolder(async (folder) => {
      assertEquals(
        await upload(name).moveTo(folder),
        folder + stored,
        JSON.stringify(name),
      );
      assertEquals(await namesIn(folder), [stored]);
    });
  }
});

Deno.test("`moveTo()` shortens a long name of the client and keeps its extension", () =>
  inFolder(async (folder) => {
    const path = await upload(`${"😀".repeat(300)}.jpeg`).moveTo(folder);
    assert(path.endsWith("😀.jpeg"));
    assertEquals(await namesIn(folder), [path.slice(folder.length)]);
  }));

Deno.test("`moveTo()` never overwrites a file", () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}a.txt`, "old");
    for (const path of [folder, `${folder}a.txt`]) {
      const error = await assertRejects(
        () => upload("a.txt").moveTo(path),
        Deno.errors.AlreadyExists,
      );
      assertStringIncludes(
        error.message,
        `Cannot move the upload "a.txt" to "${folder}a.txt"`,
      );
    }
    assertEquals(await Deno.readTextFile(`${folder}a.txt`), "old");
  }));

Deno.test("`moveTo()` does not write through a symbolic link", () =>
  inFolder(async (folder) => {
    await Deno.symlink(`${folder}target.txt`, `${folder}a.txt`);
    await assertRejects(
      () => upload("a.txt").moveTo(folder),
      Deno.errors.AlreadyExists,
    );
    assertEquals(await namesIn(folder), ["a.txt"]);
  }));

Deno.test("`moveTo()` of two uploads at once keeps one and refuses the other", () =>
  inFolder(async (folder) => {
    const moves = ["one", "two"].map((content) =>
      upload("a.txt", content).moveTo(folder)
    );
    const outcomes = await Promise.allSettled(moves);
    const kept = outcomes.findIndex((outcome) =>
      outcome.status === "fulfilled"
    );
    assertEquals(outcomes[1 - kept]!.status, "rejected");
    assertEquals(
      await Deno.readTextFile(`${folder}a.txt`),
      ["one", "two"][kept],
    );
  }));

Deno.test("`moveTo()` says when the folder does not exist", () =>
  inFolder(async (folder) => {
    for (const path of [`${folder}missing/`, `${folder}missing/a.txt`]) {
      await assertRejects(
        () => upload("a.txt").moveTo(path),
        Deno.errors.NotFound,
        "the folder does not exist",
      );
    }
  }));

Deno.test("`moveTo()` leaves no half of a file", () =>
  inFolder(async (folder) => {
    const broken = upload("a.txt");
    broken.stream = () =>
      new ReadableStream({
        pull(controller) {
          controller.enqueue(new Uint8Array(10));
          controller.error(new Error("disk gone"));
        },
      });
    await assertRejects(() => broken.moveTo(folder), Error, "disk gone");
    assertEquals(await namesIn(folder), []);
  }));
