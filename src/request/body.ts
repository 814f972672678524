/**
 * Owns reading a body off the connection: once, whole, and within its limits. The meaning of the
 * bytes is in `content.ts`.
 */

import type { HttpError } from "../errors.ts";
import { type Bytes, refusal } from "./fields.ts";
import { headerOf } from "../runtime.ts";
import { isInterrupted } from "../state/background.ts";
import { startTimer } from "../timer.ts";

const source = "the request body";

/**
 * Reads the whole body of a request, within a limit in bytes. Throws {@linkcode HttpError} 413 as
 * soon as it is known to be too large, 408 when it has not arrived within `timeoutSeconds` (0: no
 * limit), and 400 when the connection ended first.
 */
export async function readBody(
  request: Request,
  limit: number,
  timeoutSeconds = 0,
): Promise<Bytes> {
  if (request.body === null) return new Uint8Array();
  const length = Number(headerOf(request, "content-length") ?? 0);
  if (length > limit) throw tooLarge(limit);
  const reader = request.body.getReader();
  const bytes = await collect(reader, limit, timeoutSeconds)
    .catch((error) => {
      throw isInterrupted(request) ? shutDown(error) : error;
    });
  if (bytes.length < length) throw refusal(400, source, "it ended early");
  return bytes;
}

/** Reads a stream to its end, or gives up the rest of it. */
async function collect(
  reader: ReadableStreamDefaultReader<Bytes>,
  limit: number,
  timeout: number,
): Promise<Bytes> {
  const chunks: Bytes[] = [];
  let size = 0;
  let refused: HttpError | undefined;
  const refuse = (error: HttpError): void => {
    refused = error;
    reader.cancel().catch(() => {}); // a source that cannot stop changes nothing for the answer
  };
  const expire = (): void => refuse(tooSlow(timeout));
  const timer = timeout > 0 ? startTimer(timeout, expire) : undefined;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (refused) throw refused;
      if (done) break;
      size += value.length;
      chunks.push(value);
      if (size > limit) refuse(tooLarge(limit));
    }
  } catch (cause) {
    throw refused ?? refusal(400, source, "it ended early", { cause });
  } finally {
    clearTimeout(timer);
  }
  const [only] = chunks;
  return only && chunks.length === 1 ? only : new Blob(chunks).bytes();
}

function tooLarge(limit: number): HttpError {
  return refusal(413, source, `it is larger than ${limit} bytes`);
}

/** RFC 9110 section 15.5.9: the answer to a client that is too slow ends the connection. */
function tooSlow(timeout: number): HttpError {
  const state = `it did not come within ${timeout} seconds`;
  return refusal(408, source, state, { headers: { connection: "close" } });
}

/** RFC 9110 section 15.6.4: the client can send the request again, to the server that comes next. */
function shutDown(cause: unknown): HttpError {
  const options = { cause, headers: { connection: "close" } };
  return refusal(503, source, "the server is shutting down", options);
}
