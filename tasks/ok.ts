/**
 * Owns the gate: runs every check there is, prints a line for each and exits with 1 when one fails.
 * `--without-tests` leaves the suite out, for a caller that has run it already, and so for every other check by
 * its name: another Deno may format in another way.
 */

import { runCommands } from "./clone.ts";
import { deno, type Outcome } from "./command.ts";
import { rehearse } from "./consumer.ts";
import { checkDocumentation } from "./documentation.ts";

const { output } = await deno(["task", "-q", "flag"]);
const flags = output.split("\n").filter((line) => line !== "");
const withoutLock = flags.filter((flag) => !flag.startsWith("--lock="));

/** The checks by name. Slow types are found by the rehearsal: `lint` would look for JSR. */
const CHECKS: Record<string, () => Promise<Outcome>> = {
  format: () => deno(["fmt", "--check"]),
  lint: () =>
    deno(["lint", "--rules-exclude=no-slow-types", "--ignore=mod.ts,src/"]),
  "lint of the package": () =>
    deno([
      "lint",
      "--rules-exclude=no-slow-types",
      "--rules-include=no-console",
      "mod.ts",
      "src/",
    ]),
  types: () => deno(["task", "-q", "check"]),
  // What they compare with is locked nowhere: nobody should fetch it for the blog or the tests.
  "types of the benchmarks": () =>
    deno(["check", "-q", "--no-lock", ...withoutLock, "bench"]),
  tests: () => deno(["task", "-q", "test"]),
  documentation: () => checkDocumentation(flags),
  "commands of README": runCommands,
  package: () => rehearse(),
};

for (const name of Object.keys(CHECKS)) {
  if (Deno.args.includes(`--without-${name}`)) delete CHECKS[name];
}

let failed = 0;
for (const [name, check] of Object.entries(CHECKS)) {
  const { success, report } = await check().catch(broken);
  if (!success) failed++;
  console.log(success ? `ok      ${name}` : `FAILED  ${name}\n${report}`);
  if (success) warn(report);
}
console.log(
  `${Object.keys(CHECKS).length - failed} checks passed, ${failed} failed`,
);
Deno.exit(failed === 0 ? 0 : 1);

/** Prints the warnings of a check that passed. */
function warn(report: string): void {
  for (const line of report.split("\n")) {
    if (line.startsWith("warning ")) console.log(`        ${line}`);
  }
}

/** A check that could not be made has failed. */
function broken(error: unknown): Outcome {
  return { success: false, output: "", report: String(error) };
}
