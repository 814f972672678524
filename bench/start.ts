/** Measures the start: from the start of the process to the first response with status 200, and the import alone. */

import { CASES } from "./cases.ts";
import { Child } from "./child.ts";
import { BASE, CONTENDERS, OURS } from "./contenders.ts";
import { check } from "./load.ts";
import { measureImports } from "./imports.ts";
import { countModules } from "./modules.ts";
import type { Plan } from "./plan.ts";
import { figure, ratios, show, showRatio, table } from "./statistics.ts";
import type { Figures } from "./targets.ts";

interface Samples {
  /** Milliseconds by the clock. */
  readonly clock: number[];
  /** Milliseconds of CPU time, of all threads. */
  readonly cpu: number[];
}

/** Starts every contender in turns; the first round only fills the caches. */
export async function measureStart(
  { starts }: Plan,
  figures: Figures,
): Promise<string> {
  const samples = new Map<string, Samples>();
  for (let round = -1; round < starts; round++) {
    for (const [name, script] of Object.entries(CONTENDERS)) {
      const begin = performance.now();
      await using server = await Child.start(script);
      await check(server.port, CASES["text"]!);
      const clock = performance.now() - begin;
      if (round < 0) samples.set(name, { clock: [], cpu: [] });
      else {
        samples.get(name)!.clock.push(clock);
        samples.get(name)!.cpu.push(server.cpu() / 1_000);
      }
    }
  }
  const ours = samples.get(OURS)!.clock;
  for (const [name, { clock }] of samples) {
    figures.set(`start / ${name}`, ratios(ours, clock));
  }
  return [
    print(samples),
    await measureImports(starts, figures),
    await countModules(figures),
  ].join("\n\n");
}

function print(samples: ReadonlyMap<string, Samples>): string {
  const base = samples.get(BASE)!;
  const ours = samples.get(OURS)!;
  return table(
    ["", "ms to the first 200", "× bare", "framework × it", "CPU ms", "× bare"],
    [...samples].map(([name, { clock, cpu }]) => [
      name,
      show(figure(clock), 0),
      showRatio(ratios(clock, base.clock)),
      showRatio(ratios(ours.clock, clock)),
      show(figure(cpu), 0),
      showRatio(ratios(cpu, base.cpu)),
    ]),
  );
}
