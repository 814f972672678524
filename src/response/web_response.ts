/** Owns making the web `Response` of a reply, and changing the headers of one. */

import { NULL_BODY } from "../http.ts";
import { EventStream } from "./events.ts";
import type { HeaderLines } from "./header.ts";
import type { Reply } from "./reply.ts";
import {
  bindStream,
  type BodyContent,
  type Delivery,
  discard,
} from "./stream.ts";

/** The content type of a text. */
export const HTML = "text/html; charset=utf-8";
const BYTES = "application/octet-stream";

/**
 * How many characters a text has that Deno would send in two writes, one for the head and one for the body, unless the
 * body is chunked: 0.74 times the CPU at 4 KB. Above the last, chunks are dearer.
 */
const [FIRST_CHUNKED, LAST_CHUNKED] = [400, 32_768];

const OF_LENGTH = /^(?:content-length|transfer-encoding)$/;

/** Seals a reply, and makes the web response of it. */
export function webResponse(reply: Reply, delivery: Delivery): Response {
  reply.seal("the end of the request");
  reply.isMade = true;
  const { status, headers, content } = reply;
  if (content !== undefined && content instanceof Response) { // looking up the class is slow
    return merged(content, headers, delivery);
  }
  const isNull = NULL_BODY.has(status);
  if (isNull) discard(content);
  const body = isNull ? "" : content ?? reply.text;
  const type = headers?.get("content-type")?.join(", ") ??
    (body === "" ? undefined : reply.type ?? typeOf(body, headers));
  const response = made(status, body, type, delivery);
  if (headers === undefined) return response;
  const isValue = body !== "" && !(body instanceof ReadableStream);
  for (const [name, lines] of headers) {
    if (name === "content-type" || isValue && OF_LENGTH.test(name)) continue;
    for (const line of lines) response.headers.append(name, line);
  }
  return response;
}

/** A response with no other headers than those of its body. */
function made(
  status: number,
  body: BodyContent,
  type: string | undefined,
  delivery: Delivery,
): Response {
  const isText = typeof body === "string" && !delivery.isHead;
  if (isText && body.length < FIRST_CHUNKED && status !== 200) {
    return copyOfText(status, body, type);
  }
  const content = sendable(body, delivery);
  // Deno makes a response without options in a sixth of the time, and takes headers faster later.
  const response = status === 200
    ? new Response(content)
    : new Response(content, { status });
  if (type) response.headers.set("content-type", type);
  const length = isText ? undefined : lengthOf(body); // the runtime adds that of a text
  if (length) response.headers.append("content-length", `${length}`);
  if (isText && isChunked(body, delivery)) {
    response.headers.append("transfer-encoding", "chunked");
  }
  return response;
}

/** A response of a text, as it was made. */
interface Kept {
  readonly text: string;
  readonly type: string | undefined;
  readonly response: Response;
}

/** The last response of each status but 200. */
const kept = new Map<number, Kept>();

/**
 * A response of a short text whose status is not 200. Mostly it is the same as the last one, as of a redirect or a page
 * of 404, and Deno copies one in a tenth of the time that it takes to make it.
 */
function copyOfText(
  status: number,
  text: string,
  type: string | undefined,
): Response {
  let last = kept.get(status);
  if (last === undefined || last.text !== text || last.type !== type) {
    const response = new Response(text || null, { status });
    if (type) response.headers.set("content-type", type);
    kept.set(status, last = { text, type, response });
  }
  return last.response.clone();
}

function isChunked({ length }: string, { isServed }: Delivery): boolean {
  return length >= FIRST_CHUNKED && length <= LAST_CHUNKED && isServed;
}

/** A response that the application has made, with the collected headers and cookies: its own take precedence. */
function merged(
  given: Response,
  headers: HeaderLines | undefined,
  delivery: Delivery,
): Response {
  if (given.status === 101) return given; // an upgrade, which is Deno's
  const hasMore = headers !== undefined && headers.size > 0;
  const isFetched = given.url !== "" && !given.bodyUsed;
  if (isFetched && !hasMore && !delivery.isHead) return given; // sent natively
  const response = copied(given, delivery);
  for (const [name, lines] of headers ?? []) {
    const isCookie = name === "set-cookie";
    if (!isCookie && response.headers.has(name)) continue;
    // Of two lines for one cookie, clients keep the last.
    const own = isCookie ? response.headers.getSetCookie() : [];
    if (isCookie) response.headers.delete(name);
    for (const line of [...lines, ...own]) response.headers.append(name, line);
  }
  return response;
}

/** A copy of a response: the application may send its own to other requests, too. */
export function copied(given: Response, delivery?: Delivery): Response {
  if (given.status === 101) return given; // an upgrade cannot be copied
  const { body } = given;
  const copy = new Response(
    body && delivery ? sendable(body, delivery) : body,
    given,
  );
  const encoding = given.headers.get("content-encoding") ?? "";
  if (given.url !== "" && UNDONE.test(encoding)) {
    copy.headers.delete("content-encoding");
    copy.headers.delete("content-length");
  }
  return copy;
}

/** The encodings that `fetch()` undoes, although its headers still tell of them. */
const UNDONE = /^(?:gzip|br)$/i;

/** The body as the runtime takes it. */
function sendable(body: BodyContent, delivery: Delivery): BodyInit | null {
  const { isHead } = delivery;
  if (typeof body === "string") return isHead ? null : body || null; // `instanceof` is slower
  const isStream = body instanceof ReadableStream;
  if (isHead) {
    discard(body);
    return isStream ? ReadableStream.from([]) : null; // else Deno says that the length is 0
  }
  if (!isStream) return body;
  return bindStream(body, delivery, body instanceof EventStream);
}

/** The response itself, or a copy of one of `fetch()`, whose headers are fixed. */
export function mutable(response: Response): Response {
  return response.url === "" ? response : copied(response);
}

/** The type of a body that has come with none; a download of an unknown kind is bytes. */
function typeOf(body: BodyContent, headers?: HeaderLines): string {
  if (headers?.has("content-disposition")) return BYTES;
  if (typeof body === "string" || body instanceof ReadableStream) return HTML;
  return body instanceof Blob && body.type || BYTES;
}

/** The length of a body in bytes; undefined for a stream. */
export function lengthOf(body: BodyContent | Response): number | undefined {
  if (typeof body === "string") return new TextEncoder().encode(body).length;
  if (body instanceof ReadableStream) return undefined;
  if (body instanceof Response) {
    return Number(body.headers.get("content-length") ?? NaN) || undefined;
  }
  return body instanceof Blob ? body.size : body.byteLength;
}
