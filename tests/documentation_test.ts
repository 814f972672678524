/**
 * Tests what `deno test --doc` cannot see of the documentation: links and contents, examples that need files of
 * their own, and that README's ten minutes work as written.
 */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { example, ignoredExamples } from "./examples.ts";

const ROOT = new URL("../", import.meta.url);
const ROOT_PAGES = [
  "README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "bench/README.md",
];

/** A test that takes an example of a page, by a text in it. */
const USE_OF_EXAMPLE = /\bexample\(\s*"([^"]+)",\s*"([^"]+)"/g;

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

Deno.test("a test runs each example that `deno test --doc` leaves out", async () => {
  const uses: string[][] = [];
  for (const file of await filesIn("tests/", "_test.ts")) {
    uses.push(...(await read(file)).matchAll(USE_OF_EXAMPLE));
  }
  const untested: string[] = [];
  for (const page of [...ROOT_PAGES, ...await docs()]) {
    for (const code of await ignoredExamples(page)) {
      const isTested = uses.some(([, of, text]) =>
        of === page && code.includes(text!)
      );
      if (!isTested) untested.push(`${page}: ${code}`);
    }
  }
  assertEquals(untested, []);
});

/** Files by their paths. */
type Files = Readonly<Record<string, string>>;

Deno.test("the examples that the next tests run compile, and a name that they do not declare does not", async () => {
  const folders = {
    site: await readmeSite(),
    typed: await typedNames(),
    error: await errorAsTest('throw new Error("boom " + number)'),
    terminal: await terminalRequest(),
  };
  const files = Object.entries(folders).flatMap(([folder, files]) =>
    Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text])
  );
  await inFolder(Object.fromEntries(files), async (deno) => {
    const { output } = await deno(["check", "."]);
    const errors = output.match(/^TS\d+|(?<=^ {4}at .*)\w+\/\w+\.ts/gm);
    assertEquals(errors, ["TS2551", "typed/wrong.ts"], output);
  });
});

Deno.test("the ten minutes of `README.md` end with a test that passes", async () => {
  await inFolder(await readmeSite(), async (deno) => {
    const test = ["test", "--no-check", "--allow-read=views"] as const;
    const { success, output } = await deno(test);
    assertEquals(success, true, output);
  });
});

/** The site that the ten minutes make. */
async function readmeSite(): Promise<Files> {
  const found = [...(await read("README.md")).matchAll(FILE)];
  const files = Object.fromEntries(
    found.map(([, path, text]) => [path!, text!]),
  );
  const names = ["main.ts", "main_test.ts", "views/home.vto"];
  assertEquals(Object.keys(files).sort(), [...names, "views/layout.vto"]);
  const test = await example("README.md", "a visitor signs the guestbook");
  assertEquals(files["main_test.ts"], test);
  return files;
}

Deno.test("the example of typed variables and methods works in other files", async () => {
  await inFolder(await typedNames(), async (deno) => {
    const { output } = await deno(["run", "right.ts"]);
    assertStringIncludes(output, "Hello, Ada!");
  });
});

/** The declarations of the example, and two files that use them. */
async function typedNames(): Promise<Files> {
  const program = (name: string) => `
    import { Framework } from "@framework/core";
    import "./declared.ts";
    console.log(Framework.greet(${name}));`;
  return {
    "declared.ts": await example("docs/extending.md", "declare module"),
    "right.ts": program('Framework.get("member")!.name'),
    "wrong.ts": program('Framework.get("member")!.nam'),
  };
}

Deno.test("the recipe of a feed makes absolute links, and escapes", async () => {
  const route = await example("docs/recipes.md", "/feed.xml");
  const [, template = ""] = /^```xml\n(.*?)^```$/ms
    .exec(await read("docs/recipes.md")) ?? [];
  const main = `
    import { Framework } from "@framework/core";
    const date = new Date("2026-11-04T09:30:00Z");
    const posts = [{ slug: "first", title: "Q & A", date }];
    Framework.route("/post/@slug", (slug) => slug, false, "post");
    ${route}
    const response = await Framework.fetch("/feed.xml");
    console.log(response.headers.get("content-type"), await response.text());`;
  const files = { "main.ts": main, "views/feed.vto": template };
  await inFolder(files, async (deno) => {
    const { output } = await deno(["run", "--allow-read=views", "main.ts"]);
    assertStringIncludes(output, "application/rss+xml");
    assertStringIncludes(output, "<title>Q &amp; A</title>");
    assertStringIncludes(output, "<link>http://localhost/post/first</link>");
    const date = "<pubDate>Wed, 04 Nov 2026 09:30:00 GMT</pubDate>";
    assertStringIncludes(output, date);
  });
});

Deno.test("the example of an error as a test fails until the error is fixed", async () => {
  const failing = await errorAsTest('throw new Error("boom " + number)');
  await inFolder(failing, async (deno) => {
    const before = await deno(["test", "--no-check"]);
    assertEquals(before.success, false);
    assertStringIncludes(before.output, "boom 7");
  });
  await inFolder(await errorAsTest("return number"), async (deno) => {
    const { success, output } = await deno(["test", "--no-check"]);
    assertEquals(success, true, output);
  });
});

/** The test of the example, and an application whose callback has that body. */
async function errorAsTest(body: string): Promise<Files> {
  const main = `
    import { Framework } from "@framework/core";
    Framework.route("/boom/@number", (number) => { ${body} });`;
  const test = await example("docs/development.md", "GET /boom/7");
  return { "main.ts": main, "boom_test.ts": test };
}

Deno.test("the example of a request from the terminal works in `deno repl`", async () => {
  const files = await terminalRequest();
  await inFolder(files, async (deno) => {
    const { output } = await deno(["repl", "-A"], files["lines.ts"]);
    assertStringIncludes(output, '"Hello, Ada!"');
  });
});

/** The lines of the example, and the application that they import. */
async function terminalRequest(): Promise<Files> {
  const lines = await example("docs/development.md", "await import(");
  const app = `
    import { Framework } from "@framework/core";
    Framework.route("/hello/@name", (name) => \`Hello, \${name}!\`);`;
  return { "app.ts": app, "lines.ts": lines };
}

/** Runs Deno, with the stand-ins for `@std`, and gives it a text to read. */
type RunDeno = (
  args: readonly [command: string, ...args: string[]],
  input?: string,
) => Promise<{ success: boolean; output: string }>;

/** Works in a folder with the given files, which is removed in the end. */
async function inFolder(
  files: Files,
  work: (deno: RunDeno) => Promise<void>,
): Promise<void> {
  const cwd = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${cwd}/views`); // as every new site has it
    for (const [path, text] of Object.entries(files)) {
      const folder = new URL(".", `file://${cwd}/${path}`);
      await Deno.mkdir(folder, { recursive: true });
      await Deno.writeTextFile(`${cwd}/${path}`, text);
    }
    await work((args, input) => runDeno(args, cwd, input));
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
}

async function runDeno(
  [command, ...args]: readonly [string, ...string[]],
  cwd: string,
  input = "",
): Promise<{ success: boolean; output: string }> {
  const map = new URL("compat/import_map.json", ROOT);
  const process = new Deno.Command(Deno.execPath(), {
    args: [command, `--import-map=${map}`, "--no-lock", ...args],
    cwd,
    env: { NO_COLOR: "1" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const [{ success, stdout, stderr }] = await Promise.all([
    process.output(),
    new Blob([input]).stream().pipeTo(process.stdin),
  ]);
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
