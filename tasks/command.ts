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

/** Where and with what environment Deno runs. */
export interface Surroundings {
  /** The working folder; the current one when not given. */
  readonly folder?: string;
  /** Variables beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs Deno with the arguments until it ends. */
export async function deno(
  args: readonly string[],
  surroundings: Surroundings = {},
): Promise<Outcome> {
  const command = denoCommand(args, surroundings);
  const { success, stdout, stderr } = await command.output();
  const [output, errors] = [stdout, stderr].map((bytes) =>
    new TextDecoder().decode(bytes)
  );
  return { success, output: output!, report: `${errors}${output}` };
}

/** A server that Deno runs, until it is disposed of. */
export class Serving implements AsyncDisposable {
  private constructor(
    readonly url: string,
    readonly child: Deno.ChildProcess,
  ) {}

  /** Starts Deno with the arguments; throws when it ends before it listens. */
  static async start(
    args: readonly string[],
    surroundings: Surroundings = {},
  ): Promise<Serving> {
    const child = denoCommand(args, surroundings).spawn();
    const printed = await firstOf(
      [child.stdout, child.stderr],
      /Listening on (http:\S+)/,
    );
    const url = /Listening on (http:\S+)/.exec(printed)?.[1];
    if (url !== undefined) return new Serving(url, child);
    await child.status;
    throw new Error(`Cannot run deno ${args.join(" ")}: ${printed}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.status;
  }
}
