/** README's ten minutes, as a reader types them: files in a folder of their own, and the test that passes. */

import { assertEquals } from "@std/assert";
import { absoluteImports } from "../support/import_map.ts";

/** A code block, after the sentence that ends with the name of its file. */
const FILE = /`([\w./]+)`[^`\n]*:\n\n```\w+[^\n]*\n(.*?)^```$/gms;

Deno.test("the ten minutes of `README.md` compile, and end with a test that passes", async () => {
  const cwd = await Deno.makeTempDir();
  await Deno.mkdir(`${cwd}/views`);
  const imports = JSON.stringify({ imports: await absoluteImports() });
  await Deno.writeTextFile(`${cwd}/import_map.json`, imports);
  const readme = new URL("../../README.md", import.meta.url);
  const text = await Deno.readTextFile(readme);
  const names = new Set<string>();
  for (const [, name, code] of text.matchAll(FILE)) {
    names.add(name!);
    await Deno.writeTextFile(`${cwd}/${name}`, code!); // the last one counts
  }
  assertEquals([...names].sort(), [
    "main.ts",
    "main_test.ts",
    "views/home.vto",
    "views/layout.vto",
  ]);
  const flags = ["--import-map=import_map.json", "--no-lock"];
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["test", ...flags, "--allow-read=views"],
    cwd,
    env: { NO_COLOR: "1" },
  }).output();
  const output = [stdout, stderr].map((part) => new TextDecoder().decode(part));
  assertEquals(success, true, output.join("\n"));
  await Deno.remove(cwd, { recursive: true });
});
