/** Tests the folders of `src/`: imports lead downwards, and so in no circle, and extensions use public names. */

import { assertEquals } from "@std/assert";

/** The rooms from above to below: a room may import those of lower floors, types included. */
const FLOORS: readonly (readonly string[])[] = [
  ["debug"],
  ["handling"],
  ["application"],
  ["routing", "request", "response", "view", "server"],
  ["state"],
];
const ROOMS = FLOORS.flat();

/** What stands above the rooms. Other files directly in `src/` are the ground, which everything may import. */
const TOP = ["mod.ts", "src/framework.ts", "src/engine.ts"];

/** An import or export that names another file, unless it is loaded on demand by `import()`. */
const IMPORT = /^(?:import|export)(?: [^;"]* from)? "(\.[^"]+)";/gm;

interface Import {
  readonly from: string;
  readonly to: string;
}

const root = new URL("../../", import.meta.url);
const imports = await importsOf(["mod.ts", ...await modulesIn("src")]);

Deno.test("imports between the folders of `src/` lead downwards, types included", () => {
  const wrong = imports.filter(({ from, to }) => !mayImport(from, to));
  assertEquals(wrong.map(({ from, to }) => `${from} > ${to}`), []);
});

Deno.test("each folder of `src/` is a room or an extension with an export", async () => {
  const config = await Deno.readTextFile(new URL("deno.json", root));
  const exported: string[] = Object.values(JSON.parse(config).exports);
  const unknown: string[] = [];
  for await (
    const { name, isDirectory } of Deno.readDir(`${root.pathname}src`)
  ) {
    if (!isDirectory || ROOMS.includes(name)) continue;
    if (!exported.includes(`./src/${name}/mod.ts`)) unknown.push(name);
  }
  assertEquals(unknown, []);
});

/** Whether a file may import another one. */
function mayImport(from: string, to: string): boolean {
  const [folder, target] = [folderOf(from), folderOf(to)];
  if (folder !== undefined && folder === target) return true;
  if (TOP.includes(from)) return target !== "debug";
  if (folder === undefined) return target === undefined && !TOP.includes(to);
  if (!ROOMS.includes(folder)) return target === undefined; // an extension
  if (target === undefined) return !TOP.includes(to);
  return floorOf(folder) < floorOf(target);
}

/** The index of a room's floor; -1 for what is no room, which no room may import. */
function floorOf(folder: string): number {
  return FLOORS.findIndex((rooms) => rooms.includes(folder));
}

/** The folder of `src/` that a file lies in; undefined for one directly in `src/` or above. */
function folderOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1];
}

async function importsOf(paths: readonly string[]): Promise<Import[]> {
  const found: Import[] = [];
  for (const from of paths) {
    const text = await Deno.readTextFile(new URL(from, root));
    for (const [, specifier] of text.matchAll(IMPORT)) {
      const { pathname } = new URL(specifier!, `file:///${from}`);
      found.push({ from, to: pathname.slice(1) });
    }
  }
  return found;
}

async function modulesIn(folder: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const each of Deno.readDir(new URL(folder, root))) {
    const path = `${folder}/${each.name}`;
    if (each.isDirectory) paths.push(...await modulesIn(path));
    else if (path.endsWith(".ts")) paths.push(path);
  }
  return paths;
}
