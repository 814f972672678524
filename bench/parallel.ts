/** Measures `deno serve --parallel` with two workers. */

import { CASES } from "./cases.ts";
import { BASE, OURS, RIVALS, withServers } from "./contenders.ts";
import type { Plan } from "./plan.ts";
import { type Samples, takeTurns } from "./requests.ts";
import { figure, ratios, show, showRatio, table } from "./statistics.ts";

const WORKERS = 2;

const NAMES = ["text", "async", "vento"];

/** Measures a few cases; the client shares the cores with the workers. */
export async function measureParallel(plan: Plan): Promise<string> {
  const scripts = Object.fromEntries(
    Object.entries(RIVALS).map(([name, script]) => [name, {
      ...script,
      workers: WORKERS,
    }]),
  );
  const rows: string[][] = [];
  for (const name of NAMES) {
    const samples = new Map<string, Samples>();
    for (let lap = 0; lap < plan.laps; lap++) {
      await withServers(
        scripts,
        (servers) => takeTurns(servers, CASES[name]!, plan, samples),
      );
    }
    rows.push(...print(name, samples));
  }
  return table(
    [
      "",
      "contender",
      "CPU µs a request",
      "× bare",
      "framework × it",
      "requests a second",
      "× bare",
    ],
    rows,
  );
}

function print(
  name: string,
  samples: ReadonlyMap<string, Samples>,
): string[][] {
  const base = samples.get(BASE)!;
  const ours = samples.get(OURS)!;
  return [...samples].map(([contender, { cpu, rate }]) => [
    name,
    contender,
    show(figure(cpu), 1),
    showRatio(ratios(cpu, base.cpu)),
    showRatio(ratios(ours.cpu, cpu)),
    show(figure(rate), 0),
    showRatio(ratios(rate, base.rate)),
  ]);
}
