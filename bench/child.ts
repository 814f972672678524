/**
 * Owns a server process that is measured: starting it, its CPU time and memory, and its end. What is
 * sent to it is the load's.
 */

/** A script that listens on a free port of 127.0.0.1 and prints it, with its arguments. */
export interface Script {
  readonly file: string;
  readonly args?: readonly string[];
}

/** The flags for Deno that were given to this run, such as an import map: children get them too. */
const FLAGS = Deno.args.filter((arg) => arg.startsWith("--import-map="));

const PERMISSIONS = [
  "--allow-net=127.0.0.1",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-sys",
];

/** A running server. */
export class Child implements AsyncDisposable {
  readonly port: number;
  readonly #process: Deno.ChildProcess;
  readonly #threads = new Map<string, number>();

  private constructor(process: Deno.ChildProcess, port: number) {
    this.#process = process;
    this.port = port;
  }

  /** Starts a script; throws when it does not print a port. */
  static async start({ file, args = [] }: Script): Promise<Child> {
    const process = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--quiet",
        "--no-check",
        "--no-lock",
        ...FLAGS,
        ...PERMISSIONS,
        new URL(file, import.meta.url).pathname,
        ...args,
      ],
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const line = await firstLine(process.stdout);
    const port = Number(line);
    if (Number.isInteger(port) && port > 0) return new Child(process, port);
    process.kill("SIGKILL");
    await process.status;
    throw new Error(`Cannot start "${file}": it printed "${line}" as its port`);
  }

  /**
   * The CPU time of the process so far, in microseconds: the kernel counts it for each thread, in
   * nanoseconds, where `/proc/<pid>/stat` would give hundredths of a second.
   */
  cpu(): number {
    const folder = `/proc/${this.#process.pid}/task`;
    for (const { name } of Deno.readDirSync(folder)) {
      try {
        const text = Deno.readTextFileSync(`${folder}/${name}/schedstat`);
        this.#threads.set(name, Number(text.split(" ")[0]) / 1_000);
      } catch (error) {
        // A thread that has ended meanwhile keeps the time of the last look.
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
    }
    return this.#threads.values().reduce((sum, time) => sum + time, 0);
  }

  /** The memory that the process keeps resident, in bytes. */
  memory(): number {
    const status = Deno.readTextFileSync(`/proc/${this.#process.pid}/status`);
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
  }

  /** Ends the process. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#process.status;
  }
}

async function firstLine(output: ReadableStream<Uint8Array>): Promise<string> {
  const reader = output.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
  }
  reader.releaseLock();
  return text.split("\n", 1)[0]!;
}
