/**
 * Tests that the public surface is what it is meant to be: a name that comes or goes is a decision,
 * made in the table below and told in the changelog.
 */

import { assertEquals } from "@std/assert";

/** What the package exports, and the public members of each. */
const SURFACE: Readonly<Record<string, string>> = {
  "class Engine": "",
};

interface Declaration {
  readonly kind: string;
  readonly def?: {
    readonly properties?: Member[];
    readonly methods?: Member[];
  };
}

interface Member {
  readonly name: string;
  readonly accessibility?: string;
}

Deno.test("`mod.ts` exports exactly the frozen names and members", async () => {
  assertEquals(await surface("mod.ts"), SURFACE);
});

/** What a module exports, read from its documentation: every export by kind and name with its members. */
async function surface(module: string): Promise<Record<string, string>> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "doc",
      "-q",
      "--json",
      "--import-map=compat/import_map.json",
      module,
    ],
    cwd: new URL("../", import.meta.url),
  }).output();
  const { nodes } = JSON.parse(new TextDecoder().decode(stdout));
  const exports: Record<string, string> = {};
  for (const { symbols } of Object.values<{ symbols: Entry[] }>(nodes)) {
    for (const { name, declarations } of symbols) {
      for (const { kind, def } of declarations) {
        exports[`${kind} ${name}`] = members(def);
      }
    }
  }
  return exports;
}

interface Entry {
  readonly name: string;
  readonly declarations: Declaration[];
}

function members(definition: Declaration["def"]): string {
  const all = [...definition?.properties ?? [], ...definition?.methods ?? []];
  const names = all.filter(({ accessibility }) => accessibility !== "private")
    .map(({ name }) => name);
  return [...new Set(names)].sort().join(" ");
}
