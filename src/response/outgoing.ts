/**
 * Owns the web `Response` that is sent: made of what was collected, or of one that the application
 * returned.
 */

import type { HeaderLines } from "./header.ts";
import {
  HTML,
  isBodiless,
  isCoalesced,
  type ResponseContext,
  webResponse,
} from "./outcome.ts";
import { bindStream, type BodyContent, discard, valueOf } from "./stream.ts";

/** Everything of a response apart from its body. */
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

/** The headers that say how long a body is. */
const FRAMING = ["content-length", "transfer-encoding"];

/** The collected headers that are not added to a body of this kind: they are there, or could be wrong. */
const OF_STREAMS: readonly string[] = ["content-type"];
const OF_VALUES: readonly string[] = ["content-type", "content-length"];

/** The response of any body and head. */
export function makeResponse(content: BodyContent, head: Head): Response {
  const { status, headers, isHead, context } = head;
  if (isBodiless(status) && content !== "") {
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
  // For a text of another status than 200, appending costs: see `webResponse()`.
  const rest = isText && status !== 200 ? headers?.toRecord(except) : undefined;
  const response = webResponse(body, status, { ...init, ...rest }, isChunked);
  if (rest === undefined) headers?.appendTo(response.headers, except);
  return response;
}

/**
 * A copy of a response with what was collected; its own headers win, cookies of both are kept. The
 * application may send its response again, which must not have this request's headers then.
 */
export function mergeResponse(own: Response, head: Head): Response {
  if (own.status === 101) return own; // an upgrade cannot be copied
  const value = valueOf(own);
  const content = value ?? own.body;
  const body = content === null ? null : sendable(content, head);
  const response = new Response(body, own);
  if (head.isHead && value && !response.headers.has("content-length")) {
    response.headers.set("content-length", String(lengthOf(value)));
  }
  head.headers?.appendTo(response.headers, [...response.headers.keys()]);
  return response;
}

/** The body as the runtime takes it; a stream runs in the scope of its request. */
function sendable(content: BodyContent, head: Head): BodyInit | null {
  if (content === "") return null;
  if (!head.isHead) {
    return isStream(content)
      ? bindStream(content, (abort) => head.context.hold(abort))
      : content;
  }
  discard(content);
  // Without a body, the runtime would say that a GET has the length 0 (RFC 9110, section 8.6).
  return isStream(content) ? ReadableStream.from([]) : null;
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
