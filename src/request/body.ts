/**
 * Owns the body of a request: reading it from the connection, whole and within its limits, and decoding it by its media
 * type as text, JSON or a form.
 */

import { HttpError, unreadable } from "../errors.ts";
import { JSON_TYPE } from "../http.ts";
import { settlesWithin } from "../waiting.ts";
import { type Data, entriesOf, type Form, nest } from "./fields.ts";
import { parseMultipart } from "./multipart.ts";
import { headerOf, isFromServer } from "./runtime.ts";
import { FORBIDDEN_METHODS } from "./target.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A body that was read: text where its type says that it is text in UTF-8, else bytes. */
export type Body = string | Bytes;

const SOURCE = "the request body";

/** The largest declared length that is read natively: Deno reserves the whole length before anything has arrived. */
const NATIVE_BYTES = 65_536;

/** The methods whose web requests cannot have a body (Fetch standard). */
const BODILESS_METHODS = new Set(["GET", "HEAD", ...FORBIDDEN_METHODS]);

/** The part of a JSON error's message that quotes the client. */
const QUOTATION = /(?<=^Unexpected token '.+?'), .*$/su;

/** A type that Deno can decode natively, which is faster. */
const UTF8_TEXT =
  /^\s*(?:text\/[\w.+-]+|application\/(?:x-www-form-urlencoded|(?:[\w.+-]+\+)?json))\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i;

/** Whether a request has a body; told by the headers where possible, since reading `body` makes a stream. */
export function hasBody(request: Request): boolean {
  if (BODILESS_METHODS.has(request.method)) return false;
  const length = headerOf(request, "content-length");
  const isKnown = length !== null && isFromServer(request);
  return isKnown ? length !== "0" : request.body !== null;
}

/**
 * Reads the whole body of a request, within a limit in bytes. Rejects with {@linkcode HttpError} 413 as soon as it is
 * known to be too large, 408 when it has not arrived within `timeoutSeconds` (0: no limit), 400 when it ends early.
 */
export async function readBody(
  request: Request,
  limit: number,
  timeoutSeconds: number,
): Promise<Body> {
  const reading = startReading(request, limit);
  try {
    if (timeoutSeconds > 0 && !await settlesWithin(reading, timeoutSeconds)) {
      const state = `it did not arrive within ${timeoutSeconds} seconds`;
      throw unreadable(408, SOURCE, state);
    }
    return await reading;
  } catch (cause) {
    if (cause instanceof HttpError) throw cause;
    throw unreadable(400, SOURCE, "it ended early", { cause });
  }
}

function startReading(request: Request, limit: number): Promise<Body> {
  const length = checkLength(request, limit);
  const isServed = isFromServer(request);
  if (!isServed || !(length <= NATIVE_BYTES)) {
    return new Response(limited(request.body!, limit, isServed)).bytes();
  }
  const type = headerOf(request, "content-type") ?? "";
  const isText = UTF8_TEXT.test(type) &&
    headerOf(request, "content-encoding") === null;
  return isText ? request.text() : request.bytes();
}

/** The size of a body that was read, in bytes: text has a declared length. */
export function sizeOf(body: Body, request: Request): number {
  return typeof body === "string"
    ? Number(headerOf(request, "content-length"))
    : body.length;
}

/** How many chunks a body may have, and more only where they have that many bytes on average. */
const [MAX_CHUNKS, MIN_CHUNK_BYTES] = [10_000, 64];

/**
 * A stream that throws {@linkcode HttpError} 413 beyond a limit in bytes, and for a flood of small chunks. It reads only
 * what it is asked for.
 */
export function limited(
  body: ReadableStream<Bytes>,
  limit: number,
  isServed: boolean,
): ReadableStream<Bytes> {
  let reader: ReadableStreamDefaultReader<Bytes> | undefined;
  let [chunks, size] = [0, 0];
  return new ReadableStream<Bytes>({
    async pull(controller) {
      reader ??= body.getReader(); // until then another route may read the body
      const { done, value } = await reader.read();
      if (done) return controller.close();
      size += value.length;
      chunks += 1;
      // Deno takes 33 s for a million chunks of a byte, in which the process does nothing else.
      const isFlood = chunks > MAX_CHUNKS && size < chunks * MIN_CHUNK_BYTES;
      if (size <= limit && !isFlood) {
        controller.enqueue(value.slice());
        // Each chunk is a view on 64 KiB of the runtime, which are freed at once.
        return void (isServed && value.buffer.transfer(0));
      }
      reader.cancel().catch(() => {});
      throw isFlood
        ? unreadable(413, SOURCE, "it comes in too many small chunks")
        : tooLarge(limit);
    },
    cancel: (reason) => (reader ?? body).cancel(reason),
  }, { highWaterMark: 0 });
}

/** The declared length of a body, or NaN. Throws {@linkcode HttpError} 413 when it is larger than a limit in bytes. */
export function checkLength(request: Request, limit: number): number {
  const length = Number(headerOf(request, "content-length") ?? NaN);
  if (length > limit) throw tooLarge(limit);
  return length;
}

/** The error for a body that is too large. */
export function tooLarge(limit: number): HttpError {
  return unreadable(413, SOURCE, `it is larger than ${limit} bytes`);
}

const UTF8 = new TextDecoder();

/** The text of a body, which is UTF-8 as in `Request.text()`: malformed bytes read as U+FFFD. */
export function textOf(body: Body): string {
  return typeof body === "string" ? body : UTF8.decode(body);
}

/** Parses JSON. Throws {@linkcode HttpError} 415 for another type, and 400 for malformed JSON. */
export function parseJson(body: Body, type: string): unknown {
  if (!JSON_TYPE.test(type)) {
    throw unreadable(415, "the JSON body", `its type is "${type}"`);
  }
  try {
    return JSON.parse(textOf(body));
  } catch (cause) {
    const fault = (cause as SyntaxError).message.replace(QUOTATION, "");
    throw unreadable(400, "the JSON body", fault, { cause });
  }
}

/** Parses the fields and files of a form, or the members of JSON. A body of any other type has none. */
export function parseForm(body: Body, type: string): Form {
  const format = body.length === 0 ? undefined : formatOf(type);
  if (format === "multipart") {
    return parseMultipart(body as Bytes, type); // never text: `UTF8_TEXT`
  }
  const entries = format === "form"
    ? entriesOf(`?${textOf(body)}`, "the form", 413)
    : [];
  const data: Data = nest(entries);
  if (format === "JSON") copyMembers(parseJson(body, type), data);
  return { data, entries, files: Object.create(null), whole: data };
}

/** What a body holds by its Content-Type; undefined for what is neither JSON nor a form. */
export function formatOf(
  type: string,
): "JSON" | "form" | "multipart" | undefined {
  if (JSON_TYPE.test(type)) return "JSON";
  const mediaType = type.split(";", 1)[0]!.trim().toLowerCase();
  if (mediaType === "multipart/form-data") return "multipart";
  if (mediaType === "application/x-www-form-urlencoded") return "form";
  return undefined;
}

/** Copies the members of a JSON value; those of an array are "0", "1" and so on. `Object.assign()` takes 15 times. */
function copyMembers(value: unknown, data: Data): void {
  if (typeof value !== "object" || value === null) return;
  for (const key in value) data[key] = (value as Data)[key];
}
