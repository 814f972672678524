/** Measures finding a route, in a process of its own, since it is all computation. */

import { jsonOf, script } from "./command.ts";
import { Measurement } from "./measurement.ts";
import type { Plan } from "./plan.ts";

/** The figures by contender, of each measurement by name. */
type Results = Record<string, Record<string, number[]>>;

/** Measures tables of 10 to 10,000 routes. */
export async function* measureRouter(
  { sets, rounds, blocks }: Plan,
): AsyncGenerator<Measurement> {
  const turns = [sets * rounds, blocks].map(String);
  const results = await jsonOf(script("router_process.ts", ...turns));
  for (const [name, figures] of Object.entries(results as Results)) {
    yield new Measurement(`router: ${name}`, "ns", figures);
  }
}
