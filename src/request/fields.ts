/**
 * Owns the fields of queries and forms: their types, how many there may be, and how the brackets in their
 * names nest them. Reading and parsing a body is in `body.ts`.
 */

import { unreadable } from "../errors.ts";
import type { UploadedFile } from "./upload.ts";

/** Named values as the client has nested them: a record without a prototype, so that any name is data. */
export interface NestedRecord<Leaf> {
  /** The value under a name, or undefined when the client sent none. */
  [name: string]: Nested<Leaf> | undefined;
}

/** One value, a list of values, or a record of them. */
export type Nested<Leaf> = Leaf | Nested<Leaf>[] | NestedRecord<Leaf>;

/** The fields of a query or a form. */
export type Fields = NestedRecord<string>;

/** Uploads by the name of their field: one file, or a list when a name came more than once. */
export type Files = NestedRecord<UploadedFile>;

/** What a body holds: the fields of a form, or the members of a JSON object or array. */
export type Data = Record<string, unknown>;

/** The data of a body, and its uploads. */
export interface Form {
  readonly data: Data;
  /** The fields in their order; none of JSON. */
  readonly entries: readonly (readonly [name: string, value: string])[];
  readonly files: Files;
  /** The data and the uploads in one record. */
  readonly whole: Data;
}

type AnyRecord = NestedRecord<unknown>;

/** How many fields a query or a form may have, and how many files a form. */
const LIMITS = { fields: 1_000, files: 100 } as const;

/** How many brackets a name may have: `a[b][c]` has two. */
const MAX_DEPTH = 8;

/**
 * Parses `a=1&b[]=2` by the form decoder of the URL standard, which accepts any text and drops one "?" at
 * the start. Throws {@linkcode HttpError} of the given status beyond 1,000 fields.
 */
export function entriesOf(
  text: string,
  source: string,
  status: number,
): [string, string][] {
  const { length } = text.split("&", LIMITS.fields + 1);
  checkCount("fields", length, source, status);
  const entries: [string, string][] = [];
  // Its iterator is slower.
  new URLSearchParams(text).forEach((value, name) =>
    entries.push([name, value])
  );
  return entries;
}

/** Throws {@linkcode HttpError} of the given status when there are more fields, or files, than allowed. */
export function checkCount(
  kind: keyof typeof LIMITS,
  count: number,
  source: string,
  status = 413,
): void {
  if (count <= LIMITS[kind]) return;
  throw unreadable(status, source, `it has more than ${LIMITS[kind]} ${kind}`);
}

/**
 * Nests values by their names: `a[b]` is a member of a record, `a[]` appends to a list, and keys that
 * count from 0 make a list. A repeated name keeps the last text; other values become a list. Unpaired
 * brackets belong to the name. Throws {@linkcode HttpError} 400 for more than eight brackets.
 */
export function nest<Leaf>(
  entries: Iterable<[string, Leaf]>,
): NestedRecord<Leaf> {
  const root: NestedRecord<Leaf> = Object.create(null);
  for (const [name, value] of entries) {
    let parent: AnyRecord = root;
    let [key, ...rest] = keysOf(name);
    let path = key;
    // A repeated text replaces the one before; any other repeated value goes into a list.
    while (rest.length > 0 || key in parent && typeof value !== "string") {
      parent = childOf(parent, key, path);
      key = rest.shift() || nextIndex(parent);
      path += `[${key}]`;
    }
    parent[key] = value;
  }
  for (const key in root) {
    const value = root[key];
    if (typeof value === "object") root[key] = withLists(value) as Nested<Leaf>;
  }
  return root;
}

/** Splits `a[b][]` into `a`, `b` and the empty key. */
function keysOf(name: string): [string, ...string[]] {
  const open = name.endsWith("]") ? name.indexOf("[") : -1;
  if (open < 1) return [name];
  const keys = name.slice(open + 1, -1).split("][");
  if (keys.some((key) => /[[\]]/.test(key))) return [name];
  if (keys.length <= MAX_DEPTH) return [name.slice(0, open), ...keys];
  const state = `it is nested more than ${MAX_DEPTH} levels deep`;
  throw unreadable(400, fieldName(name), state);
}

/** Names a field in messages; the client chooses how long its name is. */
function fieldName(name: string): string {
  return `the field ${JSON.stringify(name.slice(0, 40))}`;
}

/** The record under a key. A text there is replaced by one, another value becomes its first member. */
function childOf(parent: AnyRecord, key: string, path: string): AnyRecord {
  const old = parent[key];
  if (isRecord(old)) return old;
  const child: AnyRecord = Object.create(null);
  const refuse = (): never => {
    throw unreadable(400, fieldName(path), "it is a record, not text");
  };
  // Not a prototype: that would make the record differ from a plain one for assertions and libraries.
  Object.defineProperty(child, Symbol.toPrimitive, { value: refuse });
  if (typeof old === "object") child[0] = old;
  return parent[key] = child;
}

function isRecord(value: unknown): value is AnyRecord {
  return typeof value === "object" && Object.getPrototypeOf(value) === null;
}

/**
 * A free index: the next one where the keys count from 0. It is searched in leaps, since the client chooses
 * how many keys there are.
 */
function nextIndex(record: AnyRecord): string {
  let index = 0;
  for (let step = 256; step >= 1; step /= 2) {
    while (index + step - 1 in record) index += step;
  }
  return String(index);
}

/** Replaces each record whose keys count from 0 by a list, at every depth. */
function withLists(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const keys = Object.keys(value);
  for (const key of keys) value[key] = withLists(value[key]);
  const isList = keys.every((key, index) => key === String(index));
  return isList ? Object.values(value) : value;
}
