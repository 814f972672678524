/**
 * Owns the body of a request: reading it from the connection, whole and within its limits, and decoding it
 * by its media type as text, JSON or a form. How fields nest is in `fields.ts`, the syntax of multipart
 * forms in `multipart.ts`.
 */

import { HttpError, unreadable } from "../errors.ts";
import { JSON_TYPE } from "../media_type.ts";
import { headerOf, isFromServer } from "../runtime.ts";
import { settlesWithin } from "../timer.ts";
import { type Data, type Form, parseFields, recordRefusal } from "./fields.ts";
import { parseMultipart } from "./multipart.ts";
import { FORBIDDEN_METHODS } from "./web_request.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const SOURCE = "the request body";

/**
 * The largest declared length that is read natively, in bytes. Deno reserves the whole length before
 * anything of it has arrived, so a client could claim megabytes with one line.
 */
const NATIVE_BYTES = 65_536;

/** The methods whose web requests cannot have a body (Fetch standard). */
const BODILESS_METHODS = new Set(["GET", "HEAD", ...FORBIDDEN_METHODS]);

/** How deep the lists and records of JSON may be nested where they are read as `data`. */
const MAX_JSON_DEPTH = 1_000;

/** The part of a JSON error's message that quotes the client. */
const QUOTATION = /(?<=^Unexpected token '.+?'), .*$/su;

/** The headers of a refusal after which the connection closes. */
const CLOSING = { connection: "close" };

const UTF8 = new TextDecoder();

/** A form may begin with U+FEFF (URL standard, "UTF-8 decode without BOM"). */
const KEEP_BOM = { ignoreBOM: true };

const UTF8_WITH_BOM = new TextDecoder("utf-8", KEEP_BOM);

/** Whether a request has a body; told by the headers where possible, since reading `body` makes a stream. */
export function hasBody(request: Request): boolean {
  if (BODILESS_METHODS.has(request.method)) return false;
  const length = headerOf(request, "content-length");
  const isKnown = length !== null && isFromServer(request);
  return isKnown ? length !== "0" : request.body !== null;
}

/**
 * Reads the whole body of a request, within a limit in bytes. Rejects with {@linkcode HttpError} 413 as
 * soon as it is known to be too large, 408 when it has not arrived within `timeoutSeconds` (0: no
 * limit), 400 when the client ends it early, and 503 when a server that drains cuts it off.
 */
export async function readBody(
  request: Request,
  limit: number,
  timeoutSeconds = 0,
  isDraining: () => boolean = () => false,
): Promise<Bytes> {
  const length = checkLength(request, limit);
  const isServed = isFromServer(request);
  const isSmall = isServed && length <= NATIVE_BYTES;
  const reader = isSmall ? undefined : request.body?.getReader();
  const reading = reader ? collect(reader, limit, isServed) : request.bytes();
  const inTime = timeoutSeconds === 0 ||
    await settlesWithin(reading, timeoutSeconds);
  try {
    if (!inTime) {
      throw unreadable(
        408,
        SOURCE,
        `it did not arrive within ${timeoutSeconds} seconds`,
      );
    }
    const bytes = await reading;
    if (bytes.length < length) throw endedEarly(isDraining());
    return bytes;
  } catch (error) {
    // Deno never frees the buffer of a read that is cancelled: a late body is left to the closing connection.
    // Errors of cancelling are ignored, since the body is refused anyway.
    if (inTime || !isServed) reader?.cancel().catch(() => {});
    throw error instanceof HttpError ? error : endedEarly(isDraining(), error);
  }
}

/**
 * Copies a stream into one growing buffer. Each chunk of a served body lies in a buffer of 64 KiB, which
 * belongs to the reader (Streams standard) and is freed at once.
 */
async function collect(
  reader: ReadableStreamDefaultReader<Bytes>,
  limit: number,
  isServed: boolean,
): Promise<Bytes> {
  let bytes: Bytes = new Uint8Array();
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(bytes.buffer.transfer(size));
    if (!(value instanceof Uint8Array)) throw new TypeError("Not bytes");
    const end = size + value.length;
    if (end > limit) throw tooLarge(limit);
    if (end > bytes.length) {
      const capacity = Math.min(limit, Math.max(end, bytes.length * 2));
      bytes = new Uint8Array(bytes.buffer.transfer(capacity));
    }
    bytes.set(value, size);
    size = end;
    if (isServed) value.buffer.transfer(0);
  }
}

/**
 * A stream that throws {@linkcode HttpError} 413 beyond a limit in bytes. It reads only what it is asked for:
 * Deno never frees the buffer of a read that is under way when the stream is cancelled.
 */
export function limited(
  body: ReadableStream<Bytes>,
  limit: number,
): ReadableStream<Bytes> {
  let reader: ReadableStreamDefaultReader<Bytes> | undefined;
  let size = 0;
  return new ReadableStream<Bytes>({
    async pull(controller) {
      reader ??= body.getReader(); // until then another route may read the body
      const { done, value } = await reader.read();
      if (done) return controller.close();
      size += value.length;
      if (size <= limit) return controller.enqueue(value);
      reader.cancel().catch(() => {});
      throw tooLarge(limit);
    },
    cancel: (reason) => (reader ?? body).cancel(reason),
  }, { highWaterMark: 0 });
}

/**
 * Returns the declared length of a body, or NaN for none. Throws {@linkcode HttpError} 413 when it is larger than a
 * limit in bytes.
 */
export function checkLength(request: Request, limit: number): number {
  const length = Number(headerOf(request, "content-length") ?? NaN);
  if (length > limit) throw tooLarge(limit);
  return length;
}

/**
 * The error for a body that is larger than a limit in bytes. It leaves part of the body unread, and so asks for the end
 * of the connection (RFC 9112, section 9.3). Deno reads on and drops what comes: docs/in_production.md says so.
 */
export function tooLarge(limit: number): HttpError {
  const state = `it is larger than ${sizeText(limit)}`;
  return unreadable(413, SOURCE, state, { headers: CLOSING });
}

/** A size as people read it: in MiB or KiB where that is a whole number, else in bytes. */
function sizeText(bytes: number): string {
  if (bytes === 0 || bytes % 1024 !== 0) return `${bytes} bytes`;
  const kib = bytes / 1024;
  return kib % 1024 === 0 ? `${kib / 1024} MiB` : `${kib} KiB`;
}

/** Deno cancels a body that is arriving when its server shuts down, which is not the client's fault. */
function endedEarly(isDraining: boolean, cause?: unknown): HttpError {
  return isDraining
    ? unreadable(503, SOURCE, "the server is shutting down", {
      cause,
      headers: CLOSING,
    })
    : unreadable(400, SOURCE, "it ended early", { cause });
}

/**
 * Decodes text in the charset of its Content-Type, by default UTF-8. Malformed bytes read as U+FFFD. Throws
 * {@linkcode HttpError} 415 for an unknown charset and, if `fatal`, 400 for malformed bytes. A byte order mark
 * is dropped, unless `ignoreBOM` makes it text.
 */
export function decode(
  bytes: Bytes,
  type: string,
  options: TextDecoderOptions = {},
): string {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type)?.[1] ?? "utf-8";
  const { fatal, ignoreBOM } = options;
  try {
    if (!fatal && /^utf-?8$/i.test(charset)) {
      return (ignoreBOM ? UTF8_WITH_BOM : UTF8).decode(bytes);
    }
    return new TextDecoder(charset, options).decode(bytes);
  } catch (cause) {
    const status = cause instanceof RangeError ? 415 : 400;
    const state = `it is not text in the charset "${charset}"`;
    throw unreadable(status, SOURCE, state, { cause });
  }
}

/**
 * Parses JSON. Throws {@linkcode HttpError} 415 for another type or an unknown charset, and 400 for malformed
 * JSON; its message says what is wrong without quoting the client.
 */
export function parseJson(bytes: Bytes, type: string): unknown {
  if (!JSON_TYPE.test(type)) {
    throw unreadable(415, "the JSON body", `its type is "${type}"`);
  }
  const text = decode(bytes, type);
  // Strict decoding is slower: only text that may be malformed is decoded again.
  if (text.includes("\ufffd")) decode(bytes, type, { fatal: true });
  try {
    return JSON.parse(text);
  } catch (cause) {
    const fault = (cause as SyntaxError).message.replace(QUOTATION, "");
    throw unreadable(400, "the JSON body", fault, { cause });
  }
}

/**
 * Parses the fields and files of a form, or the members of JSON. A JSON value without members has none, nor has
 * a body of any other type. Throws {@linkcode HttpError} 400 when the body is malformed, 413
 * beyond the limits, and 415 for an unknown charset.
 */
export function parseForm(bytes: Bytes, type: string): Form {
  if (bytes.length === 0) return formOf(Object.create(null));
  const kind = kindOf(type);
  if (kind === "multipart") return parseMultipart(bytes, type);
  if (kind === "form") {
    // One "?" at the start would be dropped.
    const text = decode(bytes, type, KEEP_BOM);
    return formOf(parseFields(`?${text}`, "the form", 413));
  }
  const isJson = kind === "JSON";
  return formOf(
    isJson ? membersOf(parseJson(bytes, type)) : Object.create(null),
  );
}

/** What a body holds by its Content-Type; undefined for what is neither JSON nor a form. */
export function kindOf(
  type: string,
): "JSON" | "form" | "multipart" | undefined {
  if (JSON_TYPE.test(type)) return "JSON";
  const mediaType = type.split(";", 1)[0]!.trim().toLowerCase();
  if (mediaType === "multipart/form-data") return "multipart";
  if (mediaType === "application/x-www-form-urlencoded") return "form";
  return undefined;
}

/** The form of a body without uploads. */
function formOf(data: Data): Form {
  return { data, files: Object.create(null), whole: () => data };
}

/** The members of a JSON value, whose records refuse to be text; those of an array are "0", "1" and so on. */
function membersOf(value: unknown): Data {
  const members = Object.create(null);
  if (typeof value !== "object" || value === null) return members;
  refuseTexts(value);
  // Copying many members would take three times as long as parsing them.
  if (!Array.isArray(value)) return Object.setPrototypeOf(value, null);
  // For a long list, a loop takes a fifteenth of the time of `Object.assign()`.
  value.forEach((element, index) => members[index] = element);
  return members;
}

/**
 * Has `String()` of each record inside a JSON value throw {@linkcode HttpError} 400, as with a record of a form. Throws
 * the same when they are nested too deep.
 */
function refuseTexts(root: object): void {
  // One for all records: a function for each would take five times as long.
  const refusing = {
    value(this: object): never {
      throw recordRefusal(pathOf(keysTo(this, root) ?? []));
    },
  };
  const visitMember = (member: unknown, depth: number): void => {
    if (typeof member !== "object" || member === null) return;
    if (!Array.isArray(member)) {
      Object.defineProperty(member, Symbol.toPrimitive, refusing);
    }
    visitMembers(member, depth + 1);
  };
  const visitMembers = (value: object, depth: number): void => {
    if (depth > MAX_JSON_DEPTH) {
      const state = `it is nested more than ${MAX_JSON_DEPTH} levels deep`;
      throw unreadable(400, "the JSON body", state);
    }
    if (Array.isArray(value)) {
      for (const member of value) visitMember(member, depth);
    } else {
      for (const key in value) visitMember((value as Data)[key], depth);
    }
  };
  visitMembers(root, 1);
}

/** The keys that lead to a record inside a value; undefined where the application has removed it. */
function keysTo(
  record: object,
  value: unknown,
  seen: Set<object> = new Set(),
): string[] | undefined {
  if (value === record) return [];
  if (typeof value !== "object" || value === null || seen.has(value)) return;
  seen.add(value); // the application may have made a circle
  for (const key in value) {
    const keys = keysTo(record, (value as Data)[key], seen);
    if (keys !== undefined) return [key, ...keys];
  }
}

/** The path of a field as in a form: `a[b][0]`. */
function pathOf([first = "", ...rest]: readonly string[]): string {
  return first + rest.map((key) => `[${key}]`).join("");
}
