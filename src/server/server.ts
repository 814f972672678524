/**
 * Owns a running server: it drains when it is shut down, and listens again when the runtime has stopped
 * accepting connections. What it listens on is in `listen.ts`, ending the process in `process.ts`.
 */

import type { BackgroundWork, Unfinished } from "../state/background.ts";
import { report } from "../errors.ts";
import { settles, sleep } from "../timer.ts";

/**
 * The handle of a running server. `shutdown()` drains it: it stops listening, gives running requests
 * and deferred work `framework.shutdown_timeout` seconds, and aborts the streams that are left then.
 * `finished` resolves when that is done, and rejects when the server could not go on listening.
 */
export type Server = Deno.HttpServer<Deno.Addr>;

/** Makes the runtime listen: where the options say, or again on the address of before. */
export type Listen = (address?: Deno.Addr) => Server;

/** Why a stream ends that is still being sent when its server has to. */
export const ABORTED: Error = new Deno.errors.Interrupted(
  "The server has shut down",
);

/** How many seconds there are for cleaning up aborted streams, and for refusing uploads. */
export const CLEAN_UP_SECONDS = 1;

/** How many seconds pass before the server listens again: more each time, unless it listened for long. */
const PAUSE_SECONDS = { least: 0.1, most: 2, long: 10 } as const;

/** A server that drains, and listens again. */
export class DrainingServer implements Server {
  readonly addr: Deno.Addr;
  readonly finished: Promise<void>;
  /** Settles as `finished` does. For the framework: handling `finished` would hide its rejection from Deno. */
  readonly ended: Promise<void>;
  /** Whether it takes no new requests. */
  isDraining = false;
  /** Whether it has drained, or failed. */
  hasEnded = false;
  readonly #listen: Listen;
  readonly #work: BackgroundWork;
  readonly #end: PromiseWithResolvers<void>;
  #server: Server;
  #isReferenced = true;
  #stopped: Promise<unknown> = Promise.resolve();
  #drained: Promise<void> | undefined;

  /** Listens. The work's time-out bounds a drain, and for how long listening again is tried. */
  constructor(listen: Listen, work: BackgroundWork) {
    this.#listen = listen;
    this.#work = work;
    this.#server = listen();
    this.addr = this.#server.addr;
    this.#end = Promise.withResolvers();
    this.ended = this.#end.promise;
    this.finished = this.ended.then();
    this.#keepListening().catch((error) => this.#fail(error));
  }

  /** How much it has not finished. */
  get unfinished(): Unfinished {
    return this.#work.count();
  }

  /** Drains the server, once. */
  async shutdown(): Promise<void> {
    await (this.#drained ??= this.#drain());
    this.hasEnded = true;
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
   * Listens again whenever the runtime has stopped, such as when the process is out of file descriptors.
   * Shutting down what is left of the old server frees its idle connections; running requests go on.
   */
  async #keepListening(): Promise<void> {
    let pause: number = PAUSE_SECONDS.least;
    for (;;) {
      const since = performance.now();
      const cause = await this.#server.finished.catch((error) => error);
      if (this.isDraining) return;
      report(
        `The server stopped accepting connections, and will listen again: ${
          cause?.message ?? "the runtime closed it"
        }`,
      );
      const old = this.#server.shutdown().catch(() => {});
      this.#stopped = Promise.all([this.#stopped, old]);
      const lasted = (performance.now() - since) / 1_000;
      if (lasted > PAUSE_SECONDS.long) pause = PAUSE_SECONDS.least;
      await this.#listenAgain(pause);
      pause = Math.min(pause * 2, PAUSE_SECONDS.most);
    }
  }

  /** Tries until it listens; throws when the time is over. */
  async #listenAgain(pause: number): Promise<void> {
    const end = performance.now() + this.#work.timeoutSeconds() * 1_000;
    for (;;) {
      await sleep(pause);
      if (this.isDraining) return;
      try {
        this.#server = this.#listen(this.addr);
        if (!this.#isReferenced) this.#server.unref();
        return report("The server accepts connections again");
      } catch (error) {
        if (performance.now() >= end) throw error;
      }
    }
  }

  /** Ends a server that cannot listen any more. */
  async #fail(error: unknown): Promise<void> {
    report(`The server cannot listen again: ${error}`);
    await (this.#drained ??= this.#drain());
    this.hasEnded = true;
    this.#end.reject(error);
  }

  /**
   * Lets requests and deferred work finish, and aborts what is left after the time-out. The runtime
   * cancels bodies that are still arriving as soon as it is shut down: it listens until they are read.
   */
  async #drain(): Promise<void> {
    this.isDraining = true;
    const seconds = this.#work.timeoutSeconds();
    const end = performance.now() + seconds * 1_000;
    await this.#work.bodiesRead(seconds);
    const interrupted = this.#work.interruptBodies();
    const done = Promise.all([this.#stopped, this.#server.shutdown()])
      .then(() => this.#work.deferredDone());
    if (await settles(done, Math.max(0, end - performance.now()) / 1_000)) {
      return;
    }
    const aborted = this.#work.abortStreams(ABORTED);
    const isDone = aborted + interrupted > 0 &&
      await settles(done, CLEAN_UP_SECONDS);
    await this.#work.streamsEnded(CLEAN_UP_SECONDS);
    const outcome = [
      ...interrupted > 0 ? [`uploads refused: ${interrupted}`] : [],
      ...aborted > 0 ? [`streams aborted: ${aborted}`] : [],
      ...isDone ? [] : ["requests or deferred work left unfinished"],
    ].join(", ");
    report(`The server did not wait longer than ${seconds} s: ${outcome}`);
  }
}
