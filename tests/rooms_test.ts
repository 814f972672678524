/** Tests that imports between the rooms of `src/` lead downwards, that no modules import each other, and what is ASCII. */

import { assertEquals } from "@std/assert";

/** The rooms in floors, from above to below: a room may import those of lower floors, also for types alone. */
const FLOORS: readonly (readonly string[])[] = [
  ["debug"],
  ["handling"],
  ["application"],
  ["routing", "request", "response", "view", "server"],
  ["state"],
];

/** What lies above the rooms. The other files directly in `src/` are the ground, which everything may import. */
const TOP = ["mod.ts", "src/framework.ts", "src/engine.ts"];

/** An import or export that names another module, unless the module is loaded on demand. */
const IMPORT = /^(?:import|export)( type)?(?: [^;"]* from)? "(\.[^"]+)";/gm;

interface Import {
  readonly from: string;
  readonly to: string;
  /** Whether only types are imported: nothing of it exists at run time. */
  readonly isType: boolean;
}

const { exports } = JSON.parse(await Deno.readTextFile("deno.json"));
const entries = Object.values<string>(exports).map((path) => path.slice(2));
const imports = await importsOf(["mod.ts", ...await modulesIn("src")]);

Deno.test("imports between the rooms lead downwards, those of types too", () => {
  const wrong = imports.filter(({ from, to }) => !mayImport(from, to));
  assertEquals(wrong.map(({ from, to }) => `${from} > ${to}`), []);
});

Deno.test("no modules import each other at run time, also by way of others", () => {
  const circles = imports.filter(({ isType }) => !isType)
    .filter(({ from, to }) => reachableFrom(to).has(from));
  assertEquals(circles.map(({ from, to }) => `${from} > ${to}`), []);
});

Deno.test("each folder of `src/` is a room or an extension with an export", async () => {
  const folders = (await Array.fromAsync(Deno.readDir("src")))
    .filter(({ isDirectory }) => isDirectory);
  const unknown = folders.map(({ name }) => name).filter((name) =>
    floorOf(name) < 0 && !entries.includes(`src/${name}/mod.ts`)
  );
  assertEquals(unknown, []);
});

Deno.test("sources are ASCII: V8 keeps any other module with two bytes for each character", async () => {
  const others: string[] = [];
  for (const path of ["mod.ts", ...await modulesIn("src")]) {
    const code = await Deno.readTextFile(path);
    const found = /[^\n -~]/.exec(code);
    if (found) others.push(`${path}: ${found[0]}`);
  }
  assertEquals(others, []);
});

Deno.test("each `import()` in `src/` runs outside of every request", async () => {
  const others: string[] = [];
  for (const path of await modulesIn("src")) {
    const code = (await Deno.readTextFile(path))
      .replace(/^\s*(?:\/?\*|\/\/).*/gm, "")
      .replace(/withoutRequest\(\(\) =>\s*import\(/g, "");
    const count = code.match(/[^.\w"`]import\(/g)?.length ?? 0;
    if (count > 0) others.push(`${path}: ${count}`);
  }
  // These are in functions that `withoutRequest()` calls; the last one also imports while no request runs.
  assertEquals(others.sort(), [
    "src/application/autoload.ts: 4",
    "src/debug/reproduction.ts: 1",
    "src/state/uncaught.ts: 1",
  ]);
});

Deno.test("each refusal in `src/` is made by `refusal()`, which `framework.handle_errors` leaves its response", async () => {
  const others: string[] = [];
  for (const path of await modulesIn("src")) {
    const code = (await Deno.readTextFile(path))
      .replace(/^\s*(?:\/?\*|\/\/).*/gm, "");
    const count = code.match(/new HttpError\(/g)?.length ?? 0;
    if (count > 0) others.push(`${path}: ${count}`);
  }
  // `refusal()` itself, the page of `notFound`, and a loop of applications, which is the program's mistake.
  assertEquals(others.sort(), [
    "src/errors.ts: 1",
    "src/handling/handle.ts: 1",
    "src/handling/pages.ts: 1",
  ]);
});

/** Whether an import is one of those that CONTRIBUTING allows. */
function mayImport(from: string, to: string): boolean {
  const [room, target] = [folderOf(from), folderOf(to)];
  const isGround = target === undefined && !TOP.includes(to);
  if (isGround || room !== undefined && room === target) return true;
  if (TOP.includes(from)) {
    return target === undefined || target !== "debug" && floorOf(target) >= 0;
  }
  if (room === undefined) return false;
  if (floorOf(room) < 0) {
    return entries.includes(to) ||
      from === "src/testing/settled.ts" && to === "src/engine.ts";
  }
  return target !== undefined && floorOf(room) < floorOf(target);
}

/** The index of a room's floor; -1 for an extension. */
function floorOf(room: string): number {
  return FLOORS.findIndex((rooms) => rooms.includes(room));
}

/** The folder of `src/` that a module lies in; undefined for one directly in `src/` or above. */
function folderOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1];
}

/** The modules that a module imports at run time, and those that they import. */
function reachableFrom(path: string): ReadonlySet<string> {
  const reached = new Set([path]);
  for (const each of reached) {
    for (const { from, to, isType } of imports) {
      if (from === each && !isType) reached.add(to);
    }
  }
  return reached;
}

async function importsOf(paths: readonly string[]): Promise<Import[]> {
  const found: Import[] = [];
  for (const from of paths) {
    const text = await Deno.readTextFile(from);
    for (const [, type, specifier] of text.matchAll(IMPORT)) {
      const { pathname } = new URL(specifier!, `file:///${from}`);
      found.push({ from, to: pathname.slice(1), isType: type !== undefined });
    }
  }
  return found;
}

async function modulesIn(folder: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) paths.push(...await modulesIn(path));
    else if (path.endsWith(".ts")) paths.push(path);
  }
  return paths;
}
