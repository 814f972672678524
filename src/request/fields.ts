/**
 * Owns the fields of a query or a form: decoding their text, and nesting values by the brackets in
 * their names. It words the refusals of all that a client sends.
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

type AnyRecord = NestedRecord<unknown>;

/** How many fields a query or a form may have. */
export const MAX_FIELDS = 1_000;

/** How many brackets a name may have: `a[b][c]` has two. */
const MAX_DEPTH = 8;

const UTF8 = new TextDecoder();

/** Stands for malformed bytes in decoded text. */
const REPLACEMENT = "\ufffd";

/** The error for input that cannot be read. */
export function refusal(
  status: number,
  source: string,
  state: string,
  options?: HttpErrorOptions,
): HttpError {
  return new HttpError(status, `Cannot read ${source}: ${state}`, options);
}

/**
 * Decodes text in the charset of a media type, by default UTF-8. Throws {@linkcode HttpError} 415 for
 * an unknown charset. Malformed bytes read as U+FFFD; where a source is given they are a 400.
 */
export function decode(bytes: Bytes, type: string, source?: string): string {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type)?.[1] ?? "utf-8";
  if (/^utf-?8$/i.test(charset)) {
    const text = UTF8.decode(bytes);
    if (source === undefined || !text.includes(REPLACEMENT)) return text;
  }
  try {
    const fatal = source !== undefined;
    return new TextDecoder(charset, { fatal }).decode(bytes);
  } catch (cause) {
    const status = cause instanceof RangeError ? 415 : 400;
    const state = `it is not text in the charset "${charset}"`;
    throw refusal(status, source ?? "the text", state, { cause });
  }
}

/**
 * Reads `a=1&b[]=2` by the form decoder of the URL standard, which accepts any text and drops one "?"
 * at the start. Throws {@linkcode HttpError} of the given status beyond 1,000 fields.
 */
export function parseFields(
  text: string,
  source: string,
  status: number,
): Fields {
  if (text.split("&", MAX_FIELDS + 1).length > MAX_FIELDS) {
    throw refusal(status, source, `it has more than ${MAX_FIELDS} fields`);
  }
  const fields = new Nesting<string>();
  new URLSearchParams(text).forEach((value, name) => fields.add(name, value));
  return fields.record();
}

/**
 * Nests values by their names: `a[b]` is a member of a record, `a[]` appends to a list, and keys that
 * count from 0 make a list. A repeated name keeps the last text; other values become a list. Unpaired
 * brackets belong to the name.
 */
export class Nesting<Leaf> {
  readonly #root: NestedRecord<Leaf> = Object.create(null);
  #isFlat = true;

  /** Adds a value. Throws {@linkcode HttpError} 400 when its name has more than eight brackets. */
  add(name: string, value: Leaf): void {
    let parent: AnyRecord = this.#root;
    let key = name;
    if (name.endsWith("]")) {
      const [first, ...rest] = keysOf(name);
      key = first;
      for (const next of rest) {
        parent = childOf(parent, key);
        key = next || nextIndex(parent);
      }
    }
    if (typeof value !== "string" && key in parent) {
      parent = childOf(parent, key);
      key = nextIndex(parent);
    }
    this.#isFlat &&= parent === this.#root;
    parent[key] = value;
  }

  /** The record of all values. Nothing can be added later. */
  record(): NestedRecord<Leaf> {
    const root = this.#root;
    if (this.#isFlat) return root;
    for (const key in root) root[key] = withLists(root[key]) as Nested<Leaf>;
    return root;
  }
}

/** Splits `a[b][]` into `a`, `b` and the empty key. */
function keysOf(name: string): [string, ...string[]] {
  const open = name.indexOf("[");
  if (open < 1) return [name];
  const keys = name.slice(open + 1, -1).split("][");
  if (keys.some((key) => /[[\]]/.test(key))) return [name];
  if (keys.length <= MAX_DEPTH) return [name.slice(0, open), ...keys];
  const field = JSON.stringify(name.slice(0, 40));
  throw refusal(
    400,
    `the field ${field}`,
    `it is nested deeper than ${MAX_DEPTH}`,
  );
}

/** The record under a key, added when there is none. Text there is replaced, another value is kept. */
function childOf(parent: AnyRecord, key: string): AnyRecord {
  const old = parent[key];
  if (isRecord(old)) return old;
  const child: AnyRecord = Object.create(null);
  if (typeof old === "object") child[0] = old;
  return parent[key] = child;
}

function isRecord(value: unknown): value is AnyRecord {
  return typeof value === "object" && Object.getPrototypeOf(value) === null;
}

/**
 * A free index; the first one when the others count from 0. It is found in leaps, since the client
 * chooses how many there are.
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
  for (const key in value) value[key] = withLists(value[key]);
  const isList = Object.keys(value).every((key, index) =>
    key === String(index)
  );
  return isList ? Object.values(value) : value;
}
