/**
 * Stands in for `@std/assert` where JSR is out of reach, over `node:assert`: the assertions that tests and
 * documentation use. Here, `0` and `-0` differ.
 */

import * as node from "node:assert";

// deno-lint-ignore no-explicit-any -- only `any` lets every constructor match
type Class<Instance> = abstract new (...args: any[]) => Instance;

type Comparisons = Pick<
  typeof node,
  "deepStrictEqual" | "notDeepStrictEqual" | "partialDeepStrictEqual"
>;

/** Deno's types do not know the class yet. Records without a prototype equal plain ones, as in `@std/assert`. */
const { Assert } = node as unknown as {
  Assert: new (options: { skipPrototype: boolean }) => Comparisons;
};
const comparisons = new Assert({ skipPrototype: true });

export {
  match as assertMatch,
  ok as assert,
  strictEqual as assertStrictEquals,
} from "node:assert";

/** Fails unless the expression is falsy. */
export function assertFalse(expression: unknown, message = ""): void {
  require(!expression, `Expected a falsy value, got ${expression}`, message);
}

/** Fails unless both values are deeply equal. */
export function assertEquals<T>(actual: T, expected: T, message = ""): void {
  compare("deepStrictEqual", actual, expected, message);
}

/** Fails when both values are deeply equal. */
export function assertNotEquals<T>(actual: T, expected: T, message = ""): void {
  compare("notDeepStrictEqual", actual, expected, message);
}

/** Fails unless the list contains, deeply equal, everything expected. */
export function assertArrayIncludes<T>(
  actual: readonly T[],
  expected: readonly T[],
  message = "",
): void {
  compare(
    "partialDeepStrictEqual",
    new Set(actual),
    new Set(expected),
    message,
  );
}

/** Fails unless the text contains the other. */
export function assertStringIncludes(
  actual: string,
  expected: string,
  message = "",
): void {
  const problem = `Expected "${actual}" to include "${expected}"`;
  require(actual.includes(expected), problem, message);
}

/** Fails unless the value is an instance of the class. */
export function assertInstanceOf<T>(
  actual: unknown,
  expected: Class<T>,
  message = "",
): asserts actual is T {
  const problem = `Expected an instance of "${expected.name}"`;
  require(actual instanceof expected, problem, message);
}

/** Fails unless the function throws an error of the class whose message includes the part; returns the error. */
export function assertThrows<E = unknown>(
  action: () => unknown,
  expected?: Class<E>,
  part = "",
  message = "",
): E {
  try {
    action();
  } catch (error) {
    return checked(error, expected, part, message);
  }
  return node.fail(`Expected the function to throw ${message}`);
}

/** Fails unless the promise rejects with an error of the class whose message includes the part; returns the error. */
export async function assertRejects<E = unknown>(
  action: () => PromiseLike<unknown>,
  expected?: Class<E>,
  part = "",
  message = "",
): Promise<E> {
  const promise = action();
  try {
    await promise;
  } catch (error) {
    return checked(error, expected, part, message);
  }
  return node.fail(`Expected the promise to reject ${message}`);
}

function require(holds: boolean, problem: string, message: string): void {
  node.ok(holds, message === "" ? problem : `${problem}: ${message}`);
}

function compare(
  how: keyof Comparisons,
  actual: unknown,
  expected: unknown,
  message: string,
): void {
  try {
    comparisons[how](actual, expected);
  } catch (error) {
    if (message !== "") (error as Error).message += `\n${message}`;
    throw error;
  }
}

function checked<E>(
  error: unknown,
  expected: Class<E> | undefined,
  part: string,
  message: string,
): E {
  if (expected === undefined) return error as E;
  assertInstanceOf(error, expected, message);
  assertStringIncludes((error as Error).message, part, message);
  return error;
}
