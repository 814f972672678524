/**
 * Owns the body of a request: reading it off the connection, once, whole and within its limits, and what
 * its bytes mean by their media type: text, JSON, or a form. How fields nest is in `fields.ts`, the syntax
 * of multipart forms in `multipart.ts`.
 */

import { HttpError, refusal } from "../errors.ts";
import { headerOf, isHandedOver } from "../runtime.ts";
import { contextScope } from "../state/scope.ts";
import { settles } from "../timer.ts";
import { type Files, parseFields } from "./fields.ts";
import { parseMultipart } from "./multipart.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** What a body holds: the fields of a form, or the members of a JSON object or array. */
export type Data = Record<string, unknown>;

const SOURCE = "the request body";

/**
 * The largest declared length that is read natively, in bytes. Deno reserves the whole length before
 * anything of it has arrived, so a client could claim megabytes with one line.
 */
const NATIVE_BYTES = 65_536;

/** The first size of the buffer that a streamed body is copied to; it doubles as needed. */
const FIRST_BYTES = 16_384;

/** How many microtasks to wait for a body that may have arrived with its head; Deno 2.9 takes four. */
const EAGER_TURNS = 8;

/** The methods whose requests cannot have a body (Fetch standard). */
const BODILESS = new Set(["GET", "HEAD", "TRACE", "TRACK", "CONNECT"]);

const JSON_TYPE = /^(?:application|text)\/json$|^[^/]+\/.+\+json$/;

/** The part of a JSON error's message that quotes the client. */
const QUOTATION = /(?<=^Unexpected token '.+?'), .*$/su;

const UTF8 = new TextDecoder();

/** Whether a request has a body. Reading `body` makes a stream, which costs more than a small body. */
export function hasBody(request: Request): boolean {
  if (BODILESS.has(request.method)) return false;
  const length = headerOf(request, "content-length");
  const isKnown = length !== null && isHandedOver(request);
  return isKnown ? length !== "0" : request.body !== null;
}

/**
 * Reads the whole body of a request, within a limit in bytes. Throws {@linkcode HttpError} 413 as
 * soon as it is known to be too large, 408 when it has not arrived within `timeoutSeconds` (0: no
 * limit), 400 when the client ended it early, and 503 when the server did.
 */
export async function readBody(
  request: Request,
  limit: number,
  timeoutSeconds = 0,
): Promise<Bytes> {
  const length = Number(headerOf(request, "content-length") ?? NaN);
  if (length > limit) throw tooLarge(limit);
  const isServed = isHandedOver(request);
  const isSmall = isServed && length <= NATIVE_BYTES;
  const reader = isSmall ? undefined : request.body?.getReader();
  const reading = reader ? collect(reader, limit, isServed) : request.bytes();
  let isRead = timeoutSeconds === 0;
  const note = (): void => void (isRead = true);
  const settled = reading.then(note, note);
  try {
    // A timer costs a third of a small request, and most bodies have arrived with their head.
    for (let turn = 0; turn < EAGER_TURNS && !isRead; turn++) await null;
    if (!isRead && !await settles(settled, timeoutSeconds)) {
      const state = `it did not arrive within ${timeoutSeconds} seconds`;
      throw closing(408, state);
    }
    const bytes = await reading;
    if (bytes.length < length) throw endedEarly();
    return bytes;
  } catch (error) {
    // Cancelled while a read is under way, Deno keeps the buffer of that read for ever.
    const isReading = isServed && !isRead;
    // A source may fail to stop: its body is refused anyway.
    if (!isReading) reader?.cancel().catch(() => {});
    throw error instanceof HttpError ? error : endedEarly(error);
  }
}

/**
 * Copies a stream into one growing buffer. Each chunk of a served body lies in a buffer of 64 KiB,
 * which is the reader's own (Streams standard): it is freed at once.
 */
async function collect(
  reader: ReadableStreamDefaultReader<Bytes>,
  limit: number,
  isServed: boolean,
): Promise<Bytes> {
  let bytes: Bytes = new Uint8Array(FIRST_BYTES);
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(bytes.buffer.transfer(size));
    if (!(value instanceof Uint8Array)) throw new TypeError("No bytes");
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

function tooLarge(limit: number): HttpError {
  return closing(413, `it is larger than ${limit} bytes`);
}

/** Deno cancels a body that is arriving when its server shuts down, which is not the client's fault. */
function endedEarly(cause?: unknown): HttpError {
  return contextScope()?.nesting.some(({ owner }) => owner.isDraining)
    ? closing(503, "the server is shutting down", cause)
    : closing(400, "it ended early", cause);
}

/** A refusal that leaves a part of the body unread ends the connection (RFC 9112 section 9.3). */
function closing(status: number, state: string, cause?: unknown): HttpError {
  const headers = { connection: "close" };
  return refusal(status, SOURCE, state, { cause, headers });
}

/** The content of one body. */
export class Content {
  /** The bytes as they came, not a copy. */
  readonly bytes: Bytes;
  readonly #type: string;
  readonly #mediaType: string;
  #form: { readonly data: Data; readonly files: Files } | undefined;
  #json: { readonly value: unknown } | undefined;

  /** Takes the bytes and the Content-Type header. */
  constructor(bytes: Bytes = new Uint8Array(), type = "") {
    this.bytes = bytes;
    this.#type = type;
    this.#mediaType = type.split(";", 1)[0]!.trim().toLowerCase();
  }

  /**
   * The text in the charset of the Content-Type, by default UTF-8. Malformed bytes read as U+FFFD, or are
   * {@linkcode HttpError} 400 where the text is `strict`. Throws one of 415 for an unknown charset.
   */
  text(strict = false): string {
    const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(this.#type)?.[1];
    try {
      if (!strict && /^utf-?8$/i.test(charset ?? "utf-8")) {
        return UTF8.decode(this.bytes);
      }
      return new TextDecoder(charset, { fatal: strict }).decode(this.bytes);
    } catch (cause) {
      const status = cause instanceof RangeError ? 415 : 400;
      const state = `it is not text in the charset "${charset ?? "utf-8"}"`;
      throw refusal(status, SOURCE, state, { cause });
    }
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
    if (this.isJson) return (this.#json ??= { value: this.#parseJson() }).value;
    throw refusal(415, "the JSON body", `its type is "${this.#type}"`);
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
    const form = { data: Object.create(null), files: Object.create(null) };
    if (this.bytes.length === 0) return form;
    if (this.#mediaType === "multipart/form-data") {
      return parseMultipart(this.bytes, this.#type);
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
    const text = this.text();
    // To be strict takes three times as long: only text that may be malformed is decoded so.
    const checked = text.includes("\ufffd") ? this.text(true) : text;
    try {
      return JSON.parse(checked);
    } catch (cause) {
      const fault = (cause as SyntaxError).message.replace(QUOTATION, "");
      throw refusal(400, "the JSON body", fault, { cause });
    }
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
