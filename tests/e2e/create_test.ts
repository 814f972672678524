/** Tests a new site that `create` has written: its program, its gates, and the permissions of its tasks. */

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Folder } from "../support/folder.ts";
import { absoluteImports } from "../support/import_map.ts";
import { freePort } from "../support/ports.ts";
import { Process } from "../../tasks/process.ts";

const PROGRAM = import.meta.resolve("@framework/core/create");
const IMPORTS = JSON.stringify({ imports: await absoluteImports() });
const MAP = `data:application/json,${encodeURIComponent(IMPORTS)}`;
const FLAGS = [
  "--no-config",
  "--no-lock",
  "--no-prompt",
  `--import-map=${MAP}`,
];

/** The folder of a new site. */
class Site extends Folder {
  /** Runs Deno here to its end; returns whether it succeeded, and what it printed. */
  async deno(...args: string[]): Promise<[success: boolean, printed: string]> {
    const command = [Deno.execPath(), ...args] as const;
    await using process = new Process(command, { cwd: this.path });
    const { success } = await process.ended();
    return [success, process.printed];
  }

  /** Creates a site, by the arguments of `deno create`. */
  create(...args: string[]): Promise<[success: boolean, printed: string]> {
    const permissions = ["read", "write"].map((what) =>
      `--allow-${what}=${this.path}`
    );
    return this.deno("run", ...FLAGS, ...permissions, PROGRAM, ...args);
  }

  /** The permissions of a task of the site. */
  permissions(task: string): string[] {
    const { tasks } = JSON.parse(
      Deno.readTextFileSync(`${this.path}/deno.json`),
    );
    return tasks[task].match(/(?<= )(?:--(?:allow|deny)-\S+|-\w+)/g) ?? [];
  }
}

Deno.test("a new site is formatted, has no lint, and its test and the examples of its notes pass with the permissions of its task", async () => {
  await using folder = new Site();
  await folder.create();
  for (
    const permission of ["dev", "start", "test"].flatMap((task) =>
      folder.permissions(task)
    )
  ) {
    assertMatch(permission, /^--allow-(net|read)=./); // the narrowest ones
  }
  for (
    const args of [
      ["fmt", "--check"],
      ["lint"],
      ["test", "--no-check", ...FLAGS, ...folder.permissions("test")],
      ["test", "--doc", ...FLAGS, ...folder.permissions("test"), "AGENTS.md"],
    ]
  ) {
    const [success, printed] = await folder.deno(...args);
    assertEquals(success, true, printed);
  }
});

/** How a new site is served: by its task `start`, and by workers. */
const SERVED: Readonly<Record<string, (folder: Site) => string[]>> = {
  "`main.ts`": (folder) => [
    "run",
    ...FLAGS,
    ...folder.permissions("start").map((each) => each.replace(":8000", ":0")),
    "main.ts",
    "0",
  ],
  "`deno serve --parallel app.ts`": (folder) => [
    "serve",
    "--parallel",
    `--port=${freePort()}`,
    "--host=127.0.0.1",
    ...FLAGS,
    ...folder.permissions("start").filter((each) => !each.includes("net")),
    "app.ts",
  ],
};

for (const [how, argumentsOf] of Object.entries(SERVED)) {
  Deno.test(`a new site serves by ${how} with the permissions of its task`, async () => {
    await using folder = new Site();
    await folder.create();
    const command = [Deno.execPath(), ...argumentsOf(folder)] as [string];
    await using site = new Process(command, { cwd: folder.path });
    const [, origin] = await site.prints(/Listening on (http:\/\/[^/]+)\//);
    const home = await (await fetch(`${origin}/`)).text();
    assertStringIncludes(home, "<title>Welcome</title>");
    const greeting = await (await fetch(`${origin}/hello/%3Cb%3E`)).text();
    assertStringIncludes(greeting, "&lt;b&gt;");
    const [, icon] = /<link rel="icon".* href="([^"]+)"/.exec(home)!;
    const { headers, body } = await fetch(`${origin}${icon}`);
    await body?.cancel();
    assertEquals(headers.get("content-type"), "image/svg+xml");
  });
}
