/**
 * Owns the calls of the framework that one request has under way, whether or not some code awaits them, and the errors
 * that no code has caught.
 */

import { reportError } from "../report.ts";
import { settlesWithin } from "../waiting.ts";

/** The promise of a call. It notes whether some code has taken it, by `await` for one. */
class Call<Value> extends Promise<Value> {
  isTaken = false;

  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  override then<Result = Value, Failed = never>(
    ...handlers: Parameters<Promise<Value>["then"]>
  ): Promise<Result | Failed> {
    this.isTaken = true;
    return super.then(...handlers) as Promise<Result | Failed>;
  }
}

/** What made a call: code in a context. */
interface Caller {
  /** Whether it is that context, or one inside of it. */
  isWithin(context: Caller): boolean;
}

/** The request; an `Exchange` is one. */
interface Owner {
  /** What begins a line of the log about it. */
  readonly label: string;
  /** Whether its response is made. */
  readonly isConcluded: boolean;
}

interface Running {
  readonly name: string;
  readonly caller: Caller;
  /** Resolves when the call has settled. */
  readonly ended: Promise<void>;
}

interface Failed {
  readonly reason: unknown;
  readonly caller: Caller;
  /** Undefined for a promise of the application's own. */
  readonly call: Call<unknown> | undefined;
}

export class Pending {
  readonly #running = new Set<Running>();
  #failed: Failed[] = [];
  /** How many calls have failed so far. */
  #failures = 0;
  readonly #owner: Owner;

  constructor(owner: Owner) {
    this.#owner = owner;
  }

  /** Notes a call until it settles. Returns the promise for the caller. */
  track<Value>(
    name: string,
    caller: Caller,
    promise: Promise<Value>,
  ): Promise<Value> {
    const call = new Call<Value>((resolve, reject) => {
      promise.then(resolve, reject);
    });
    const end = (): void => void this.#running.delete(running);
    const ended = Promise.prototype.then.call(call, end, (reason) => {
      end();
      this.#failures += 1;
      this.fail(reason, caller, call);
    }) as Promise<void>;
    const running = { name, caller, ended };
    this.#running.add(running);
    return call;
  }

  /** Takes an error that no code may have caught: that of a call, or of a promise of the application's own. */
  fail(reason: unknown, caller: Caller, call?: Call<unknown>): void {
    this.#failed.push({ reason, caller, call });
    if (this.#owner.isConcluded) this.report();
  }

  /** Logs the errors that no code has caught: it is too late for a response. */
  report(): void {
    for (const { reason, call } of this.#failed.splice(0)) {
      if (call?.isTaken) continue;
      reportError(reason, "in work that was not awaited", this.#owner.label);
    }
  }

  /** Some code has caught the error of a promise after all. */
  forget(reason: unknown): void {
    const at = this.#failed.findIndex((each) =>
      each.call === undefined && each.reason === reason
    );
    if (at >= 0) this.#failed.splice(at, 1);
  }

  /** Whether nothing within a context is under way or has failed. */
  isSettled(within: Caller): boolean {
    return this.#runningIn(within).length === 0 &&
      !this.#failed.some(({ caller }) => caller.isWithin(within));
  }

  /**
   * Waits for the calls within a context, for some seconds at most. Returns the names of those that are late, which are
   * no longer waited for.
   */
  async settle(within: Caller, seconds: number): Promise<string[]> {
    const end = performance.now() + seconds * 1_000;
    const failures = this.#failures;
    for (;;) {
      const running = this.#runningIn(within);
      if (running.length === 0) break;
      const left = Math.max(0, end - performance.now()) / 1_000;
      const ended = Promise.all(running.map((each) => each.ended));
      if (await settlesWithin(ended, left)) continue;
      const late = this.#runningIn(within);
      for (const each of late) this.#running.delete(each);
      return late.map(({ name }) => name);
    }
    // A function of the application's own may have taken the call, and nobody its promise: Deno reports that at the end
    // of a turn, and a timer that is due already may run before.
    for (let turn = 0; turn < 2 && this.#failures > failures; turn++) {
      await new Promise((resolve) => setTimeout(resolve));
    }
    return [];
  }

  /** Returns the errors within a context that no code has caught, and forgets them. */
  takeUncaught(within: Caller): unknown[] {
    const taken = this.#failed.filter(({ caller }) => caller.isWithin(within));
    this.#failed = this.#failed.filter((each) => !taken.includes(each));
    return taken.filter(({ call }) => !call?.isTaken)
      .map(({ reason }) => reason);
  }

  #runningIn(within: Caller): Running[] {
    return [...this.#running].filter(({ caller }) => caller.isWithin(within));
  }
}
