/**
 * Owns the response being built: status, headers, cookies, body, and the seal after which status and
 * body stand. Who seals it, and when, is decided in `handling/`.
 *
 * The body is a list of parts in the order of the calls. A part is text, or a section: a place kept for
 * output that comes later, such as a render that nobody awaited. Clearing the body drops its sections
 * too: what is written to a dropped section is never sent.
 */

import { callSite, checkStatus, report } from "../errors.ts";
import type { Markup } from "../html.ts";
import {
  type EventsOptions,
  eventStream,
  type ServerSentEvent,
} from "./events.ts";
import {
  cacheControl,
  checkHeader,
  cookieLine,
  type CookieOptions,
  type HeaderLines,
  type HeaderValue,
  PAGE_HEADERS,
} from "./header.ts";
import type { Outcome, ResponseSource } from "./outcome.ts";
import { lengthOf, makeResponse } from "./outgoing.ts";
import { type BodyContent, checkUnread, discard } from "./stream.ts";

/** The media types of JSON, such as `application/json` and `application/problem+json`. */
const JSON_TYPE = /^[^;]*[/+]json\b/i;

/**
 * The response being built for one request; `Framework.response()` returns the current one.
 *
 * @example
 * ```ts
 * import { Engine } from "@framework/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new Engine();
 * app.route("POST /notes", () => {
 *   app.response().status(201).header("location", "/notes/1").write("Kept");
 * });
 *
 * const request = new Request("http://localhost/notes", { method: "POST" });
 * const response = await app.fetch(request);
 * assertEquals(response.status, 201);
 * assertEquals(response.headers.get("location"), "/notes/1");
 * ```
 */
export class HttpResponse {
  readonly #scope: ResponseSource;
  /** The response that this is a section of; itself, unless it is one. */
  #whole: HttpResponse = this;
  #status = 200;
  /** Shared with the page. */
  #headers: HeaderLines = new Map();
  /** The content type that came with the text, where no header says another. */
  #type: string | undefined;
  /** The sections and the texts before them. */
  #parts: (string | HttpResponse)[] | undefined;
  /** The text after the last section. */
  #text = "";
  /** Bytes, a stream or a web response, sent in place of the text. */
  #content: Exclude<BodyContent, string> | Response | undefined;
  #sealedBy: string | undefined;
  /** The response that is sent in place of this one. */
  #page: HttpResponse | undefined;

  /**
   * Made by the framework, once for each request.
   *
   * @ignore
   */
  constructor(scope: ResponseSource) {
    this.#scope = scope;
  }

  /** The status. */
  status(): number;
  /** Sets the status, 200 to 599; throws `RangeError` on any other. */
  status(code: number): this;
  status(code?: number): number | this {
    if (code === undefined) return this.#whole.#status;
    checkStatus("respond", code, 200, 599);
    if (this.sent) return this.#ignore("status()");
    this.#whole.#status = code;
    return this;
  }

  /** The value of a header, its values joined by a comma, or null. */
  header(name: string): string | null;
  /**
   * Sets a header; a list sets several lines, null or an empty list removes it. Throws `TypeError` when
   * the name is not a token or a value has characters that a header cannot carry (RFC 9110, sections 5.1
   * and 5.5).
   */
  header(name: string, value: string | number | readonly string[] | null): this;
  header(name: string, value?: HeaderValue): string | null | this {
    const whole = this.#whole;
    const key = name.toLowerCase();
    const isType = key === "content-type";
    if (value === undefined) {
      const set = whole.#headers.get(key)?.join(", ");
      return set ?? (isType && whole.#type || null);
    }
    const lines = typeof value === "object" ? value ?? [] : [String(value)];
    for (const line of lines) checkHeader(name, line);
    if (isType) whole.#type = undefined;
    if (lines.length > 0) this.#whole.#headers.set(key, [...lines]);
    else this.#whole.#headers.delete(key);
    return this;
  }

  /**
   * Sets a cookie, replacing one of that name. The value is percent-encoded; an attribute replaces its
   * default, `maxAge: 0` removes the cookie from the client. Throws when the name or an attribute is
   * malformed (RFC 6265, section 4.1), or the cookie is larger than clients keep.
   */
  cookie(name: string, value: string, options: CookieOptions = {}): this {
    const secure = this.#scope.app.request().secure;
    const line = cookieLine(name, value, { secure, ...options });
    const others = this.#whole.#headers.get("set-cookie")
      ?.filter((other) => !other.startsWith(`${name}=`)) ?? [];
    this.#whole.#headers.set("set-cookie", [...others, line]);
    return this;
  }

  /** Appends text to the body. */
  write(text: string | Markup): this {
    // A section may still be filled when the response is sealed.
    if (this.#sealedBy !== undefined) return this.#ignore("write()");
    this.#text += String(text);
    return this;
  }

  /** Resets everything: status 200, no headers, no cookies, no body. */
  clear(): this {
    if (this.sent) return this.#ignore("clear()");
    this.#whole.#status = 200;
    this.#whole.#headers.clear();
    return this.clearBody();
  }

  /** Drops the body, and what un-awaited renders would still add to it; headers and status stay. */
  clearBody(): this {
    if (this.sent) return this.#ignore("clearBody()");
    this.#whole.#drop();
    this.#drop();
    if (this !== this.#whole) this.#whole.#parts = [this];
    return this;
  }

  /** Lets caches keep the response for so many seconds, or, with false, not at all (RFC 9111). */
  cache(seconds: number | false): this {
    return this.header("cache-control", cacheControl(seconds));
  }

  /**
   * Sends server-sent events: sets the content type, forbids caches and proxies to keep them, and makes
   * the events the body. They run in the scope of the request; when the client leaves, the iterable's
   * `return()` is called, which ends a generator at its next `yield`: one that waits for others wakes
   * up by `request().signal`. Throws `RangeError` for a negative heartbeat.
   *
   * @example
   * ```ts
   * import { Engine } from "@framework/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new Engine();
   * app.route("/numbers", () => void app.response().events(numbers()));
   *
   * async function* numbers() {
   *   for (let id = 1; id <= 2; id++) yield { id, data: `number ${id}` };
   * }
   *
   * const response = await app.fetch(new Request("http://localhost/numbers"));
   * assertEquals(response.headers.get("content-type"), "text/event-stream");
   * assertEquals(
   *   await response.text(),
   *   "data:number 1\nid:1\n\ndata:number 2\nid:2\n\n",
   * );
   * ```
   */
  events(
    source: AsyncIterable<ServerSentEvent> | Iterable<ServerSentEvent>,
    options: EventsOptions = {},
  ): this {
    const stream = eventStream(source, options);
    return this.header("content-type", "text/event-stream").cache(false)
      .header("x-accel-buffering", "no").body(stream);
  }

  /** Whether the response is sealed: its status and body cannot be changed any more. */
  get sent(): boolean {
    return this.#whole.#sealedBy !== undefined;
  }

  /** How many bytes the body has by now, encoded as UTF-8; undefined for a stream. */
  get length(): number | undefined {
    return lengthOf(this.#final.#body);
  }

  // For the default methods

  /**
   * Whether nothing was written, not even a place for output that comes later.
   *
   * @ignore
   */
  get isEmpty(): boolean {
    const whole = this.#whole;
    return whole.#text === "" && whole.#parts === undefined &&
      whole.#content === undefined;
  }

  /**
   * Replaces the body by text, bytes or a stream. Throws `TypeError` for a stream that is being read.
   *
   * @ignore
   */
  body(content: BodyContent): this {
    if (typeof content === "string") return this.clearBody().write(content);
    checkUnread(content);
    if (this.sent) {
      discard(content);
      return this.#ignore("body()");
    }
    this.#whole.clearBody().#content = content;
    return this;
  }

  /**
   * Replaces the body by text of a type. A JSON type that was set before stays.
   *
   * @ignore
   */
  page(text: string, type: string): this {
    this.body(text).#whole.#setType(type);
    return this;
  }

  /**
   * Seals status and body as they are. The first seal wins: returns whether this was it.
   *
   * @ignore
   */
  seal(by: string): boolean {
    if (this.sent) {
      this.#ignore(by);
      return false;
    }
    this.#whole.#sealedBy = this.#isDebugging ? by + callSite() : by;
    return true;
  }

  /**
   * Replaces the body, and what else is given, and seals the response. Does nothing when it is sealed.
   *
   * @ignore
   */
  respond(by: string, { status, text = "", type, headers }: Outcome): void {
    if (status !== undefined) checkStatus("respond", status, 200, 599);
    const whole = this.#whole;
    if (!whole.seal(by)) return;
    whole.#status = status ?? whole.#status;
    whole.#drop();
    whole.#text = text;
    if (type !== undefined) whole.#setType(type);
    for (const name in headers) whole.header(name, headers[name]!);
  }

  /**
   * Sends a web response as it is, with the collected headers and cookies added, and seals it. Throws
   * `TypeError` for one that cannot be sent.
   *
   * @ignore
   */
  send(response: Response): void {
    checkUnread(response);
    if (!this.seal("a returned Response")) return discard(response);
    this.#whole.#drop();
    this.#whole.#content = response;
  }

  /**
   * Keeps this place in the body for output that comes later.
   *
   * @ignore
   */
  section(): HttpResponse {
    const section = this.#another();
    section.#whole = this.#whole;
    if (this.#sealedBy !== undefined) return section;
    (this.#parts ??= []).push(this.#text, section);
    this.#text = "";
    return section;
  }

  /**
   * Drops the body with the headers that describe or store it, seals this response and returns another
   * one to be sent in its place, which shares the headers that are left.
   *
   * @ignore
   */
  replace(by: string): HttpResponse | undefined {
    const whole = this.#whole;
    if (!whole.seal(by)) return undefined;
    whole.#drop();
    for (const name of PAGE_HEADERS) whole.#headers.delete(name);
    const page = whole.#page = this.#another();
    page.#headers = whole.#headers;
    return page;
  }

  /**
   * Removes the seal, with the body that it protected: what should have been sent has failed.
   *
   * @ignore
   */
  reopen(): void {
    const whole = this.#whole;
    whole.#sealedBy = whole.#page = undefined;
    whole.#drop();
  }

  /**
   * Seals the response and makes the web response of it, without a body for HEAD. When that
   * fails, the response is open again.
   *
   * @ignore
   */
  toResponse(): Response {
    const final = this.#final;
    final.#sealedBy ??= "the end of the request";
    try {
      return makeResponse(final.#body, {
        status: final.#status,
        type: final.#type,
        headers: final.#headers,
        scope: this.#scope,
      });
    } catch (error) {
      this.reopen();
      throw error;
    }
  }

  get #isDebugging(): boolean {
    return this.#scope.plan.settings["framework.debug"];
  }

  /** What is sent in the end: this response, or the page in its place. */
  get #final(): HttpResponse {
    const whole = this.#whole;
    return whole.#page === undefined ? whole : whole.#page.#final;
  }

  get #body(): BodyContent | Response {
    return this.#content ?? this.#joinedText();
  }

  /** The type of a text takes the place of what the header says, unless both are JSON. */
  #setType(type: string): void {
    const [set = ""] = this.#headers.get("content-type") ?? [];
    if (JSON_TYPE.test(set) && JSON_TYPE.test(type)) return;
    this.#headers.delete("content-type");
    this.#type = type;
  }

  #joinedText(): string {
    let text = "";
    for (const part of this.#parts ?? []) {
      text += typeof part === "string" ? part : part.#joinedText();
    }
    return text + this.#text;
  }

  #drop(): void {
    if (this.#content !== undefined) discard(this.#content);
    this.#content = this.#parts = this.#type = undefined;
    this.#text = "";
  }

  /** One of the same class: an application may have registered its own. */
  #another(): HttpResponse {
    return new (this.constructor as typeof HttpResponse)(this.#scope);
  }

  /** Leaves a call without effect, since the response is sealed; under debug it is reported. */
  #ignore(call: string): this {
    if (this.#isDebugging) {
      const by = this.#whole.#sealedBy;
      report(`Ignored ${call}${callSite()}: the response was sealed by ${by}`);
    }
    return this;
  }
}
