/** Tests `@framework/core/create`: what it writes, that it overwrites nothing, and that the site works. */

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { deno, type Outcome } from "../tasks/command.ts";
import { Process } from "../tasks/process.ts";
import { absoluteImports } from "./import_map.ts";

const PROGRAM = new URL("../src/create/mod.ts", import.meta.url).href;
const MAP = `--import-map=data:application/json,${
  encodeURIComponent(JSON.stringify({ imports: await absoluteImports() }))
}`;
const FLAGS = ["--no-config", "--no-lock", "--no-prompt", MAP];
const FILES = [
  "app.ts",
  "app_test.ts",
  "deno.json",
  "main.ts",
  "views/home.vto",
  "views/layout.vto",
];

/** A folder of a test, removed at its end. */
class Folder implements AsyncDisposable {
  readonly path = Deno.makeTempDirSync();

  /** Creates a site, by the arguments of `deno create`, in this folder. */
  create(...args: string[]): Promise<Outcome> {
    const here = Deno.realPathSync(this.path);
    const permissions = [`--allow-read=${here}`, `--allow-write=${here}`];
    const command = ["run", ...FLAGS, ...permissions, PROGRAM, ...args];
    return deno(command, { cwd: this.path });
  }

  /** The files below it. */
  files(below = "."): string[] {
    return [...Deno.readDirSync(`${this.path}/${below}`)].flatMap((entry) =>
      entry.isDirectory
        ? this.files(`${below}/${entry.name}`)
        : `${below}/${entry.name}`.replace("./", "")
    ).sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}

/** The tasks of a new site. */
async function tasksOf(folder: Folder): Promise<Record<string, string>> {
  return JSON.parse(await Deno.readTextFile(`${folder.path}/deno.json`)).tasks;
}

Deno.test("`create` writes a site here, and says what to do next", async () => {
  await using folder = new Folder();
  const { success, output, report } = await folder.create();
  assertEquals(success, true, report);
  assertEquals(folder.files(), FILES);
  assertMatch(
    output,
    /^Created deno\.json, main\.ts.*\n\nNow run\n\n {2}deno /,
  );
});

Deno.test("`create` writes a site into a folder that it makes", async () => {
  await using folder = new Folder();
  const { success, output, report } = await folder.create("sites/new");
  assertEquals(success, true, report);
  assertEquals(folder.files("sites/new").length, FILES.length);
  assertStringIncludes(output, "  cd sites/new\n  deno task dev\n");
});

for (const file of FILES) {
  Deno.test(`\`create\` names ${file} when it is there already, and writes nothing`, async () => {
    await using folder = new Folder();
    if (file.includes("/")) await Deno.mkdir(`${folder.path}/views`);
    await Deno.writeTextFile(`${folder.path}/${file}`, "mine");
    const { success, report } = await folder.create();
    assertEquals(success, false);
    assertEquals(
      report,
      `Cannot create the site: "${file}" already exists\n`,
    );
    assertEquals(folder.files(), [file]);
    assertEquals(await Deno.readTextFile(`${folder.path}/${file}`), "mine");
  });
}

Deno.test("`create` takes a link that leads nowhere for a file that is there", async () => {
  await using folder = new Folder();
  await Deno.symlink("nowhere", `${folder.path}/main.ts`);
  const { report } = await folder.create();
  assertStringIncludes(report, '"main.ts" already exists');
  assertEquals(folder.files(), ["main.ts"]);
});

Deno.test("`create` writes beside files of other names", async () => {
  await using folder = new Folder();
  await Deno.writeTextFile(`${folder.path}/README.md`, "mine");
  assertEquals((await folder.create()).success, true);
  assertEquals(folder.files(), ["README.md", ...FILES].sort());
});

Deno.test("`create` refuses an option and a second folder with its usage", async () => {
  await using folder = new Folder();
  for (const args of [["--help"], ["one", "two"]]) {
    const { success, report } = await folder.create(...args);
    assertEquals([success, folder.files()], [false, []]);
    assertStringIncludes(report, "Usage: deno create jsr:@framework/core");
  }
});

Deno.test("a new site is formatted, has no lint, and its test passes", async () => {
  await using folder = new Folder();
  await folder.create();
  const modules = ["main.ts", "app.ts", "app_test.ts"];
  const { test = "" } = await tasksOf(folder);
  const permissions = test.split(" ").filter((word) => word.startsWith("--"));
  assertEquals(permissions, ["--allow-read=views"]);
  for (
    const args of [
      ["fmt", "--check", ...FILES],
      ["lint", "--no-config", ...modules],
      ["test", "--no-check", ...FLAGS, ...permissions],
    ]
  ) {
    const { success, report } = await deno(args, { cwd: folder.path });
    assertEquals(success, true, `${args[0]}: ${report}`);
  }
});

Deno.test("a new site serves with the permissions of its task", async () => {
  await using folder = new Folder();
  await folder.create();
  const { start = "", dev } = await tasksOf(folder);
  assertEquals(
    start,
    "deno run --allow-net=127.0.0.1:8000 --allow-read=views main.ts",
  );
  assertEquals(
    dev,
    "deno run --watch --allow-net=127.0.0.1:8000 --allow-read=. main.ts --debug",
  );
  const main = await Deno.readTextFile(`${folder.path}/main.ts`);
  const onFreePort = main.replace("start()", "start({ port: 0 })");
  await Deno.writeTextFile(`${folder.path}/main.ts`, onFreePort);
  const [, ...args] = start.replace(":8000", ":0").split(" ");
  const command = [Deno.execPath(), "run", ...FLAGS, ...args.slice(1)];
  await using site = new Process(command as [string], { cwd: folder.path });
  const [, origin] = await site.prints(/Listening on (http:\/\/[^/]+)\//);
  const home = await (await fetch(`${origin}/`)).text();
  assertStringIncludes(home, "<title>Welcome</title>");
  const greeting = await fetch(`${origin}/hello/%3Cb%3E`);
  assertEquals(await greeting.text(), "Hello, &lt;b&gt;!");
});

Deno.test("`--debug` sets `framework.debug` of a new site, which listens only as the main module", async () => {
  await using folder = new Folder();
  await folder.create();
  await Deno.writeTextFile(
    `${folder.path}/look.ts`,
    `import "./main.ts";
     import { Framework } from "@framework/core";
     console.log(Framework.get("framework.debug"));`,
  );
  const outputs: string[] = [];
  for (const args of [[], ["--debug"]]) {
    const command = ["run", ...FLAGS, "look.ts", ...args];
    const { output } = await deno(command, { cwd: folder.path });
    outputs.push(output);
  }
  assertEquals(outputs, ["false\n", "true\n"]);
});
