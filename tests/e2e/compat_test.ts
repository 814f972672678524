/**
 * The stand-ins of `compat/`: they offer exactly what is used, and do what `@std` does. Where the suite runs on
 * `@std` itself, the same expectations are held against it.
 */

import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
  assertThrows,
} from "@std/assert";
import { stub } from "@std/testing/mock";
import { FakeTime } from "@std/testing/time";

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

Deno.test("`assertEquals()` passes for values that are deeply equal", () => {
  const cases: [unknown, unknown][] = [
    [NaN, NaN],
    [Object.assign(Object.create(null), { id: "1" }), { id: "1" }],
    [{ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }],
    [{ b: 1, a: 2 }, { a: 2, b: 1 }],
    [new Map([["a", { b: 1 }]]), new Map([["a", { b: 1 }]])],
    [new Set([[1], [2]]), new Set([[2], [1]])],
    [new Date(0), new Date(0)],
    [/a/g, /a/g],
    [new URL("http://a/b"), new URL("http://a/b")],
    [new Uint8Array([1, 2]), new Uint8Array([1, 2])],
    [cycle(1), cycle(1)],
  ];
  for (const [actual, expected] of cases) assertEquals(actual, expected);
});

Deno.test("`assertNotEquals()` passes for values that differ", () => {
  const cases: [unknown, unknown][] = [
    [1, "1"],
    [null, undefined],
    [{ a: undefined }, {}],
    [{ a: undefined }, { b: undefined }],
    [[1, 2], [2, 1]],
    [[], {}],
    [new Map([["a", 1]]), new Map([["a", 2]])],
    [new Set([1]), new Set([2])],
    [new Date(0), new Date(1)],
    [/a/g, /a/i],
    [new URL("http://a/b"), new URL("http://a/c")],
    [new Uint8Array([1]), new Uint8Array([2])],
    [new Uint8Array([1]), [1]],
    [new TypeError("a"), new RangeError("a")],
    [() => 1, () => 1],
    [cycle(1), cycle(2)],
  ];
  for (const [actual, expected] of cases) assertNotEquals(actual, expected);
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

Deno.test("`assertRejects()` fails for a fulfilled promise and for a synchronous throw", async () => {
  const thrower = () => {
    throw new RangeError("Too far");
  };
  const error = await assertRejects(
    () => Promise.reject(new RangeError("Too far")),
    RangeError,
  );
  assertEquals(error.message, "Too far");
  await assertRejects(
    () => assertRejects(() => Promise.resolve(1)),
    Error,
    "reject",
  );
  await assertRejects(() => assertRejects(thrower), RangeError);
});

Deno.test("`new FakeTime()` keeps timers and dates until time passes, and gives them back", async () => {
  const real = { Date, setTimeout };
  const calls: string[] = [];
  {
    using time = new FakeTime();
    const start = time.now;
    setTimeout((name: string) => calls.push(name), 20_000, "second");
    setTimeout(() => calls.push(`${Date.now() - start}`), 10_000);
    clearTimeout(setTimeout(() => calls.push("never"), 1));
    await time.tickAsync(9_999);
    assertEquals(calls, []);
    await time.tickAsync(10_001);
    assertEquals(calls, ["10000", "second"]);
    assertEquals([time.now - start, new Date().getTime() - start], [
      20_000,
      20_000,
    ]);
    assertEquals(await time.nextAsync(), false);
    setTimeout(() => calls.push("fifth"), 5_000);
    assertEquals([await time.nextAsync(), time.now - start], [true, 25_000]);
  }
  assertEquals({ Date, setTimeout }, real);
  await new Promise((resolve) => setTimeout(resolve));
});

Deno.test("`stub()` records the calls of a method, and gives it back", () => {
  const owner = { name: (of: number) => `Ada ${of}` };
  const { name } = owner;
  {
    using silent = stub(owner, "name");
    assertEquals<unknown>(owner.name(1), undefined);
    assertEquals(silent.calls.map(({ args }) => args), [[1]]);
  }
  assertEquals(owner.name, name);
  using _grace = stub(owner, "name", () => "Grace");
  assertEquals(owner.name(2), "Grace");
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

function cycle(value: number): unknown {
  const ring: { value: number; self?: unknown } = { value };
  ring.self = ring;
  return ring;
}
