/** Measures the memory of servers after many requests, half of them asynchronous. */

import { CONTENDERS } from "./contenders.ts";
import { load } from "./load.ts";
import { Measurement } from "./measurement.ts";
import type { Plan } from "./plan.ts";
import { ROWS } from "./rows.ts";
import { startAll } from "./server.ts";

/** In how many parts the requests are sent. */
const PARTS = 10;

/** Measures every contender. */
export async function* measureMemory(
  { sets, memory }: Plan,
): AsyncGenerator<Measurement> {
  const measurement = new Measurement("memory after requests", "MB");
  const limit = { requests: memory / PARTS / 2, seconds: 60 };
  for (let set = 0; set < sets; set++) {
    await using stack = new AsyncDisposableStack();
    for (const [contender, server] of await startAll(CONTENDERS, stack)) {
      for (let part = 0; part < PARTS; part++) {
        await load(server.port, ROWS["parameter"]!, limit);
        await load(server.port, ROWS["async"]!, limit);
      }
      measurement.add(contender, server.memory());
    }
  }
  yield measurement;
}
