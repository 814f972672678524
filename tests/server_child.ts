/**
 * Owns running an application as a process of its own, under `deno run` or `deno serve`. What such a
 * process is asked and told is the tests'.
 */

import { absoluteImports } from "./import_map.ts";

/** How an application is run. */
export interface ChildOptions {
  /** The subcommand with its own flags; `run` when not given. */
  readonly command?: readonly string[];
  /** The permissions; `--allow-net=127.0.0.1` when not given. */
  readonly permissions?: readonly string[];
  /** How many files and connections it may have open at once; as many as this process when not given. */
  readonly descriptors?: number;
  /** After how many seconds it is ended, as what is waited for will not come; 60 when not given. */
  readonly limit?: number;
}

/** A running application. */
export class ServerProcess implements AsyncDisposable {
  /** What it printed, standard output and error mixed. */
  printed = "";
  readonly #child: Deno.ChildProcess;
  readonly #file: string;
  readonly #read: Promise<unknown>;
  #changed = Promise.withResolvers<void>();
  #isOver = false;

  private constructor(child: Deno.ChildProcess, file: string, limit: number) {
    this.#child = child;
    this.#file = file;
    const timer = setTimeout(() => child.kill("SIGKILL"), limit * 1000);
    this.#read = Promise.all([
      this.#print(child.stdout),
      this.#print(child.stderr),
    ])
      .then(() => {
        clearTimeout(timer);
        this.#isOver = true;
        this.#changed.resolve();
      });
  }

  /** Starts the source of a module, which imports `@framework/core`. */
  static async start(
    source: string,
    {
      command = ["run"],
      permissions = ["--allow-net=127.0.0.1"],
      descriptors,
      limit = 60,
    }: ChildOptions = {},
  ): Promise<ServerProcess> {
    const file = await Deno.makeTempFile({ suffix: ".ts" });
    await Deno.writeTextFile(file, source);
    const map = JSON.stringify({ imports: await absoluteImports() });
    const [program, ...args] = limited(descriptors, [
      Deno.execPath(),
      ...command,
      "--no-prompt",
      "--no-config",
      "--no-lock",
      `--import-map=data:application/json,${encodeURIComponent(map)}`,
      ...permissions,
      file,
    ]);
    const child = new Deno.Command(program!, {
      args,
      env: { NO_COLOR: "1" },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    return new ServerProcess(child, file, limit);
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Waits until it has printed what the expression finds; throws when it ends before. */
  async prints(expression: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = expression.exec(this.printed);
      if (found !== null) return found;
      if (this.#isOver) {
        throw new Error(`It never printed ${expression}: ${this.printed}`);
      }
      await this.#changed.promise;
      this.#changed = Promise.withResolvers();
    }
  }

  /** The port it listens on. */
  async port(): Promise<number> {
    const [, port] = await this.prints(/Listening on https?:\/\/[^/]+:(\d+)\//);
    return Number(port);
  }

  /** Sends a signal. */
  kill(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  /** How it ended, once all it printed is there. */
  async ended(): Promise<Deno.CommandStatus> {
    await this.#read;
    return await this.#child.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOver) this.#child.kill("SIGKILL");
    await this.ended();
    await Deno.remove(this.#file);
  }

  async #print(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      this.printed += text;
      this.#changed.resolve();
    }
  }
}

/** A command that may have only so many files open: the shell lowers the limit and becomes the command. */
function limited(descriptors: number | undefined, command: string[]): string[] {
  if (descriptors === undefined) return command;
  return ["sh", "-c", `ulimit -n ${descriptors}; exec "$0" "$@"`, ...command];
}
