/** Measures what a request costs: CPU time of the server process, and latency. */

import { type Case, CASES } from "./cases.ts";
import { BASE, CONTENDERS, withServers } from "./contenders.ts";
import { send } from "./load.ts";
import type { Plan } from "./plan.ts";
import { figure, ratios, show, table } from "./statistics.ts";

interface Samples {
  /** Microseconds a request. */
  readonly cpu: number[];
  /** Milliseconds. */
  readonly p99: number[];
}

const CONNECTIONS = 32;

/** Measures the cases whose names are given, of all contenders in turns. */
export async function measureRequests(
  names: readonly string[],
  plan: Plan,
): Promise<string> {
  const parts: string[] = [];
  for (const name of names) {
    const samples = await measureCase(CASES[name]!, plan);
    parts.push(`### ${name}\n\n${print(samples)}`);
    console.log(`\n${parts.at(-1)}`);
  }
  return parts.join("\n\n");
}

/** Starts all servers, warms them up and loads one after the other, round after round. */
async function measureCase(
  asked: Case,
  { rounds, requests, warmup }: Plan,
): Promise<Map<string, Samples>> {
  const scripts = Object.fromEntries(
    Object.entries(CONTENDERS).map(([name, { file, args = [] }]) => [
      name,
      { file, args: asked.filtered ? [...args, "filtered"] : args },
    ]),
  );
  return await withServers(scripts, async (servers) => {
    const samples = new Map<string, Samples>();
    for (const [name, { port }] of servers) {
      samples.set(name, { cpu: [], p99: [] });
      await send(port, asked, { requests: warmup, connections: CONNECTIONS });
    }
    for (let round = 0; round < rounds; round++) {
      for (const [name, server] of servers) {
        const before = server.cpu();
        const load = { requests, connections: CONNECTIONS };
        const { p99 } = await send(server.port, asked, load);
        const { cpu, p99: latencies } = samples.get(name)!;
        cpu.push((server.cpu() - before) / requests);
        latencies.push(p99);
      }
    }
    return samples;
  });
}

function print(samples: ReadonlyMap<string, Samples>): string {
  const base = samples.get(BASE)!;
  return table(
    ["", "CPU µs a request", "× bare", "p99 ms", "× bare"],
    [...samples].map(([name, { cpu, p99 }]) => [
      name,
      show(figure(cpu), 1),
      show(ratios(cpu, base.cpu), 2),
      show(figure(p99), 2),
      ratios(p99, base.p99).median.toFixed(2),
    ]),
  );
}
