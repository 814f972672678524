/**
 * Measures this framework against a bare server and against Hono, prints tables, and writes the summary of a whole
 * run to `results.md`. Linux only: what a process costs is read from `/proc`.
 *
 *     deno task bench [--quick] [ROW …]
 */

import { measureCpu } from "./cpu.ts";
import { measureJavaScript } from "./javascript.ts";
import { describeMachine } from "./machine.ts";
import type { Measurement } from "./measurement.ts";
import { measureMemory } from "./memory.ts";
import { drawPicture } from "./picture.ts";
import { FULL, QUICK } from "./plan.ts";
import { measureRouter } from "./router.ts";
import { ROWS } from "./rows.ts";
import { measureSite } from "./site.ts";
import { measureStart } from "./start.ts";
import { details, summary } from "./tables.ts";

const METHOD =
  "Medians, with quartiles in parentheses, and how many times the others; how it was measured is in README.md.";

const isQuick = Deno.args.includes("--quick");
const plan = isQuick ? QUICK : FULL;

/** What can be named. The start comes first, while this process has no core of its own. */
const PARTS: Readonly<Record<string, () => AsyncIterable<Measurement>>> = {
  start: () => measureStart(plan),
  memory: () => measureMemory(plan),
  ...Object.fromEntries(
    Object.keys(ROWS).map((name) => [name, () => measureRow(name)]),
  ),
  site: () => measureSite(plan),
  router: () => measureRouter(plan),
};

const named = Deno.args.filter((arg) => !arg.startsWith("--"));
const unknown = named.find((name) => !Object.hasOwn(PARTS, name));
if (unknown !== undefined) {
  const known = Object.keys(PARTS).join(", ");
  console.error(`Cannot measure "${unknown}": the rows are ${known}`);
  Deno.exit(2);
}

const machine = await describeMachine();
console.log(machine);
const measurements: Measurement[] = [];
for (const [name, measure] of Object.entries(PARTS)) {
  if (named.length > 0 && !named.includes(name)) continue;
  for await (const measurement of measure()) {
    measurements.push(measurement);
    console.log(`\n${details(measurement)}`);
  }
}
const table = summary(measurements);
console.log(`\n${table}`);
if (isQuick || named.length > 0) {
  console.log("\nNothing was written: that takes a whole run");
} else {
  const results = `# Results\n\n${machine}.\n\n${METHOD}\n\n${table}\n`;
  await write("results.md", results);
  await write("cpu.svg", drawPicture(measurements));
}

async function* measureRow(name: string): AsyncGenerator<Measurement> {
  if (!ROWS[name]!.isLarge) yield await measureJavaScript(name, plan);
  yield* measureCpu(name, plan);
}

async function write(file: string, text: string): Promise<void> {
  await Deno.writeTextFile(new URL(file, import.meta.url), text);
}
