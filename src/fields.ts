/**
 * Owns the shape of what a client names: the bracket notation that makes lists and records of the
 * flat names of a query or a form, and the two bounds on it. Decoding is the platform's; where the
 * text comes from is the caller's.
 */

import { HttpError } from "./errors.ts";

/** Named values as the client nested them: a record without prototype, so that any name is data. */
export interface NestedRecord<Leaf> {
  /** The value under a name, or undefined when the client sent none. */
  [name: string]: Nested<Leaf> | undefined;
}

/** One value, a list of values, or a record of them. */
export type Nested<Leaf> = Leaf | Nested<Leaf>[] | NestedRecord<Leaf>;

/** The fields of a query or a form. */
export type Fields = NestedRecord<string>;

/** How often brackets may follow a name: `a[b][c]` is nested twice. */
const deepest = 8;

/** The most fields where no limit is given. */
export const mostFields = 1_000;

/**
 * Reads `a=1&b[]=2` as the form decoder of the URL standard does, which no bad escape can fail.
 * Throws {@linkcode HttpError} of the given status when there are more fields than the limit.
 */
export function parseFields(
  text: string,
  source: string,
  status: number,
  limit: number = mostFields,
): Fields {
  let count = 1;
  for (let at = text.indexOf("&"); at !== -1; at = text.indexOf("&", at + 1)) {
    if (++count > limit) throw tooMany(status, source, `${limit} fields`);
  }
  // The decoder drops one leading question mark: without this one it could be the client's.
  return nest(new URLSearchParams("?" + text), "last");
}

/** The error for what holds more than it may. */
export function tooMany(
  status: number,
  source: string,
  limit: string,
): HttpError {
  return new HttpError(
    status,
    `Cannot read ${source}: it has more than ${limit}`,
  );
}

/**
 * Nests values by their names: `a[b]` is a member of a record, `a[]` one more element, and keys that
 * count from 0 make a list. Of a repeated name, `"last"` keeps its last value and `"all"` makes a
 * list. A name with unpaired brackets is taken literally; one nested deeper than 8 is an
 * {@linkcode HttpError} 400.
 */
export function nest<Leaf>(
  entries: Iterable<[string, Leaf]>,
  repeated: "last" | "all",
): NestedRecord<Leaf> {
  const root: NestedRecord<Leaf> = Object.create(null);
  for (const [name, leaf] of entries) {
    let holder = root;
    let [key, ...rest] = keysOf(name);
    for (const next of rest) {
      holder = descend(holder, key, repeated);
      key = next || nextIndex(holder);
    }
    if (repeated === "all" && key in holder) {
      holder = descend(holder, key, repeated);
      key = nextIndex(holder);
    }
    holder[key] = leaf;
  }
  for (const key in root) root[key] = withLists(root[key]!);
  return root;
}

/** Splits `a[b][]` into `a`, `b` and the empty key. */
function keysOf(name: string): [string, ...string[]] {
  const open = name.indexOf("[");
  if (open < 1 || !name.endsWith("]")) return [name];
  const keys = name.slice(open + 1, -1).split("][");
  if (keys.some((key) => /[[\]]/.test(key))) return [name];
  if (keys.length <= deepest) return [name.slice(0, open), ...keys];
  const shown = JSON.stringify(name.slice(0, 40));
  throw new HttpError(
    400,
    `Cannot read the field ${shown}: it is nested deeper than ${deepest}`,
  );
}

/** The record under a key, made there when there is none. */
function descend<Leaf>(
  holder: NestedRecord<Leaf>,
  key: string,
  repeated: "last" | "all",
): NestedRecord<Leaf> {
  const old = holder[key];
  if (isRecord(old)) return old;
  const made: NestedRecord<Leaf> = Object.create(null);
  if (repeated === "all" && old !== undefined) made[0] = old;
  return holder[key] = made;
}

function isRecord<Leaf>(
  value: Nested<Leaf> | undefined,
): value is NestedRecord<Leaf> {
  return typeof value === "object" && value !== null &&
    Object.getPrototypeOf(value) === null;
}

/** A free index: the first, where the others count from 0. It leaps, as clients choose how many. */
function nextIndex(record: NestedRecord<unknown>): string {
  let index = 0;
  for (let step = 256; step >= 1; step /= 2) {
    while (index + step - 1 in record) index += step;
  }
  return String(index);
}

/** Makes lists of the records, inside too, whose keys count from 0. */
function withLists<Leaf>(value: Nested<Leaf>): Nested<Leaf> {
  if (!isRecord(value)) return value;
  for (const key in value) value[key] = withLists(value[key]!);
  const isList = Object.keys(value).every((key, index) =>
    key === String(index)
  );
  return isList ? Object.values(value) as Nested<Leaf>[] : value;
}
