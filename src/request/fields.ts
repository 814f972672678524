/**
 * Owns what a client names: the text of its names and values, and the bracket notation that makes
 * lists and records of the flat names of a query or a form. It refuses what cannot be read, with
 * one wording for all of a request; where the text comes from is the caller's.
 */

import { HttpError, type HttpErrorOptions } from "../errors.ts";

/** Named values as the client nested them: a record without prototype, so that any name is data. */
export interface NestedRecord<Leaf> {
  /** The value under a name, or undefined when the client sent none. */
  [name: string]: Nested<Leaf> | undefined;
}

/** One value, a list of values, or a record of them. */
export type Nested<Leaf> = Leaf | Nested<Leaf>[] | NestedRecord<Leaf>;

/** The fields of a query or a form. */
export type Fields = NestedRecord<string>;

/** The bytes of a body, or of a part of it. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** The most fields of a query or a form. */
export const mostFields = 1_000;

type Holder = NestedRecord<unknown>;

/** How often brackets may follow a name: `a[b][c]` is nested twice. */
const deepest = 8;

/** The error for what a client sent and nobody can read. */
export function refusal(
  status: number,
  source: string,
  state: string,
  options?: HttpErrorOptions,
): HttpError {
  return new HttpError(status, `Cannot read ${source}: ${state}`, options);
}

/**
 * Decodes text in the charset of a media type, UTF-8 without one: an unknown charset is an
 * {@linkcode HttpError} 415. Malformed text reads as U+FFFD, but is a 400 for a source that is named.
 */
export function decode(bytes: Bytes, type: string, source?: string): string {
  const found = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type);
  const charset = found?.[1] ?? "utf-8";
  try {
    const fatal = source !== undefined;
    return new TextDecoder(charset, { fatal }).decode(bytes);
  } catch (cause) {
    const status = cause instanceof RangeError ? 415 : 400;
    const state = `it is no text in the charset "${charset}"`;
    throw refusal(status, source ?? "the text", state, { cause });
  }
}

/**
 * Reads `a=1&b[]=2`, and drops one "?" at its start, as the form decoder of the URL standard does,
 * which no bad escape can fail. Throws {@linkcode HttpError} of the given status when there are
 * more than 1,000 fields.
 */
export function parseFields(
  text: string,
  source: string,
  status: number,
): Fields {
  if (text.split("&", mostFields + 1).length > mostFields) {
    throw refusal(status, source, `it has more than ${mostFields} fields`);
  }
  return nest(new URLSearchParams(text));
}

/**
 * Nests values by their names: `a[b]` is a member of a record, `a[]` one more element, and keys that
 * count from 0 make a list. Of a repeated name text keeps its last value, and anything else makes a
 * list. A name with unpaired brackets is taken literally; one nested deeper than 8 is an
 * {@linkcode HttpError} 400.
 */
export function nest<Leaf>(
  entries: Iterable<[string, Leaf]>,
): NestedRecord<Leaf> {
  const root: NestedRecord<Leaf> = Object.create(null);
  let isFlat = true;
  for (const [name, leaf] of entries) {
    let holder: Holder = root;
    let [key, ...rest] = keysOf(name);
    for (const next of rest) {
      holder = descend(holder, key);
      key = next || nextIndex(holder);
    }
    if (key in holder && typeof leaf !== "string") {
      holder = descend(holder, key);
      key = nextIndex(holder);
    }
    isFlat &&= holder === root;
    holder[key] = leaf;
  }
  if (isFlat) return root;
  for (const key in root) root[key] = withLists(root[key]) as Nested<Leaf>;
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
  const state = `it is nested deeper than ${deepest}`;
  throw refusal(400, `the field ${shown}`, state);
}

/** The record under a key, made there when there is none; it takes up what is no text. */
function descend(holder: Holder, key: string): Holder {
  const old = holder[key];
  if (isRecord(old)) return old;
  const made: Holder = Object.create(null);
  if (typeof old === "object") made[0] = old;
  return holder[key] = made;
}

function isRecord(value: unknown): value is Holder {
  return typeof value === "object" && Object.getPrototypeOf(value) === null;
}

/** A free index: the first, where the others count from 0. It leaps, as clients choose how many. */
function nextIndex(record: Holder): string {
  let index = 0;
  for (let step = 256; step >= 1; step /= 2) {
    while (index + step - 1 in record) index += step;
  }
  return String(index);
}

/** Makes lists of the records, inside too, whose keys count from 0. */
function withLists(value: unknown): unknown {
  if (!isRecord(value)) return value;
  for (const key in value) value[key] = withLists(value[key]);
  const isList = Object.keys(value).every((key, at) => key === String(at));
  return isList ? Object.values(value) : value;
}
