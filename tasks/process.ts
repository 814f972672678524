/**
 * Owns processes that tests and tasks start. Each ends with its owner, and so does all that it has started
 * itself: a process group of its own is killed when the owner disposes of it, and a guard outside kills what
 * is left when the owner's process ends in any other way, however it does. POSIX only.
 */

/** How a process is started. */
export interface ProcessOptions {
  /** The working folder; the current one when not given. */
  readonly cwd?: string;
  /** Variables of the environment beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** After how many seconds it is killed, since what is waited for will not come; 120 when not given. */
  readonly limit?: number;
}

/** Reads lines of process groups until its input ends, and then kills the groups of the last line. */
const GUARD =
  "while read -r groups; do last=$groups; done; kill -s KILL -- $last";

/** How a system refuses a signal to processes that have just ended: macOS does it in another way. */
const ENDED = [Deno.errors.NotFound, Deno.errors.PermissionDenied];

const running = new Set<number>();
const guard = new Deno.Command("sh", {
  args: ["-c", GUARD],
  detached: true, // from a terminal whose Ctrl+C would end the guard too
  stdin: "piped",
  stdout: "null",
  stderr: "null",
}).spawn();
guard.unref();
const guarded = guard.stdin.getWriter();

/** A running process with what it has printed. */
export class Process implements AsyncDisposable {
  /** What it printed, standard output and error mixed. */
  printed = "";
  readonly #child: Deno.ChildProcess;
  readonly #read: Promise<unknown>;
  #changed = Promise.withResolvers<void>();
  #isOver = false;

  /** Starts a program with its arguments. */
  constructor(
    [program, ...args]: readonly [string, ...string[]],
    { cwd = ".", env = {}, limit = 120 }: ProcessOptions = {},
  ) {
    this.#child = new Deno.Command(program, {
      args,
      cwd,
      env: { NO_COLOR: "1", ...env },
      detached: true,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    running.add(this.pid);
    const timer = setTimeout(() => this.#killGroup(), limit * 1000);
    this.#read = Promise.all([
      tellGuard(),
      this.#print(this.#child.stdout),
      this.#print(this.#child.stderr),
      this.#child.status, // its output ends before it does when that goes elsewhere
    ]).then(() => {
      clearTimeout(timer);
      this.#isOver = true;
      this.#changed.resolve();
    });
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
    }
  }

  /** Sends a signal to the process, unless it has ended; those that it has started get none. */
  kill(signal: Deno.Signal): void {
    try {
      this.#child.kill(signal);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
  }

  /** How it ended, once all it printed is there. */
  async ended(): Promise<Deno.CommandStatus> {
    await this.#read;
    return await this.#child.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#killGroup();
    await this.ended();
    running.delete(this.pid);
    await tellGuard();
  }

  /** Kills the process with what it has started. All that shares its output has ended when that ends. */
  #killGroup(): void {
    if (this.#isOver) return;
    try {
      Deno.kill(-this.pid, "SIGKILL");
    } catch (error) {
      if (!ENDED.some((kind) => error instanceof kind)) throw error;
    }
  }

  async #print(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      this.printed += text;
      this.#changed.resolve();
      this.#changed = Promise.withResolvers();
    }
  }
}

async function tellGuard(): Promise<void> {
  const groups = [...running].map((pid) => `-${pid}`).join(" ");
  await guarded.write(new TextEncoder().encode(`${groups}\n`));
}
