/**
 * Measures this framework against a bare server and against other frameworks, prints tables and
 * writes them to `bench/results.md`. Linux only: what a process costs is read from `/proc`.
 *
 *     deno task bench [--quick] [part …]
 *
 * The parts are `requests`, `router`, `start`, `memory` and `blog`, or the names of requests such as
 * `text`; without one, everything is measured and the results are written.
 */

import { measureBlog } from "./blog.ts";
import { CASES } from "./cases.ts";
import { describeMachine, describePeers } from "./machine.ts";
import { measureMemory } from "./memory.ts";
import { type Plan, QUICK, THOROUGH } from "./plan.ts";
import { measureRequests } from "./requests.ts";
import { measureRouter } from "./router_process.ts";
import { measureStart } from "./start.ts";

/** The parts in order: their titles, and what measures them. */
const PARTS: Readonly<
  Record<string, readonly [title: string, (plan: Plan) => Promise<string>]>
> = {
  requests: [
    "Requests",
    (plan) => measureRequests(Object.keys(CASES), plan),
  ],
  router: ["Router", measureRouter],
  start: ["Start", measureStart],
  memory: ["Memory", measureMemory],
  blog: ["Blog", measureBlog],
};

const RESULTS = new URL("results.md", import.meta.url);

const asked = Deno.args.filter((arg) => !arg.startsWith("--"));
const unknown = asked.find((name) =>
  !Object.hasOwn(PARTS, name) && !Object.hasOwn(CASES, name)
);
if (unknown !== undefined) {
  const known = [...Object.keys(PARTS), ...Object.keys(CASES)];
  console.error(
    `Cannot measure "${unknown}": the parts are ${known.join(", ")}`,
  );
  Deno.exit(2);
}

const plan = Deno.args.includes("--quick") ? QUICK : THOROUGH;
const cases = asked.filter((name) => Object.hasOwn(CASES, name));
const sections: string[] = [await describeMachine(plan)];
console.log(sections[0]);
for (const [name, [title, measure]] of Object.entries(PARTS)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  sections.push(`## ${title}\n\n${await measure(plan)}`);
  console.log(`\n${sections.at(-1)}`);
}
if (cases.length > 0) console.log(await measureRequests(cases, plan));
sections.push(await describePeers());
if (asked.length === 0) {
  await Deno.writeTextFile(RESULTS, `# Results\n\n${sections.join("\n\n")}\n`);
}
