/**
 * Owns reading the server's error log in a test.
 */

/** The time at the beginning of each line of the log. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z /;

/**
 * Runs work and returns the lines that it wrote to the error log, without their times; they do not show
 * in the output. Throws when a line does not begin with the time.
 */
export async function logOf(work: () => unknown): Promise<string[]> {
  const lines: string[] = [];
  const { error } = console;
  console.error = (...parts: unknown[]) => {
    const line = parts.join(" ");
    if (!TIME.test(line)) throw new Error(`The line has no time: ${line}`);
    lines.push(line.replace(TIME, ""));
  };
  try {
    await work();
  } finally {
    console.error = error;
  }
  return lines;
}
