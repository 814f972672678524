/** Measures the JavaScript of handlers: all contenders in one process, in turns on the same served requests. */

import { CONTENDERS } from "./contenders.ts";
import { CONNECTIONS, load } from "./load.ts";
import { Measurement } from "./measurement.ts";
import type { Plan } from "./plan.ts";
import { ROWS } from "./rows.ts";
import { Server } from "./server.ts";

/** Measures a row. */
export async function measureJavaScript(
  name: string,
  { warmup, sets, rounds, blocks }: Plan,
): Promise<Measurement> {
  const warming = Math.ceil(warmup.requests / CONNECTIONS);
  const turns = [warming, sets * rounds, blocks];
  await using server = await Server.start(
    "javascript_process.ts",
    ...turns.map(String),
  );
  server.pin();
  const each = CONNECTIONS * Object.keys(CONTENDERS).length;
  const requests = each * (warming + sets * rounds * blocks);
  await load(server.port, ROWS[name]!, { requests, seconds: 600 });
  const response = await fetch(`http://127.0.0.1:${server.port}/`, {
    signal: AbortSignal.timeout(10_000),
  });
  return new Measurement(`${name}: JavaScript`, "µs", await response.json());
}
