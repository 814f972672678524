/**
 * Owns reading the server's error log in a test.
 */

import { stub } from "@std/testing/mock";

/** The time at the beginning of each line of the log. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z /;

/**
 * Runs work and returns the lines that it wrote to the error log, without their times; they do not show
 * in the output. Throws when a line does not begin with the time.
 */
export async function logOf(work: () => unknown): Promise<string[]> {
  using error = stub(console, "error");
  await work();
  return error.calls.map(({ args }) => {
    const line = args.join(" ");
    if (!TIME.test(line)) throw new Error(`The line has no time: ${line}`);
    return line.replace(TIME, "");
  });
}
