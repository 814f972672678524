/**
 * Tests what `deno test --doc` cannot see of the documentation: links and contents, examples that need files of
 * their own, and that README's ten minutes work as written.
 */

import { assertEquals } from "@std/assert";

const ROOT = new URL("../", import.meta.url);
const ROOT_PAGES = [
  "README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "bench/README.md",
];

/** The pages whose ignored examples a test of their own runs: `in_production_test.ts`. */
const TESTED_ELSEWHERE = ["docs/in_production.md"];

/** Code between fences, which has no links and no headings. */
const CODE = /^```.*?^```$/gms;
const LINK = /\]\(([^()\s]+)\)/g;
const HEADING = /^#+ (.+)$/gm;
const SECTION = /^## (.+)$/gm;
const COMMENT_LINK = /^ *\*.*?\]\((\.\/[^()\s]+)\)/gm;

/** A file of the repository, as prose names it. */
const NAMED_FILE = /`((?:src|tests|tasks|docs)\/[\w./]+\.\w+)`/g;

/** A code block, after the sentence that ends with the name of its file. */
const FILE = /`([\w./]+)`[^`\n]*:\n\n```\w+[^\n]*\n(.*?)^```$/gms;
const IGNORED_EXAMPLE = /^```ts ignore\n(.*?)^```$/gms;

for (const page of [...ROOT_PAGES, ...await docs()]) {
  Deno.test(`the links of \`${page}\` lead somewhere`, async () => {
    const text = (await read(page)).replace(CODE, "");
    const targets = [...text.matchAll(LINK)].map(([, target]) => target!);
    assertEquals(await dead(targets, page), []);
  });
}

Deno.test("the links of comments to `docs/`, from the root, lead somewhere", async () => {
  const found: string[] = [];
  for (const file of ["mod.ts", ...await filesIn("src/", ".ts")]) {
    const targets = [...(await read(file)).matchAll(COMMENT_LINK)];
    // JSR resolves them against the root of the repository.
    found.push(...await dead(targets.map(([, target]) => target!), "mod.ts"));
  }
  assertEquals(found, []);
});

Deno.test("`CONTRIBUTING.md` names files that exist", async () => {
  const names = [...(await read("CONTRIBUTING.md")).matchAll(NAMED_FILE)];
  const targets = names.map(([, name]) => name!);
  assertEquals(await dead(targets, "CONTRIBUTING.md"), []);
});

Deno.test("`CONTRIBUTING.md` names classes and steps that exist", async () => {
  const [, way, nouns] = (await read("CONTRIBUTING.md")).split(/^## /m);
  let sources = "";
  for (const file of await filesIn("src/", ".ts")) sources += await read(file);
  const names = [
    ...way!.matchAll(/(?<=^\d\. |goes to )`(\w+)`/gm),
    ...nouns!.matchAll(/(?<=^\|[^|]*)`(\w+)`/gm),
  ].map(([, name]) => name!);
  const missing = names.filter((name) =>
    !new RegExp(`(?:class|function|interface|type) ${name}\\b`).test(sources)
  );
  assertEquals([names.length > 20, missing], [true, []]);
});

Deno.test("`README.md` links every page of `docs/`", async () => {
  const readme = await read("README.md");
  const pages = (await docs()).filter((page) =>
    !readme.includes(`](./${page})`)
  );
  assertEquals(pages, []);
});

for (const page of await docs()) {
  Deno.test(`\`${page}\` begins with its contents`, async () => {
    const text = (await read(page)).replace(CODE, "");
    const [head] = text.split("\n## ");
    const contents = [...head!.matchAll(LINK)].map(([, target]) => target!)
      .filter((target) => target.startsWith("#"));
    const sections = [...text.matchAll(SECTION)].map(([, title]) => title!);
    assertEquals(contents, sections.map((title) => `#${anchorOf(title)}`));
  });
}

Deno.test("the examples that `--doc` cannot run compile", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/app.ts`, "export {};\n");
    await Deno.writeTextFile(`${folder}/main.ts`, "export {};\n");
    for (const page of [...ROOT_PAGES, ...await docs()]) {
      if (TESTED_ELSEWHERE.includes(page)) continue;
      let number = 0;
      for (const [, code] of (await read(page)).matchAll(IGNORED_EXAMPLE)) {
        const name = `${page.replaceAll(/\W/g, "_")}_${number++}.ts`;
        await Deno.writeTextFile(`${folder}/${name}`, code!);
      }
    }
    const { success, output } = await deno(["check", "-q", "."], folder);
    assertEquals(success, true, output);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the ten minutes of `README.md` end with a test that passes", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${folder}/views`);
    const files = [...(await read("README.md")).matchAll(FILE)];
    for (const [, path, text] of files) {
      await Deno.writeTextFile(`${folder}/${path}`, text!);
    }
    assertEquals([...new Set(files.map(([, path]) => path))].sort(), [
      "main.ts",
      "main_test.ts",
      "views/home.vto",
      "views/layout.vto",
    ]);
    const test = ["test", "--allow-read=views"];
    const { success, output } = await deno(test, folder);
    assertEquals(success, true, output);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Runs Deno in a folder, with the stand-ins for `@std`. */
async function deno(
  [command, ...args]: readonly string[],
  cwd: string,
): Promise<{ success: boolean; output: string }> {
  const map = new URL("compat/import_map.json", ROOT);
  const options = [`--import-map=${map}`, "--no-lock"];
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [command!, ...options, ...args],
    cwd,
    env: { NO_COLOR: "1" },
  }).output();
  const [output, errors] = [stdout, stderr].map((bytes) =>
    new TextDecoder().decode(bytes)
  );
  return { success, output: `${output}${errors}` };
}

/** The targets that lead to no file or heading; links to other sites are not tried. */
async function dead(
  targets: readonly string[],
  page: string,
): Promise<string[]> {
  const found: string[] = [];
  for (const target of targets) {
    if (!/^[a-z]+:/.test(target) && !await exists(target, page)) {
      found.push(target);
    }
  }
  return found;
}

async function exists(target: string, page: string): Promise<boolean> {
  const { pathname, hash } = new URL(target, new URL(page, ROOT));
  const file = new URL(pathname, ROOT);
  try {
    await Deno.stat(file);
  } catch {
    return false;
  }
  if (hash === "") return true;
  const text = (await Deno.readTextFile(file)).replace(CODE, "");
  const titles = [...text.matchAll(HEADING)].map(([, title]) => title!);
  return titles.some((title) => `#${anchorOf(title)}` === hash);
}

/** The anchor that GitHub gives a heading. */
function anchorOf(title: string): string {
  return title.toLowerCase().replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
    .replaceAll(" ", "-");
}

/** The pages of `docs/`. */
function docs(): Promise<string[]> {
  return filesIn("docs/", ".md");
}

/** The files in a folder and those in it, with that extension. */
async function filesIn(folder: string, extension: string): Promise<string[]> {
  const found: string[] = [];
  for await (
    const { name, isDirectory } of Deno.readDir(new URL(folder, ROOT))
  ) {
    if (isDirectory) {
      found.push(
        ...await filesIn(`${folder}${name}/`, extension),
      );
    } else if (name.endsWith(extension)) found.push(`${folder}${name}`);
  }
  return found.sort();
}

async function read(path: string): Promise<string> {
  return await Deno.readTextFile(new URL(path, ROOT));
}
