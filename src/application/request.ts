/**
 * Owns what a handler can ask about its request: the public face of an exchange. Each property is computed when it is
 * read, so that a request costs nothing until then.
 */

import { accepts, acceptsLanguages } from "@std/http/negotiation";
import { refusal, unreadable } from "../errors.ts";
import { FRAMEWORK_OBJECT, TRACK } from "../extension_keys.ts";
import { isWithinBase } from "../paths.ts";
import {
  type Body,
  formatOf,
  limited,
  parseForm,
  parseJson,
  textOf,
} from "../request/body.ts";
import {
  type Data,
  entriesOf,
  type Fields,
  type Files,
  type Form,
  nest,
} from "../request/fields.ts";
import {
  addressOf,
  type Cookies,
  forwarded,
  hostOf,
  isHost,
  parseCookies,
} from "../request/headers.ts";
import { headerOf, isFromServer } from "../request/runtime.ts";
import {
  type Schema,
  type SchemaOutput,
  validated,
} from "../request/schema.ts";
import { mountedAt } from "../request/target.ts";
import type { Route } from "../routing/route.ts";
import { track } from "../state/current.ts";
import type { Exchange } from "./exchange.ts";

/** The parts of a request that `validate()` takes. */
export type ValidationSource = "body" | "query" | "params";

/** The headers in which proxies pass on the client's address, by precedence. */
const PROXY_HEADERS = ["client-ip", "x-forwarded-for", "forwarded"] as const;

/**
 * One request. `query`, `data`, `cookies` and `files` are records without a prototype: each name in them
 * comes from the client. A header that was not sent reads "".
 *
 * Guide: [docs/requests.md](./docs/requests.md)
 *
 * @example
 * ```ts
 * import { Engine, html } from "@framework/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new Engine();
 * app.route("/search", () => html`Searching for ${app.request().query.word}`);
 *
 * const response = await app.fetch("/search?word=tea");
 * assertEquals(await response.text(), "Searching for tea");
 * ```
 */
export class HttpRequest {
  readonly #exchange: Exchange;
  #parsed: Form | undefined;
  #json: unknown;
  #replay: Request | undefined;
  #query: Fields | undefined;
  #cookies: Cookies | undefined;

  /** @ignore */
  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  /** @ignore */
  readonly [FRAMEWORK_OBJECT] = true;

  /** @ignore */
  [TRACK]<Value>(name: string, call: Promise<Value>): Promise<Value> {
    return track(name, call);
  }

  /**
   * Names the request in error pages and log lines: eight random hexadecimal digits or, under
   * `framework.trust_proxy`, the `X-Request-Id` of 1 to 64 letters, digits, `.`, `_` and `-`.
   * An application that another one has called, as where it is mounted, uses the id of that one's.
   */
  get id(): string {
    return this.#exchange.id;
  }

  /**
   * How many milliseconds ago the request came in, counted from before its body was read. Undefined unless
   * `send` was mapped or filtered by then: nothing else needs the time, and taking it is not free.
   */
  get elapsed(): number | undefined {
    const { began } = this.#exchange;
    return began === undefined ? undefined : performance.now() - began;
  }

  /**
   * The path with its query, encoded, and with the base of `framework.base_url` in front, even where a proxy has
   * stripped that. A mounted application sees what is behind its mount point.
   */
  get url(): string {
    const { base, raw, target: { path, search } } = this.#exchange;
    const hasAll = mountedAt.has(raw) || isWithinBase(path, base);
    return (hasAll ? "" : base) + path + search;
  }

  /**
   * The path of the application: that of `framework.base_url` or, when that is not set, the one where the application
   * is mounted; otherwise "/".
   */
  get base(): string {
    return this.#exchange.base || "/";
  }

  /**
   * The method. Under `framework.method_override`, the field `_method` of a POST form replaces it
   * by PUT, PATCH or DELETE.
   */
  get method(): string {
    return this.#exchange.method;
  }

  /** The URL of the page that linked here, from the `Referer` header. */
  get referrer(): string {
    return this.getHeader("referer");
  }

  /**
   * The address of the client, or "" when it is unknown, as on a Unix socket. Under `framework.trust_proxy`, the
   * entry of `X-Forwarded-For` that the outermost trusted proxy wrote, or "" when that is not an address: the client may
   * have made up those before it.
   */
  get ip(): string {
    const { remote } = this.#exchange;
    const forwarded = this.#forwarded("x-forwarded-for");
    if (forwarded !== undefined) return addressOf(forwarded);
    return addressOf(remote && "hostname" in remote ? remote.hostname : "");
  }

  /** Whether the request has `X-Requested-With: XMLHttpRequest`, which scripts may send. */
  get ajax(): boolean {
    return /^xmlhttprequest$/i.test(this.getHeader("x-requested-with"));
  }

  /** The protocol; under `framework.trust_proxy`, that of `X-Forwarded-Proto`. */
  get scheme(): "http" | "https" {
    const forwarded = this.#forwarded("x-forwarded-proto")?.toLowerCase();
    if (forwarded === "http" || forwarded === "https") return forwarded;
    return this.#exchange.raw.url.startsWith("https:") ? "https" : "http";
  }

  /**
   * The host that the client asked for, with its port unless that is the default one of the `scheme`. Under
   * `framework.trust_proxy`, that of `X-Forwarded-Host`. "" when it is not valid.
   */
  get host(): string {
    const { raw, proxies } = this.#exchange;
    const host = hostOf(raw, proxies);
    return isHost(host) ? new URL(`${this.scheme}://${host}`).host : "";
  }

  /** The `scheme` and the `host`, as in `https://example.com`; "" without a valid host. */
  get origin(): string {
    const { host, scheme } = this;
    return host && `${scheme}://${host}`;
  }

  /**
   * The route that matches, with the parameters of this request; in filters of `start`, the first one that will
   * be called. Null without one, and once every matching route has passed.
   */
  get route(): Route | null {
    return this.#exchange.match?.toRoute() ?? null;
  }

  /** The `User-Agent` header. */
  get user_agent(): string {
    return this.getHeader("user-agent");
  }

  /** The `Content-Type` header. */
  get type(): string {
    return this.getHeader("content-type");
  }

  /** The `Content-Length` header or, without one, how many bytes of body were read. */
  get length(): number {
    return Number(this.getHeader("content-length")) ||
      this.#exchange.body?.length || 0;
  }

  /**
   * The fields of the query: a repeated name keeps its last value, and `a[]=1&b[c]=2` is a list and a
   * record. Throws `HttpError` 400 beyond 1,000 fields, or eight brackets in a name; so does `String()` of
   * such a record.
   */
  get query(): Fields {
    return this.#query ??= nest(this.#queryEntries());
  }

  /** Every value of a name in the query, in order: of `?tag=a&tag=b` both. Throws as `query` does. */
  queryAll(name: string): string[] {
    return valuesOf(this.#queryEntries(), name);
  }

  #queryEntries(): [string, string][] {
    return entriesOf(this.#exchange.target.search, "the query", 400);
  }

  /**
   * The fields of a form, or the members of a JSON object or array; otherwise empty. Throws `HttpError`
   * 400 when the body is malformed, 413 beyond 1,000 fields or 100 files, and `TypeError` on a route that is
   * `streamed()`; `String()` of a record in it throws 400.
   */
  get data(): Data {
    return this.#form.data;
  }

  /** Every value of a name in the form, in order: of two checkboxes both. Empty for JSON; throws as `data` does. */
  dataAll(name: string): string[] {
    return valuesOf(this.#form.entries, name);
  }

  /**
   * The JSON body as it was sent: an array is an array. Throws `HttpError` 415 when the body has another
   * type, 400 when it is malformed, and `TypeError` on a route that is `streamed()`.
   */
  get json(): unknown {
    return this.#json ??= parseJson(this.#body(), this.type);
  }

  /**
   * Validates a part of the request with a schema of any library that follows Standard Schema (zod, valibot,
   * arktype), and returns the schema's typed output. The part is the `"body"` (JSON, or the fields and files of
   * a form; `{}` when it is empty), the `"query"` or the `"params"` of the route. Rejects with `ValidationError`
   * when there are issues, with `HttpError` 415 for a body of another type, and as `json`, `data` and `query` throw.
   */
  validate<Type extends Schema>(
    schema: Type,
    source: ValidationSource = "body",
  ): Promise<SchemaOutput<Type>> {
    const validate = async () => await validated(schema, this.#part(source));
    return track("validate", validate());
  }

  /** The cookies, percent-decoded where possible; a repeated name keeps its first value. */
  get cookies(): Cookies {
    return this.#cookies ??= parseCookies(this.getHeader("cookie"));
  }

  /**
   * The uploads of a multipart form: an `UploadedFile`, or a list of them where the name was repeated or
   * ends with `[]`. Throws as `data` does.
   */
  get files(): Files {
    return this.#form.files;
  }

  /** Whether the connection is secure, by its `scheme`. */
  get secure(): boolean {
    return this.scheme === "https";
  }

  /** The `Accept` header. */
  get accept(): string {
    return this.getHeader("accept");
  }

  /**
   * The offered media type that the client prefers by its `Accept` header (RFC 9110, section 12.5.1): the
   * first one without a preference, undefined when it accepts none.
   */
  accepts<Type extends string>(...types: Type[]): Type | undefined {
    return accepts(this.#exchange.raw, ...types) as Type | undefined;
  }

  /**
   * The offered language that the client prefers by its `Accept-Language` header (RFC 9110, section 12.5.4):
   * for `de-AT` also an offered `de`, for `en` also an offered `en-GB`. The first one without the header,
   * undefined when none fits.
   */
  acceptsLanguages<Tag extends string>(...tags: Tag[]): Tag | undefined {
    return acceptsLanguages(this.#exchange.raw, ...tags) as Tag | undefined;
  }

  /**
   * Aborts when the client leaves, whether or not the body was read. Deno also aborts it once the response has
   * been sent, and prints a note about that once, unless it runs with `--unstable-no-legacy-abort`.
   */
  get signal(): AbortSignal {
    return this.#exchange.raw.signal;
  }

  /** The client's address as a proxy passed it on, or "". Unverified: any client can send one. */
  get proxy_ip(): string {
    const found = PROXY_HEADERS.map((name) => addressOf(this.getHeader(name)));
    return found.find((address) => address !== "") ?? "";
  }

  /**
   * The body as text, which is UTF-8 as in `Request.text()`; "" when there is none. Throws `TypeError` on a route that
   * is `streamed()`.
   */
  getBody(): string {
    return textOf(this.#body());
  }

  /** A header by its name in any case; "" when it was not sent. */
  getHeader(name: string): string {
    return headerOf(this.#exchange.raw, name) ?? "";
  }

  /**
   * Makes a WebSocket of the request as `Deno.upgradeWebSocket()` does: the callback must return the response.
   * The request lives until the socket has closed, so that the socket's handlers keep its state. Throws `HttpError` 426
   * when the client does not ask for a WebSocket (RFC 9110, section 15.5.22) or asks for another version than 13, 400
   * when its handshake is malformed or does not offer the protocol of the options (RFC 6455, section 4.2).
   */
  upgrade(options: Deno.UpgradeWebSocketOptions = {}): Deno.WebSocketUpgrade {
    const { root } = this.#exchange;
    this.#exchange.remember(); // once it is upgraded, nothing more can be read
    const upgrade = root.upgrade = upgraded(root.raw, options);
    const release = this.#exchange.hold();
    // The application's own handlers of the event run first, and can still use the request.
    const releaseLater = (): void => queueMicrotask(release);
    for (const event of ["close", "error"]) {
      upgrade.socket.addEventListener(event, releaseLater, { once: true });
    }
    return upgrade;
  }

  /**
   * The web `Request`. Its body can still be read once, although it was read for `data`. On a route that is
   * `streamed()`, it is the stream of the connection.
   */
  get raw(): Request {
    const { body: read, hasBody, match, raw } = this.#exchange;
    if (!hasBody) return raw;
    const limit = match?.route.bodyLimit;
    const isLimited = match?.route.takesStream && limit !== undefined;
    if (read === undefined && !isLimited) return raw;
    // A copy of the request itself would share its signal, about which Deno warns.
    const { url, method, headers } = raw;
    const body = read ?? limited(raw.body!, limit!, isFromServer(raw));
    return this.#replay ??= new Request(url, { method, headers, body });
  }

  #body(): Body {
    const { raw, hasBody, body, match } = this.#exchange;
    if (body !== undefined) return body;
    if (hasBody && (match?.route.takesStream || raw.bodyUsed)) {
      throw new TypeError(
        "Cannot read the body: the route is streamed; read raw.body instead",
      );
    }
    return "";
  }

  /** The part of the request that is validated: of the body, the JSON as it was sent, or the fields and files. */
  #part(source: ValidationSource): unknown {
    if (source === "query") return this.query;
    if (source === "params") return this.route?.params ?? {};
    if (source !== "body") {
      throw new TypeError(`Cannot validate the "${source}" of a request`);
    }
    if (this.#body().length === 0) return {};
    const format = formatOf(this.type);
    if (format === "JSON") return this.json;
    if (format !== undefined) return this.#form.whole;
    throw unreadable(415, "the body", `its type is "${this.type}"`);
  }

  get #form(): Form {
    return this.#parsed ??= parseForm(this.#body(), this.type);
  }

  /** The value of a header that the outermost trusted proxy wrote; undefined without one. */
  #forwarded(name: string): string | undefined {
    const { raw, proxies } = this.#exchange;
    return forwarded(raw, name, proxies);
  }
}

function valuesOf(entries: Form["entries"], name: string): string[] {
  return entries.filter(([each]) => each === name).map(([, value]) => value);
}

/**
 * Makes a WebSocket of a request. Throws {@linkcode HttpError} for a malformed handshake (RFC 6455, section 4.2), for
 * which Deno throws `TypeError` or, when the method is not GET, nothing.
 */
function upgraded(
  request: Request,
  options: Deno.UpgradeWebSocketOptions,
): Deno.WebSocketUpgrade {
  const { headers, method } = request;
  if (method !== "GET" || headers.get("sec-websocket-version") !== "13") {
    throw refusal(426, "Only WebSocket version 13 is supported here", {
      headers: { upgrade: "websocket", "sec-websocket-version": "13" },
    });
  }
  try {
    return Deno.upgradeWebSocket(request, options);
  } catch (cause) {
    const { message } = cause as TypeError;
    throw unreadable(400, "the WebSocket handshake", message, { cause });
  }
}
