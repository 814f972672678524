/**
 * The stand-ins of `compat/`: they offer exactly what is used, and do what `@std` does. Where the suite runs on
 * `@std` itself, the same expectations are held against it.
 */

import { assert, assertEquals, assertThrows } from "@std/assert";

const ROOT = new URL("../../", import.meta.url);
const SCANNED = [
  "mod.ts",
  "README.md",
  "docs",
  "src",
  "blog",
  "tests",
  "bench",
];

const USE = /\b(?:from|import\()\s*["'](@std\/[^"']+)["']/g;
const NAMED_USES = [
  /\b(?:import|export)\s+(?:type\s+)?\{(?<names>[^{}]*)\}\s+from\s+["'](?<module>@std\/[^"']+)["']/g,
  /\{(?<names>[^{}]*)\}\s*=\s*await\s+(?:withoutRequest\(\(\) =>\s*)?import\(\s*["'](?<module>@std\/[^"']+)["']\s*\)/g,
  /\btypeof\s+import\(\s*["'](?<module>@std\/[^"']+)["']\s*\)\.(?<names>\w+)/g,
];
const DECLARED =
  /^export (?:async )?(?:function|class|const|interface|type) (\w+)/gm;
const REEXPORTED = /^export (?:type )?\{([^{}]*)\} from /gm;

interface ImportMap {
  readonly imports: Readonly<Record<string, string>>;
}

Deno.test("`compat/import_map.json` names exactly the modules of `@std` that are imported", async () => {
  const names = Object.keys((await importMap()).imports).filter((name) =>
    name.startsWith("@std/")
  );
  assertEquals(names.sort(), [...(await used()).keys()].sort());
});

Deno.test("`compat/` exports exactly what is imported from `@std`", async () => {
  const { imports } = await importMap();
  const wanted: Record<string, Set<string>> = {};
  for (const [specifier, names] of await used()) {
    const file = imports[specifier] ?? specifier;
    wanted[file] = (wanted[file] ?? new Set()).union(names);
  }
  for (const [file, names] of Object.entries(wanted)) {
    const source = await read(`compat/${file}`);
    assertEquals([...exported(source)].sort(), [...names].sort(), file);
  }
});

Deno.test("`compat/import_map.json` agrees with `deno.json` on what does not come from JSR", async () => {
  const standins = (await importMap()).imports;
  const { imports }: ImportMap = JSON.parse(await read("deno.json"));
  for (const [name, target] of Object.entries(imports)) {
    if (!target.startsWith("jsr:")) {
      assertEquals(standins[name], target.replace("./", "../"), name);
    }
  }
});

Deno.test("`assertThrows()` fails for no error, a wrong class and a wrong message", () => {
  const thrower = () => {
    throw new RangeError("Too far");
  };
  assertEquals(assertThrows(thrower, RangeError, "far").message, "Too far");
  assertThrows(() => assertThrows(() => 1), Error, "throw");
  assertThrows(() => assertThrows(thrower, TypeError), Error, "TypeError");
  assertThrows(() => assertThrows(thrower, RangeError, "near"), Error, "near");
});

/** The names imported from each module of `@std`, over all files. */
async function used(
  paths: readonly string[] = SCANNED,
): Promise<Map<string, Set<string>>> {
  const modules = new Map<string, Set<string>>();
  for await (const path of files(paths)) {
    const source = (await read(path)).replaceAll(/^\s*\* ?/gm, "");
    const named = NAMED_USES.flatMap((use) => [...source.matchAll(use)]);
    assertEquals(
      named.length,
      [...source.matchAll(USE)].length,
      `${path}: name what is imported`,
    );
    for (const { groups } of named) {
      const { names, module } = groups as { names: string; module: string };
      const known = modules.get(module) ?? new Set();
      modules.set(module, known.union(listed(names)));
    }
  }
  assert(modules.size > 0);
  return modules;
}

function exported(source: string): Set<string> {
  const declared = [...source.matchAll(DECLARED)].map(([, name]) => name!);
  const lists = [...source.matchAll(REEXPORTED)].map(([, names]) =>
    listed(names!.replaceAll(/\w+ as /g, ""))
  );
  return lists.reduce((all, names) => all.union(names), new Set(declared));
}

/** The names of an import list: `a, type B, c as d, e: f` are a, B, c and e. */
function listed(list: string): Set<string> {
  const names = list.split(",").map((item) =>
    item.trim().replace(/^type\s+/, "").split(/\W/)[0]!
  );
  return new Set(names.filter((name) => name !== ""));
}

async function* files(paths: Iterable<string>): AsyncGenerator<string> {
  for (const path of paths) {
    const info = await Deno.stat(new URL(path, ROOT)).catch(() => null);
    if (info?.isDirectory) {
      const names = Array.from(
        Deno.readDirSync(new URL(path, ROOT)),
        ({ name }) => name,
      );
      yield* files(names.map((name) => `${path}/${name}`));
    } else if (info && /\.(ts|md)$/.test(path)) {
      yield path;
    }
  }
}

async function importMap(): Promise<ImportMap> {
  return JSON.parse(await read("compat/import_map.json"));
}

function read(path: string): Promise<string> {
  return Deno.readTextFile(new URL(path, ROOT));
}
