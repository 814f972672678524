/** Owns making the web `Response` of a reply, in the way that the runtime sends fastest. */

import { NULL_BODY } from "../null_body.ts";
import { EventStream } from "./events.ts";
import { BYTE_HEADERS, type HeaderLines } from "./header.ts";
import type { Reply, ReplyInit } from "./reply.ts";
import { bindStream, type BodyContent, discard, valueOf } from "./stream.ts";

/** What sending a response needs to know of its request; an `Exchange` is one. */
export interface Delivery {
  /** Whether the request is a HEAD, which gets the headers of a GET and no body. */
  readonly isHead: boolean;
  /** Whether texts of a middle length go out in one chunk. */
  readonly coalesces: boolean;
  /** What begins a line of the log about the request. */
  readonly title: string;
  /**
   * Keeps the request open, for a stream, until the returned function is called. A server that shuts down calls
   * `abort` when the stream takes too long, and `end` at once.
   */
  holdStream(abort: (reason: unknown) => void, end?: () => void): () => void;
  /** Reports why the stream has failed: no page can show it. */
  reportFailure(error: Error): void;
}

/** The content type of a text. */
export const HTML = "text/html; charset=utf-8";
/** The content type of bytes, and of a stream that is saved as a file. */
const BYTES = "application/octet-stream";

/** The collected headers that are not copied, but set in other ways. */
const NOT_COPIED = ["content-type", "set-cookie"];
/** The headers that could contradict text and bytes, whose length is known. */
const OF_LENGTH = ["content-length", "transfer-encoding"];
const NOT_FOR_VALUES = [...NOT_COPIED, ...OF_LENGTH];

/** The web responses of which copies are sent, by what `Reply.respond()` was given. */
const shared = new WeakMap<ReplyInit, Response>();

/**
 * The web response of a reply. Copying a shared one is faster than making another: Deno does not watch over a copy (see
 * `isHeadMadeLate()`).
 */
export function webResponse(reply: Reply, delivery: Delivery): Response {
  const init = reply.sharedInit;
  // Nothing in a shared one may depend on the delivery, as the way of sending a text of a middle length does.
  if (init === undefined || delivery.isHead || isOfMiddleLength(reply.body)) {
    return newResponse(reply, delivery);
  }
  const known = shared.get(init);
  const response = known ?? newResponse(reply, delivery);
  if (known === undefined) shared.set(init, response);
  return response.clone();
}

function newResponse(reply: Reply, delivery: Delivery): Response {
  const { status, headers, body: given } = reply;
  if (typeof given !== "string" && given instanceof Response) {
    return copyOf(given, headers, delivery);
  }
  const isNull = NULL_BODY.has(status);
  if (isNull) discard(given);
  const content = isNull ? "" : given;
  const init = headersOfBody(content, reply, delivery);
  if (headers === undefined) {
    return made(sendable(content, delivery), status, init, delivery);
  }
  const body = sendable(
    content,
    delivery,
    headers.get("content-length")?.join(),
  );
  const isValue = content !== "" && !isStream(content);
  const others = isValue ? NOT_FOR_VALUES : NOT_COPIED;
  // Only for cookies and lists is there no other way where the head is made at once.
  let isAppending = isHeadMadeLate(status);
  if (!isAppending) {
    for (const [name, lines] of headers) {
      if (name === "set-cookie" || lines.length > 1) isAppending = true;
      else if (!others.includes(name)) init[name] = lines[0]!;
    }
  }
  const response = made(body, status, init, delivery);
  if (!isAppending) return response;
  append(
    headers,
    response,
    (name) => Object.hasOwn(init, name) || others.includes(name),
  );
  return response;
}

/**
 * The type and the length of a body; the runtime adds the length of a text itself, except for HEAD. Appended
 * later, the type would be added to the one that a response takes from its body.
 */
function headersOfBody(
  content: BodyContent,
  { headers, type }: Reply,
  { isHead }: Delivery,
): Record<string, string> {
  const described: Record<string, string> = {};
  const sent = headers?.get("content-type")?.join(", ") ??
    (content === "" ? undefined : type ?? typeOf(content, headers));
  if (sent !== undefined) described["content-type"] = sent;
  const isAdded = typeof content === "string" && !isHead;
  const length = isAdded ? undefined : bytesIn(content);
  if (length) described["content-length"] = String(length);
  return described;
}

/**
 * A web response. A text of a middle length is sent in one chunk: when head and body together exceed 512 bytes, the
 * runtime sends them in two writes, which is slower, but a head and a chunk in one; for a long text, two writes are
 * faster. HEAD, HTTP/1.0 and HTTP/2 get the length all the same. None of that is documented.
 */
function made(
  body: BodyInit | null,
  status: number,
  headers: Record<string, string>,
  delivery: Delivery,
): Response {
  const isChunked = isOfMiddleLength(body) && delivery.coalesces;
  const isMadeLate = isHeadMadeLate(status);
  if (isChunked && !isMadeLate) headers["transfer-encoding"] = "chunked";
  // Deno takes longer to make a response when it is told the status 200.
  const init = status === 200 ? { headers } : { status, headers };
  const response = new Response(body, init);
  if (isChunked && isMadeLate) {
    response.headers.append("transfer-encoding", "chunked");
  }
  return response;
}

/**
 * Whether Deno makes the head of a text when it sends it: only for the status 200. Otherwise it does so together with
 * the response, watches over that with a `FinalizationRegistry`, and makes it once more when a header is appended.
 */
function isHeadMadeLate(status: number): boolean {
  return status === 200;
}

function isOfMiddleLength(body: unknown): boolean {
  return typeof body === "string" && body.length >= 400 &&
    body.length <= 32_768;
}

/**
 * A copy of a response that the application has made, with the collected headers. The headers of the response take
 * precedence; the cookies of both are kept. It is a copy, since the application may send the same response to other
 * requests. One of `fetch()` is not copied: it cannot be sent twice, and the runtime sends the same object natively.
 */
export function copyOf(
  given: Response,
  headers: HeaderLines | undefined,
  delivery: Delivery,
): Response {
  if (given.status === 101) return given; // an upgrade cannot be copied: see `runtime.ts`
  const hasMore = headers !== undefined && headers.size > 0 || delivery.isHead;
  if (isFetched(given) && !hasMore) return given;
  const value = valueOf(given);
  const length = isDecoded(given)
    ? undefined
    : given.headers.get("content-length") ??
      headers?.get("content-length")?.join();
  const body = sendable(value ?? given.body ?? "", delivery, length);
  const copy = copyWith(body, given);
  if (delivery.isHead && value && !copy.headers.has("content-length")) {
    copy.headers.set("content-length", String(bytesIn(value)));
  }
  if (headers) {
    const others = [
      ...copy.headers.keys(),
      ...value === undefined ? [] : OF_LENGTH,
    ];
    append(headers, copy, (name) => others.includes(name));
  }
  return copy;
}

/**
 * The response itself, or a copy of one whose headers are fixed: one of `fetch()` or `Response.redirect()`. Only
 * trying shows which: deleting a header that no response has changes nothing, or throws.
 */
export function mutable(response: Response): Response {
  try {
    response.headers.delete("x-never-sent");
    return response;
  } catch {
    return copied(response);
  }
}

/** A copy of a response, which the application may send to other requests, too. That of an upgrade has no copy. */
export function copied(response: Response): Response {
  if (response.status === 101) return response;
  return copyWith(valueOf(response) ?? response.body, response);
}

/** Whether a response is one of `fetch()`: its headers are fixed. */
function isFetched(response: Response): boolean {
  return response.url !== "";
}

/** The encodings that `fetch()` undoes, however they are spelled (RFC 9110, section 8.4.1). */
const UNDONE = /^(?:gzip|br)$/i;

/** Whether the body of a response of `fetch()` was encoded on its way, which its headers still tell of. */
function isDecoded(response: Response): boolean {
  const encoding = response.headers.get("content-encoding");
  return isFetched(response) && UNDONE.test(encoding ?? "");
}

/** A copy with another body. The headers of an encoded form are left out where the body has been decoded. */
function copyWith(body: BodyInit | null, response: Response): Response {
  const copy = new Response(body, response);
  // That of the body, which the response may have been rid of.
  if (!response.headers.has("content-type")) {
    copy.headers.delete("content-type");
  }
  if (isDecoded(response)) {
    for (const name of BYTE_HEADERS) copy.headers.delete(name);
  }
  return copy;
}

/** Appends headers that are not there yet; cookies always, each in a separate line. */
function append(
  lines: HeaderLines,
  to: Response,
  isThere: (name: string) => boolean,
): void {
  for (const [name, values] of lines) {
    if (name !== "set-cookie" && isThere(name)) continue;
    for (const value of values) to.headers.append(name, value);
  }
}

/** The body as the runtime takes it; a stream is bound to its request, and to the Content-Length that is declared. */
function sendable(
  body: BodyContent,
  delivery: Delivery,
  declared = "",
): BodyInit | null {
  if (typeof body === "string") {
    return body === "" || delivery.isHead ? null : body;
  }
  if (!delivery.isHead) {
    if (!isStream(body)) return body;
    const isEndedAtDrain = body instanceof EventStream;
    const length = /^\d+$/.test(declared) ? Number(declared) : undefined;
    return bindStream(body, delivery, { isEndedAtDrain, length });
  }
  discard(body);
  // Without a body, the runtime would say that a GET has the length 0 (RFC 9110, section 8.6).
  return isStream(body) ? ReadableStream.from([]) : null;
}

/** Asks `typeof` first: `instanceof` would look up a global of the runtime, which is slow. */
function isStream(content: BodyContent | Response): content is ReadableStream {
  return typeof content !== "string" && content instanceof ReadableStream;
}

/** The type of a body that has come with none. */
function typeOf(content: BodyContent, headers?: HeaderLines): string {
  if (typeof content === "string") return HTML;
  if (isStream(content)) {
    return headers?.has("content-disposition") ? BYTES : HTML;
  }
  return content instanceof Blob && content.type || BYTES;
}

/** The length of a body in bytes; undefined for a stream. */
export function bytesIn(content: BodyContent | Response): number | undefined {
  if (typeof content === "string") {
    return new TextEncoder().encode(content).length;
  }
  if (isStream(content)) return undefined;
  if (content instanceof Response) {
    return bytesIn(valueOf(content) ?? content.body ?? "");
  }
  return content instanceof Blob ? content.size : content.byteLength;
}
