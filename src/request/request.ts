/**
 * Owns what a handler can ask about its request. Every property is worked out when it is first asked
 * for, so that a request costs nothing until then. The body's contents are the body's; which path
 * and base count is decided by who makes the request object.
 */

import { accepts } from "@std/http/negotiation";
import { hasBody } from "./body.ts";
import { Content, type Data } from "./content.ts";
import { type Bytes, type Fields, parseFields } from "./fields.ts";
import { headerOf, postponeUpgrade } from "../runtime.ts";
import { type Schema, type SchemaOutput, validated } from "./schema.ts";
import type { Files } from "./upload.ts";

/** What is known about a request beside the web `Request`. */
export interface RequestContext {
  /** The path as it was sent, still encoded and with the base: it starts with "/". */
  readonly path: string;
  /** The query as it was sent, with its "?"; or "". */
  readonly search: string;
  /** The path under which the application lives, without a slash at its end; or "". */
  readonly base: string;
  /** The other end of the connection. */
  readonly remote: Deno.Addr | undefined;
  /** Whether the other end is a proxy whose `X-Forwarded-*` headers are to be believed. */
  readonly trustProxy: boolean;
  /** Whether the form field `_method` of a POST replaces the method. */
  readonly methodOverride: boolean;
  /** The body, already read; undefined when there is none or a route takes it as a stream. */
  readonly body: Bytes | undefined;
  /** When the request came in, in milliseconds of `performance.now()`; undefined where it was not noted. */
  readonly began?: number | undefined;
  /** Keeps the request open until the returned function is called. */
  hold?(): () => void;
}

/** Cookies by name. */
export type Cookies = Record<string, string | undefined>;

/** The headers in which proxies pass the client's address on, in the order they are looked at. */
const proxyHeaders = ["client-ip", "x-forwarded-for", "forwarded"] as const;

/** No address with a port is longer, in characters. */
const longestNode = 64;

/** An address with what may stand around it: brackets, a port, the form of IPv4 in IPv6. */
const address =
  /^(?:::ffff:)?(?<ip4>\d+(?:\.\d+){3})(?::\d+)?$|^\[?(?<ip6>[\da-f:.]*:[\da-f:.]*?)(?:\](?::\d+)?)?$/i;

/**
 * One request. `query`, `data`, `cookies` and `files` are records without prototype, so every name
 * is the client's data and nothing else. A header that was not sent reads "".
 *
 * @example
 * ```ts
 * import { Engine } from "@framework/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new Engine();
 * app.route("/search", () => `Searching for ${app.request().query.word}`);
 *
 * const response = await app.fetch(new Request("http://localhost/search?word=tea"));
 * assertEquals(await response.text(), "Searching for tea");
 * ```
 */
export class HttpRequest {
  readonly #raw: Request;
  readonly #context: RequestContext;
  #content: Content | undefined;
  #id: string | undefined;
  #replay: Request | undefined;
  #query: Fields | undefined;
  #cookies: Cookies | undefined;

  /**
   * Only keeps the two.
   *
   * @ignore
   */
  constructor(raw: Request, context: RequestContext) {
    this.#raw = raw;
    this.#context = context;
  }

  /** Names the request in error pages and log lines: eight random hexadecimal digits. */
  get id(): string {
    return this.#id ??= crypto.randomUUID().slice(0, 8);
  }

  /**
   * How many milliseconds ago the request came in, with its body still to be read. Undefined unless
   * `send` is mapped or filtered: nothing else needs the time, and taking it is not free.
   */
  get elapsed(): number | undefined {
    const { began } = this.#context;
    return began === undefined ? undefined : performance.now() - began;
  }

  /** The path with its query, as sent: encoded, and with the base in front. */
  get url(): string {
    return this.#context.path + this.#context.search;
  }

  /** The path under which the application lives: "/", or such as "/blog". */
  get base(): string {
    return this.#context.base || "/";
  }

  /**
   * The method. Under `framework.method_override`, the form field `_method` of a POST
   * replaces it by PUT, PATCH or DELETE.
   */
  get method(): string {
    const { methodOverride, body } = this.#context;
    const { method } = this.#raw;
    const isForm = methodOverride && method === "POST" && body !== undefined;
    return isForm && this.#read.methodOverride || method;
  }

  /** The URL of the page that led here, from the `Referer` header. */
  get referrer(): string {
    return this.getHeader("referer");
  }

  /**
   * The address of the client, or "" when there is none, as on a Unix socket. With a trusted proxy,
   * the last address of `X-Forwarded-For`: the one our proxy added, where those before it are only
   * what the client claims.
   */
  get ip(): string {
    const forwarded = addressOf(this.#forwarded("x-forwarded-for"));
    if (forwarded !== "") return forwarded;
    const { remote } = this.#context;
    return remote && "hostname" in remote ? addressOf(remote.hostname) : "";
  }

  /** Whether a script says that it sent the request, by `X-Requested-With: XMLHttpRequest`. */
  get ajax(): boolean {
    return /^xmlhttprequest$/i.test(this.getHeader("x-requested-with"));
  }

  /** The protocol; with a trusted proxy, the one that `X-Forwarded-Proto` gives last. */
  get scheme(): "http" | "https" {
    const forwarded = this.#forwarded("x-forwarded-proto").toLowerCase();
    if (forwarded === "http" || forwarded === "https") return forwarded;
    return this.#raw.url.startsWith("https:") ? "https" : "http";
  }

  /** What the client says it is. */
  get user_agent(): string {
    return this.getHeader("user-agent");
  }

  /** The `Content-Type` header. */
  get type(): string {
    return this.getHeader("content-type");
  }

  /** The `Content-Length` header or, without one, how many bytes of body were read. */
  get length(): number {
    const length = this.getHeader("content-length");
    if (/^\d{1,15}$/.test(length)) return Number(length);
    return this.#context.body?.length ?? 0;
  }

  /**
   * The fields of the query: a repeated name has its last value, and `a[]=1&b[c]=2` makes a list
   * and a record. Throws `HttpError` 400 beyond 1,000 fields or eight brackets a name.
   */
  get query(): Fields {
    const { search } = this.#context;
    return this.#query ??= parseFields(search, "the query", 400);
  }

  /**
   * The fields of a form, or the members of a JSON object or array; otherwise empty. Throws
   * `HttpError` 400 when the body is malformed, 413 beyond its limits.
   */
  get data(): Data {
    return this.#read.data;
  }

  /**
   * The JSON body as it was sent: an array is an array. Throws `HttpError` 415 when the body has another
   * type, 400 when it is malformed.
   */
  get json(): unknown {
    return this.#read.json;
  }

  /**
   * Validates the JSON body, or the fields of a form, by a schema of any library that follows the
   * Standard Schema specification (zod, valibot, arktype). Rejects with `HttpError` 422, whose problem
   * details list the path and message of each issue.
   */
  async validate<Type extends Schema>(
    schema: Type,
  ): Promise<SchemaOutput<Type>> {
    const content = this.#read;
    return await validated(
      schema,
      content.isJson ? content.json : content.data,
    );
  }

  /** The cookies, percent-decoded where that is possible; of a repeated name, the first. */
  get cookies(): Cookies {
    return this.#cookies ??= parseCookies(this.getHeader("cookie"));
  }

  /**
   * The uploads of a multipart form: `UploadedFile`s, or a list of them where a name was repeated
   * or ends with `[]`. Throws as `data` does.
   */
  get files(): Files {
    return this.#read.files;
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
   * The offered media type that the client likes best by its `Accept` header and the weights in it, or
   * undefined when it accepts none (RFC 9110, section 12.5.1).
   */
  accepts<Type extends string>(...types: Type[]): Type | undefined {
    return accepts(this.#raw, ...types);
  }

  /** Aborts when the client leaves, also while or after the body is read, and once the response is sent. */
  get signal(): AbortSignal {
    return this.#raw.signal;
  }

  /** The address that a proxy passed on, or "". Anybody can send one: only for show. */
  get proxy_ip(): string {
    const found = proxyHeaders.map((name) => addressOf(this.getHeader(name)));
    return found.find((address) => address !== "") ?? "";
  }

  /**
   * The body as text, "" when there is none, in the charset of its type. Throws
   * `HttpError` 415 when that charset is unknown.
   */
  getBody(): string {
    return this.#read.text();
  }

  /** The body as bytes: the same array on every call. */
  getBytes(): Uint8Array<ArrayBuffer> {
    return this.#read.bytes;
  }

  /** A header by its name in any case; "" when it was not sent. */
  getHeader(name: string): string {
    return this.#raw.headers.get(name) ?? "";
  }

  /**
   * Makes a WebSocket of the request as `Deno.upgradeWebSocket()` does: return the response of it. The
   * request lives until the socket has closed, so that the socket's handlers keep its state.
   */
  upgrade(options: Deno.UpgradeWebSocketOptions = {}): Deno.WebSocketUpgrade {
    const upgrade = Deno.upgradeWebSocket(this.raw, options);
    const release = this.#context.hold?.();
    // After the application's own handlers of the event, which still have the request.
    const releaseLater = (): void => void (release && queueMicrotask(release));
    for (const event of ["close", "error"]) {
      upgrade.socket.addEventListener(event, releaseLater, { once: true });
    }
    return upgrade;
  }

  /**
   * The web `Request`. Its body can be read here too, although it was read for `data`; the raw
   * stream, where a route takes it.
   */
  get raw(): Request {
    const bytes = this.#context.body;
    if (bytes === undefined) {
      if (headerOf(this.#raw, "upgrade") !== null) postponeUpgrade(this.#raw);
      return this.#raw;
    }
    // Made of the request itself it would take over its signal, of which the runtime warns.
    const { url, method, headers } = this.#raw;
    return this.#replay ??= new Request(url, { method, headers, body: bytes });
  }

  get #read(): Content {
    const { body } = this.#context;
    if (body === undefined && hasBody(this.#raw)) {
      throw new TypeError(
        "Cannot read the body: the route takes the raw stream, raw.body",
      );
    }
    return this.#content ??= new Content(body, this.type);
  }

  /** What our own proxy, being the last on the way, added to a header; "" when none is trusted. */
  #forwarded(name: string): string {
    const list = this.#context.trustProxy ? this.getHeader(name) : "";
    return list.slice(list.lastIndexOf(",") + 1).trim();
  }
}

/**
 * The first address in a list of such as `192.0.2.1:80`, `[2001:db8::1]:80`, `::ffff:192.0.2.1` and
 * `for="[2001:db8::1]";proto=https` (RFC 7239 section 4); "" when that is no valid one.
 */
function addressOf(list: string): string {
  const first = list.split(",", 1)[0]!;
  const node = /(?:^|;)\s*for="?([^;"]*)/i.exec(first)?.[1] ?? first;
  if (node.length > longestNode) return "";
  const { ip4, ip6 } = address.exec(node.trim())?.groups ?? {};
  const host = ip6 === undefined ? ip4 : `[${ip6}]`;
  return URL.canParse(`http://${host}`) ? (ip4 ?? ip6 ?? "") : "";
}

/** Reads a Cookie header; what is no `name=value` in it is passed over (RFC 6265 section 5.2). */
function parseCookies(header: string): Cookies {
  const cookies: Cookies = Object.create(null);
  for (const pair of header.split(";")) {
    const [sent, value] = pair.split(/=(.*)/s);
    const name = sent!.trim();
    if (value === undefined || name === "" || name in cookies) continue;
    cookies[name] = decodeEscapes(value.trim().replace(/^"(.*)"$/, "$1"));
  }
  return cookies;
}

/** Undoes percent-escapes; text in which one is malformed stays as it is. */
function decodeEscapes(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a "%" that was never an escape
  }
}
