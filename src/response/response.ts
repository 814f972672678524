/**
 * Owns the response being built: status, headers, cookies, body, and the seal, after which status and body
 * cannot be changed. When it is sealed is decided in `handling/`.
 *
 * The body is a list of texts in the order of the calls. A list among them is a section: a place kept for
 * output that comes later, such as a render that nobody awaited. Clearing the body drops its sections
 * too: what is written to a dropped section is never sent.
 */

import { checkStatus, report } from "../errors.ts";
import type { Markup } from "../html.ts";
import { JSON_TYPE, typeByExtension } from "../media_type.ts";
import { callSite } from "../stack.ts";
import {
  type EventsOptions,
  eventStream,
  type ServerSentEvent,
} from "./events.ts";
import {
  checkHeader,
  cookieLine,
  type CookieOptions,
  dispositionOf,
  type HeaderValue,
  isSealable,
  PAGE_HEADERS,
} from "./header.ts";
import type { Outcome, ResponseSource } from "./outcome.ts";
import { type Draft, draftOf, lengthOf, makeResponse } from "./draft.ts";
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
  /** What is collected; a section shares the draft of the response that it is a part of. */
  #draft: Draft;
  /** Where text is written: into the texts of the draft or, of a section, into a list of its own among them. */
  #texts: Draft["texts"];

  /**
   * Made by the framework. The first one of a request begins with the outcome that was kept, if any.
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

  /** The value of a header, several joined by a comma; null when it is not set. */
  header(name: string): string | null;
  /**
   * Sets a header; a list sets several lines, null or an empty list removes it. Once the response is sealed,
   * `Content-*` and `Location` stay. Throws `TypeError` when the name is not a token or a value has characters
   * that a header cannot carry (RFC 9110, sections 5.1 and 5.5).
   */
  header(name: string, value: string | number | readonly string[] | null): this;
  header(name: string, value?: HeaderValue): string | null | this {
    const { headers, type } = this.#draft;
    const key = name.toLowerCase();
    if (value === undefined) {
      const own = key === "content-type" && type || null;
      return headers.get(key)?.join(", ") ?? own;
    }
    const lines = typeof value === "object" ? [...value ?? []] : [`${value}`];
    for (const line of lines) checkHeader(name, line);
    if (this.sent && isSealable(key)) return this.#ignore(`header("${name}")`);
    this.#setHeader(key, lines);
    return this;
  }

  /**
   * Sets a cookie, replacing one of that name. The value is percent-encoded; an attribute replaces its
   * default, `maxAge: 0` removes the cookie from the client. Throws `TypeError` or `SyntaxError` when the name
   * or an attribute is malformed (RFC 6265, section 4.1), and `TypeError` above 4,096 bytes of name and value.
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

  /** Drops the body, also what renders that nobody has awaited would still add; headers and status stay. */
  clearBody(): this {
    if (this.sent) return this.#ignore("clearBody()");
    this.#put("");
    const { texts } = this.#draft;
    this.#texts.length = 0;
    if (texts !== this.#texts) texts.push(this.#texts);
    return this;
  }

  /**
   * Lets caches keep the response for some seconds or, with false, not at all (RFC 9111). Throws `RangeError`
   * for anything else than a number from 0.
   */
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
   * Has clients save the response as a file: sets `Content-Disposition` with both forms of the name (RFC 6266),
   * and the type that its extension says, unless one is set. Of a path, the last part counts. Throws `TypeError`
   * for a name with control characters.
   *
   * @example
   * ```ts
   * import { Engine } from "@framework/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new Engine();
   * app.route("/export", () => {
   *   app.response().attachment("Über uns.csv");
   *   return "name;town\n";
   * });
   *
   * const { headers } = await app.fetch("/export");
   * assertEquals(headers.get("content-type"), "text/csv; charset=utf-8");
   * assertEquals(
   *   headers.get("content-disposition"),
   *   "attachment; filename=\"_ber uns.csv\"; filename*=UTF-8''%C3%9Cber%20uns.csv",
   * );
   * ```
   */
  attachment(name?: string): this {
    const disposition = dispositionOf(name);
    if (this.sent) return this.#ignore("attachment()");
    const type = name === undefined ? undefined : typeByExtension(name);
    if (type !== undefined && this.header("content-type") === null) {
      this.header("content-type", type);
    }
    return this.header("content-disposition", disposition);
  }

  /**
   * Sends server-sent events: sets the content type, forbids caches and proxies to keep them, and makes
   * the events the body. The iterable runs in the scope of the request. When the client leaves, its `return()`
   * is called, which ends a generator at its next `yield`: one that waits for something else must also wait
   * for `request().signal` to abort. Throws `RangeError` for a negative heartbeat.
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
   *   "data: number 1\nid: 1\n\ndata: number 2\nid: 2\n\n",
   * );
   * ```
   */
  events(
    source: AsyncIterable<ServerSentEvent> | Iterable<ServerSentEvent>,
    options: EventsOptions = {},
  ): this {
    const stream = eventStream(source, options);
    if (this.sent) {
      discard(stream);
      return this.#ignore("events()");
    }
    return this.header("content-type", "text/event-stream").cache(false)
      .header("x-accel-buffering", "no").body(stream);
  }

  /** Whether the response is sealed: its status, its body and what describes them cannot be changed any more. */
  get sent(): boolean {
    return this.#draft.sealedBy !== undefined;
  }

  /** How many bytes the body has by now, encoded as UTF-8; undefined for a stream. */
  get length(): number | undefined {
    return lengthOf(this.#draft);
  }

  // For the default methods

  /**
   * Whether nothing was written, and no section was opened for later output.
   *
   * @ignore
   */
  get isEmpty(): boolean {
    const { texts, content } = this.#draft;
    return content === undefined && texts.every((text) => text === "");
  }

  /**
   * Replaces the body by text, bytes or a stream, perhaps of a media type; a JSON type that was set before
   * stays. A web response seals this one: it is sent as it is, with the collected headers and cookies added.
   * Throws `TypeError` for a body that was read or is being read.
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
   * Seals status and body as they are; returns false when they are sealed already.
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
   * Replaces the body and what else the outcome has, and seals the response. Does nothing when it is sealed.
   *
   * @ignore
   */
  respond(by: string, { status, text = "", type, headers }: Outcome): void {
    if (status !== undefined) checkStatus("respond", status, 200, 599);
    if (!this.seal(by)) return;
    this.#draft.status = status ?? this.#draft.status;
    this.#put(text, type);
    for (const name in headers) this.#setHeader(name, [headers[name]!]);
  }

  /**
   * Keeps this place in the body for later output, which is written to the returned object.
   *
   * @ignore
   */
  section(): HttpResponse {
    const texts: Draft["texts"] = [];
    if (!this.#isClosed) this.#texts.push(texts);
    return this.#another(this.#draft, texts);
  }

  /**
   * Drops the body with the headers that describe it or let clients store it, seals this response, and returns
   * another one to be sent in its place, which shares the headers that are left. Undefined when it is sealed.
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
   * Removes the seal, and the body that it protected: making or sending that has failed.
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

  /** Whether no text can be added: after the seal, except to a section that was opened before. */
  get #isClosed(): boolean {
    return this.sent && this.#texts === this.#draft.texts;
  }

  get #isDebugging(): boolean {
    return this.#scope.plan.settings["framework.debug"];
  }

  /** Sets a header by its name in lower case, or removes it. */
  #setHeader(name: string, lines: readonly string[]): void {
    const { headers } = this.#draft;
    if (name === "content-type") this.#draft.type = undefined;
    if (lines.length > 0) headers.set(name, lines);
    else headers.delete(name);
  }

  /** Replaces the body. A type replaces that of the header, unless both are JSON. */
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

  /** Another response of the same class: an application may have registered its own. */
  #another(draft: Draft, texts: Draft["texts"]): HttpResponse {
    const other = new (this.constructor as typeof HttpResponse)(this.#scope);
    other.#draft = draft;
    other.#texts = texts;
    return other;
  }

  /** Called in place of a change after the seal; under debug, reports the ignored call. */
  #ignore(call: string): this {
    if (this.#isDebugging) {
      const by = this.#draft.sealedBy;
      report(`Ignored ${call}${callSite()}: the response was sealed by ${by}`);
    }
    return this;
  }
}
