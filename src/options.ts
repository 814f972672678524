/** Owns checking what applications give: records and options, and suggestions for names that are misspelled. */

import { wrongKind } from "./errors.ts";

/** The longest time that options take: added to the time of day, it still makes a valid date. */
export const MAX_SECONDS = 1_000_000_000_000;

/** Throws `TypeError` when options are no record, or one of them has an unknown name; undefined stands for none. */
export function checkOptions(
  action: string,
  options: unknown,
  names: readonly string[],
): void {
  if (options === undefined) return;
  checkRecord(action, "the options must be a record", options);
  const wrong = Object.keys(options).find((name) => !names.includes(name));
  if (wrong === undefined) return;
  const known = names.map((name) => `"${name}"`).join(", ");
  throw new TypeError(
    `Cannot ${action}: there is no option "${wrong}"; it takes ${known}`,
  );
}

/** Throws `TypeError` unless a value is a record: a list, a map or `Headers` have no names of their own. */
export function checkRecord(
  action: string,
  rule: string,
  value: unknown,
): asserts value is object {
  const isRecord = typeof value === "object" && value !== null &&
    !(Symbol.iterator in value);
  if (!isRecord) throw wrongKind(action, rule, value);
}

/** Whether an object is a record as literals, JSON and fields make it. */
export function isPlainRecord(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/**
 * The names nearest to an unknown one, the nearest first: at most three, within a third of its length in
 * edits. An edit adds, drops or replaces a letter, or swaps two neighbors.
 */
export function suggestions(name: string, names: Iterable<string>): string[] {
  const limit = Math.max(1, Math.floor(name.length / 3));
  return [...new Set(names)]
    .filter((other) => Math.abs(other.length - name.length) <= limit)
    .map((other) => ({ other, edits: editDistance(name, other) }))
    .filter(({ edits }) => edits <= limit && edits < name.length)
    .sort((one, other) => one.edits - other.edits)
    .slice(0, 3)
    .map(({ other }) => other);
}

/** The end of an error message: `: did you mean "a" or "b"?`, or nothing when no name is near. */
export function didYouMean(name: string, names: Iterable<string>): string {
  const near = suggestions(name, names).map((other) => `"${other}"`);
  return near.length > 0 ? `: did you mean ${near.join(" or ")}?` : "";
}

/** What to use instead of methods that other frameworks have. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  all: "a route without methods takes all of them",
  download: "use response().attachment(name) and file(path)",
  jsonHalt: "use json(), then stop()",
  listen: "use start()",
  params: "use request().route?.params",
  session: 'use sessions() of "@framework/core/sessions"',
  use: 'use before("start", ...), or addMiddleware() of a route',
};

/** The error for an unknown method. */
export function noSuchMethod(
  name: string,
  action: string,
  names: Iterable<string>,
): TypeError {
  const hint = Object.hasOwn(ELSEWHERE, name)
    ? `: ${ELSEWHERE[name]}`
    : didYouMean(name, names);
  return new TypeError(
    `Cannot ${action} "${name}": there is no such method${hint}`,
  );
}

/** The optimal string alignment distance without case, one row at a time. */
function editDistance(name: string, other: string): number {
  const [a, b] = [name.toLowerCase(), other.toLowerCase()];
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const replaced = row[j - 1]! + (isSame ? 0 : 1);
      const swapped = isSwapped ? before[j - 2]! + 1 : Infinity;
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, replaced, swapped));
    }
    [before, row] = [row, next];
  }
  return row[b.length]!;
}
