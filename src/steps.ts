/**
 * Owns work that is synchronous until a promise turns up (`run`), and values that are promises until they are there
 * (`madeOnce`).
 *
 * A method, a filter and a route callback may each be synchronous or not. A generator that yields
 * whatever may be a promise serves both: {@linkcode run} steps through it synchronously while plain
 * values are yielded, and asynchronously from the first promise on. `src/stack.ts` knows this file by its name.
 */

/** A value, or a promise of it once a filter or a mapped method is asynchronous. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Work whose result is not needed: undefined once it is done, else what to wait for. */
export type Waiting = Promise<void> | undefined;

/** Drops the result of work. */
export function waitingFor(result: unknown): Waiting {
  return isThenable(result)
    ? Promise.resolve(result).then(() => {})
    : undefined;
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
      value = await step.value;
    } catch (reason) {
      step = steps.throw(reason);
      continue;
    }
    step = steps.next(value);
  }
  return step.value;
}

/**
 * The value under a key, which is made when it is first asked for: a promise until it is there. When making
 * it fails, the next call makes it again.
 */
export function madeOnce<Value>(
  made: Map<string, MaybePromise<Value>>,
  key: string,
  make: () => Promise<Value>,
): MaybePromise<Value> {
  const known = made.get(key);
  if (known !== undefined) return known;
  const making = make();
  made.set(key, making);
  const isCurrent = (): boolean => made.get(key) === making; // not where it was dropped meanwhile
  making.then(
    (value) => void (isCurrent() && made.set(key, value)),
    () => void (isCurrent() && made.delete(key)),
  );
  return making;
}
