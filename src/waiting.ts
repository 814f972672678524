/**
 * Owns waiting: work that is synchronous until a promise turns up, and time limits.
 *
 * A method, a filter and a route callback may each be synchronous or not. A generator that yields
 * whatever may be a promise serves both: {@linkcode run} steps through it synchronously while plain
 * values are yielded, and asynchronously from the first promise on.
 */

import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Runs work without a request: each `import()` that a request may cause, since Deno leaks the context of one into
 * whatever the event loop runs next, and an empty one costs nothing there.
 */
export const withoutRequest: <Result>(
  work: () => Promise<Result>,
) => Promise<Result> = AsyncLocalStorage.snapshot();

/** A value, or a promise of it once a filter or a mapped method is asynchronous. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Work whose result is not needed: undefined once it is done, else what to wait for. */
export type Waiting = Promise<void> | undefined;

/** Drops the result of work. */
export function waitingFor(result: unknown): Waiting {
  if (isThenable(result)) return Promise.resolve(result).then(() => {});
}

/** Steps of work: each `yield` hands {@linkcode run} a value or a promise, and gets the settled value. */
// deno-lint-ignore no-explicit-any -- what comes back is whatever was yielded: each step knows its own type
export type Steps<Result> = Generator<unknown, Result, any>;

/** Runs the steps; returns a promise only when a step yielded one (or a foreign thenable). */
export function run<Result>(steps: Steps<Result>): Result | Promise<Result> {
  let step = steps.next();
  while (!step.done) {
    if (isThenable(step.value)) return resume(steps, step.value);
    step = steps.next(step.value);
  }
  return step.value;
}

/**
 * Whether a value can be waited for: a promise, or a foreign thenable. This is for what the code of applications
 * returns, where the framework waits for it. `instanceof Promise` is for what the framework's own functions return and
 * for types that promise a `Promise`, and where nothing waits: calling `then` of a foreign thenable, such as a query,
 * may begin its work.
 */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return value !== null &&
    (typeof value === "object" || typeof value === "function") &&
    typeof (value as { then?: unknown }).then === "function";
}

async function resume<Result>(
  steps: Steps<Result>,
  pending: PromiseLike<unknown>,
): Promise<Result> {
  let step: IteratorResult<unknown, Result> = { value: pending };
  while (!step.done) {
    let value: unknown;
    try {
      value = isThenable(step.value) ? await step.value : step.value;
    } catch (reason) {
      step = steps.throw(reason);
      continue;
    }
    step = steps.next(value);
  }
  return step.value;
}

/** The platform's timers fire at once when they are given more milliseconds. */
const LONGEST = 2 ** 31 - 1;

/**
 * How many microtasks work gets before a timer is started, which is slow. A body
 * that has arrived together with the head takes four in Deno 2.9.
 */
const EAGER_TURNS = 8;

/** Waits for work to settle, for the given seconds at most; returns whether it has. */
export async function settlesWithin(
  work: Promise<unknown>,
  seconds: number,
): Promise<boolean> {
  let isSettled = false;
  const note = (): void => void (isSettled = true);
  const settled = work.then(note, note);
  for (let turn = 0; turn < EAGER_TURNS && !isSettled; turn++) await null;
  if (isSettled) return true;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, Math.min(seconds * 1_000, LONGEST));
  await Promise.race([settled, promise]);
  clearTimeout(timer);
  return isSettled;
}

const flushes = new Set<() => Promise<unknown>>();

/** Has the framework wait for a function that writes what is left before it ends the process. */
export function flushAtEnd(flush: () => Promise<unknown>): void {
  flushes.add(flush);
}

/** Waits for all of them, for the given seconds at most. */
export async function flushAll(seconds: number): Promise<void> {
  const flushing = [...flushes].map((flush) => flush());
  await settlesWithin(Promise.allSettled(flushing), seconds);
}
