/**
 * Owns the web `Response` that is sent: made of what was collected, or of one that the application
 * returned.
 */

import type { HeaderLines } from "./header.ts";
import { bindStream, type BodyContent, discard, valueOf } from "./stream.ts";

/** What a response reads from its application; each function is about the current request. */
export interface ResponseContext {
  /** Whether the connection is secure: cookies then are. */
  secure(): boolean;
  /** Whether ignored calls are reported. */
  debug(): boolean;
  /** Whether texts of a middle length are sent in chunks. */
  coalesce(): boolean;
  /**
   * Keeps the request open while a stream of its body is sent: until the returned function is called.
   * `abort` ends the stream.
   */
  hold(abort: (reason: unknown) => void): () => void;
}

/** What is collected beside a body. */
export interface Head {
  readonly status: number;
  /** The content type of a text where no header says another; HTML when undefined. */
  readonly type: string | undefined;
  /** The headers, if one was set. */
  readonly headers: HeaderLines | undefined;
  /** Whether the request is a HEAD, which gets the same headers and no body. */
  readonly isHead: boolean;
  readonly context: ResponseContext;
}

/** What a method responds with; what is not given stays as it is, the body is always replaced. */
export interface Outcome {
  readonly status?: number | undefined;
  readonly text?: string;
  /** The content type of the text, HTML when not given. A JSON type that was set before stays. */
  readonly type?: string | undefined;
  /** Replace those of the same names; null removes one. */
  readonly headers?: Readonly<Record<string, string | null>>;
}

const HTML = "text/html; charset=utf-8";

/** The statuses without a body (Fetch standard, "null body status"). */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/** From which to which length, in characters, a text is sent in one chunk. */
const COALESCED = { least: 400, most: 32_768 } as const;

/** The headers that say how long a body is. */
const FRAMING = ["content-length", "transfer-encoding"];

/** The collected headers that are not added to a body of this kind: they are there, or could be wrong. */
const OF_STREAMS: readonly string[] = ["content-type"];
const OF_VALUES: readonly string[] = ["content-type", "content-length"];

/** The response of a text, for which nothing else was set. */
export function textResponse(
  { text = "", type = HTML, status = 200, headers }: Outcome,
  context: ResponseContext,
): Response {
  const init = { status, headers: { "content-type": type, ...headers } };
  const response = new Response(text, init as ResponseInit);
  if (isCoalesced(text, context)) chunk(response);
  return response;
}

/** Whether a response of that status has no body. */
export function isBodiless(status: number | undefined): boolean {
  return status !== undefined && BODILESS.has(status);
}

/** The response of any body and head. */
export function makeResponse(content: BodyContent, head: Head): Response {
  const { status, headers, isHead, context } = head;
  if (BODILESS.has(status) && content !== "") {
    discard(content);
    return makeResponse("", head);
  }
  const init: Record<string, string> = {};
  // Appended later, the type would be added to the one that a response takes from its body.
  const type = headers?.get("content-type") ??
    (content === "" ? null : typeOf(content, head.type));
  if (type !== null) init["content-type"] = type;
  const isText = typeof content === "string";
  const length = isHead || !isText && content instanceof Blob
    ? lengthOf(content)
    : 0;
  if (length) init["content-length"] = String(length);
  const body = sendable(content, head);
  const isChunked = isText && body !== null && isCoalesced(content, context) &&
    !FRAMING.some((name) => headers?.get(name));
  const isValue = content !== "" && !isStream(content);
  const except = isValue ? OF_VALUES : OF_STREAMS;
  // Deno makes the head of a text at once, unless the status is 200, and again for each appended header.
  const rest = isText && status !== 200 && !isChunked
    ? headers?.toRecord(except)
    : undefined;
  const response = new Response(body, {
    status,
    headers: { ...init, ...rest },
  });
  if (isChunked) chunk(response);
  if (rest === undefined) headers?.appendTo(response.headers, except);
  return response;
}

/** Adds what was collected to a response; its own headers win, cookies of both are kept. */
export function mergeResponse(own: Response, head: Head): Response {
  if (own.status === 101) return own; // an upgrade cannot be copied
  const value = valueOf(own);
  const content = value ?? own.body;
  const body = content === null ? null : sendable(content, head);
  if (body === content && head.headers === undefined) return own;
  const response = new Response(body, own);
  if (head.isHead && value && !response.headers.has("content-length")) {
    response.headers.set("content-length", String(lengthOf(value)));
  }
  head.headers?.appendTo(response.headers, [...response.headers.keys()]);
  return response;
}

/**
 * Whether a text is sent in one chunk. The runtime sends a head and a body of more than 512 bytes together
 * in two writes, at twice the cost, but a head and a chunk in one; a long text is better off with two.
 * HEAD, HTTP/1.0 and HTTP/2 get the length all the same. None of that is documented.
 */
function isCoalesced({ length }: string, context: ResponseContext): boolean {
  return length >= COALESCED.least && length <= COALESCED.most &&
    context.coalesce();
}

function chunk(response: Response): void {
  response.headers.append("transfer-encoding", "chunked");
}

/** The body as the runtime takes it; a stream runs in the scope of its request. */
function sendable(content: BodyContent, head: Head): BodyInit | null {
  if (isStream(content) && !head.isHead) {
    return bindStream(content, (abort) => head.context.hold(abort));
  }
  if (head.isHead) discard(content);
  return head.isHead || content === "" ? null : content;
}

/** Asks `typeof` first: `instanceof` would look up a global of the runtime, which is dear. */
function isStream(content: BodyContent | Response): content is ReadableStream {
  return typeof content !== "string" && content instanceof ReadableStream;
}

function typeOf(content: BodyContent, type = HTML): string {
  if (typeof content === "string" || isStream(content)) return type;
  return (content instanceof Blob && content.type) ||
    "application/octet-stream";
}

/** The length of a body in bytes; undefined for a stream. */
export function lengthOf(content: BodyContent | Response): number | undefined {
  if (typeof content === "string") {
    return new TextEncoder().encode(content).length;
  }
  if (isStream(content)) return undefined;
  if (content instanceof Response) {
    return lengthOf(valueOf(content) ?? content.body ?? "");
  }
  return content instanceof Blob ? content.size : content.byteLength;
}
