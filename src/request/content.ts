/**
 * Owns the meaning of a body and of a query: text, JSON, and fields nested by the brackets in their
 * names. The syntax of multipart forms is in `multipart.ts`, reading a body in `body.ts`.
 */

import { refusal } from "../errors.ts";
import { type Part, partsOf } from "./multipart.ts";
import { UploadedFile } from "./upload.ts";

/** What a body holds: the fields of a form, or the members of a JSON object or array. */
export type Data = Record<string, unknown>;

/** Named values as the client nested them: a record without prototype, so that any name is data. */
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

type AnyRecord = NestedRecord<unknown>;

/** How many fields a query or a form may have, and how many files. */
const MAX_PARTS = { fields: 1_000, files: 100 } as const;

/** How many brackets a name may have: `a[b][c]` has two. */
const MAX_DEPTH = 8;

const JSON_TYPE = /^(?:application|text)\/json$|^[^/]+\/.+\+json$/;

const JSON_BODY = "the JSON body";

/** The part of a JSON error's message that quotes the client. */
const QUOTATION = /(?<=^Unexpected token '.+?'), .*$/su;

const UTF8 = new TextDecoder();

/** Stands for malformed bytes in decoded text. */
const REPLACEMENT = "\ufffd";

/** For the text of a part, which is UTF-8 whatever its headers say; a byte order mark belongs to it. */
const UTF8_OF_PARTS = new TextDecoder("utf-8", { ignoreBOM: true });

/** The content of one body. */
export class Content {
  /** The bytes as they came, not a copy. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly #type: string;
  readonly #mediaType: string;
  #form: { readonly data: Data; readonly files: Files } | undefined;
  #json: { readonly value: unknown } | undefined;

  /** Takes the bytes and the Content-Type header. */
  constructor(bytes: Uint8Array<ArrayBuffer> = new Uint8Array(), type = "") {
    this.bytes = bytes;
    this.#type = type;
    this.#mediaType = type.split(";", 1)[0]!.trim().toLowerCase();
  }

  /**
   * The text in the charset of the Content-Type, by default UTF-8; malformed bytes read as U+FFFD.
   * Throws {@linkcode HttpError} 415 for an unknown charset.
   */
  text(): string {
    return decode(this.bytes, this.#type);
  }

  /**
   * The fields of a form, or the members of JSON; empty for a JSON value without members and any other
   * media type. Throws {@linkcode HttpError} 400 when the body is malformed, 413 beyond its limits.
   */
  get data(): Data {
    return (this.#form ??= this.#parse()).data;
  }

  /** The uploads of a multipart form. Throws as `data` does. */
  get files(): Files {
    return (this.#form ??= this.#parse()).files;
  }

  /** Whether the media type is one of JSON. */
  get isJson(): boolean {
    return JSON_TYPE.test(this.#mediaType);
  }

  /** The JSON value. Throws {@linkcode HttpError} 415 for another media type, 400 when it is malformed. */
  get json(): unknown {
    if (!this.isJson) {
      throw refusal(415, JSON_BODY, `its type is "${this.#type}"`);
    }
    return (this.#json ??= { value: this.#parseJson() }).value;
  }

  /** The method that the field `_method` of a form asks for: PUT, PATCH or DELETE, otherwise "". */
  get methodOverride(): string {
    if (this.isJson) return "";
    try {
      const method = String(this.data._method).toUpperCase();
      return /^(?:PUT|PATCH|DELETE)$/.test(method) ? method : "";
    } catch {
      return ""; // a malformed form is an error only for the handler that reads it
    }
  }

  #parse(): { data: Data; files: Files } {
    const { bytes } = this;
    const form = { data: Object.create(null), files: Object.create(null) };
    if (bytes.length === 0) return form;
    if (this.#mediaType === "multipart/form-data") {
      return parseMultipart(bytes, this.#type);
    }
    if (this.#mediaType === "application/x-www-form-urlencoded") {
      // One "?" at the start would be dropped.
      form.data = parseFields(`?${this.text()}`, "the form", 413);
    } else if (this.isJson) {
      form.data = membersOf(this.#parseJson());
    }
    return form;
  }

  /** Parses JSON; the error says what is wrong without the client's text. */
  #parseJson(): unknown {
    const text = decode(this.bytes, this.#type, JSON_BODY);
    try {
      return JSON.parse(text);
    } catch (cause) {
      const fault = (cause as SyntaxError).message.replace(QUOTATION, "");
      throw refusal(400, JSON_BODY, fault, { cause });
    }
  }
}

/**
 * Parses `a=1&b[]=2` by the form decoder of the URL standard, which accepts any text and drops one "?" at
 * the start. Throws {@linkcode HttpError} of the given status beyond 1,000 fields.
 */
export function parseFields(
  text: string,
  source: string,
  status: number,
): Fields {
  const most = MAX_PARTS.fields;
  if (text.split("&", most + 1).length > most) {
    throw refusal(status, source, `it has more than ${most} fields`);
  }
  return nest(new URLSearchParams(text));
}

/**
 * Decodes text in the charset of a media type, by default UTF-8. Throws {@linkcode HttpError} 415 for
 * an unknown charset. Malformed bytes read as U+FFFD; where a source is given they are a 400.
 */
function decode(
  bytes: Uint8Array<ArrayBuffer>,
  type: string,
  source?: string,
): string {
  const fatal = source !== undefined;
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type)?.[1] ?? "utf-8";
  try {
    if (/^utf-?8$/i.test(charset)) {
      const text = UTF8.decode(bytes);
      // To be strict takes three times as long: only text that may be malformed is decoded so.
      if (!fatal || !text.includes(REPLACEMENT)) return text;
    }
    return new TextDecoder(charset, { fatal }).decode(bytes);
  } catch (cause) {
    const status = cause instanceof RangeError ? 415 : 400;
    const state = `it is not text in the charset "${charset}"`;
    throw refusal(status, source ?? "the text", state, { cause });
  }
}

/** The members of a JSON value; those of an array are "0", "1" and so on. */
function membersOf(value: unknown): Data {
  const members = Object.create(null);
  if (Array.isArray(value)) {
    // For a long list, a loop takes a fifteenth of the time of `Object.assign()`.
    value.forEach((element, index) => members[index] = element);
  } else if (typeof value === "object" && value !== null) {
    // Copying many members would take three times as long as parsing them.
    return Object.setPrototypeOf(value, null);
  }
  return members;
}

/**
 * Parses a multipart form. Throws {@linkcode HttpError} 400 when it is malformed or cut short, and 413
 * beyond 1,000 fields, 100 files, or 8 KiB of headers in a part.
 */
export function parseMultipart(
  bytes: Uint8Array<ArrayBuffer>,
  type: string,
): { data: Fields; files: Files } {
  const parts = { fields: [] as Part[], files: [] as Part[] };
  for (const part of partsOf(bytes, type)) {
    const kind = part.filename === undefined ? "fields" : "files";
    if (parts[kind].push(part) <= MAX_PARTS[kind]) continue;
    const state = `it has more than ${MAX_PARTS[kind]} ${kind}`;
    throw refusal(413, "the multipart form", state);
  }
  // A file input that was left empty comes as an empty file without a name.
  const files = parts.files.filter((file) =>
    file.filename !== "" || file.content.length > 0
  );
  return {
    data: nest(
      parts.fields.map((
        { name, content },
      ) => [name, UTF8_OF_PARTS.decode(content)]),
    ),
    files: nest(
      files.map((
        { name, filename, type, content },
      ) => [name, new UploadedFile([content], filename!, { type })]),
    ),
  };
}

/**
 * Nests values by their names: `a[b]` is a member of a record, `a[]` appends to a list, and keys that
 * count from 0 make a list. A repeated name keeps the last text; other values become a list. Unpaired
 * brackets belong to the name. Throws {@linkcode HttpError} 400 for more than eight brackets.
 */
function nest<Leaf>(entries: Iterable<[string, Leaf]>): NestedRecord<Leaf> {
  const root: NestedRecord<Leaf> = Object.create(null);
  for (const [name, value] of entries) {
    let parent: AnyRecord = root;
    let [key, ...rest] = keysOf(name);
    for (const next of rest) {
      parent = childOf(parent, key);
      key = next || nextIndex(parent);
    }
    if (typeof value !== "string" && key in parent) {
      parent = childOf(parent, key);
      key = nextIndex(parent);
    }
    parent[key] = value;
  }
  for (const key in root) root[key] = withLists(root[key]) as Nested<Leaf>;
  return root;
}

/** Splits `a[b][]` into `a`, `b` and the empty key. */
function keysOf(name: string): [string, ...string[]] {
  const open = name.endsWith("]") ? name.indexOf("[") : -1;
  if (open < 1) return [name];
  const keys = name.slice(open + 1, -1).split("][");
  if (keys.some((key) => /[[\]]/.test(key))) return [name];
  if (keys.length <= MAX_DEPTH) return [name.slice(0, open), ...keys];
  const field = `the field ${JSON.stringify(name.slice(0, 40))}`;
  throw refusal(400, field, `it is nested deeper than ${MAX_DEPTH}`);
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
