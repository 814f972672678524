/**
 * Measures this framework against a bare server and against other frameworks, prints tables and
 * writes them to `bench/results.md`. Linux only: what a process costs is read from `/proc`.
 *
 *     deno task bench [--quick] [part …]
 *     deno task bench [--quick] --against COMMIT [request …]
 *
 * The parts are `quiet`, `busy`, `parallel`, `router`, `start`, `memory`, `site` and `blog`, or the names of
 * requests such as `text`; without one, everything is measured and the results are written. `--against` compares
 * the work tree with a commit.
 */

import { compareWith } from "./against.ts";
import { measureBlog } from "./blog.ts";
import { CASES } from "./cases.ts";
import { describeMachine, describePeers } from "./machine.ts";
import { measureMemory } from "./memory.ts";
import { drawPicture } from "./picture.ts";
import { measureParallel } from "./parallel.ts";
import { FULL, type Plan, QUICK } from "./plan.ts";
import { measureBusy, measureQuiet } from "./requests.ts";
import { measureRouter } from "./router_process.ts";
import { measureSite } from "./site.ts";
import { measureStart } from "./start.ts";
import { type Figures, printTargets, recordRouter } from "./targets.ts";

type Measure = (plan: Plan, figures: Figures) => Promise<string>;

const RESULTS = new URL("results.md", import.meta.url);
const PICTURE = new URL("cpu.svg", import.meta.url);

const against = Deno.args.indexOf("--against") + 1;
const commit = against > 0 ? Deno.args[against] ?? "HEAD" : undefined;
const parts = Deno.args.filter((arg, place) =>
  !arg.startsWith("--") && (commit === undefined || place !== against)
);
const named = parts.filter((name) => Object.hasOwn(CASES, name));
const cases = named.length > 0 ? named : Object.keys(CASES);

/** The parts in order: their titles, and what measures them. */
const PARTS: Readonly<Record<string, readonly [string, Measure]>> = {
  quiet: [
    "Requests",
    (plan, figures) => measureQuiet(cases, plan, figures),
  ],
  busy: [
    "Requests, beside a neighbour that thrashes memory",
    (plan, figures) => measureBusy(cases, plan, figures),
  ],
  parallel: ["`deno serve --parallel`, two workers", measureParallel],
  router: ["Router", async (plan, figures) => {
    const text = await measureRouter(plan);
    recordRouter(text, figures);
    return text;
  }],
  start: ["Start", measureStart],
  memory: ["Memory", measureMemory],
  site: ["A page of a site", measureSite],
  blog: ["Blog", measureBlog],
};

const unknown = parts.find((name) =>
  !Object.hasOwn(PARTS, name) && !Object.hasOwn(CASES, name)
);
if (unknown !== undefined) {
  const known = [...Object.keys(PARTS), ...Object.keys(CASES)];
  console.error(
    `Cannot measure "${unknown}": the parts are ${known.join(", ")}`,
  );
  Deno.exit(2);
}

const quick = Deno.args.includes("--quick");
const plan = quick ? QUICK : FULL;
const figures: Figures = new Map();
const sections = [await describeMachine(plan)];
if (quick) {
  console.log("Quick look: few turns, nothing is written; trust no figure\n");
}
console.log(sections[0]);
if (commit !== undefined) {
  console.log(`\n${await compareWith(commit, cases, plan)}`);
  Deno.exit();
}
for (const [name, [title, measure]] of Object.entries(PARTS)) {
  if (!isWanted(name)) continue;
  const begin = performance.now();
  sections.push(`## ${title}\n\n${await measure(plan, figures)}`);
  const minutes = (performance.now() - begin) / 60_000;
  console.log(`\n${sections.at(-1)}\n\n(${minutes.toFixed(1)} minutes)`);
}
sections.splice(1, 0, `## Targets\n\n${printTargets(figures)}`);
console.log(`\n${sections[1]}`);
sections.push(await describePeers());
if (quick) console.log("\nQuick look: nothing was written");
else if (parts.length === 0) {
  await Deno.writeTextFile(RESULTS, `# Results\n\n${sections.join("\n\n")}\n`);
  await Deno.writeTextFile(PICTURE, drawPicture(figures));
}

/** Whether a part was named, or a request of it without any part, or nothing at all. */
function isWanted(part: string): boolean {
  if (parts.length === 0 || parts.includes(part)) return true;
  return part === "quiet" && parts.length === named.length;
}
