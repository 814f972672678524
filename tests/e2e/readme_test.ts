/** Examples that are files of one program: they compile in a folder of their own, and their test passes. */

import { assertEquals } from "@std/assert";
import { absoluteImports } from "../support/import_map.ts";

/** A code block, after the sentence that ends with the name of its file. */
const FILE = /`([\w./]+)`[^`\n]*:\n\n```\w+[^\n]*\n(.*?)^```$/gms;

const PAGES: Readonly<Record<string, readonly string[]>> = {
  "docs/tutorial.md": [
    "main.ts",
    "main_test.ts",
    "views/home.vto",
    "views/layout.vto",
  ],
  "docs/extending.md": ["types.ts"],
  "docs/llms.txt": ["app.ts", "app_test.ts"],
};

for (const [page, files] of Object.entries(PAGES)) {
  Deno.test(`the files of \`${page}\` compile, and their test passes`, async () => {
    const cwd = await Deno.makeTempDir();
    await Deno.mkdir(`${cwd}/views`);
    const imports = JSON.stringify({ imports: await absoluteImports() });
    await Deno.writeTextFile(`${cwd}/import_map.json`, imports);
    const text = await Deno.readTextFile(
      new URL(`../../${page}`, import.meta.url),
    );
    const names = new Set<string>();
    for (const [, name, code] of text.matchAll(FILE)) {
      names.add(name!);
      await Deno.writeTextFile(`${cwd}/${name}`, code!); // the last one counts
    }
    assertEquals([...names].sort(), files);
    const flags = ["--import-map=import_map.json", "--no-lock"];
    const args = files.some((file) => file.endsWith("_test.ts"))
      ? ["test", ...flags, "--allow-read=views"]
      : ["check", ...flags, ...files];
    const command = new Deno.Command(Deno.execPath(), {
      args,
      cwd,
      env: { NO_COLOR: "1" },
    });
    const { success, stdout, stderr } = await command.output();
    const output = [stdout, stderr].map((part) =>
      new TextDecoder().decode(part)
    );
    assertEquals(success, true, output.join("\n"));
    await Deno.remove(cwd, { recursive: true });
  });
}
