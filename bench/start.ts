/** Measures the start: the first response of a process, the import alone, and how many modules it loads. */

import { deno, jsonOf, script } from "./command.ts";
import { CONTENDERS, HONO, OURS } from "./contenders.ts";
import { load } from "./load.ts";
import { Measurement } from "./measurement.ts";
import type { Plan } from "./plan.ts";
import { ROWS } from "./rows.ts";
import { Server } from "./server.ts";

/** What is imported, as `bench/` imports it. */
const IMPORTS = { [OURS]: "@framework/core", [HONO]: "npm:hono@^4" };

/** Measures every contender. */
export async function* measureStart(
  { starts }: Plan,
): AsyncGenerator<Measurement> {
  const response = new Measurement("start to the first response", "ms");
  const imported = new Measurement("import", "ms");
  for (let round = -1; round < starts; round++) { // The first one fills the caches.
    for (const [contender, file] of Object.entries(CONTENDERS)) {
      const time = await firstResponse(file);
      if (round >= 0) response.add(contender, time);
    }
    for (const [contender, module] of Object.entries(IMPORTS)) {
      const time = await jsonOf(script("import.ts", module)) as number;
      if (round >= 0) imported.add(contender, time);
    }
  }
  yield response;
  yield imported;
  const modules = new Measurement("modules loaded by the import", "count");
  modules.add(OURS, await countModules());
  yield modules;
}

/** The milliseconds from the start of a process to its first response. */
async function firstResponse(file: string): Promise<number> {
  const begin = performance.now();
  await using server = await Server.start("serve.ts", file);
  await load(server.port, ROWS["text"]!, { requests: 1, seconds: 10 });
  return performance.now() - begin;
}

/** What `deno info --json` tells of a module; what is imported for its types alone has no code. */
interface Module {
  readonly specifier: string;
  readonly dependencies?: readonly {
    readonly code?: { readonly specifier: string };
    readonly isDynamic?: boolean;
  }[];
}

/** Counts the modules that are loaded at once: neither for types alone nor by `import()`. */
async function countModules(): Promise<number> {
  const root = import.meta.resolve("@framework/core");
  const graph = await jsonOf(deno("info", "--json", root));
  const { modules } = graph as { modules: readonly Module[] };
  const loaded = new Set([root]);
  for (const specifier of loaded) { // It visits what is added meanwhile, too.
    const found = modules.find((each) => each.specifier === specifier);
    for (const { code, isDynamic } of found?.dependencies ?? []) {
      if (code && !isDynamic) loaded.add(code.specifier);
    }
  }
  return loaded.size;
}
