/**
 * Owns the response being built: status, headers, cookies, body, and the seal after which status and
 * body stand. Who seals it, and when, is decided in `handling/`.
 *
 * The body is a list of texts in the order of the calls. A list among them is a section: a place kept for
 * output that comes later, such as a render that nobody awaited. Clearing the body drops its sections
 * too: what is written to a dropped section is never sent.
 */

import { callSite, checkStatus, report } from "../errors.ts";
import type { Markup } from "../html.ts";
import { JSON_TYPE } from "../media_type.ts";
import {
  type EventsOptions,
  eventStream,
  type ServerSentEvent,
} from "./events.ts";
import {
  checkHeader,
  cookieLine,
  type CookieOptions,
  type HeaderValue,
  PAGE_HEADERS,
} from "./header.ts";
import type { Outcome, ResponseSource } from "./outcome.ts";
import { type Draft, draftOf, lengthOf, makeResponse } from "./outgoing.ts";
import { type BodyContent, checkUnread, discard } from "./stream.ts";

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
  /** What is collected; a section collects for the response that it is a part of. */
  #draft: Draft;
  /** Where text goes: the texts of the draft or, of a section, its own among them. */
  #texts: Draft["texts"];

  /**
   * Made by the framework, once for each request: it begins with the outcome that was kept.
   *
   * @ignore
   */
  constructor(scope: ResponseSource) {
    this.#scope = scope;
    this.#draft = draftOf(scope);
    this.#texts = this.#draft.texts;
  }

  /** The status. */
  status(): number;
  /** Sets the status, 200 to 599; throws `RangeError` on any other. */
  status(code: number): this;
  status(code?: number): number | this {
    if (code === undefined) return this.#draft.status;
    checkStatus("respond", code, 200, 599);
    if (this.sent) return this.#ignore("status()");
    this.#draft.status = code;
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
    const { headers, type } = this.#draft;
    const key = name.toLowerCase();
    const isType = key === "content-type";
    if (value === undefined) {
      return headers.get(key)?.join(", ") ?? (isType && type || null);
    }
    const lines = typeof value === "object" ? [...value ?? []] : [`${value}`];
    for (const line of lines) checkHeader(name, line);
    if (isType) this.#draft.type = undefined;
    if (lines.length > 0) headers.set(key, lines);
    else headers.delete(key);
    return this;
  }

  /**
   * Sets a cookie, replacing one of that name. The value is percent-encoded; an attribute replaces its
   * default, `maxAge: 0` removes the cookie from the client. Throws when the name or an attribute is
   * malformed (RFC 6265, section 4.1), or the cookie is larger than clients keep.
   */
  cookie(name: string, value: string, options: CookieOptions = {}): this {
    const { secure } = this.#scope.app.request();
    const line = cookieLine(name, value, { secure, ...options });
    const { headers } = this.#draft;
    const others = headers.get("set-cookie")
      ?.filter((other) => !other.startsWith(`${name}=`)) ?? [];
    headers.set("set-cookie", [...others, line]);
    return this;
  }

  /** Appends text to the body. */
  write(text: string | Markup): this {
    if (this.#isClosed) return this.#ignore("write()");
    this.#texts.push(String(text));
    return this;
  }

  /** Resets everything: status 200, no headers, no cookies, no body. */
  clear(): this {
    if (this.sent) return this.#ignore("clear()");
    this.#draft.status = 200;
    this.#draft.headers.clear();
    return this.clearBody();
  }

  /** Drops the body, and what un-awaited renders would still add to it; headers and status stay. */
  clearBody(): this {
    if (this.sent) return this.#ignore("clearBody()");
    this.#put("");
    const { texts } = this.#draft;
    this.#texts.length = 0;
    if (texts !== this.#texts) texts.push(this.#texts);
    return this;
  }

  /** Lets caches keep the response for some seconds or, with false, not at all (RFC 9111). */
  cache(seconds: number | false): this {
    if (seconds === false) return this.header("cache-control", "no-store");
    if (Number.isFinite(seconds) && seconds >= 0) {
      return this.header("cache-control", `max-age=${Math.floor(seconds)}`);
    }
    throw new RangeError(
      `Cannot set the cache time: seconds must be 0 or more, got "${seconds}"`,
    );
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
    return this.#draft.sealedBy !== undefined;
  }

  /** How many bytes the body has by now, encoded as UTF-8; undefined for a stream. */
  get length(): number | undefined {
    return lengthOf(this.#draft);
  }

  // For the default methods

  /**
   * Whether nothing was written, not even a place for output that comes later.
   *
   * @ignore
   */
  get isEmpty(): boolean {
    const { texts, content } = this.#draft;
    return content === undefined && texts.every((text) => text === "");
  }

  /**
   * Replaces the body by text, perhaps of a type, bytes or a stream. A JSON type that was set before stays.
   * A web response is sealed: it is sent as it is, with the collected headers and cookies added. Throws
   * `TypeError` for what cannot be sent.
   *
   * @ignore
   */
  body(content: BodyContent | Response, type?: string): this {
    checkUnread(content);
    if (this.sent) {
      discard(content);
      return this.#ignore("body()");
    }
    this.#put(content, type);
    if (content instanceof Response) this.seal("a returned Response");
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
    this.#draft.sealedBy = this.#isDebugging ? by + callSite() : by;
    return true;
  }

  /**
   * Replaces the body, and what else is given, and seals the response. Does nothing when it is sealed.
   *
   * @ignore
   */
  respond(by: string, { status, text = "", type, headers }: Outcome): void {
    if (status !== undefined) checkStatus("respond", status, 200, 599);
    if (!this.seal(by)) return;
    this.#draft.status = status ?? this.#draft.status;
    this.#put(text, type);
    for (const name in headers) this.header(name, headers[name]!);
  }

  /**
   * Keeps this place in the body for output that comes later.
   *
   * @ignore
   */
  section(): HttpResponse {
    const texts: Draft["texts"] = [];
    if (!this.#isClosed) this.#texts.push(texts);
    return this.#another(this.#draft, texts);
  }

  /**
   * Drops the body with the headers that describe or store it, seals this response and returns another
   * one to be sent in its place, which shares the headers that are left.
   *
   * @ignore
   */
  replace(by: string): HttpResponse | undefined {
    if (!this.seal(by)) return undefined;
    this.#put("");
    const { headers } = this.#draft;
    for (const name of PAGE_HEADERS) headers.delete(name);
    const page: Draft = { status: 200, headers, texts: [] };
    this.#draft.page = page;
    return this.#another(page, page.texts);
  }

  /**
   * Removes the seal, with the body that it protected: what should have been sent has failed.
   *
   * @ignore
   */
  reopen(): void {
    this.#draft.sealedBy = this.#draft.page = undefined;
    this.#put("");
  }

  /**
   * Seals the response and makes the web response of it, without a body for HEAD. When that fails, the
   * response is open again.
   *
   * @ignore
   */
  toResponse(): Response {
    this.#draft.sealedBy ??= "the end of the request";
    try {
      return makeResponse(this.#draft, this.#scope);
    } catch (error) {
      this.reopen();
      throw error;
    }
  }

  /** Whether no text can be added. A section may still be filled when the response is sealed. */
  get #isClosed(): boolean {
    return this.sent && this.#texts === this.#draft.texts;
  }

  get #isDebugging(): boolean {
    return this.#scope.plan.settings["framework.debug"];
  }

  /** Replaces the body. A type takes the place of what the header says, unless both are JSON. */
  #put(content: BodyContent | Response, type?: string): void {
    const draft = this.#draft;
    const isText = typeof content === "string";
    if (draft.content !== undefined) discard(draft.content);
    draft.content = isText ? undefined : content;
    draft.texts.length = 0;
    if (isText) draft.texts.push(content);
    draft.type = type;
    const [set = ""] = draft.headers.get("content-type") ?? [];
    const isJson = JSON_TYPE.test(set) && JSON_TYPE.test(type ?? "");
    if (type !== undefined && !isJson) draft.headers.delete("content-type");
  }

  /** One of the same class: an application may have registered its own. */
  #another(draft: Draft, texts: Draft["texts"]): HttpResponse {
    const other = new (this.constructor as typeof HttpResponse)(this.#scope);
    other.#draft = draft;
    other.#texts = texts;
    return other;
  }

  /** Leaves a call without effect, since the response is sealed; under debug it is reported. */
  #ignore(call: string): this {
    if (this.#isDebugging) {
      const by = this.#draft.sealedBy;
      report(`Ignored ${call}${callSite()}: the response was sealed by ${by}`);
    }
    return this;
  }
}
