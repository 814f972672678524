/** Measures the memory that a server keeps while it serves. */

import { CASES } from "./cases.ts";
import type { Child, Script } from "./child.ts";
import { BASE, CONTENDERS, OURS, withServers } from "./contenders.ts";
import { send } from "./load.ts";
import type { Plan } from "./plan.ts";
import { figure, ratios, show, showRatio, table } from "./statistics.ts";
import type { Figures } from "./targets.ts";

/** How many sets of fresh processes are measured. */
const LAPS = 5;

/** In how many parts the requests are sent; after each the memory is read. */
const PARTS = 20;

const MEGABYTE = 1_024 ** 2;

/** The measurements of one contender, by lap. */
interface Samples {
  /** Megabytes at the end. */
  readonly end: number[];
  /** Kilobytes that 1,000 requests of the second half add. */
  readonly slope: number[];
}

/** Measures every contender. */
export async function measureMemory(
  plan: Plan,
  figures: Figures,
): Promise<string> {
  const samples = await sampleMemory(CONTENDERS, plan);
  const ours = samples.get(OURS)!.end;
  for (const [name, { end }] of samples) {
    figures.set(`memory / ${name}`, ratios(ours, end));
  }
  return print(samples);
}

/** Sends requests to several sets of contenders, half of them to an asynchronous handler. */
export async function sampleMemory(
  contenders: Readonly<Record<string, Script>>,
  { memory }: Plan,
): Promise<ReadonlyMap<string, Samples>> {
  const samples = new Map<string, Samples>();
  for (let lap = 0; lap < LAPS; lap++) {
    const looks = await withServers(
      contenders,
      (servers) => watch(servers, memory / PARTS),
    );
    for (const [name, values] of looks) {
      if (lap === 0) samples.set(name, { end: [], slope: [] });
      const { end, slope } = samples.get(name)!;
      // A collection may just have been, or be due.
      end.push(figure(values.slice(-5)).median);
      const perPart = slopeOf(values.slice(PARTS / 2));
      slope.push(perPart * 1_024 / (memory / PARTS / 1_000));
    }
  }
  return samples;
}

/** The megabytes of each server after each part of the requests. */
async function watch(
  servers: ReadonlyMap<string, Child>,
  requests: number,
): Promise<Map<string, number[]>> {
  const looks = new Map<string, number[]>();
  for (const name of servers.keys()) looks.set(name, []);
  for (let part = 0; part < PARTS; part++) {
    for (const [name, server] of servers) {
      for (const each of ["parameter", "async"]) {
        const load = { requests: requests / 2, connections: 32 };
        await send(server.port, [CASES[each]!], load);
      }
      looks.get(name)!.push(server.memory() / MEGABYTE);
    }
  }
  return looks;
}

function print(samples: ReadonlyMap<string, Samples>): string {
  const base = samples.get(BASE)!.end;
  const ours = samples.get(OURS)!.end;
  return table(
    [
      "",
      "MB at the end",
      "× bare",
      "framework × it",
      "slope, kB per 1,000 requests",
    ],
    [...samples].map(([name, { end, slope }]) => [
      name,
      show(figure(end), 0),
      showRatio(ratios(end, base)),
      showRatio(ratios(ours, end)),
      show(figure(slope), 1),
    ]),
  );
}

/** The slope of the straight line that fits best, by the number of the value. */
function slopeOf(values: readonly number[]): number {
  const center = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  let above = 0;
  let below = 0;
  for (const [place, value] of values.entries()) {
    above += (place - center) * (value - mean);
    below += (place - center) ** 2;
  }
  return above / below;
}
