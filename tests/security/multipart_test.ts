/** Multipart forms, well-formed, malformed and hostile, as raw bodies; and where the files in them may go. */

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { Engine, UploadedFile } from "@framework/core";
import { Folder } from "../support/folder.ts";

const TYPE = "multipart/form-data; boundary=X";
const encoder = new TextEncoder();

/** A part of a form: its name, its text, and a file name where it is a file. */
function part(name: string, content: string, filename?: string): string {
  const file = filename === undefined
    ? ""
    : `; filename="${filename}"\r\nContent-Type: text/plain`;
  return `--X\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${content}\r\n`;
}

/** A form of one part with these parameters behind "form-data". */
function disposed(parameters: string): string {
  return `--X\r\nContent-Disposition: form-data${parameters}\r\n\r\n1\r\n--X--`;
}

/** An application that responds with the form that it gets, a file in it by its name and its text; `error` by the message. */
const app: Engine = new Engine();

app.post("/", async () => {
  const { data, files } = app.request();
  const shown = async (value: unknown): Promise<unknown> => {
    if (value instanceof File) {
      return [value.name, value.type, await value.text()];
    }
    if (typeof value !== "object" || value === null) return value;
    const members = Object.entries(value).map(async ([key, member]) =>
      [key, await shown(member)] as const
    );
    const record = Object.fromEntries(await Promise.all(members));
    return Array.isArray(value) ? Object.values(record) : record;
  };
  return { data, files: await shown(files) };
});
app.map("error", (error: Error) => error.message);

interface Form {
  readonly data: Record<string, unknown>;
  readonly files: Record<string, unknown>;
}

async function send(
  body: string | Uint8Array<ArrayBuffer>,
  type = TYPE,
): Promise<Response> {
  const headers = { "content-type": type };
  const init = { method: "POST", headers, body };
  return await app.fetch(new Request("http://localhost/", init));
}

async function read(
  body: string | Uint8Array<ArrayBuffer>,
  type?: string,
): Promise<Form> {
  const response = await send(body, type);
  const text = await response.text();
  assertEquals(response.status, 200, text);
  return JSON.parse(text);
}

Deno.test("a form has text in `data` and files in `files`", async () => {
  const text = part("a[b]", "1") + part("photo", "pixels", "a.txt") + "--X--";
  assertEquals(await read(text), {
    data: { a: { b: "1" } },
    files: { photo: ["a.txt", "text/plain", "pixels"] },
  });
  const { files } = await read(disposed('; name="a"; filename="b"'));
  assertEquals(files.a, ["b", "application/octet-stream", "1"]);
  assertEquals(await read(""), { data: {}, files: {} });
});

Deno.test("a file keeps its bytes", async () => {
  const bytes = Uint8Array.from({ length: 1_000 }, (_, index) => index % 256);
  const app = new Engine();
  app.post("/", async () => await (app.request().files.file as File).bytes());
  const body = new FormData();
  body.append("file", new Blob([bytes]), "all.bin");
  const request = new Request("http://localhost/", { method: "POST", body });
  assertEquals(await (await app.fetch(request)).bytes(), bytes);
});

Deno.test("several files under one name are a list, of texts the last counts", async () => {
  const text = part("p[]", "1", "a") + part("p[]", "2", "b") +
    part("q", "3", "c") + part("q", "4", "d") + part("t", "5") + part("t", "6");
  const { data, files } = await read(`${text}--X--`);
  assertEquals(data, { t: "6" });
  const textsOf = (value: unknown) =>
    (value as string[][]).map(([name]) => name);
  assertEquals([textsOf(files.p), textsOf(files.q)], [["a", "b"], ["c", "d"]]);
});

Deno.test("a file input that was left empty is no file", async () => {
  const form = part("a", "", "") + part("b", "", "b.txt") + "--X--";
  assertEquals(Object.keys((await read(form)).files), ["b"]);
});

Deno.test("names are read as browsers and other clients write them", async () => {
  const table: [string, string][] = [
    ['; name="f"; filename="x; name=evil"', "f=x; name=evil"],
    ['; name="f"; filename="x\\"; name=evil"', 'f=x"; name=evil'],
    ['; name="a=b;c"; filename="d=e"', "a=b;c=d=e"],
    ['; name="a\\"b"; filename="c\\"d"', 'a"b=c"d'],
    ['; name="%41%0d%"; filename="100%"', "%41%0d%=100%"],
    ['; name="f"; filename="C:\\temp\\a.txt"', "f=C:\\temp\\a.txt"],
    ['; name="a\\"; filename="b\\"', "a\\=b\\"],
    ['; name="ü😀"; filename="日本.txt"', "ü😀=日本.txt"],
    ['; filename="a" ; NAME = f ;', "f=a"],
    ["; name=f; filename=\"plain\"; filename*=UTF-8''%C3%BC", "f=plain"],
    ['; name=""; filename="a"', "=a"],
  ];
  for (const [parameters, expected] of table) {
    const { files } = await read(disposed(parameters));
    const [[name, file] = []] = Object.entries(files);
    assertEquals(`${name}=${(file as string[])[0]}`, expected, parameters);
  }
});

Deno.test("a part keeps every content apart from boundaries", async () => {
  const contents = [
    "",
    "\n",
    "\r\r\n-",
    "a--X--",
    "\n--X--\n",
    "\r\n--",
    "\r\n--x\r\n",
    "\ufeffmark\0",
    part("b", "inner").slice(1),
  ];
  for (const content of contents) {
    const text = part("a", content) + part("z", "end") + "--X--";
    const { data } = await read(text);
    assertEquals(data, { a: content, z: "end" }, JSON.stringify(content));
  }
});

Deno.test("a malformed form is a 400 that says what is wrong", async () => {
  const table: [string, string, type?: string][] = [
    [part("a", "1") + "--X--", "has no boundary", "multipart/form-data"],
    ["--X--", "malformed", 'multipart/form-data; boundary="X'],
    ["--X--", "repeated", "multipart/form-data; boundary=X; boundary=Y"],
    ["hello", "closing boundary is missing"],
    [part("a", "1").replaceAll("\r\n", "\n") + "--X--", "closing boundary"],
    [part("a", "\r\n--Xtra") + "--X--", "text follows a boundary"],
    ["--X\r\n--X--", "no blank line"],
    [part("a", "1") + "--X\r\n\r\nnameless\r\n--X--", "part 2 of the form"],
    [disposed(""), "no Content-Disposition"],
    [disposed("; filename=a"), "form-data with a name"],
    [disposed("; name=a; name=b"), 'repeated at "; name=b"'],
    [disposed('; name="a'), "malformed"],
    [disposed("; name=a\r\nno header"), "malformed"],
    [disposed("; name=a\r\n folded: b"), "malformed"],
    [
      disposed("; name=a\r\ncontent-disposition: form-data; name=b"),
      "repeated",
    ],
  ];
  for (const [text, message, type] of table) {
    const response = await send(text, type);
    assertEquals(response.status, 400, text);
    assertStringIncludes(await response.text(), message, text);
  }
});

Deno.test("more than 1,000 fields, 100 files or 8 KiB of headers are a 413", async () => {
  const table: [string, number][] = [
    [part("a", "1").repeat(1_000) + part("f", "", "f").repeat(100), 200],
    [part("a", "1").repeat(1_001), 413],
    [part("a", "1", "f").repeat(101), 413],
    [part("a", "", "").repeat(101), 413],
    [part("a".repeat(8_192), "1"), 413],
    [part("a", "1").repeat(1_001) + "--X\r\nbroken\r\n", 413],
  ];
  for (const [text, status] of table) {
    const response = await send(`${text}--X--`);
    assertEquals(response.status, status);
  }
});

Deno.test("a form that was cut short anywhere is a 400", async () => {
  const whole = encoder.encode(
    "preamble\r\n" + part("a", "\r\n-- ü") + part("f", "\r\n\r\n", '%22;\\"') +
      "--X--",
  );
  assertEquals((await read(whole)).data, { a: "\r\n-- ü" });
  for (let end = 1; end < whole.length; end++) {
    const response = await send(whole.slice(0, end));
    assertEquals(response.status, 400, `cut at ${end}`);
  }
});

Deno.test("a parameter of a million spaces is read in one pass", async () => {
  // With two parts of an expression that take the same spaces, this would take hours.
  const spaces = " ".repeat(1_000_000);
  const form = `${part("a", "1")}--X--`;
  const refused = await send(form, `multipart/form-data; a=${spaces}b c`);
  assertEquals(refused.status, 400);
  const type = `multipart/form-data; a=${spaces}"b"; boundary=X`;
  assertEquals((await read(form, type)).data, { a: "1" });
});

function upload(name: string, content = "content"): UploadedFile {
  return new UploadedFile([content], name, { type: "text/plain" });
}

/** Runs a test in a folder of its own; its path ends with a slash. */
async function inFolder(
  test: (folder: string) => Promise<void>,
): Promise<void> {
  await using folder = new Folder();
  await test(`${folder.path}/`);
}

async function namesIn(folder: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(folder), ({ name }) => name))
    .sort();
}

Deno.test("`moveTo()` writes to a path, or into a folder under the client's name, and returns the path", () =>
  inFolder(async (folder) => {
    const path = `${folder}mine.txt`;
    assertEquals(await upload("a.txt").moveTo(path), path);
    assertEquals(await Deno.readTextFile(path), "content");
    assertEquals(await upload("a.txt").moveTo(folder), `${folder}a.txt`);
  }));

Deno.test("`moveTo()` never leaves the folder through the client's name", async () => {
  const table: [string, string][] = [
    ["../../etc/passwd", "passwd"],
    ["..\\..\\boot.ini", "boot.ini"],
    ["C:\\temp\\a.txt", "a.txt"],
    ["..", "upload"],
    ["", "upload"],
    [".htaccess", "htaccess"],
    ["a.txt. .", "a.txt"],
    ["a\0.php\r\n.txt", "a.php.txt"],
    ["invoice\u202Etxt.exe", "invoicetxt.exe"],
    ['a<b>:"|?*.txt', "a_b______.txt"],
    ["con", "_con"],
    ["u\u0308ber straße.txt", "über straße.txt"],
  ];
  for (const [name, stored] of table) {
    await inFolder(async (folder) => {
      const path = await upload(name).moveTo(folder);
      assertEquals(path, folder + stored, JSON.stringify(name));
      assertEquals(await namesIn(folder), [stored]);
    });
  }
});

Deno.test("`moveTo()` never overwrites a file, nor writes through a symbolic link", () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}a.txt`, "old");
    await Deno.symlink(`${folder}target.txt`, `${folder}b.txt`);
    for (const path of [folder, `${folder}a.txt`, `${folder}b.txt`]) {
      const move = () => upload("a.txt").moveTo(path);
      await assertRejects(move, Deno.errors.AlreadyExists);
    }
    assertEquals(await Deno.readTextFile(`${folder}a.txt`), "old");
    assertEquals(await namesIn(folder), ["a.txt", "b.txt"]);
  }));
