/** Measures the start: from the start of the process to the first response with status 200. */

import { CASES } from "./cases.ts";
import { Child } from "./child.ts";
import { BASE, CONTENDERS } from "./contenders.ts";
import { check } from "./load.ts";
import type { Plan } from "./plan.ts";
import { figure, ratios, show, table } from "./statistics.ts";

interface Samples {
  /** Milliseconds by the clock. */
  readonly clock: number[];
  /** Milliseconds of CPU time, of all threads. */
  readonly cpu: number[];
}

/** Starts every contender in turns; the first round only fills the caches. */
export async function measureStart({ starts }: Plan): Promise<string> {
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
  return print(samples);
}

function print(samples: ReadonlyMap<string, Samples>): string {
  const base = samples.get(BASE)!;
  return table(
    ["", "ms to the first 200", "× bare", "CPU ms", "× bare"],
    [...samples].map(([name, { clock, cpu }]) => [
      name,
      show(figure(clock), 0),
      show(ratios(clock, base.clock), 2),
      show(figure(cpu), 0),
      ratios(cpu, base.cpu).median.toFixed(2),
    ]),
  );
}
