/** Owns the calls of one request that nobody has awaited yet, and the error that one of them may bring. */

import { report } from "../errors.ts";
import { settles } from "../timer.ts";

/** Calls that are under way, by the name of the method. */
export class Pending {
  readonly #calls = new Map<Promise<unknown>, string>();
  #hasRejected = false;
  #failure: { readonly reason: unknown } | undefined;

  /** Notes a call until it settles; the caller still handles its result. */
  track(name: string, call: Promise<unknown>): void {
    this.#calls.set(call, name);
    call.then(
      () => this.#calls.delete(call),
      () => this.#hasRejected = this.#calls.delete(call),
    );
  }

  /** Keeps an error that no code has caught; returns false when there is one already. */
  fail(reason: unknown): boolean {
    if (this.#failure !== undefined) return false;
    this.#failure = { reason };
    return true;
  }

  /** Forgets an error that some code has caught after all. */
  recover(reason: unknown): void {
    if (this.#failure?.reason === reason) this.#failure = undefined;
  }

  /** The error that no code has caught, which is forgotten. */
  takeFailure(): { readonly reason: unknown } | undefined {
    const failure = this.#failure;
    this.#failure = undefined;
    return failure;
  }

  /** Whether a call is under way, or a rejection may still turn out to be unhandled. */
  get isUnsettled(): boolean {
    return this.#hasRejected || this.#failure !== undefined ||
      this.#calls.size > 0;
  }

  /** Waits for the calls, for the given seconds at most; rejects when a rejection among them is unhandled. */
  async settle(seconds: number): Promise<void> {
    const calls = this.#calls;
    const allSettle = async () => {
      while (calls.size > 0) await Promise.allSettled(calls.keys());
    };
    if (!await settles(allSettle(), seconds)) {
      const late = [...calls.values()].join(", ");
      report(
        `Sent the response without waiting for: ${late} (over ${seconds} s)`,
      );
    }
    // Deno reports at the end of a turn which rejections nobody handles.
    if (this.#hasRejected || this.#failure) {
      await new Promise((resolve) => setTimeout(resolve));
    }
    this.#hasRejected = false;
    const failure = this.takeFailure();
    if (failure) throw failure.reason;
  }
}
