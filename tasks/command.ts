/** Owns running Deno itself: the same executable, its output gathered. */

/** How a run ended. */
export interface Outcome {
  /** Whether it exited with 0. */
  readonly success: boolean;
  /** What it printed to the standard output. */
  readonly output: string;
  /** What it printed in all, the standard error first. */
  readonly report: string;
}

/** Runs Deno with the arguments, in the folder. */
export async function deno(
  args: readonly string[],
  folder = ".",
): Promise<Outcome> {
  const command = new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: folder,
    stdin: "null",
    env: { NO_COLOR: "1" },
  });
  const { success, stdout, stderr } = await command.output();
  const [output, errors] = [stdout, stderr].map((bytes) =>
    new TextDecoder().decode(bytes)
  );
  return { success, output: output!, report: `${errors}${output}` };
}
