/** Measures whole processes: the CPU time of a request, kernel and all threads included, and the latency. */

import { CONTENDERS } from "./contenders.ts";
import { load } from "./load.ts";
import { Measurement } from "./measurement.ts";
import type { Plan } from "./plan.ts";
import { type Row, ROWS } from "./rows.ts";
import { type Server, startAll } from "./server.ts";

/** Measures a row. */
export async function* measureCpu(
  name: string,
  plan: Plan,
): AsyncGenerator<Measurement> {
  const row = ROWS[name]!;
  const [cpu, p99] = await measureServers(name, CONTENDERS, () => row, plan);
  yield cpu;
  if (name === "text") yield p99;
}

/** Measures servers that all get one request, in interleaved rounds; returns CPU time and latency. */
export async function measureServers(
  name: string,
  contenders: Readonly<Record<string, string>>,
  rowFor: (server: Server) => Row | Promise<Row>,
  { sets, rounds, warmup, turn }: Plan,
): Promise<[cpu: Measurement, p99: Measurement]> {
  const cpu = new Measurement(`${name}: CPU`, "µs");
  const p99 = new Measurement(`${name}: p99`, "ms");
  for (let set = 0; set < sets; set++) {
    await using stack = new AsyncDisposableStack();
    const servers = await startAll(contenders, stack);
    for (const [, server] of servers) {
      server.pin();
      await load(server.port, await rowFor(server), warmup);
    }
    for (let round = 0; round < rounds; round++) {
      for (const [contender, server] of servers.reverse()) {
        const row = await rowFor(server);
        const before = server.cpu();
        const took = await load(server.port, row, turn);
        cpu.add(contender, (server.cpu() - before) / took.requests);
        p99.add(contender, took.p99);
      }
    }
  }
  return [cpu, p99];
}
