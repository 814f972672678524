/** The documentation beside its examples, which `deno test --doc` runs: links, and tables that name everything. */

import { assertEquals } from "@std/assert";

const ROOT = new URL("../../", import.meta.url);
const ROOT_PAGES = [
  "README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "bench/README.md",
];

/** Code between fences, which has no links and no headings. */
const CODE = /^```.*?^```$/gms;
const LINK = /\]\(([^()\s]+)\)/g;
const HEADING = /^#+ (.+)$/gm;

/** A file of the repository, as prose names it. */
const NAMED_FILE = /`((?:src|tests|tasks|docs)\/[\w./]+\.\w+)`/g;

/** A setting in code, and in the first column of a table. */
const SETTING = /"(framework\.[a-z_.]*[a-z])"/g;
const SETTING_ROW = /^\| `(framework\.[a-z_.]+)`/gm;

for (const page of [...ROOT_PAGES, ...await filesIn("docs/", ".md")]) {
  Deno.test(`the links of \`${page}\` lead somewhere`, async () => {
    const text = (await read(page)).replace(CODE, "");
    assertEquals(await dead(found(text, LINK), page), []);
  });
}

Deno.test("`CONTRIBUTING.md` names files that exist", async () => {
  const names = found(await read("CONTRIBUTING.md"), NAMED_FILE);
  assertEquals(await dead(names, "CONTRIBUTING.md"), []);
});

Deno.test("`docs/reference.md` has a row for every setting, and for no other", async () => {
  const settings = new Set<string>();
  for (const file of await filesIn("src/", ".ts")) {
    for (const name of found(await read(file), SETTING)) settings.add(name);
  }
  const rows = found(await read("docs/reference.md"), SETTING_ROW);
  assertEquals(rows.sort(), [...settings].sort());
});

Deno.test("`docs/reference.md` has a section for every export of the package", async () => {
  const page = (await read("docs/reference.md")).replace(CODE, "");
  const titles = found(page, HEADING).join(" ").split(" ");
  const { exports } = JSON.parse(await read("deno.json"));
  const names = Object.keys(exports).map((path) => path.slice("./".length));
  assertEquals(names.filter((name) => name && !titles.includes(name)), []);
});

/** What the first group of an expression finds in a text. */
function found(text: string, expression: RegExp): string[] {
  return [...text.matchAll(expression)].map(([, group]) => group!);
}

/** Links that are not tried: those to other sites, and to what GitHub has beside the files. */
const ELSEWHERE = /^(?:[a-z]+:|\.\.\/\.\.\/actions\/)/;

/** The targets that lead to no file or heading. */
async function dead(
  targets: readonly string[],
  page: string,
): Promise<string[]> {
  const broken: string[] = [];
  for (const target of targets) {
    if (ELSEWHERE.test(target)) continue;
    if (!await exists(target, page)) broken.push(target);
  }
  return broken;
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
  return found(text, HEADING).some((title) => `#${anchorOf(title)}` === hash);
}

/** The anchor that GitHub gives a heading. */
function anchorOf(title: string): string {
  return title.toLowerCase().replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
    .replaceAll(" ", "-");
}

/** The files in a folder and those in it, with that extension. */
async function filesIn(folder: string, extension: string): Promise<string[]> {
  const files: string[] = [];
  const entries = Deno.readDir(new URL(folder, ROOT));
  for await (const { name, isDirectory } of entries) {
    const path = `${folder}${name}`;
    if (isDirectory) files.push(...await filesIn(`${path}/`, extension));
    else if (name.endsWith(extension)) files.push(path);
  }
  return files.sort();
}

async function read(path: string): Promise<string> {
  return await Deno.readTextFile(new URL(path, ROOT));
}
