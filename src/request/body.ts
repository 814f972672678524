/**
 * Owns reading a body off the connection: once, whole, and within its limits. What its bytes mean is
 * in `content.ts`.
 */

import { HttpError, refusal } from "../errors.ts";
import { headerOf, isHandedOver } from "../runtime.ts";
import { contextScope } from "../state/scope.ts";
import { settles } from "../timer.ts";

type Bytes = Uint8Array<ArrayBuffer>;

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

/** A refusal that leaves a part of the body unread ends the connection (RFC 9112 section 9.3). */
const CLOSE = { headers: { connection: "close" } };

/** The methods whose requests cannot have a body (Fetch standard). */
const BODILESS = new Set(["GET", "HEAD", "TRACE", "TRACK", "CONNECT"]);

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
      throw tooSlow(timeoutSeconds);
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
  return refusal(413, SOURCE, `it is larger than ${limit} bytes`, CLOSE);
}

function tooSlow(seconds: number): HttpError {
  const state = `it did not arrive within ${seconds} seconds`;
  return refusal(408, SOURCE, state, CLOSE);
}

/** Deno cancels a body that is arriving when its server shuts down, which is not the client's fault. */
function endedEarly(cause?: unknown): HttpError {
  return contextScope()?.nesting.some((scope) => scope.isInterrupted)
    ? refusal(503, SOURCE, "the server is shutting down", { cause, ...CLOSE })
    : refusal(400, SOURCE, "it ended early", { cause, ...CLOSE });
}
