/**
 * Owns the calls of one request that are under way, whether or not somebody awaits them, and the error that one of them may bring. A call of the
 * framework whose promise rejects goes this way:
 *
 * 1. `track()` of the exchange notes its promise here, and gives the caller another one.
 * 2. A caller who awaits that one gets the error. When nobody does, Deno tells `state/uncaught.ts`.
 * 3. That finds the context of the call, whose `fail()` hands the error on to the one here.
 * 4. `settle` of `handling/unawaited.ts` waits for the noted calls, and until Deno has told; then it throws the error,
 *    and the request gets the page for it. `callsEnd` does the same before what a guard, or a route that has passed,
 *    lets go on, and `settlePage` for the calls of a page.
 * 5. An error that comes later, from a filter of `send`, is only logged, by `finishLate`.
 */

import { settles } from "../timer.ts";

/** A call: the name of its method, and the reply that it was made for, that of the request or of a page. */
interface Call {
  readonly name: string;
  readonly reply: object;
}

/** An error that no code has caught, of a call for that reply. */
interface Uncaught {
  readonly reason: unknown;
  readonly reply: object;
}

/** Which calls to wait for: all, those but earlier ones, or those for a reply. */
interface Selection {
  readonly earlier?: ReadonlySet<Promise<unknown>> | undefined;
  readonly reply?: object;
}

export class Pending {
  /** The calls that are under way. */
  readonly #calls = new Map<Promise<unknown>, Call>();
  #hasRejected = false;
  #uncaught: Uncaught | undefined;

  /** Notes a call, for that reply, until it settles; the caller still handles its result. */
  track(name: string, call: Promise<unknown>, reply: object): void {
    this.#calls.set(call, { name, reply });
    call.then(
      () => this.#calls.delete(call),
      () => {
        // A promise that was noted twice is deleted once.
        if (this.#calls.delete(call)) this.#hasRejected = true;
      },
    );
  }

  /** Keeps an error that no code has caught; returns false when there is one already. */
  fail(reason: unknown, reply: object): boolean {
    if (this.#uncaught !== undefined) return false;
    this.#uncaught = { reason, reply };
    return true;
  }

  /** Forgets an error that some code has caught after all. */
  forget(reason: unknown): void {
    if (this.#uncaught?.reason === reason) this.#uncaught = undefined;
  }

  /** Returns the error that no code has caught, and forgets it; with a reply only one of a call for that. */
  takeUncaught(reply?: object): Uncaught | undefined {
    const uncaught = this.#uncaught;
    if (reply !== undefined && uncaught?.reply !== reply) return undefined;
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
   * Waits for the selected calls, for the given seconds at most; rejects when a rejection is unhandled, with a reply one
   * of a call for that. Returns the names of those that were not waited for, "" for none.
   */
  async settle(
    seconds: number,
    { earlier, reply }: Selection = {},
  ): Promise<string> {
    const open = () =>
      [...this.#calls].filter(([call, { reply: of }]) =>
        !earlier?.has(call) && (reply === undefined || reply === of)
      );
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
    const uncaught = this.takeUncaught(reply);
    if (uncaught) throw uncaught.reason;
    return late.map(([, { name }]) => name).join(", ");
  }
}
