/**
 * Owns what applications see of the response being built: the public face of a `Reply`.
 */

import { FRAMEWORK_OBJECT } from "../extension_keys.ts";
import type { Markup } from "../html.ts";
import { typeByExtension } from "../http.ts";
import { MAX_SECONDS } from "../options.ts";
import { EventStream, type ServerSentEvent } from "./events.ts";
import {
  cookieLine,
  type CookieOptions,
  dispositionOf,
  type HeaderValue,
} from "./header.ts";
import type { Reply, Section } from "./reply.ts";
import type { BodyContent } from "./stream.ts";
import { lengthOf } from "./web_response.ts";

/** What a response knows of its request. */
interface OfResponse {
  /** Whether the connection is secure, as cookies then are. */
  readonly isSecure: () => boolean;
  /** Sends a file. */
  readonly sendFile: (path: string) => Promise<void>;
}

/**
 * The response being built for one request; `Framework.response()` returns the current one.
 *
 * Guide: [docs/responses.md](./docs/responses.md)
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
  readonly #reply: Reply;
  readonly #of: OfResponse;
  readonly #section: Section | undefined;

  /**
   * Made by the framework. Text is written into the section, or at the end of the body.
   *
   * @ignore
   */
  constructor(reply: Reply, of: OfResponse, section?: Section) {
    this.#reply = reply;
    this.#of = of;
    this.#section = section;
  }

  /** @ignore */
  get [FRAMEWORK_OBJECT](): true {
    return true;
  }

  /** The status. */
  status(): number;
  /** Sets the status, 200 to 599; throws `RangeError` on any other. */
  status(code: number): this;
  status(code?: number): number | this {
    if (code === undefined) return this.#reply.status;
    this.#reply.setStatus(code);
    return this;
  }

  /** The value of a header, several joined by a comma; null when it is not set. */
  header(name: string): string | null;
  /**
   * Sets a header; a list sets several lines, null or an empty list removes it. Once the response is sealed,
   * `Content-*` and `Location` stay; a filter of `send` comes too late for any, and changes the web `Response` that
   * it gets. Throws `TypeError` when the name is not a token or a value has characters that a header cannot carry (RFC
   * 9110, sections 5.1 and 5.5).
   */
  header(name: string, value: string | number | readonly string[] | null): this;
  header(name: string, value?: HeaderValue): string | null | this {
    if (value === undefined) return this.#reply.header(name);
    this.#reply.setHeader(name, value);
    return this;
  }

  /**
   * Sets a cookie, replacing one of that name. The value is percent-encoded; an attribute replaces its
   * default, `maxAge: 0` removes the cookie from the client. Throws `TypeError` or `SyntaxError` when the name
   * or an attribute is malformed (RFC 6265, section 4.1), and `TypeError` above 4,096 bytes of name and value.
   */
  cookie(name: string, value: string, options: CookieOptions = {}): this {
    const isSecure = this.#of.isSecure();
    this.#reply.addCookie(cookieLine(name, value, options, isSecure));
    return this;
  }

  /** Appends text to the body. */
  write(text: string | Markup): this {
    this.#reply.write(String(text), this.#section);
    return this;
  }

  /**
   * Replaces the body: by text, HTML unless a type is given, or by bytes or a stream.
   */
  body(content: BodyContent, type?: string): this {
    if (typeof content === "string") {
      this.#reply.replace({ text: content, type });
    } else {
      this.#reply.setContent(content, type);
    }
    return this;
  }

  /** Resets everything: status 200, no headers, no cookies, no body. */
  clear(): this {
    this.#reply.clear();
    return this;
  }

  /** Drops the body, including the output of renders that were not awaited; headers and status stay. */
  clearBody(): this {
    this.#reply.clearBody();
    return this;
  }

  /**
   * Lets caches keep the response for this many seconds or, with false, not at all (RFC 9111). Throws `RangeError`
   * for anything but false and a number from 0 to 1,000,000,000,000.
   */
  cache(seconds: number | false): this {
    if (seconds === false) return this.header("cache-control", "no-store");
    if (Number.isFinite(seconds) && seconds >= 0 && seconds <= MAX_SECONDS) {
      return this.header("cache-control", `max-age=${Math.floor(seconds)}`);
    }
    throw new RangeError(
      `Cannot set the cache time: seconds must be from 0 to ${MAX_SECONDS}, got "${seconds}"`,
    );
  }

  /**
   * Makes the response a download: sets `Content-Disposition` with both forms of the name (RFC 6266), and the type
   * that fits its extension, unless one is set. Only the last part of a path is used. Throws `TypeError` for a
   * name with control characters.
   *
   * @example
   * ```ts
   * import { Engine } from "@framework/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new Engine();
   * app.route("/export", () => {
   *   app.response().attachment("\u00dcber uns.csv");
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
    if (this.sent) return this;
    const type = name === undefined ? undefined : typeByExtension(name);
    if (type !== undefined && this.header("content-type") === null) {
      this.header("content-type", type);
    }
    return this.header("content-disposition", disposition);
  }

  /**
   * Sends a file, or the range of it that the client asks for, with type, length, a strong ETag and Last-Modified; ends
   * the request with 304 or 412 where the client's conditions say so (RFC 9110, sections 13 and 14). A type that is set
   * stays. Needs permission to read the path, which must not be made of a client's text. Rejects with `HttpError` 404
   * where there is no such file, and 416 for a range that it does not have.
   */
  file(path: string): Promise<void> {
    return this.#of.sendFile(path);
  }

  /**
   * Sends server-sent events: sets the content type, keeps caches and proxies from storing them, and makes the
   * events the body. The iterable still belongs to the request. When the client leaves, its `return()` is called,
   * which ends a generator at its next `yield`: one that waits for something else must also wait for
   * `request().signal` to abort.
   *
   * A server that shuts down ends the events in the same way, since an `EventSource` connects again by itself. Return
   * the stream of a client that does not (`fetch()` for one) from the callback: it is sent to its end. A comment is sent
   * after 15 seconds without an event.
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
   * const response = await app.fetch("/numbers");
   * assertEquals(response.headers.get("content-type"), "text/event-stream");
   * assertEquals(
   *   await response.text(),
   *   "data: number 1\nid: 1\n\ndata: number 2\nid: 2\n\n",
   * );
   * ```
   */
  events(
    source: AsyncIterable<ServerSentEvent> | Iterable<ServerSentEvent>,
  ): this {
    this.#reply.setContent(new EventStream(source), "text/event-stream");
    return this.cache(false).header("x-accel-buffering", "no");
  }

  /**
   * Whether the response is sealed: its status, its body and the headers that describe them no longer change. The client
   * need not have it yet.
   */
  get sent(): boolean {
    return this.#reply.isSealed;
  }

  /** How many bytes the body has so far, as UTF-8; undefined for a stream. */
  get length(): number | undefined {
    const { content, text } = this.#reply;
    return lengthOf(content ?? text);
  }
}
