/**
 * Owns the draft of a response, in which an `HttpResponse` collects it, and making the web `Response` of it.
 */

import type { HeaderLines } from "./header.ts";
import {
  HTML,
  NULL_BODY,
  type ResponseSource,
  webResponse,
} from "./outcome.ts";
import { bindStream, type BodyContent, discard, valueOf } from "./stream.ts";

/** Texts in the order of the calls. A list among them is a section: it keeps the place of later output. */
export type Texts = (string | Texts)[];

/** What is collected for a response. */
export interface Draft {
  status: number;
  readonly headers: HeaderLines;
  /** The content type that came with the body; a header `content-type` takes precedence. */
  type?: string | undefined;
  readonly texts: Texts;
  /** Bytes, a stream or a web response, sent in place of the texts. */
  content?: Exclude<BodyContent, string> | Response | undefined;
  sealedBy?: string | undefined;
  /** The draft that is sent in place of this one. */
  page?: Draft | undefined;
}

/** The draft that a response begins with: that of a request's first response has the kept outcome, if any. */
export function draftOf(scope: ResponseSource): Draft {
  const { outcome = {}, sealedBy } = scope.httpResponse ? {} : scope;
  const { status = 200, text = "", type, headers } = outcome;
  const lines: HeaderLines = new Map();
  for (const name in headers) lines.set(name, [headers[name]!]);
  return { status, headers: lines, texts: [text], type, sealedBy };
}

/** How many bytes the body of a draft has by now; undefined for a stream. */
export function lengthOf(draft: Draft): number | undefined {
  return bytesIn(bodyOf(draft));
}

/** The collected headers that are set otherwise; and those that could be wrong for text and bytes. */
const NOT_COPIED = ["content-type", "set-cookie"];
const NOT_FOR_VALUES = [...NOT_COPIED, "content-length", "transfer-encoding"];

/** The response of what was collected. */
export function makeResponse(draft: Draft, scope: ResponseSource): Response {
  const { status, headers, page } = draft;
  if (page !== undefined) return makeResponse(page, scope);
  const given = bodyOf(draft);
  if (typeof given !== "string" && given instanceof Response) {
    return copyOf(given, draft, scope);
  }
  if (NULL_BODY.has(status)) discard(given);
  const content = NULL_BODY.has(status) ? "" : given;
  // Appended later, the type would be added to the one that a response takes from its body.
  const type = headers.get("content-type")?.join(", ") ??
    typeOf(content, draft.type);
  const isText = typeof content === "string";
  const length = isHead(scope) || !isText ? bytesIn(content) : 0;
  const init: Record<string, string> = {};
  if (type !== undefined) init["content-type"] = type;
  if (length) init["content-length"] = String(length);
  const isValue = content !== "" && !isStream(content);
  const except = [...isValue ? NOT_FOR_VALUES : NOT_COPIED];
  if (status !== 200) { // appending is slow then: see `webResponse()`
    for (const [name, lines] of headers) {
      if (lines.length !== 1 || except.includes(name)) continue;
      init[name] = lines[0]!;
      except.push(name);
    }
  }
  const body = sendable(content, scope);
  const response = webResponse(body, status, init, scope);
  append(headers, response.headers, except);
  return response;
}

/**
 * A copy of the application's own response with the collected headers; the response's own win, the cookies of
 * both are kept. A copy, since the application may send the same response to other requests. One of `fetch()`
 * cannot be sent twice, and the runtime sends it natively when it is the same object.
 */
function copyOf(own: Response, draft: Draft, scope: ResponseSource): Response {
  if (own.status === 101) return own; // an upgrade cannot be copied
  const hasMore = draft.headers.size > 0 || isHead(scope);
  if (isFetched(own) && !hasMore) return own;
  const value = valueOf(own);
  const copy = copyWith(sendable(value ?? own.body ?? "", scope), own);
  if (isHead(scope) && value && !copy.headers.has("content-length")) {
    copy.headers.set("content-length", String(bytesIn(value)));
  }
  append(draft.headers, copy.headers, [...copy.headers.keys()]);
  return copy;
}

/** The response itself, or a copy of one whose headers are fixed: one of `fetch()` or `Response.redirect()`. */
export function mutable(response: Response): Response {
  try {
    response.headers.delete("x-never-sent");
    return response;
  } catch {
    return copyWith(valueOf(response) ?? response.body, response);
  }
}

/** Whether a response is one of `fetch()`: its headers are fixed. */
function isFetched(response: Response): boolean {
  return response.url !== "";
}

/** The encodings that `fetch()` undoes. */
const UNDONE = ["gzip", "br"];

/** A copy with another body. That of `fetch()` has been decoded: the headers of its encoded form are left out. */
function copyWith(body: BodyInit | null, response: Response): Response {
  const copy = new Response(body, response);
  const encoding = response.headers.get("content-encoding");
  if (isFetched(response) && UNDONE.includes(encoding ?? "")) {
    copy.headers.delete("content-encoding");
    copy.headers.delete("content-length");
  }
  return copy;
}

/** Appends headers except for the named ones; cookies always, each in a line of its own. */
function append(lines: HeaderLines, to: Headers, except: string[]): void {
  for (const [name, values] of lines) {
    if (except.includes(name) && name !== "set-cookie") continue;
    for (const value of values) to.append(name, value);
  }
}

/** The body that a draft has by now. */
function bodyOf({ page, content, texts }: Draft): BodyContent | Response {
  if (page !== undefined) return bodyOf(page);
  return content ?? joined(texts);
}

function joined(text: string | Texts): string {
  if (typeof text === "string") return text;
  return text.reduce<string>((before, next) => before + joined(next), "");
}

/** The body as the runtime takes it; the source of a stream is bound to its request. */
function sendable(body: BodyContent, scope: ResponseSource): BodyInit | null {
  if (body === "") return null;
  if (!isHead(scope)) return isStream(body) ? bindStream(body, scope) : body;
  discard(body);
  // Without a body, the runtime would say that a GET has the length 0 (RFC 9110, section 8.6).
  return isStream(body) ? ReadableStream.from([]) : null;
}

/** Whether the request is a HEAD, which gets the headers of a GET and no body. */
function isHead({ request }: ResponseSource): boolean {
  return request.method === "HEAD";
}

/** Asks `typeof` first: `instanceof` would look up a global of the runtime, which is slow. */
function isStream(content: BodyContent | Response): content is ReadableStream {
  return typeof content !== "string" && content instanceof ReadableStream;
}

function typeOf(content: BodyContent, type = HTML): string | undefined {
  if (content === "") return undefined;
  if (typeof content === "string" || isStream(content)) return type;
  return content instanceof Blob && content.type || "application/octet-stream";
}

/** The length of a body in bytes; undefined for a stream. */
function bytesIn(content: BodyContent | Response): number | undefined {
  if (typeof content === "string") {
    return new TextEncoder().encode(content).length;
  }
  if (isStream(content)) return undefined;
  if (content instanceof Response) {
    return bytesIn(valueOf(content) ?? content.body ?? "");
  }
  return content instanceof Blob ? content.size : content.byteLength;
}
