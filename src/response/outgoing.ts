/**
 * Owns the web `Response` that goes out: made of what was collected, or of one that the application
 * answered itself.
 */

import { bindStream, discard, valueOf } from "./stream.ts";

/** What a body can be beside text that is written: bytes, or a stream of bytes or text. */
export type BodyContent =
  | string
  | ArrayBufferView<ArrayBuffer>
  | ArrayBuffer
  | Blob
  | ReadableStream;

/** What is collected beside a body. */
export interface Head {
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  /** Whether the request is a HEAD, which gets the same headers and no body. */
  readonly alone: boolean;
  readonly request: {
    /** Whether a server sends texts of a middle length in chunks. */
    coalesce(): boolean;
    /** Keeps the request open until the answer is called; `cut` ends the stream of the body. */
    hold(cut: (reason: unknown) => void): () => void;
  };
}

/** The headers that are there when the others are added; how long a value is, only the value knows. */
const OF_STREAMS: readonly string[] = ["content-type"];
const OF_VALUES: readonly string[] = ["content-type", "content-length"];

/** How a text is sent for which nothing was set. */
const PLAIN: ResponseInit = { headers: { "content-type": typeOf("") } };

/** From which to which length, in characters, a text is sent in one write with its head. */
const COALESCED = { least: 400, most: 32_768 } as const;

/** What says itself how long a body is. */
const FRAMING = ["content-length", "transfer-encoding"];

/** Makes the response of its parts. */
export function outgoing(
  status: number,
  content: BodyContent,
  head: Head,
): Response {
  const isText = typeof content === "string";
  if (isText && isPlain(status, content, head)) {
    return new Response(content, PLAIN);
  }
  const headers: Record<string, string> = {};
  // Given later, the type would be added to the one that a response takes from its body.
  const types = head.headers.get("content-type");
  if (types) headers["content-type"] = joined(types);
  else if (content !== "") headers["content-type"] = typeOf(content);
  const isSized = head.alone || !isText && content instanceof Blob;
  const length = isSized ? lengthOf(content) : 0;
  if (length > 0) headers["content-length"] = String(length);
  const isValue = content !== "" && !isStream(content);
  const body = sendable(content, head);
  const response = new Response(body, { status, headers });
  if (typeof body === "string" && isCoalesced(body, head)) {
    response.headers.append("transfer-encoding", "chunked");
  }
  return append(response, head.headers, isValue ? OF_VALUES : OF_STREAMS);
}

/** Several lines of a header as one value (RFC 9110, section 5.3). */
export function joined(lines: readonly string[]): string {
  return lines.length === 1 ? lines[0]! : lines.join(", ");
}

/** Adds what was collected to a response; its own headers win, cookies of both are kept. */
export function merged(answer: Response, head: Head): Response {
  if (answer.status === 101) return answer; // an upgrade cannot be copied
  const value = valueOf(answer);
  const content = value ?? answer.body;
  const body = content === null ? null : sendable(content, head);
  if (body === content && head.headers.size === 0) return answer;
  const response = new Response(body, answer);
  if (head.alone && value && !response.headers.has("content-length")) {
    response.headers.set("content-length", String(lengthOf(value)));
  }
  return append(response, head.headers, [...response.headers.keys()]);
}

/** Whether there is a text and nothing else, as in most answers. */
function isPlain(status: number, text: string, head: Head): boolean {
  return text !== "" && status === 200 && !head.alone &&
    head.headers.size === 0 && !isCoalesced(text, head);
}

/**
 * Whether a text is left to chunks. The runtime makes two writes of a head and a body of more than 512
 * bytes together, at twice the cost, but one write of a head and a chunk; a long text is better off with
 * two. HEAD, HTTP/1.0 and HTTP/2 are told the length all the same. None of that is documented.
 */
function isCoalesced({ length }: string, head: Head): boolean {
  return length >= COALESCED.least && length <= COALESCED.most &&
    !FRAMING.some((name) => head.headers.has(name)) && head.request.coalesce();
}

/** The body as the runtime takes it; a stream runs in the scope of its request. */
function sendable(content: BodyContent, head: Head): BodyInit | null {
  if (isStream(content) && !head.alone) {
    return bindStream(content, (cut) => head.request.hold(cut));
  }
  if (head.alone) discard(content);
  return head.alone || content === "" ? null : content;
}

function append(
  response: Response,
  headers: Head["headers"],
  except: readonly string[],
): Response {
  for (const [name, values] of headers) {
    if (except.includes(name) && name !== "set-cookie") continue;
    for (const value of values) response.headers.append(name, value);
  }
  return response;
}

/** A text is told by its type: `instanceof` would look up a global of the runtime first, which is dear. */
function isStream(content: BodyContent): content is ReadableStream {
  return typeof content !== "string" && content instanceof ReadableStream;
}

function typeOf(content: BodyContent): string {
  if (typeof content === "string" || isStream(content)) {
    return "text/html; charset=utf-8";
  }
  return (content instanceof Blob && content.type) ||
    "application/octet-stream";
}

/** How many bytes a value has; 0 for a stream, of which nobody knows. */
function lengthOf(content: BodyContent): number {
  if (typeof content === "string") {
    return new TextEncoder().encode(content).length;
  }
  if (isStream(content)) return 0;
  return content instanceof Blob ? content.size : content.byteLength;
}
