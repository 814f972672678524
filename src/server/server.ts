/**
 * Owns a running server: draining it when it is shut down, and listening again when the runtime has stopped
 * accepting connections. Options are in `listen.ts`, ending the process in `process.ts`.
 */

import { counted, report, reportError } from "../report.ts";
import { socketLost } from "../runtime.ts";
import {
  CLEAN_UP_SECONDS,
  inWords,
  type Unfinished,
} from "../state/unfinished.ts";
import { settlesWithin, sleep, until } from "../timer.ts";

/**
 * The handle of a running server. `shutdown()` drains it: it stops listening, gives running requests
 * and deferred work `framework.shutdown_timeout` seconds, and aborts the streams that are left then.
 * `finished` resolves when that is done, and rejects when the server could not go on listening.
 */
export type Server = Deno.HttpServer<Deno.Addr>;

/** The application that a server passes its requests to. */
export interface ServedApplication {
  readonly unfinished: Unfinished;
  /** Whether `deno serve` runs it. */
  isUnderDenoServe: boolean;
  /** Whether its server has TLS; undefined where that is not known. */
  isSecure: boolean | undefined;
  /** Call when a server has begun to listen. */
  warnOfMistakes(): void;
  /** Runs work outside of every request. */
  configure<Result>(work: () => Result): Result;
}

/** Makes the runtime listen, on the given port or else on that of the options. */
type Listen = (port?: number) => Server;

/** How many seconds pass before the server tries to listen again. */
const PAUSE_SECONDS = 0.5;

/** A server that drains, and listens again. */
export class DrainingServer implements Server {
  readonly addr: Deno.Addr;
  readonly #end = Promise.withResolvers<void>();
  /** `finished` for the framework's own use: handling that one would hide a rejection from Deno. */
  readonly ended = this.#end.promise;
  readonly finished = this.ended.then();
  #server: Server;
  #isReferenced = true;
  #stopped: Promise<unknown> = Promise.resolve();
  #drained: Promise<void> | undefined;

  /**
   * Listens, and calls `listen` again with the same port whenever the runtime has stopped. The application's
   * time-out bounds a drain, with the call of `onShutdown` after it, and how long the server tries to listen again.
   */
  constructor(
    readonly listen: Listen,
    readonly served: ServedApplication,
    readonly onShutdown: (() => unknown) | undefined,
  ) {
    this.#server = listen();
    this.addr = this.#server.addr;
    this.#keepListening();
  }

  /** Drains the server. Further calls wait for the same drain. */
  async shutdown(): Promise<void> {
    await (this.#drained ??= this.#drain());
    this.#end.resolve();
  }

  /** Keeps the process alive, as it does from the beginning. */
  ref(): void {
    this.#isReferenced = true;
    this.#server.ref();
  }

  /** Lets the process end while the server listens. */
  unref(): void {
    this.#isReferenced = false;
    this.#server.unref();
  }

  /** The same as `shutdown()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  /**
   * Listens again whenever the runtime has stopped, for example for lack of file descriptors: its accept loop ends at
   * the first such error, with the process alive and every later client refused. Ending the process instead would drop
   * the requests and sockets that are open, and leave it to others to restart it. Shutting down the old server closes
   * its idle connections; running requests go on.
   */
  async #keepListening(): Promise<void> {
    for (;;) {
      const cause = await this.#server.finished.catch((error) => error);
      if (this.#drained) return;
      const why = cause?.message ?? "the runtime closed it";
      report(
        `The server stopped accepting connections (${why}) and will listen again`,
      );
      const old = this.#server.shutdown().catch(() => {});
      this.#stopped = Promise.all([this.#stopped, old]);
      try {
        await this.#listenAgain();
      } catch (error) {
        report(`The server could not listen again: ${error}`);
        await (this.#drained ??= this.#drain());
        return this.#end.reject(error);
      }
    }
  }

  /** Tries to listen until it works; rejects with the last error when the time is over. */
  async #listenAgain(): Promise<void> {
    const seconds = this.served.unfinished.timeoutSeconds();
    const end = performance.now() + seconds * 1_000;
    for (;;) {
      await sleep(PAUSE_SECONDS);
      if (this.#drained) return;
      try {
        this.#server = this.listen((this.addr as Deno.NetAddr).port);
        if (!this.#isReferenced) this.#server.unref();
        return report("The server is accepting connections again");
      } catch (error) {
        if (performance.now() >= end) throw error;
      }
    }
  }

  /** Finishes requests and deferred work, and then calls `onShutdown`, both within the time-out. */
  async #drain(): Promise<void> {
    const { unfinished } = this.served;
    unfinished.isDraining = true;
    const seconds = unfinished.timeoutSeconds();
    const end = performance.now() + seconds * 1_000;
    const left = (): number => (end - performance.now()) / 1_000;
    await this.#finishOrAbort(seconds, left);
    const rest = Math.min(seconds, Math.max(left(), CLEAN_UP_SECONDS));
    const isDone = await settlesWithin(this.#callOnShutdown(), rest);
    if (!isDone) reportUnfinished(seconds, ["onShutdown"]);
    unfinished.isDraining = false;
  }

  /**
   * Lets requests and deferred work finish, and aborts the streams that are left after the time-out. The runtime
   * cancels bodies that are arriving when it is shut down, so the server first listens on until they are read.
   */
  async #finishOrAbort(seconds: number, left: () => number): Promise<void> {
    const { unfinished } = this.served;
    await until(() => unfinished.receiving === 0, seconds);
    const uploads = unfinished.receiving;
    const done = this.#finish();
    unfinished.endStreams();
    if (await settlesWithin(done, Math.max(0, left()))) return;
    const late = inWords(unfinished);
    if (uploads > 0) late.unshift(counted(uploads, "upload"));
    if (late.length === 0) late.push("connections");
    reportUnfinished(seconds, late);
    const stopped = unfinished.abortStreams() + uploads;
    if (stopped > 0) await settlesWithin(done, CLEAN_UP_SECONDS);
  }

  /** Calls `onShutdown` as the application itself. Its error is logged, and becomes the status of the process. */
  async #callOnShutdown(): Promise<void> {
    try {
      await this.served.configure(async () => await this.onShutdown?.());
    } catch (error) {
      reportError(error, "in onShutdown");
      Deno.exitCode = 1;
    }
  }

  /** Stops listening; resolves when requests, streams whose clients have left, and deferred work are done. */
  async #finish(): Promise<void> {
    const { unfinished } = this.served;
    const seconds = unfinished.timeoutSeconds();
    const stopped = Promise.all([this.#stopped, this.#server.shutdown()]);
    // After that, the runtime never stops, but gets a moment for the responses that it is sending.
    const almostStopped = socketLost.then(async () => {
      await until(() => inWords(unfinished).length === 0, seconds);
      await settlesWithin(stopped, CLEAN_UP_SECONDS);
    });
    await Promise.race([stopped, almostStopped]);
    const { deferred, streams } = unfinished;
    await until(() => streams.size === 0, CLEAN_UP_SECONDS);
    while (deferred.size > 0) await Promise.all(deferred);
  }
}

/** Logs what a drain leaves unfinished. */
export function reportUnfinished(
  seconds: number,
  parts: readonly string[],
): void {
  const list = new Intl.ListFormat("en").format(parts);
  report(`Shut down after ${seconds} s with ${list} unfinished`);
}
