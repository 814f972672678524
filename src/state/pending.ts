/**
 * Owns the calls of one request that are under way, whether or not somebody awaits them, and the errors that they may
 * bring. A call of the framework whose promise rejects goes this way:
 *
 * 1. `track()` of the context notes its promise here, and gives the caller another one.
 * 2. A caller who awaits that one gets the error. When nobody does, Deno tells `state/uncaught.ts`.
 * 3. That finds the context of the call, whose `fail()` hands the error on to the ones here.
 * 4. `settle` of `handling/unawaited.ts` waits for the noted calls, and until Deno has told; then it throws an error,
 *    and the request, or its page, fails by it. `awaitCalls` does the same before code goes on that the calls may forbid.
 * 5. The errors that are left when the request is concluded are only logged, by `complete` of `handling/handle.ts`.
 *
 * Each call belongs to a scope, that of the context which has made it: a page waits for its own calls, and so do the
 * routes where a mapped `start` may wait, by a call of its own, for them. Calls that have sealed the response or failed
 * to respond concern the whole request.
 */

import { settlesWithin } from "../timer.ts";

/** A call by the name of its method, and its scope. */
interface Call {
  readonly name: string;
  readonly scope: object;
}

/** A call that has sealed the response, and what to do when it fails. */
interface End {
  readonly call: Promise<unknown>;
  readonly failed: (() => void) | undefined;
}

/** An error that no code has caught, and the scope of its call. */
interface Uncaught {
  readonly reason: unknown;
  readonly scope: object;
  /** How many calls have failed with it, and no code has caught that. */
  calls: number;
}

export class Pending {
  /** The calls that are under way. */
  readonly #calls = new Map<Promise<unknown>, Call>();
  #hasRejected = false;
  #uncaught: Uncaught[] = [];
  #ends: End[] = [];
  /** What a call that was to respond has failed with, whether or not code has caught it. */
  #failure: { readonly reason: unknown } | undefined;
  #checks: (() => void)[] = [];

  /** Notes a call until it settles; the caller still handles its result. */
  track(name: string, call: Promise<unknown>, scope: object): void {
    this.#calls.set(call, { name, scope });
    call.then(
      () => this.#calls.delete(call),
      () => {
        this.#calls.delete(call);
        this.#hasRejected = true;
      },
    );
  }

  /**
   * Notes a call that has sealed the response, such as `halt`: it is waited for however long it takes. When it rejects,
   * so does `settle`, and calls `failed` before, if given.
   */
  end(call: Promise<unknown>, failed?: () => void): void {
    this.#ends.push({ call, failed });
    call.catch(() => {});
  }

  /** Keeps an error that no code has caught: once, for each call that has failed with it. */
  fail(reason: unknown, scope: object): void {
    const known = this.#uncaught.find((each) => each.reason === reason);
    if (known === undefined) this.#uncaught.push({ reason, scope, calls: 1 });
    else known.calls += 1;
  }

  /** Forgets the error of one call, which some code has caught after all. */
  forget(reason: unknown): void {
    const known = this.#uncaught.find((each) => each.reason === reason);
    if (known !== undefined && --known.calls === 0) this.drop(reason);
  }

  /** Forgets an error, of however many calls: it has its response. */
  drop(reason: unknown): void {
    this.#uncaught = this.#uncaught.filter((each) => each.reason !== reason);
  }

  /** Returns the errors that no code has caught, and forgets them. */
  takeUncaught(): readonly Uncaught[] {
    return this.#uncaught.splice(0);
  }

  /** Keeps the error of a call that was to respond, for code that goes on only when it has not failed. */
  failToRespond(reason: unknown): void {
    this.#failure = { reason };
  }

  /** Has a function run before code goes on that the calls so far may forbid. */
  beforeGoingOn(work: () => void): void {
    this.#checks.push(work);
  }

  /** Runs the functions that `beforeGoingOn()` was given, each once. */
  runChecks(): void {
    for (const work of this.#checks.splice(0)) work();
  }

  /** Returns the failure of a call that was to respond, if any, and forgets it. */
  takeFailure(): { readonly reason: unknown } | undefined {
    const failure = this.#failure;
    this.#failure = undefined;
    return failure;
  }

  /** Whether a call is under way, or a rejection may still turn out to be unhandled. */
  get isUnsettled(): boolean {
    return this.#hasRejected || this.#uncaught.length > 0 ||
      this.#calls.size > 0 || this.#ends.length > 0;
  }

  /**
   * Waits for the calls, those of one scope or all, for the given seconds at most. Rejects with an error of theirs that
   * nobody has caught. Returns the names of those that took too long, "" for none: they are not waited for again.
   * Without a scope, waits for the calls that end the request, too.
   */
  async settle(seconds: number, scope?: object): Promise<string> {
    if (scope === undefined) await this.#endAll();
    const isMeant = (each: { scope: object }): boolean =>
      scope === undefined || each.scope === scope;
    const open = () => [...this.#calls].filter(([, each]) => isMeant(each));
    const allSettle = async () => {
      for (let calls = open(); calls.length > 0; calls = open()) {
        await Promise.allSettled(calls.map(([call]) => call));
      }
    };
    const late = await settlesWithin(allSettle(), seconds) ? [] : open();
    for (const [call] of late) this.#calls.delete(call);
    // Deno reports at the end of a turn which rejections nobody handles. On a busy machine a timer that is due
    // already may run before that, a second one never does.
    if (this.#hasRejected || this.#uncaught.length > 0) {
      await new Promise((resolve) => setTimeout(resolve));
      await new Promise((resolve) => setTimeout(resolve));
    }
    this.#hasRejected = false;
    const names = late.map(([, { name }]) => name);
    if (scope === undefined && this.#ends.length > 0) { // one of the calls has begun to end the request
      return [...names, await this.settle(seconds)].filter(Boolean).join(", ");
    }
    const uncaught = this.#uncaught.find(isMeant);
    if (uncaught === undefined) return names.join(", ");
    this.#uncaught = this.#uncaught.filter((each) => each !== uncaught);
    throw uncaught.reason;
  }

  /** Waits for the calls that end the request, one after the other. */
  async #endAll(): Promise<void> {
    for (let end = this.#ends.shift(); end; end = this.#ends.shift()) {
      try {
        await end.call;
      } catch (thrown) {
        end.failed?.();
        throw thrown;
      }
    }
  }
}
