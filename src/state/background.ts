/**
 * Owns what goes on after its response: deferred work, and streams that are still being sent. A server
 * that drains waits for both, and cuts what takes too long.
 */

import type { Scope } from "./scope.ts";

/** The work of one application that outlives its requests. */
export class Backlog {
  readonly #work = new Set<Promise<unknown>>();
  readonly #cuts = new Set<(reason: unknown) => void>();

  /** Keeps work known until it is done; it must not reject. */
  add(work: Promise<unknown>): void {
    this.#work.add(work);
    work.then(() => this.#work.delete(work));
  }

  /** Keeps a request open while a stream of it is being sent; the answer is called when it has ended. */
  hold(scope: Scope, cut: (reason: unknown) => void): () => void {
    const release = scope.hold();
    this.#cuts.add(cut);
    return () => {
      this.#cuts.delete(cut);
      release();
    };
  }

  /** Settles when all work is done, also what is added meanwhile. */
  async idle(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work);
  }

  /** Cuts the streams that are being sent, and answers how many there were. */
  cutStreams(reason: unknown): number {
    const cuts = [...this.#cuts];
    for (const cut of cuts) cut(reason);
    return cuts.length;
  }
}
