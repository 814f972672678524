/**
 * Owns the gate: runs every check, prints a line for each and exits with 1 when one fails. `--without-tests` leaves
 * out the checks whose names begin with that word, for a caller that has run the tests; `--without-format` likewise.
 */

import { deno, type Outcome } from "./command.ts";
import { rehearsePublishing } from "./package.ts";

type Check = () => Promise<Outcome>;

const { output } = await deno(["task", "-q", "flag"]);
const flags = output.split("\n").filter((line) => line !== "");
const withoutLock = flags.filter((flag) => !flag.startsWith("--lock="));
const { exports } = JSON.parse(await Deno.readTextFile("deno.json"));

/** Slow types are found by `publish`: `lint` would look for JSR. */
const LINT = ["lint", "--rules-exclude=no-slow-types"];

/** The checks by name. */
const CHECKS: Readonly<Record<string, Check>> = {
  format: () => deno(["fmt", "--check"]),
  lint: () => deno([...LINT, "--ignore=mod.ts,src/"]),
  "lint of the package": () =>
    deno([...LINT, "--rules-include=no-console", "mod.ts", "src/"]),
  types: () => deno(["task", "-q", "check"]),
  // What they compare with is locked nowhere: nobody should fetch it for the blog or the tests.
  "types of the benchmarks": () =>
    deno(["check", "-q", "--no-lock", ...withoutLock, "bench"]),
  tests: () => deno(["task", "-q", "test"]),
  "tests of processes and browsers": () => deno(["task", "-q", "test:e2e"]),
  documentation: () =>
    deno(["doc", "--lint", ...flags, ...Object.values<string>(exports)]),
  package: rehearsePublishing,
};

/** How the tests tell where no terminal is that each of them has ended. */
const DOTS = /^[.,!]\n/gm;

let [passed, failed] = [0, 0];
for (const [name, check] of Object.entries(CHECKS)) {
  const [kind] = name.split(" ");
  if (Deno.args.includes(`--without-${kind}`)) continue;
  const { success, report } = await check();
  if (success) passed++;
  else failed++;
  console.log(
    success
      ? `ok      ${name}`
      : `FAILED  ${name}\n${report.replace(DOTS, "")}`,
  );
}
console.log(`${passed} checks passed, ${failed} failed`);
Deno.exit(failed === 0 ? 0 : 1);
