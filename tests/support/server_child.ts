/** Owns running an application as a process, under `deno run` or `deno serve`. */

import { Process, type ProcessOptions } from "../../tasks/process.ts";
import { absoluteImports } from "./import_map.ts";

/** How an application is run. */
export interface ChildOptions {
  /** The subcommand with its own flags; `run` when not given. */
  readonly command?: readonly string[];
  /** The permissions; `--allow-net=127.0.0.1` when not given. */
  readonly permissions?: readonly string[];
  /** Variables of the environment beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** How many files and connections it may have open at once; as many as this process when not given. */
  readonly descriptors?: number;
  /** Seconds after which it is killed if it has not ended; 60 when not given. */
  readonly limit?: number;
}

/** A running application. */
export class ServerProcess extends Process {
  readonly #file: string;

  private constructor(
    file: string,
    command: readonly [string, ...string[]],
    options: ProcessOptions,
  ) {
    super(command, options);
    this.#file = file;
  }

  /** Starts the source of a module, which imports `@framework/core`. */
  static async start(
    source: string,
    {
      command = ["run"],
      permissions = ["--allow-net=127.0.0.1"],
      env = {},
      descriptors,
      limit = 60,
    }: ChildOptions = {},
  ): Promise<ServerProcess> {
    const file = await Deno.makeTempFile({ suffix: ".ts" });
    await Deno.writeTextFile(file, source);
    const map = JSON.stringify({ imports: await absoluteImports() });
    const run = [
      Deno.execPath(),
      ...command,
      "--no-prompt",
      "--no-config",
      "--no-lock",
      `--import-map=data:application/json,${encodeURIComponent(map)}`,
      ...permissions,
      file,
    ] as const;
    const script = `ulimit -n ${descriptors}; exec "$0" "$@"`;
    const child: readonly [string, ...string[]] = descriptors === undefined
      ? run
      : ["sh", "-c", script, ...run];
    return new ServerProcess(file, child, { env, limit });
  }

  /** The port it listens on. */
  async port(): Promise<number> {
    const [, port] = await this.prints(/Listening on https?:\/\/[^/]+:(\d+)\//);
    return Number(port);
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await Deno.remove(this.#file);
  }
}
