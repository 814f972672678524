/**
 * Stands in for `@std/assert` where JSR is out of reach: the assertions the tests use, with the
 * verdicts of the real ones. Failure messages are plainer: they show both values, not a difference.
 */

import { equal } from "./equal.ts";

// deno-lint-ignore no-explicit-any -- only `any` lets every constructor match
type Class<Instance> = abstract new (...args: any[]) => Instance;

/** What a failed assertion throws. */
export class AssertionError extends Error {
  override readonly name = "AssertionError";
}

/** Fails unless the expression is truthy. */
export function assert(expression: unknown, message = ""): asserts expression {
  if (!expression) fail(message);
}

/** Fails unless the expression is falsy. */
export function assertFalse(expression: unknown, message = ""): void {
  if (expression) {
    fail(`Expected a falsy value, got ${show(expression)}`, message);
  }
}

/** Fails unless both values are deeply equal. */
export function assertEquals<T>(actual: T, expected: T, message = ""): void {
  if (equal(actual, expected)) return;
  fail(`Values are not equal\n${both(actual, expected)}`, message);
}

/** Fails when both values are deeply equal. */
export function assertNotEquals<T>(actual: T, expected: T, message = ""): void {
  if (equal(actual, expected)) {
    fail(`Both values equal ${show(actual)}`, message);
  }
}

/** Fails unless both values are the same one. */
export function assertStrictEquals<T>(
  actual: unknown,
  expected: T,
  message = "",
): asserts actual is T {
  if (Object.is(actual, expected)) return;
  fail(`Values are not strictly equal\n${both(actual, expected)}`, message);
}

/** Fails unless the text contains the other. */
export function assertStringIncludes(
  actual: string,
  expected: string,
  message = "",
): void {
  if (actual.includes(expected)) return;
  fail(
    `Expected the text to include ${show(expected)}, got ${show(actual)}`,
    message,
  );
}

/** Fails unless the text matches. */
export function assertMatch(
  actual: string,
  expected: RegExp,
  message = "",
): void {
  if (!expected.test(actual)) {
    fail(`Expected ${show(actual)} to match ${expected}`, message);
  }
}

/** Fails when the text matches. */
export function assertNotMatch(
  actual: string,
  expected: RegExp,
  message = "",
): void {
  if (expected.test(actual)) {
    fail(`Expected ${show(actual)} not to match ${expected}`, message);
  }
}

/** Fails unless the list contains, deeply equal, everything expected. */
export function assertArrayIncludes<T>(
  actual: ArrayLike<T>,
  expected: ArrayLike<T>,
  message = "",
): void {
  const missing = Array.from(expected).filter((wanted) =>
    !Array.from(actual).some((item) => equal(item, wanted))
  );
  if (missing.length > 0) {
    fail(`Missing from ${show(actual)}: ${show(missing)}`, message);
  }
}

/** Fails unless what is expected is there, at every depth; what else is there does not matter. */
export function assertObjectMatch(
  actual: object,
  expected: object,
  message = "",
): void {
  if (!contains(actual, expected)) {
    fail(`Expected ${show(actual)} to contain ${show(expected)}`, message);
  }
}

function contains(actual: unknown, expected: unknown): boolean {
  const isOpen = isRecord(actual) && isRecord(expected);
  if (!isOpen) return equal(actual, expected);
  return Object.keys(expected).every((key) =>
    Object.hasOwn(actual, key) && contains(actual[key], expected[key])
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Fails unless the value is an instance of the class. */
export function assertInstanceOf<T>(
  actual: unknown,
  expected: Class<T>,
  message = "",
): asserts actual is T {
  if (actual instanceof expected) return;
  fail(
    `Expected an instance of "${expected.name}", got ${show(actual)}`,
    message,
  );
}

/** Fails unless the first is greater than the second. */
export function assertGreater<T>(actual: T, expected: T, message = ""): void {
  if (!(actual > expected)) {
    fail(`Expected ${show(actual)} > ${show(expected)}`, message);
  }
}

/** Fails unless the first is greater than the second, or equal to it. */
export function assertGreaterOrEqual<T>(
  actual: T,
  expected: T,
  message = "",
): void {
  if (!(actual >= expected)) {
    fail(`Expected ${show(actual)} >= ${show(expected)}`, message);
  }
}

/** Fails unless the first is less than the second. */
export function assertLess<T>(actual: T, expected: T, message = ""): void {
  if (!(actual < expected)) {
    fail(`Expected ${show(actual)} < ${show(expected)}`, message);
  }
}

/** Fails unless the first is less than the second, or equal to it. */
export function assertLessOrEqual<T>(
  actual: T,
  expected: T,
  message = "",
): void {
  if (!(actual <= expected)) {
    fail(`Expected ${show(actual)} <= ${show(expected)}`, message);
  }
}

/** Fails unless the value is an error of the class whose message fits. */
function assertIsError<E extends Error = Error>(
  error: unknown,
  expected?: Class<E>,
  part?: string | RegExp,
  message = "",
): asserts error is E {
  if (!(error instanceof Error)) {
    fail(`Expected an error, got ${show(error)}`, message);
  }
  if (expected && !(error instanceof expected)) {
    fail(
      `Expected an error of "${expected.name}", got "${error.constructor.name}"`,
      message,
    );
  }
  const fits = typeof part === "string"
    ? error.message.includes(part)
    : part?.test(error.message);
  if (part && !fits) {
    fail(
      `Expected the error's message to fit ${part}, got ${show(error.message)}`,
      message,
    );
  }
}

/** Fails unless the function throws; returns what it threw. */
export function assertThrows(action: () => unknown, message?: string): unknown;
/** Fails unless the function throws an error of the class whose message includes the part. */
export function assertThrows<E extends Error = Error>(
  action: () => unknown,
  expected: Class<E>,
  part?: string,
  message?: string,
): E;
export function assertThrows(
  action: () => unknown,
  expected?: Class<Error> | string,
  part?: string,
  message?: string,
): unknown {
  try {
    action();
  } catch (error) {
    return checked(error, expected, part, message);
  }
  fail(
    "Expected the function to throw",
    typeof expected === "string" ? expected : message,
  );
}

/** Fails unless the promise rejects; returns its reason. */
export function assertRejects(
  action: () => PromiseLike<unknown>,
  message?: string,
): Promise<unknown>;
/** Fails unless the promise rejects with an error of the class whose message includes the part. */
export function assertRejects<E extends Error = Error>(
  action: () => PromiseLike<unknown>,
  expected: Class<E>,
  part?: string,
  message?: string,
): Promise<E>;
export async function assertRejects(
  action: () => PromiseLike<unknown>,
  expected?: Class<Error> | string,
  part?: string,
  message?: string,
): Promise<unknown> {
  const promise = promised(action);
  try {
    await promise;
  } catch (error) {
    return checked(error, expected, part, message);
  }
  fail(
    "Expected the promise to reject",
    typeof expected === "string" ? expected : message,
  );
}

/** Fails. */
export function fail(problem = "Failed assertion", message = ""): never {
  throw new AssertionError(message === "" ? problem : `${problem}: ${message}`);
}

/** Calls the function; one that throws, or returns no promise, did not reject. */
function promised(action: () => PromiseLike<unknown>): PromiseLike<unknown> {
  let result: unknown;
  try {
    result = action();
  } catch (error) {
    fail(`Expected a rejected promise, but the function threw ${show(error)}`);
  }
  if (
    typeof (result as PromiseLike<unknown> | undefined)?.then !== "function"
  ) {
    fail(`Expected a rejected promise, got ${show(result)}`);
  }
  return result as PromiseLike<unknown>;
}

function checked(
  error: unknown,
  expected: Class<Error> | string | undefined,
  part: string | undefined,
  message: string | undefined,
): unknown {
  if (typeof expected === "function") {
    assertIsError(error, expected, part, message);
  }
  return error;
}

function both(actual: unknown, expected: unknown): string {
  return `    actual: ${show(actual)}\n  expected: ${show(expected)}`;
}

function show(value: unknown): string {
  return Deno.inspect(value, {
    depth: 8,
    strAbbreviateSize: 2_000,
    sorted: true,
  });
}
