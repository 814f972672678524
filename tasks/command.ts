/** Owns running Deno itself to its end: the same executable, what it prints gathered. */

/** How a run ended. */
export interface Outcome {
  readonly success: boolean;
  /** What it printed, errors first. */
  readonly report: string;
  /** What it printed to the standard output. */
  readonly output: string;
}

/** Runs Deno with the arguments in a folder. */
export async function deno(
  args: readonly string[],
  cwd = ".",
): Promise<Outcome> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd,
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  const [output, errors] = [decoder.decode(stdout), decoder.decode(stderr)];
  return { success, report: errors + output, output };
}
