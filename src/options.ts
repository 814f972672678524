/** Owns the rules that options have in common: which names they may have, and how long a time may be. */

import { wrongKind } from "./errors.ts";
import { didYouMean } from "./suggestions.ts";

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
  const hint = didYouMean(wrong, names) || `: it takes ${listed(names)}`;
  throw new TypeError(`Cannot ${action}: there is no option "${wrong}"${hint}`);
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

function listed(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ");
}
