/**
 * Owns the response being built: status, headers, cookies, body, and the seal after which status and
 * body stand. When it is sealed, and by whom, is decided by the methods that answer.
 *
 * A body is a list of parts in the order of the calls. A part is text, or a section: a place kept for
 * output that comes later, such as a render that nobody awaited. What clears the body drops its
 * sections too, so output that comes too late is written where nobody reads it.
 */

import { checkStatus, report } from "../errors.ts";
import {
  checkHeader,
  cookieLine,
  type CookieOptions,
  WITHOUT_PAGE,
} from "./header.ts";
import { type BodyContent, joined, merged, outgoing } from "./outgoing.ts";
import { discard } from "./stream.ts";

export type { CookieOptions } from "./header.ts";
export type { BodyContent } from "./outgoing.ts";

/** Whether a status has no body (Fetch standard, "null body status"). */
function isBodiless(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}

/** Headers by lower-case name; a cookie is a value of `set-cookie`. */
type Fields = Map<string, string[]>;

/** Of most responses nothing is set. */
const NO_FIELDS: ReadonlyMap<string, string[]> = new Map();

/** What a response knows of the request it answers. */
export interface ResponseContext {
  /** Whether the connection is secure: cookies then are. */
  secure(): boolean;
  /** Whether ignored writes are reported. */
  debug(): boolean;
  /** Whether a server sends texts of a middle length in chunks. */
  coalesce(): boolean;
  /**
   * Keeps the request open until the answer is called: a stream of the body runs in its scope. `cut`
   * ends that stream.
   */
  hold(cut: (reason: unknown) => void): () => void;
}

/**
 * The response being built for one request; `Framework.response()` answers the current one. A stream
 * that a callback returns, such as the server-sent events here, runs in the scope of its request.
 *
 * @example
 * ```ts
 * import { Engine } from "@framework/core";
 * import { assertEquals } from "@std/assert";
 * import { ServerSentEventStream } from "@std/http/server-sent-event-stream";
 *
 * const app = new Engine();
 * app.route("/events", () => {
 *   app.response().header("content-type", "text/event-stream").cache(false);
 *   return ReadableStream.from([{ data: "one" }, { data: "two" }])
 *     .pipeThrough(new ServerSentEventStream());
 * });
 *
 * const response = await app.fetch(new Request("http://localhost/events"));
 * assertEquals(await response.text(), "data:one\n\ndata:two\n\n");
 * ```
 */
export class HttpResponse {
  readonly #context: ResponseContext;
  /** The whole of which this is a section; itself, for the whole. */
  readonly #whole: HttpResponse;
  #parts: (string | HttpResponse)[] = [];
  /** The headers of the whole, once one is set; shared with a replacement. */
  #headers: Fields | undefined;
  #status = 200;
  #content: Exclude<BodyContent, string> | undefined;
  #given: Response | undefined;
  #sealedBy: string | undefined;
  #replacement: HttpResponse | undefined;

  /**
   * Made by the framework, once for each request.
   *
   * @internal
   */
  constructor(
    context: ResponseContext,
    whole?: HttpResponse,
    kind?: "section" | "replacement",
  ) {
    this.#context = context;
    this.#whole = whole !== undefined && kind === "section" ? whole : this;
    if (whole !== undefined && kind === "replacement") {
      this.#headers = whole.#fields;
    }
  }

  /** The status. */
  status(): number;
  /** Sets the status, 200 to 599; throws `RangeError` on any other. */
  status(code: number): this;
  status(code?: number): number | this {
    const whole = this.#whole;
    if (code === undefined) return whole.#status;
    checkStatus("respond", code, 200, 599);
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
    if (value === undefined) {
      const lines = this.#fields.get(key);
      return lines ? joined(lines) : null;
    }
    if (value === null) {
      this.#fields.delete(key);
      return this;
    }
    const lines = typeof value === "object" ? [...value] : [String(value)];
    for (const line of lines) checkHeader(name, line);
    this.#fields.set(key, lines);
    return this;
  }

  /**
   * Sets a cookie, replacing one of that name. The value is percent-encoded; an attribute replaces its
   * default, `maxAge: 0` removes the cookie from the client. Throws when the name or an attribute is
   * malformed (RFC 6265, section 4.1), or the cookie is larger than clients keep.
   */
  cookie(name: string, value: string, options: CookieOptions = {}): this {
    const line = cookieLine(name, value, {
      path: "/",
      httpOnly: true,
      sameSite: "Lax",
      secure: this.#context.secure(),
      ...options,
    });
    const others = this.#fields.get("set-cookie")
      ?.filter((other) => !other.startsWith(`${name}=`));
    this.#fields.set("set-cookie", [...others ?? [], line]);
    return this;
  }

  /** Adds text to the body. */
  write(text: string): this {
    if (this.#whole === this && this.#refuses("write()")) return this;
    const part = String(text);
    if (this.#parts.length > 0) this.#parts.push(part);
    else this.#parts = [part]; // most bodies have one, and a list that grows takes room for many
    return this;
  }

  /** Sets everything back: status 200, no headers, no cookies, no body. */
  clear(): this {
    const whole = this.#whole;
    if (whole.#refuses("clear()")) return this;
    whole.#status = 200;
    whole.#fields.clear();
    return this.clearBody();
  }

  /** Drops the body, and what un-awaited renders would still add to it; headers and status stay. */
  clearBody(): this {
    const whole = this.#whole;
    if (whole.#refuses("clearBody()")) return this;
    whole.#drop();
    if (this !== whole) {
      this.#drop();
      whole.#parts.push(this);
    }
    return this;
  }

  /** Lets caches keep the response for so many seconds, or, with false, not at all (RFC 9111). */
  cache(seconds: number | false): this {
    if (seconds === false) return this.header("cache-control", "no-store");
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

  // For the methods that answer

  /**
   * Makes text, bytes or a stream the whole body. Throws `TypeError` for a stream that is being read.
   *
   * @internal
   */
  body(content: BodyContent): this {
    if (typeof content === "string") return this.clearBody().write(content);
    if (content instanceof ReadableStream && content.locked) {
      throw new TypeError("Cannot send the stream: something is reading it");
    }
    const whole = this.#whole;
    if (whole.#refuses("body()")) discard(content);
    else whole.clearBody().#content = content;
    return this;
  }

  /**
   * Lets status and body stand as they are. The first seal wins: false says that this was not it.
   *
   * @internal
   */
  seal(by: string): boolean {
    const whole = this.#whole;
    if (whole.#refuses(by)) return false;
    whole.#sealedBy = whole.#context.debug() ? `${by}${callSite()}` : by;
    return true;
  }

  /**
   * Makes this the whole answer, and seals it. Without a status it stays what it is. The headers
   * replace those that were set, null removes one. Does nothing when the response is sealed already.
   *
   * @internal
   */
  respond(
    by: string,
    status: number = this.status(),
    text = "",
    headers: Readonly<Record<string, string | null>> = {},
  ): void {
    if (this.#whole.#refuses(by)) return;
    this.status(status).body(text);
    for (const name in headers) this.header(name, headers[name]!);
    this.seal(by);
  }

  /**
   * Sends a web response as it is, with the collected headers and cookies added, and seals it. Throws
   * `TypeError` for one that cannot be sent.
   *
   * @internal
   */
  send(answer: Response): void {
    if (answer.bodyUsed || answer.status === 0) {
      throw new TypeError(
        "Cannot send the Response: its body was read, or it is a network error",
      );
    }
    if (!this.seal("a returned Response")) return discard(answer.body);
    this.#whole.#drop();
    this.#whole.#given = answer;
  }

  /**
   * A place in the body, kept here for output that comes later.
   *
   * @internal
   */
  section(): HttpResponse {
    const section = this.#another("section");
    if (this.#whole !== this || !this.sent) this.#parts.push(section);
    return section;
  }

  /**
   * Drops the body with the headers that describe or store it, seals this response and lets another
   * take its place, which shares the headers that are left.
   *
   * @internal
   */
  replace(by: string, status: number): HttpResponse | undefined {
    const whole = this.#whole;
    if (!whole.seal(by)) return undefined;
    whole.#drop();
    for (const name in WITHOUT_PAGE) this.#fields.delete(name);
    const replacement = whole.#another("replacement");
    replacement.#status = status;
    whole.#replacement = replacement;
    return replacement;
  }

  /**
   * Takes a seal back with all that it kept: what should have answered has failed.
   *
   * @internal
   */
  reopen(): void {
    const whole = this.#whole;
    whole.#sealedBy = whole.#replacement = whole.#given = undefined;
  }

  /**
   * The web response; to a HEAD request it has no body. When it cannot be made, another can.
   *
   * @internal
   */
  toResponse(head: boolean): Response {
    const whole = this.#whole;
    if (whole.#replacement) return whole.#replacement.toResponse(head);
    try {
      const response = whole.#outgoing(head);
      whole.#sealedBy ??= "the end of the request";
      return response;
    } catch (error) {
      whole.reopen();
      whole.#drop();
      throw error;
    }
  }

  #outgoing(alone: boolean): Response {
    const headers = this.#headers ?? NO_FIELDS;
    const head = { headers, alone, request: this.#context };
    if (this.#given) return merged(this.#given, head);
    if (isBodiless(this.#status)) this.#drop();
    return outgoing(this.#status, this.#content ?? this.#text(), head);
  }

  get #fields(): Fields {
    return this.#whole.#headers ??= new Map();
  }

  #text(): string {
    const only = this.#parts[0];
    if (this.#parts.length === 1 && typeof only === "string") return only;
    return this.#parts.map((part) =>
      typeof part === "string" ? part : part.#text()
    ).join("");
  }

  #drop(): void {
    this.#parts = [];
    if (this.#content === undefined) return;
    discard(this.#content);
    this.#content = undefined;
  }

  /** One of the same class: an application may have registered its own. */
  #another(kind: "section" | "replacement"): HttpResponse {
    const type = this.constructor as typeof HttpResponse;
    return new type(this.#context, this.#whole, kind);
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

/** Where in the application the running call was made, for messages under debug. */
function callSite(): string {
  const own = new URL("..", import.meta.url).href;
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 50;
  const lines = new Error().stack?.split("\n").slice(1) ?? [];
  Error.stackTraceLimit = limit;
  const place = lines.find((line) =>
    line.includes("://") && !line.includes(own)
  );
  return place ? ` (${place.trim()})` : "";
}
