/** Stands in for `@std/testing/mock`: functions that record their calls, in place of methods or alone. */

import { AssertionError } from "./assert.ts";

/** A call that was recorded. */
interface SpyCall<Args extends unknown[]> {
  readonly args: Args;
}

/** A function that records its calls. */
interface Spy<Args extends unknown[], Result> {
  (...args: Args): Result;
  readonly calls: SpyCall<Args>[];
}

/** A recording function in place of a method, until it is disposed of. */
interface Stub<Args extends unknown[], Result>
  extends Spy<Args, Result>, Disposable {}

type ArgsOf<Method> = Method extends (...args: infer Args) => unknown ? Args
  : unknown[];

type ResultOf<Method> = Method extends (...args: never[]) => infer Result
  ? Result
  : unknown;

/** Returns a function that calls the given one and records the calls. */
export function spy<Args extends unknown[], Result>(
  work: (...args: Args) => Result,
): Spy<Args, Result> {
  const calls: SpyCall<Args>[] = [];
  const recorder = (...args: Args): Result => {
    try {
      return work(...args);
    } finally {
      calls.push({ args });
    }
  };
  return Object.assign(recorder, { calls });
}

/** The functions in place of methods. */
const stubs = new WeakSet<WeakKey>();

/** Replaces a method of an object by a function that records its calls. */
export function stub<Owner, Name extends keyof Owner>(
  owner: Owner,
  name: Name,
  work: (...args: ArgsOf<Owner[Name]>) => ResultOf<Owner[Name]> = () =>
    undefined as ResultOf<Owner[Name]>,
): Stub<ArgsOf<Owner[Name]>, ResultOf<Owner[Name]>> {
  const original = owner[name];
  if (stubs.has(original as WeakKey)) {
    throw new Error("Cannot stub: already spying on instance method");
  }
  const replacement = Object.assign(spy(work), {
    [Symbol.dispose]: () => void (owner[name] = original),
  });
  stubs.add(replacement);
  owner[name] = replacement as Owner[Name];
  return replacement;
}

/** Fails unless the function was called so many times. */
export function assertSpyCalls<Args extends unknown[], Result>(
  { calls }: Spy<Args, Result>,
  count: number,
): void {
  if (calls.length === count) return;
  const problem = calls.length < count
    ? "not called as much as expected"
    : "called more than expected";
  throw new AssertionError(`Spy ${problem}: ${calls.length} of ${count} calls`);
}
