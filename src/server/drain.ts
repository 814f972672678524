/**
 * Owns the way a server ends: what it still waits for, what it cuts, and ending with its process. How
 * it begins is the server's.
 */

import type { Backlog } from "../state/background.ts";
import { report } from "../errors.ts";
import { surviveErrors } from "../state/uncaught.ts";
import { settles } from "../timer.ts";

/**
 * The handle of a running server. `shutdown()` drains it: it stops listening, gives running requests
 * and deferred work `framework.shutdown_timeout` seconds, and cuts the streams that are left then.
 * `finished` settles when that is done.
 */
export type Server = Deno.HttpServer<Deno.Addr>;

/** Why a stream ends that is still being sent when its server has to. */
export const CUT: Error = new Deno.errors.Interrupted(
  "The server has shut down",
);

/** The signals that end a process, with the exit code of one that they end at once. */
const SIGNALS: readonly (readonly [Deno.Signal, number])[] =
  Deno.build.os === "windows"
    ? [["SIGINT", 130]]
    : [["SIGINT", 130], ["SIGTERM", 143]];

/** How long what was cut gets to notice, in seconds. */
const LAST_MOMENTS = 1;

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
  readonly #backlog: Backlog;
  readonly #patience: () => number;
  readonly #finish: () => void;
  #drained: Promise<void> | undefined;

  /** Takes the server of the runtime, whose own `shutdown()` waits for ever; `patience` is in seconds. */
  constructor(server: Server, backlog: Backlog, patience: () => number) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.addr = server.addr;
    this.finished = promise;
    this.#finish = resolve;
    this.#server = server;
    this.#backlog = backlog;
    this.#patience = patience;
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
    const seconds = this.#patience();
    const done = this.#server.shutdown().then(() => this.#backlog.idle());
    if (await settles(done, seconds)) return;
    const cut = this.#backlog.cutStreams(CUT);
    const isDone = cut > 0 && await settles(done, LAST_MOMENTS);
    const outcome = [
      ...cut > 0 ? [`streams cut: ${cut}`] : [],
      ...isDone ? [] : ["requests or deferred work left unfinished"],
    ].join(", ");
    report(`The server did not wait longer than ${seconds} s: ${outcome}`);
  }
}

/** Drains on the first signal and ends the process; a second signal ends it at once. */
export function endWithProcess(server: Server): void {
  if (ending.size === 0) {
    for (const [signal, end] of listeners) Deno.addSignalListener(signal, end);
  }
  ending.add(server);
  const release = surviveErrors();
  server.finished.then(() => {
    ending.delete(server);
    release();
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
