/** Owns a server process: its start, its core, its CPU time and memory, and its end. */

import { script } from "./command.ts";

/** A running server. */
export class Server implements AsyncDisposable {
  readonly port: number;
  readonly #process: Deno.ChildProcess;

  private constructor(process: Deno.ChildProcess, port: number) {
    this.#process = process;
    this.port = port;
  }

  /** Runs a script of this folder, which listens on a free port of 127.0.0.1 and prints that port first. */
  static async start(file: string, ...args: string[]): Promise<Server> {
    const process = script(file, ...args).spawn();
    const output = process.stdout.pipeThrough(new TextDecoderStream())
      .getReader();
    const port = Number((await output.read()).value);
    const server = new Server(process, port);
    if (port > 0) {
      discard(output);
      return server;
    }
    await server[Symbol.asyncDispose]();
    throw new Error(`Cannot start "${file}": it does not listen`);
  }

  /** Gives the process the first core to itself, and this one the second. */
  pin(): void {
    pin(this.#process.pid, 0);
    pin(Deno.pid, 1);
  }

  /** The CPU time of the process so far, of user and kernel, in microseconds. */
  cpu(): number {
    const stat = Deno.readTextFileSync(`/proc/${this.#process.pid}/stat`);
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = Number(fields[11]) + Number(fields[12]);
    return ticks * 10_000; // Linux counts hundredths of a second for every program.
  }

  /** The memory that the process keeps resident, in megabytes. */
  memory(): number {
    const status = Deno.readTextFileSync(`/proc/${this.#process.pid}/status`);
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024;
  }

  /** Ends the process. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#process.status;
  }
}

/** Starts the servers of some contenders; the stack ends them. */
export async function startAll(
  contenders: Readonly<Record<string, string>>,
  stack: AsyncDisposableStack,
): Promise<[contender: string, server: Server][]> {
  const servers: [string, Server][] = [];
  for (const [contender, file] of Object.entries(contenders)) {
    const server = stack.use(await Server.start("serve.ts", file));
    servers.push([contender, server]);
  }
  return servers;
}

/** Reads on: a server whose log nobody reads would wait. */
async function discard(output: ReadableStreamDefaultReader): Promise<void> {
  while (!(await output.read()).done);
}

/** Moves a process to a core, where there are two and `taskset` is installed. */
function pin(pid: number, core: number): void {
  if (navigator.hardwareConcurrency < 2) return;
  try {
    new Deno.Command("taskset", {
      args: ["--all-tasks", "--cpu-list", "--pid", String(core), String(pid)],
      stdout: "null",
    }).outputSync();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
