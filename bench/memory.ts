/** Measures the memory that a server keeps while requests go by. */

import { CASES } from "./cases.ts";
import type { Child } from "./child.ts";
import { BASE, CONTENDERS, withServers } from "./contenders.ts";
import { send } from "./load.ts";
import type { Plan } from "./plan.ts";
import { figure, table } from "./statistics.ts";

/** In how many parts the requests are sent; after each the memory is looked at. */
const PARTS = 20;

const MEGABYTE = 1_024 ** 2;

/** Sends the same number of requests to every contender, half of them to an asynchronous handler. */
export async function measureMemory({ memory }: Plan): Promise<string> {
  return await withServers(CONTENDERS, async (servers) => {
    const looks = new Map<string, number[]>();
    for (const name of servers.keys()) looks.set(name, []);
    for (let part = 0; part < PARTS; part++) {
      for (const [name, server] of servers) {
        await sendPart(server, memory / PARTS);
        looks.get(name)!.push(server.memory() / MEGABYTE);
      }
    }
    return print(looks, memory);
  });
}

async function sendPart({ port }: Child, requests: number): Promise<void> {
  for (const name of ["parameter", "async"]) {
    await send(port, CASES[name]!, { requests: requests / 2, connections: 32 });
  }
}

/** The end is a median of the last looks, since a collection may just have been or be due. */
function print(
  looks: ReadonlyMap<string, readonly number[]>,
  requests: number,
): string {
  const last = ([...values]: readonly number[]): number =>
    figure(values.slice(-5)).median;
  const base = last(looks.get(BASE)!);
  return table(
    ["", "MB at the end", "× bare", "highest", "slope, kB per 1,000 requests"],
    [...looks].map(([name, values]) => [
      name,
      last(values).toFixed(0),
      (last(values) / base).toFixed(2),
      Math.max(...values).toFixed(0),
      (slope(values.slice(PARTS / 2)) * 1_024 / (requests / PARTS / 1_000))
        .toFixed(2),
    ]),
  );
}

/** The slope of the straight line that fits best, by the number of the value. */
function slope(values: readonly number[]): number {
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
