/**
 * Owns the calls of one request that are under way, whether or not somebody awaits them, and the error that one of them may bring. A call of the
 * framework whose promise rejects goes this way:
 *
 * 1. `track()` of the exchange notes its promise here, and gives the caller another one.
 * 2. A caller who awaits that one gets the error. When nobody does, Deno tells `state/uncaught.ts`.
 * 3. That finds the context of the call, whose `fail()` hands the error on to the one here.
 * 4. `settle` of `handling/handle.ts` waits for the noted calls, and until Deno has told; then it throws the error, and
 *    the request gets the page for it. Before the routes of a guard are called, `callsEnd` of `handling/dispatch.ts`
 *    does the same with the calls of the guard.
 * 5. An error that comes later, from a filter of `send`, is only logged, by `finishLate`.
 */

import { settles } from "../timer.ts";

export class Pending {
  /** The calls that are under way, each with the name of its method. */
  readonly #calls = new Map<Promise<unknown>, string>();
  #hasRejected = false;
  #uncaught: { readonly reason: unknown } | undefined;

  /** Notes a call until it settles; the caller still handles its result. */
  track(name: string, call: Promise<unknown>): void {
    this.#calls.set(call, name);
    call.then(
      () => this.#calls.delete(call),
      () => {
        // A promise that was noted twice is deleted once.
        if (this.#calls.delete(call)) this.#hasRejected = true;
      },
    );
  }

  /** Keeps an error that no code has caught; returns false when there is one already. */
  fail(reason: unknown): boolean {
    if (this.#uncaught !== undefined) return false;
    this.#uncaught = { reason };
    return true;
  }

  /** Forgets an error that some code has caught after all. */
  forget(reason: unknown): void {
    if (this.#uncaught?.reason === reason) this.#uncaught = undefined;
  }

  /** Returns the error that no code has caught, and forgets it. */
  takeUncaught(): { readonly reason: unknown } | undefined {
    const uncaught = this.#uncaught;
    this.#uncaught = undefined;
    return uncaught;
  }

  /** Whether a call is under way, or a rejection may still turn out to be unhandled. */
  get isUnsettled(): boolean {
    return this.#hasRejected || this.#uncaught !== undefined ||
      this.#calls.size > 0;
  }

  /** The calls that are under way now. */
  get calls(): ReadonlySet<Promise<unknown>> {
    return new Set(this.#calls.keys());
  }

  /**
   * Waits for the calls but the earlier ones, for the given seconds at most; rejects when a rejection among them
   * is unhandled. Returns the names of those that were not waited for, "" for none.
   */
  async settle(
    seconds: number,
    earlier: ReadonlySet<Promise<unknown>> = new Set(),
  ): Promise<string> {
    const open = () => [...this.#calls].filter(([call]) => !earlier.has(call));
    const allSettle = async () => {
      for (let calls = open(); calls.length > 0; calls = open()) {
        await Promise.allSettled(calls.map(([call]) => call));
      }
    };
    const late = await settles(allSettle(), seconds) ? [] : open();
    // Deno reports at the end of a turn which rejections nobody handles. On a busy machine a timer that is due
    // already may run before that, a second one never does.
    if (this.#hasRejected || this.#uncaught) {
      await new Promise((resolve) => setTimeout(resolve));
      await new Promise((resolve) => setTimeout(resolve));
    }
    this.#hasRejected = false;
    const uncaught = this.takeUncaught();
    if (uncaught) throw uncaught.reason;
    return late.map(([, name]) => name).join(", ");
  }
}
