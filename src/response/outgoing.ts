/**
 * Owns the web `Response` that is sent: made of what was collected, or of one that the application
 * returned.
 */

import type { HeaderLines } from "./header.ts";
import { BODILESS, HTML, type ResponseSource, webResponse } from "./outcome.ts";
import { bindStream, type BodyContent, discard, valueOf } from "./stream.ts";

/** Everything of a response apart from its body. */
export interface Head {
  readonly status: number;
  /** The content type of a text where no header says another; HTML when undefined. */
  readonly type: string | undefined;
  readonly headers: HeaderLines;
  readonly scope: ResponseSource;
}

/** The collected headers that are not added to a body of this kind: they are there, or could be wrong. */
const OF_STREAMS = ["content-type"];
const OF_VALUES = ["content-type", "content-length", "transfer-encoding"];

/** The response of any body and head. */
export function makeResponse(
  content: BodyContent | Response,
  head: Head,
): Response {
  if (typeof content !== "string" && content instanceof Response) {
    return mergeResponse(content, head);
  }
  const { status, headers, scope } = head;
  if (content !== "" && BODILESS.has(status)) {
    discard(content);
    return makeResponse("", head);
  }
  // Appended later, the type would be added to the one that a response takes from its body.
  const type = headers.get("content-type")?.join(", ") ??
    typeOf(content, head.type);
  const length = isHead(scope) || typeof content !== "string"
    ? lengthOf(content)
    : 0;
  const init: Record<string, string> = {};
  if (type !== undefined) init["content-type"] = type;
  if (length) init["content-length"] = String(length);
  const body = sendable(content, scope);
  const response = webResponse(body, status, init, scope);
  const isValue = content !== "" && !isStream(content);
  append(headers, response.headers, isValue ? OF_VALUES : OF_STREAMS);
  return response;
}

/**
 * A copy of a response with what was collected; its own headers win, cookies of both are kept. The
 * application may send its response again, which must not have this request's headers then.
 */
function mergeResponse(own: Response, { headers, scope }: Head): Response {
  if (own.status === 101) return own; // an upgrade cannot be copied
  const value = valueOf(own);
  const copy = new Response(sendable(value ?? own.body ?? "", scope), own);
  if (isHead(scope) && value && !copy.headers.has("content-length")) {
    copy.headers.set("content-length", String(lengthOf(value)));
  }
  append(headers, copy.headers, [...copy.headers.keys()]);
  return copy;
}

/** Appends headers but for the exceptions; cookies always. */
function append(
  lines: HeaderLines,
  headers: Headers,
  except: readonly string[],
): void {
  for (const [name, values] of lines) {
    if (except.includes(name) && name !== "set-cookie") continue;
    for (const value of values) headers.append(name, value);
  }
}

/** The body as the runtime takes it; a stream runs in the scope of its request. */
function sendable(
  content: BodyContent,
  scope: ResponseSource,
): BodyInit | null {
  if (content === "") return null;
  if (!isHead(scope)) {
    return isStream(content) ? bindStream(content, scope) : content;
  }
  discard(content);
  // Without a body, the runtime would say that a GET has the length 0 (RFC 9110, section 8.6).
  return isStream(content) ? ReadableStream.from([]) : null;
}

/** Whether the request is a HEAD, which gets the headers of a GET and no body. */
function isHead({ request }: ResponseSource): boolean {
  return request.method === "HEAD";
}

/** Asks `typeof` first: `instanceof` would look up a global of the runtime, which is dear. */
function isStream(content: BodyContent | Response): content is ReadableStream {
  return typeof content !== "string" && content instanceof ReadableStream;
}

function typeOf(content: BodyContent, type = HTML): string | undefined {
  if (content === "") return undefined;
  if (typeof content === "string" || isStream(content)) return type;
  return content instanceof Blob && content.type || "application/octet-stream";
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
