/**
 * Owns the way a server ends: what it still waits for, what it cuts, and ending with its process. How
 * it begins is the server's.
 */

import { report } from "./errors.ts";

/**
 * The handle of a running server. `shutdown()` drains it: it stops listening, gives running requests
 * and deferred work `framework.shutdown_timeout` seconds, and cuts the streams that are left then.
 * `finished` settles when that is done.
 */
export type Server = Deno.HttpServer<Deno.Addr>;

/** What the server asks of the application. */
export interface ServerContext {
  /** How many seconds running requests and deferred work get when the server drains. */
  shutdownTimeout(): number;
  /** Settles when the work that outlives its requests is done. */
  idle(): Promise<unknown>;
  /** Ends the streams that are being sent, and answers how many there were. */
  cutStreams(reason: unknown): number;
}

/** Why a stream ends that is still being sent when its server has to. */
export const CUT: Error = new Deno.errors.Interrupted(
  "The server has shut down",
);

/** The signals that end a process, with the exit code of one that they end at once. */
const SIGNALS: readonly (readonly [Deno.Signal, number])[] =
  Deno.build.os === "windows"
    ? [["SIGINT", 130]]
    : [["SIGINT", 130], ["SIGTERM", 143]];

/** The longest time a timer of the platform can take, in milliseconds. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** How long what was cut gets to notice, in milliseconds. */
const LAST_MOMENTS = 1_000;

/** The servers that end with the process. */
const ending = new Set<Server>();
let isAsked = false;

const listeners = SIGNALS.map(([signal, code]) =>
  [signal, () => endProcess(code)] as const
);

/** A server whose `shutdown()` drains it. */
export class DrainedServer implements Server {
  readonly addr: Deno.Addr;
  readonly finished: Promise<void>;
  readonly #server: Server;
  readonly #context: ServerContext;
  readonly #finish: () => void;
  #drained: Promise<void> | undefined;

  /** Takes the server of the runtime, whose own `shutdown()` waits for ever. */
  constructor(server: Server, context: ServerContext) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.addr = server.addr;
    this.finished = promise;
    this.#finish = resolve;
    this.#server = server;
    this.#context = context;
  }

  /** Drains the server, once. */
  shutdown(): Promise<void> {
    this.#drained ??= this.#drain().then(this.#finish);
    return this.finished;
  }

  /** Keeps the process alive, as it does from the beginning. */
  ref(): void {
    this.#server.ref();
  }

  /** Lets the process end while the server listens. */
  unref(): void {
    this.#server.unref();
  }

  /** The same as `shutdown()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  /** Lets running requests and deferred work finish, for so long; what is left then is cut off. */
  async #drain(): Promise<void> {
    const seconds = this.#context.shutdownTimeout();
    const done = this.#server.shutdown().then(() => this.#context.idle());
    if (await settles(done, seconds * 1_000)) return;
    const cut = this.#context.cutStreams(CUT);
    const isDone = cut > 0 && await settles(done, LAST_MOMENTS);
    const outcomes = [
      ...cut > 0 ? [`streams cut: ${cut}`] : [],
      ...isDone ? [] : ["requests or deferred work left unfinished"],
    ];
    report(
      `The server did not wait longer than ${seconds} s: ${
        outcomes.join(", ")
      }`,
    );
  }
}

/** Whether work settles within a time. */
async function settles(
  work: Promise<unknown>,
  milliseconds: number,
): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(
    () => resolve(false),
    Math.min(milliseconds, LONGEST_TIMER),
  );
  work.then(() => resolve(true));
  const settled = await promise;
  clearTimeout(timer);
  return settled;
}

/** Drains on the first signal and ends the process; a second signal ends it at once. */
export function endWithProcess(server: Server): void {
  if (ending.size === 0) {
    for (const [signal, end] of listeners) Deno.addSignalListener(signal, end);
  }
  ending.add(server);
  server.finished.then(() => {
    ending.delete(server);
    if (ending.size > 0 || isAsked) return;
    for (const [signal, end] of listeners) {
      Deno.removeSignalListener(signal, end);
    }
  });
}

/** Ends when all servers are drained, those of other applications in this process too. */
async function endProcess(code: number): Promise<void> {
  if (isAsked) Deno.exit(code);
  isAsked = true;
  await Promise.all([...ending].map((server) => server.shutdown()));
  Deno.exit();
}
