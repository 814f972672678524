/**
 * Owns the response being built: status, headers, cookies, body, and the seal after which status and
 * body stand. When it is sealed, and by whom, is decided by the methods that answer.
 *
 * A body is a list of parts in the order of the calls. A part is text, or a section: a place kept for
 * output that comes later, such as a render that nobody awaited. What clears the body drops its
 * sections too, so output that comes too late is written where nobody reads it.
 */

import { type Cookie, setCookie } from "@std/http/cookie";
import { report } from "./errors.ts";
import { bind } from "./scope.ts";

/** What a body can be beside text that is written: bytes, or a stream of them. */
export type BodyContent =
  | string
  | Uint8Array
  | ArrayBuffer
  | Blob
  | ReadableStream;

/** The attributes of a cookie; by default it is `HttpOnly`, `SameSite=Lax`, `Path=/` and, on https, `Secure`. */
export type CookieOptions = Omit<Cookie, "name" | "value">;

/** What a response knows of the request it answers. */
export interface ResponseContext {
  /** Whether the connection is secure: cookies then are. */
  secure(): boolean;
  /** Whether ignored writes are reported. */
  debug(): boolean;
  /**
   * Keeps the request open until the answer is called: a stream of the body runs in its scope. `cut`
   * ends that stream.
   */
  hold(cut: (reason: unknown) => void): () => void;
}

/** The response being built for one request; `Framework.response()` answers the current one. */
export class HttpResponse {
  readonly #context: ResponseContext;
  /** The whole of which this is a section; itself, for the whole. */
  readonly #whole: HttpResponse;
  readonly #parts: (string | HttpResponse)[] = [];
  /** By lower-case name; a cookie is a value of `set-cookie`. Shared with a replacement. */
  readonly #headers: Map<string, string[]>;
  #status = 200;
  #content: Exclude<BodyContent, string> | undefined;
  #answer: Response | undefined;
  #sealedBy: string | undefined;
  #replacement: HttpResponse | undefined;

  /** Made by the framework, once for each request. */
  constructor(
    context: ResponseContext,
    whole?: HttpResponse,
    kind?: "section" | "replacement",
  ) {
    this.#context = context;
    this.#whole = whole !== undefined && kind === "section" ? whole : this;
    this.#headers = whole === undefined ? new Map() : whole.#headers;
  }

  /** The status. */
  status(): number;
  /** Sets the status, 200 to 599; throws `RangeError` on any other. */
  status(code: number): this;
  status(code?: number): number | this {
    const whole = this.#whole;
    if (code === undefined) return whole.#status;
    if (!Number.isInteger(code) || code < 200 || code > 599) {
      throw new RangeError(
        `Cannot set the status: it must be 200 to 599, got "${code}"`,
      );
    }
    if (whole.#refuses("status()")) return this;
    whole.#status = code;
    return this;
  }

  /** The value of a header, its values joined by a comma, or null. */
  header(name: string): string | null;
  /**
   * Sets a header; a list sets several lines, null removes it. Throws `TypeError` when the name is no
   * token or a value has characters that a header cannot carry (RFC 9110, sections 5.1 and 5.5).
   */
  header(name: string, value: string | number | readonly string[] | null): this;
  header(
    name: string,
    value?: string | number | readonly string[] | null,
  ): string | null | this {
    const key = name.toLowerCase();
    if (value === undefined) return this.#headers.get(key)?.join(", ") ?? null;
    if (value === null) {
      this.#headers.delete(key);
      return this;
    }
    const values = Array.isArray(value)
      ? value as readonly string[]
      : [String(value)];
    for (const line of values) checkHeader(name, line);
    this.#headers.set(key, [...values]);
    return this;
  }

  /**
   * Sets a cookie. The value is percent-encoded; an `expires`, `maxAge`, `domain` or other attribute
   * replaces its default. Throws when the name or an attribute is malformed (RFC 6265, section 4.1).
   */
  cookie(name: string, value: string, options: CookieOptions = {}): this {
    const headers = new Headers();
    setCookie(headers, {
      path: "/",
      httpOnly: true,
      sameSite: "Lax",
      ...(this.#context.secure() ? { secure: true } : {}),
      ...options,
      name,
      value: encodeURIComponent(value),
    });
    const lines = this.#headers.get("set-cookie") ?? [];
    const kept = lines.filter((line) => !line.startsWith(`${name}=`));
    this.#headers.set("set-cookie", [...kept, ...headers.getSetCookie()]);
    return this;
  }

  /** Adds text to the body. */
  write(text: string): this {
    if (this.#whole === this && this.#refuses("write()")) return this;
    this.#parts.push(String(text));
    return this;
  }

  /** Sets everything back: status 200, no headers, no cookies, no body. */
  clear(): this {
    const whole = this.#whole;
    if (whole.#refuses("clear()")) return this;
    whole.#status = 200;
    whole.#headers.clear();
    return this.clearBody();
  }

  /** Drops the body, and what un-awaited renders would still add to it; headers and status stay. */
  clearBody(): this {
    const whole = this.#whole;
    if (whole.#refuses("clearBody()")) return this;
    whole.#parts.length = 0;
    whole.#content = undefined;
    if (this !== whole) {
      this.#parts.length = 0;
      whole.#parts.push(this);
    }
    return this;
  }

  /** Lets caches keep the response for so many seconds, or, with false, not at all (RFC 9111). */
  cache(seconds: number | false): this {
    if (seconds === false) {
      return this.header(
        "cache-control",
        "no-store, no-cache, must-revalidate, max-age=0",
      );
    }
    if (!Number.isFinite(seconds) || seconds < 0) {
      throw new RangeError(
        `Cannot set the cache time: seconds must be 0 or more, got "${seconds}"`,
      );
    }
    return this.header("cache-control", `max-age=${Math.floor(seconds)}`);
  }

  /** Whether status and body stand: something has answered, or the response is out. */
  get sent(): boolean {
    return this.#whole.#sealedBy !== undefined;
  }

  /** Makes bytes or a stream the whole body; for methods that answer. */
  body(content: BodyContent): this {
    if (typeof content === "string") return this.clearBody().write(content);
    const whole = this.#whole;
    if (whole.#refuses("body()")) return this;
    whole.clearBody().#content = content;
    return this;
  }

  /** Lets status and body stand as they are. The first seal wins: false says that this was not it. */
  seal(by: string): boolean {
    const whole = this.#whole;
    if (whole.#refuses(by)) return false;
    whole.#sealedBy = whole.#context.debug() ? `${by}${callSite()}` : by;
    return true;
  }

  /**
   * Makes this the whole answer, and seals it. The headers replace those that were set. Does nothing
   * when the response is sealed already.
   */
  answer(
    by: string,
    status: number,
    text = "",
    headers: Readonly<Record<string, string>> = {},
  ): void {
    if (this.#refuses(by)) return;
    this.status(status).body(text);
    for (const [name, value] of Object.entries(headers)) {
      this.header(name, value);
    }
    this.seal(by);
  }

  /** Sends a web response as it is, with the collected headers and cookies added, and seals it. */
  send(answer: Response): void {
    if (this.seal("a returned Response")) this.#whole.#answer = answer;
  }

  /** A place in the body, kept here for output that comes later. */
  section(): HttpResponse {
    const section = new HttpResponse(this.#context, this.#whole, "section");
    if (this.#whole !== this || !this.sent) this.#parts.push(section);
    return section;
  }

  /** Seals this response and lets another, with a clean body and the same headers, take its place. */
  replace(by: string, status: number): HttpResponse | undefined {
    const whole = this.#whole;
    if (!whole.seal(by)) return undefined;
    const replacement = new HttpResponse(this.#context, whole, "replacement");
    for (const name of CONTENT_HEADERS) this.header(name, null);
    replacement.#status = status;
    whole.#replacement = replacement;
    return replacement;
  }

  /** Takes a seal back with all that it kept: what should have answered has failed. */
  reopen(): void {
    const whole = this.#whole;
    whole.#sealedBy = whole.#replacement = whole.#answer = undefined;
  }

  /** The web response; to a HEAD request it has no body. */
  toResponse(head: boolean): Response {
    const whole = this.#whole;
    if (whole.#replacement) return whole.#replacement.toResponse(head);
    whole.#sealedBy ??= "the end of the request";
    return whole.#answer
      ? whole.#merge(whole.#answer, head)
      : whole.#build(head);
  }

  #build(head: boolean): Response {
    const status = this.#status;
    const content = BODILESS.has(status) ? "" : this.#content ?? this.#text();
    const headers: Record<string, string> = {};
    if (content !== "" && !this.#headers.has("content-type")) {
      headers["content-type"] = contentType(content);
    }
    if (head && typeof content === "string") {
      headers["content-length"] = String(
        new TextEncoder().encode(content).length,
      );
    }
    const response = new Response(this.#sendable(content, head), {
      status,
      headers,
    });
    append(response.headers, this.#headers);
    return response;
  }

  /** A web response with the collected headers added; its own win, cookies of both are kept. */
  #merge(answer: Response, head: boolean): Response {
    const { body } = answer;
    if (
      this.#headers.size === 0 && !head &&
      (body === null || !maybeStream(answer))
    ) return answer;
    const content = body !== null && maybeStream(answer)
      ? this.#sendable(body, head)
      : body;
    const merged = new Response(head ? null : content, answer);
    const own = new Set(merged.headers.keys());
    own.delete("set-cookie");
    append(merged.headers, this.#headers, own);
    return merged;
  }

  /** The body as the runtime takes it; a stream runs in the scope of its request. */
  #sendable(content: BodyContent, head: boolean): BodyInit | null {
    if (!(content instanceof ReadableStream)) {
      return head || content === "" ? null : content as BodyInit;
    }
    if (!head) return bindStream(content, (cut) => this.#context.hold(cut));
    content.cancel().catch(() => {}); // nobody reads it: how it ends concerns nobody
    return null;
  }

  #text(): string {
    const [only] = this.#parts;
    if (this.#parts.length === 1 && typeof only === "string") return only;
    return this.#parts.map((part) =>
      typeof part === "string" ? part : part.#text()
    ).join("");
  }

  /** Whether the seal keeps a call from having its effect; under debug it is reported. */
  #refuses(call: string): boolean {
    if (this.#sealedBy === undefined) return false;
    if (this.#context.debug()) {
      report(
        `Ignored ${call}${callSite()}: the response was sealed by ${this.#sealedBy}`,
      );
    }
    return true;
  }
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// deno-lint-ignore no-control-regex -- control characters are what must be found
const UNSAFE = /[^\t\x20-\x7e\x80-\xff]/;

/** Throws when a header's name or value could not be sent, or would be read as something else. */
function checkHeader(name: string, value: string): void {
  if (!TOKEN.test(name)) {
    throw new TypeError(
      `Cannot set the header "${name}": the name is not a token`,
    );
  }
  const found = UNSAFE.exec(value);
  if (found) {
    throw new TypeError(
      `Cannot set the header "${name}": its value has a character that no header carries, ` +
        `${JSON.stringify(found[0])} at ${found.index}`,
    );
  }
}

/** What describes a body: gone when another body takes its place (RFC 9110, section 8). */
export const CONTENT_HEADERS: readonly string[] = [
  "content-type",
  "content-length",
  "content-encoding",
  "content-language",
  "content-range",
];

/** The statuses that have no body (Fetch standard, "null body status"). */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

function append(
  headers: Headers,
  lines: ReadonlyMap<string, readonly string[]>,
  except?: ReadonlySet<string>,
): void {
  for (const [name, values] of lines) {
    if (except?.has(name)) continue;
    for (const value of values) headers.append(name, value);
  }
}

/** The types that a web response takes by itself from a body that is no stream. */
const OF_VALUES =
  /^(?:text\/plain;charset=UTF-8|application\/json|application\/x-www-form-urlencoded;charset=UTF-8|multipart\/form-data; *boundary=.*)$/;

/** Whether the body of a web response may be a stream, as far as its headers tell. */
function maybeStream(answer: Response): boolean {
  if (answer.headers.has("content-length")) return false;
  return !OF_VALUES.test(answer.headers.get("content-type") ?? "");
}

function contentType(content: BodyContent): string {
  if (typeof content === "string") return "text/html; charset=utf-8";
  return (content instanceof Blob && content.type) ||
    "application/octet-stream";
}

/** Where in the application the running call was made, for messages under debug. */
function callSite(): string {
  const own = new URL(".", import.meta.url).href;
  const lines = new Error().stack?.split("\n").slice(1) ?? [];
  const place = lines.find((line) =>
    line.includes("://") && !line.includes(own)
  );
  return place ? ` (${place.trim()})` : "";
}

/**
 * Binds a stream to the current request: whoever reads it, its source runs in the request's scope.
 * `hold` is called at once, with what cuts the stream; its answer is called when the stream has ended,
 * failed, was cut, or was given up by the client.
 */
export function bindStream(
  source: ReadableStream,
  hold: (cut: (reason: unknown) => void) => () => void,
): ReadableStream {
  const reader = source.getReader();
  let done = (): void => {};
  return new ReadableStream({
    type: "bytes",
    start: (controller) => {
      done = hold(bind((reason) => {
        controller.error(reason);
        reader.cancel(reason).catch(() => {}); // it is over, however its source takes it
        done();
      }));
    },
    pull: bind(async (controller) => {
      try {
        const { done: ended, value } = await reader.read();
        if (!ended) return controller.enqueue(toBytes(value));
        controller.close();
        controller.byobRequest?.respond(0);
      } catch (error) {
        controller.error(error);
        done();
        throw error;
      }
      done();
    }),
    cancel: bind(async (reason) => {
      try {
        await reader.cancel(reason);
      } finally {
        done();
      }
    }),
  });
}

function toBytes(chunk: unknown): Uint8Array<ArrayBuffer> {
  if (chunk instanceof Uint8Array) return chunk as Uint8Array<ArrayBuffer>;
  if (typeof chunk === "string") return new TextEncoder().encode(chunk);
  throw new TypeError(
    "Cannot send the stream: a chunk is neither bytes nor text",
  );
}
