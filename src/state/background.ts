/**
 * Owns what an application has not finished: requests without a response, streams that are being sent,
 * and deferred work. A server that drains waits for them, and aborts the streams that take too long.
 */

import { runningRequests, type Scope } from "./scope.ts";

/** How many seconds pass between two looks at the requests that are running. */
const POLL_SECONDS = 0.02;

/** How much is unfinished, by kind. */
export interface Unfinished {
  readonly requests: number;
  readonly streams: number;
  readonly deferred: number;
}

/** The unfinished work of one application. */
export class BackgroundWork {
  readonly #owner: object;
  readonly #deferred = new Set<Promise<unknown>>();
  readonly #aborts = new Set<(reason: unknown) => void>();

  /** The engine is the owner. */
  constructor(owner: object) {
    this.#owner = owner;
  }

  /** Adds deferred work until it settles; it must not reject. */
  add(work: Promise<unknown>): void {
    this.#deferred.add(work);
    work.then(() => this.#deferred.delete(work));
  }

  /** Adds a stream, which keeps its request open. Call the returned function when it has ended. */
  hold(scope: Scope, abort: (reason: unknown) => void): () => void {
    const release = scope.hold();
    this.#aborts.add(abort);
    return () => {
      this.#aborts.delete(abort);
      release();
    };
  }

  /** How much is unfinished now. */
  count(): Unfinished {
    return {
      requests: runningRequests(this.#owner).length,
      streams: this.#aborts.size,
      deferred: this.#deferred.size,
    };
  }

  /** Resolves when all deferred work is done, including what is added meanwhile. */
  async deferredDone(): Promise<void> {
    while (this.#deferred.size > 0) await Promise.all(this.#deferred);
  }

  /** Resolves when no request runs that fulfils the condition, or after so many seconds. */
  async requestsDone(
    seconds: number,
    condition: (scope: Scope) => boolean = () => true,
  ): Promise<void> {
    const end = performance.now() + seconds * 1_000;
    while (runningRequests(this.#owner).some(condition)) {
      if (performance.now() >= end) return;
      await new Promise((resolve) => setTimeout(resolve, POLL_SECONDS * 1_000));
    }
  }

  /** Aborts the streams that are being sent, and returns how many there were. */
  abortStreams(reason: unknown): number {
    const aborts = [...this.#aborts];
    for (const abort of aborts) abort(reason);
    return aborts.length;
  }
}
