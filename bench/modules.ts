/** Counts the modules that importing the framework loads. */

import { figure } from "./statistics.ts";
import { FLAGS } from "./child.ts";
import type { Figures } from "./targets.ts";

/** What `deno info --json` tells of one module. */
interface Module {
  readonly specifier: string;
  readonly dependencies?: readonly {
    /** Absent where only types are imported. */
    readonly code?: { readonly specifier: string };
    readonly isDynamic?: boolean;
  }[];
}

/** Counts what the graph of `mod.ts` loads at once: neither types alone nor dynamic imports. */
export async function countModules(figures: Figures): Promise<string> {
  const { roots, modules } = await readGraph();
  const byName = new Map(modules.map((each) => [each.specifier, each]));
  const loaded = new Set(roots);
  for (const specifier of loaded) {
    for (const each of byName.get(specifier)?.dependencies ?? []) {
      if (each.code && !each.isDynamic) loaded.add(each.code.specifier);
    }
  }
  const own = [...loaded].filter((specifier) => specifier.includes("/src/"));
  const others = loaded.size - own.length - roots.length;
  const count = own.length + roots.length;
  figures.set("modules", figure([count]));
  return `Importing \`@framework/core\` loads ${count} modules of its own and ${others} others.`;
}

async function readGraph(): Promise<
  { roots: readonly string[]; modules: readonly Module[] }
> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "info",
      "--json",
      "--no-lock",
      ...FLAGS,
      new URL("../mod.ts", import.meta.url).pathname,
    ],
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("Cannot count modules: `deno info` failed");
  return JSON.parse(new TextDecoder().decode(stdout));
}
