/**
 * Owns the calls of one request that are under way, whether or not somebody awaits them, and the errors that they may
 * bring. A call of the framework whose promise rejects goes this way:
 *
 * 1. `track()` of the context notes its promise here, and gives the caller another one.
 * 2. A caller who awaits that one gets the error. When nobody does, Deno tells `state/uncaught.ts`.
 * 3. That finds the context of the call, whose `fail()` hands the error on to the ones here.
 * 4. `settle` of `handling/unawaited.ts` waits for the noted calls, and until Deno has told; then it throws an error,
 *    and the request, or its page, fails by it. `callsEnd` does the same before code goes on that the calls may forbid.
 * 5. The errors that are left when the request is concluded are only logged, by `conclude` of `handling/handle.ts`.
 *
 * Each call belongs to a scope, that of the context which has made it: a page waits for its own calls, and so do the
 * routes where a mapped `start` may wait, by a call of its own, for them.
 */

import { settles } from "../timer.ts";

/** A call by the name of its method, and its scope. */
interface Call {
  readonly name: string;
  readonly scope: object;
}

/** An error that no code has caught, and the scope of its call. */
interface Uncaught {
  readonly reason: unknown;
  readonly scope: object;
}

export class Pending {
  /** The calls that are under way. */
  readonly #calls = new Map<Promise<unknown>, Call>();
  #hasRejected = false;
  #uncaught: Uncaught[] = [];
  #end: Promise<unknown> | undefined;

  /** Notes a call until it settles; the caller still handles its result. */
  track(name: string, call: Promise<unknown>, scope: object): void {
    this.#calls.set(call, { name, scope });
    call.then(
      () => this.#calls.delete(call),
      () => {
        // A promise that was noted twice is deleted once.
        if (this.#calls.delete(call)) this.#hasRejected = true;
      },
    );
  }

  /** Takes the call that ends the request: what comes out of it is the response, however long it takes. */
  end(call: Promise<unknown>): void {
    this.#end = call;
    call.catch(() => {}); // `settle` rejects with it
  }

  /** Returns the call that ends the request, if any, and forgets it. */
  takeEnd(): Promise<unknown> | undefined {
    const end = this.#end;
    this.#end = undefined;
    return end;
  }

  /** Keeps an error that no code has caught. */
  fail(reason: unknown, scope: object): void {
    this.#uncaught.push({ reason, scope });
  }

  /** Forgets an error that some code has caught after all. */
  forget(reason: unknown): void {
    this.#uncaught = this.#uncaught.filter((each) => each.reason !== reason);
  }

  /** Returns the errors that no code has caught, and forgets them. */
  takeUncaught(): readonly Uncaught[] {
    return this.#uncaught.splice(0);
  }

  /** Whether a call is under way, or a rejection may still turn out to be unhandled. */
  get isUnsettled(): boolean {
    return this.#hasRejected || this.#uncaught.length > 0 ||
      this.#calls.size > 0 || this.#end !== undefined;
  }

  /**
   * Waits for the calls, those of one scope or all, for the given seconds at most. Rejects with an error of theirs that
   * nobody has caught. Returns the names of those that took too long, "" for none: they are not waited for again. Waits
   * for all only after the call that ends the request.
   */
  async settle(seconds: number, scope?: object): Promise<string> {
    if (scope === undefined) await this.takeEnd();
    const isMeant = (each: { scope: object }): boolean =>
      scope === undefined || each.scope === scope;
    const open = () => [...this.#calls].filter(([, each]) => isMeant(each));
    const allSettle = async () => {
      for (let calls = open(); calls.length > 0; calls = open()) {
        await Promise.allSettled(calls.map(([call]) => call));
      }
    };
    const late = await settles(allSettle(), seconds) ? [] : open();
    for (const [call] of late) this.#calls.delete(call);
    // Deno reports at the end of a turn which rejections nobody handles. On a busy machine a timer that is due
    // already may run before that, a second one never does.
    if (this.#hasRejected || this.#uncaught.length > 0) {
      await new Promise((resolve) => setTimeout(resolve));
      await new Promise((resolve) => setTimeout(resolve));
    }
    this.#hasRejected = false;
    const uncaught = this.#uncaught.find(isMeant);
    if (uncaught === undefined) {
      return late.map(([, { name }]) => name).join(", ");
    }
    this.#uncaught = this.#uncaught.filter((each) => each !== uncaught);
    throw uncaught.reason;
  }
}
