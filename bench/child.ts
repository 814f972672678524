/**
 * Owns a server process that is measured: its start, its CPU time and memory, and its end. What is
 * sent to it is the load's.
 */

import { pin } from "./cores.ts";

/** A server: its script, and how it is run. */
export interface Script {
  /** Listens on a free port of 127.0.0.1 and prints it, unless it is run by workers. */
  readonly file: string;
  readonly args?: readonly string[];
  /** The repository that it is run in, this one when not given. */
  readonly root?: string;
  /** How many workers of `deno serve --parallel` run the `app` that the script exports. */
  readonly workers?: number;
  /** Whether it stays on the server's core. */
  readonly pinned?: boolean;
}

/** The flags for Deno that this run was given, such as an import map; children get them too. */
export const FLAGS: readonly string[] = Deno.args.filter((arg) =>
  arg.startsWith("--import-map=")
);

const PERMISSIONS = [
  "--allow-net=127.0.0.1",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-sys",
];

const ROOT = new URL("..", import.meta.url).pathname;

/** How long a server may take to listen, in milliseconds. */
const PATIENCE = 10_000;

/** A running server. */
export class Child implements AsyncDisposable {
  readonly port: number;
  readonly #process: Deno.ChildProcess;
  readonly #threads = new Map<string, number>();

  private constructor(process: Deno.ChildProcess, port: number) {
    this.#process = process;
    this.port = port;
  }

  /** Starts a script; throws when it does not listen. */
  static async start(script: Script): Promise<Child> {
    const { file, args = [], root = ROOT, workers } = script;
    const served = workers === undefined ? undefined : freePort();
    const process = new Deno.Command(Deno.execPath(), {
      args: [
        ...served === undefined ? ["run"] : serveFlags(served),
        "--quiet",
        "--no-check",
        "--no-lock",
        ...FLAGS,
        ...PERMISSIONS,
        ...(served === undefined ? [file] : ["servers/served.ts", file])
          .map((each) => `${root}bench/${each}`),
        ...args,
        ...served === undefined ? [] : ["served"],
      ],
      cwd: root, // where the import map is
      env: workers === undefined ? {} : { DENO_JOBS: String(workers) },
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const port = served ?? Number(await firstLine(process.stdout));
    const child = new Child(process, port);
    if (served === undefined ? port > 0 : await listens(port)) {
      if (script.pinned) pin(process.pid, "server");
      return child;
    }
    await child[Symbol.asyncDispose]();
    throw new Error(`Cannot start "${file}": it does not listen`);
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

function serveFlags(port: number): string[] {
  return ["serve", "--parallel", "--host=127.0.0.1", `--port=${port}`];
}

/** A port that nobody listens on; `deno serve --parallel` would give each worker its own for 0. */
function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Whether a server accepts connections on a port, now or soon. */
async function listens(port: number): Promise<boolean> {
  const end = performance.now() + PATIENCE;
  while (performance.now() < end) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return true;
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  return false;
}

async function firstLine(output: ReadableStream<Uint8Array>): Promise<string> {
  const reader = output.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
  }
  drain(reader);
  return text.split("\n", 1)[0]!;
}

/** Reads on, as a log's reader does: a server whose output nobody reads would wait. */
async function drain(reader: ReadableStreamDefaultReader): Promise<void> {
  while (!(await reader.read()).done);
}
