/** Tests of {@linkcode UploadedFile}: its way into a folder. */

import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { UploadedFile } from "@framework/core";

function upload(name: string, content = "content"): UploadedFile {
  return new UploadedFile([content], name, { type: "text/plain" });
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

Deno.test("`moveTo()` writes to a path and returns it", () =>
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
