/** Owns running Deno itself to its end: the same executable, its output gathered. */

/** How a run ended. */
export interface Outcome {
  /** Whether it exited with 0. */
  readonly success: boolean;
  /** What it printed to the standard output. */
  readonly output: string;
  /** What it printed in all, the standard error first. */
  readonly report: string;
}

/** Where and with what environment Deno runs. */
export interface Surroundings {
  /** The working folder; the current one when not given. */
  readonly cwd?: string;
  /** Variables beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs Deno with the arguments. */
export async function deno(
  args: readonly string[],
  { cwd = ".", env = {} }: Surroundings = {},
): Promise<Outcome> {
  const command = new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd,
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
  });
  const { success, stdout, stderr } = await command.output();
  const [output, errors] = [stdout, stderr].map((bytes) =>
    new TextDecoder().decode(bytes)
  );
  return { success, output: output!, report: `${errors}${output}` };
}
