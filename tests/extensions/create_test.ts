/** Tests `create`: what it writes, and that it overwrites nothing. `tests/e2e/create_test.ts` runs a new site. */

import { create } from "@framework/core/create";
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { Folder } from "../support/folder.ts";

/** The files of a new site. */
const FILES = [
  "AGENTS.md",
  "app.ts",
  "app_test.ts",
  "deno.json",
  "main.ts",
  "public/icon.svg",
  "views/home.vto",
  "views/layout.vto",
];

/** Declares a test with an empty folder. */
function folderTest(
  name: string,
  test: (folder: string) => Promise<void>,
): void {
  Deno.test(name, async () => {
    await using folder = new Folder();
    await test(folder.path);
  });
}

/** The files below a folder. */
function filesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory
      ? filesIn(`${folder}/${name}`).map((file) => `${name}/${file}`)
      : name
  ).sort();
}

folderTest(
  "`create()` writes a site into a folder that it makes, and returns the files",
  async (folder) => {
    const files = await create(`${folder}/sites/new`);
    assertEquals(files.toSorted(), FILES);
    assertEquals(filesIn(`${folder}/sites/new`), FILES);
  },
);

folderTest(
  "`create()` makes a site of a clone import the clone",
  async (folder) => {
    await create(folder);
    const text = await Deno.readTextFile(`${folder}/deno.json`);
    const target = JSON.parse(text).imports["@framework/core/testing"];
    assertEquals(target, import.meta.resolve("@framework/core/testing"));
  },
);

for (const file of ["app.ts", "views/layout.vto"]) {
  folderTest(
    `\`create()\` names ${file} when it is there already, and writes nothing`,
    async (folder) => {
      await Deno.mkdir(`${folder}/views`);
      await Deno.writeTextFile(`${folder}/${file}`, "mine");
      const { message } = await assertRejects(
        () => create(folder),
        Deno.errors.AlreadyExists,
      );
      assertStringIncludes(message, `/${file}" already exists`);
      assertEquals(filesIn(folder), [file]);
      assertEquals(await Deno.readTextFile(`${folder}/${file}`), "mine");
    },
  );
}
