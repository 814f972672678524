/** Measures the import of this framework and of Hono. */

import { FLAGS } from "./child.ts";
import { HONO, OURS } from "./contenders.ts";
import { figure, ratios, show, showRatio, table } from "./statistics.ts";
import type { Figures } from "./targets.ts";

const MODULES: Readonly<Record<string, string>> = {
  [OURS]: new URL("../mod.ts", import.meta.url).href,
  [HONO]: "npm:hono@4.13.19",
};

/** Imports both in turns; the first round only fills the caches. */
export async function measureImports(
  rounds: number,
  figures: Figures,
): Promise<string> {
  const samples: Record<string, number[]> = {};
  for (let round = -1; round < rounds; round++) {
    for (const [name, module] of Object.entries(MODULES)) {
      const time = await importTime(module);
      if (round < 0) samples[name] = [];
      else samples[name]!.push(time);
    }
  }
  const [ours = [], hono = []] = [samples[OURS], samples[HONO]];
  figures.set(`import / ${HONO}`, ratios(ours, hono));
  return table(["", "ms to import it", "framework × it"], [
    [OURS, show(figure(ours), 1), "1.00"],
    [HONO, show(figure(hono), 1), showRatio(ratios(ours, hono))],
  ]);
}

async function importTime(module: string): Promise<number> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-check",
      "--no-lock",
      "--allow-all",
      ...FLAGS,
      new URL("servers/import.ts", import.meta.url).pathname,
      module,
    ],
    stderr: "inherit",
  }).output();
  if (!success) throw new Error(`Cannot import "${module}"`);
  return Number(new TextDecoder().decode(stdout));
}
