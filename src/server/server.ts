/** Owns a running server: draining it when it is shut down, and ending the process on signals. */

import { report, reportError } from "../report.ts";
import { configure } from "../state/current.ts";
import { surviveErrors } from "../state/uncaught.ts";
import { flushAll, settlesWithin } from "../waiting.ts";

/**
 * The handle of a running server. `shutdown()` drains it: it stops listening, gives running requests
 * and deferred work `framework.shutdown_timeout` seconds, and aborts the streams that are left then.
 * `finished` resolves when that is done, and rejects when the server could not go on listening.
 */
export type Server = Deno.HttpServer<Deno.Addr>;

/** How many seconds aborted streams get to clean up, and the reader of a log for its last lines. */
const CLEAN_UP_SECONDS = 1;

/** Two signals within so many milliseconds are one press of Ctrl+C, which `deno task` passes on twice. */
const PRESS_MILLISECONDS = 250;

/** What is served; an `Application` is that. */
export interface Served {
  readonly settings: { readonly "framework.shutdown_timeout": number };
  /** Whether the server is shutting down. */
  isDraining: boolean;
  /** Deferred work that is running. */
  readonly deferred: ReadonlySet<Promise<unknown>>;
  /** The streams being sent; the clients of resumable ones connect again. */
  readonly streams: ReadonlySet<{
    readonly isResumable: boolean;
    stop(): void;
  }>;
}

export class DrainingServer implements Server {
  readonly addr: Deno.Addr;
  readonly #end = Promise.withResolvers<void>();
  /** `finished` for the framework's own use: handling that one would hide a rejection from Deno. */
  readonly ended = this.#end.promise;
  readonly finished = this.ended.then();
  readonly #server: Server;
  #drained: Promise<void> | undefined;

  constructor(
    server: Server,
    readonly app: Served,
    readonly onShutdown: (() => unknown) | undefined,
  ) {
    this.#server = server;
    this.addr = server.addr;
    server.finished.then(() => {}, (error) => this.#fail(error));
  }

  /** Drains the server. Further calls wait for the same drain. */
  async shutdown(): Promise<void> {
    await (this.#drained ??= this.#drain());
    this.#end.resolve();
  }

  ref(): void {
    this.#server.ref();
  }

  unref(): void {
    this.#server.unref();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  /** Without file descriptors, the runtime stops accepting connections: better to end than to refuse every client. */
  async #fail(error: Error): Promise<void> {
    if (this.#drained) return;
    report(`The server stopped accepting connections (${error.message})`);
    await (this.#drained = this.#drain());
    this.#end.reject(error);
  }

  async #drain(): Promise<void> {
    const { app } = this;
    const seconds = app.settings["framework.shutdown_timeout"];
    const end = performance.now() + seconds * 1_000;
    app.isDraining = true;
    const done = this.#finish();
    for (const stream of app.streams) if (stream.isResumable) stream.stop();
    if (!await settlesWithin(done, seconds)) {
      report(`Shut down after ${seconds} s with work unfinished`);
      const hasStreams = app.streams.size > 0;
      for (const stream of app.streams) stream.stop();
      if (hasStreams) await settlesWithin(done, CLEAN_UP_SECONDS);
    }
    const left = Math.max(CLEAN_UP_SECONDS, (end - performance.now()) / 1_000);
    const isDone = await settlesWithin(this.#callOnShutdown(), left);
    if (!isDone) report("Shut down with onShutdown unfinished");
    app.isDraining = false;
  }

  /** Resolves when all requests, streams and deferred work are done. */
  async #finish(): Promise<void> {
    await this.#server.shutdown().catch(() => {});
    const { deferred } = this.app;
    while (deferred.size > 0) await Promise.all(deferred);
  }

  /** Calls `onShutdown` as the application itself. Its error becomes the status of the process. */
  async #callOnShutdown(): Promise<void> {
    try {
      await configure(async () => await this.onShutdown?.());
    } catch (error) {
      reportError(error, "in onShutdown");
      Deno.exitCode = 1;
    }
  }
}

const servers = new Set<DrainingServer>();
let ending: Promise<void> | undefined;

/**
 * Keeps the process alive on uncaught errors while the server runs. With `signals`, a first signal drains the server and
 * ends the process with it, a second one ends it at once.
 */
export function endWithProcess(server: DrainingServer, signals: boolean): void {
  const undo = [surviveErrors(() => endProcess(1))];
  if (signals) undo.push(onSignal("SIGINT", 130));
  // Windows has no SIGTERM.
  if (signals && Deno.build.os !== "windows") {
    undo.push(onSignal("SIGTERM", 143));
  }
  servers.add(server);
  server.ended.catch(() => endProcess(1)).then(() => {
    servers.delete(server);
    if (ending === undefined) undo.forEach((each) => each());
  });
  server.finished.catch(() => {}); // it is logged, and the process ends
}

/** A second signal ends the process with the status. */
function onSignal(signal: Deno.Signal, status: number): () => void {
  let first: number | undefined;
  const listener = (): void => {
    first ??= performance.now();
    if (performance.now() - first > PRESS_MILLISECONDS) return exit(status);
    endProcess(0);
  };
  Deno.addSignalListener(signal, listener);
  return () => Deno.removeSignalListener(signal, listener);
}

/** Drains all servers of this process, and then ends it. */
function endProcess(status: number): void {
  if (status > 0) Deno.exitCode = status;
  ending ??= Promise.allSettled([...servers].map((each) => each.shutdown()))
    .then(() => flushAll(CLEAN_UP_SECONDS))
    .then(() => exit(Deno.exitCode));
}

/** Ends the process; under `deno run --watch` only the program, where `Deno.exit()` then throws. */
function exit(status: number): void {
  try {
    Deno.exit(status);
  } catch {
    // the runtime ends the program as soon as this returns
  }
}
