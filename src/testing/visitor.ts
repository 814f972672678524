/**
 * Owns the visitor of tests, who uses an application as a person with a browser does: keeps cookies, follows redirects
 * and opens pages.
 */

import { CookieJar } from "npm:tough-cookie@^6.0.0";
import { checkOptions } from "../options.ts";
import { Page } from "./page.ts";

/** What handles requests: an `Engine`, `Framework`, or anything else with a `fetch`. */
export interface Door {
  /** Handles a web request. */
  fetch(request: Request): Response | Promise<Response>;
}

/** The options of a visit: those of a web request, or a value to send as JSON, by POST if no method is given. */
export interface VisitOptions extends RequestInit {
  /** The value to send as the JSON body. */
  readonly json?: unknown;
}

/** The options for all visits of a visitor. */
export interface VisitorOptions {
  /** The origin of the application in the URLs of requests, `http://localhost` by default. */
  readonly origin?: string;
  /** Headers of every request; those of a visit take precedence. */
  readonly headers?: HeadersInit;
}

/** What browsers accept when they open a page; a script that sends JSON accepts anything. */
const PAGES = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/** How many redirects a visit follows, like browsers (Fetch standard, section 4.4). */
const MAX_REDIRECTS = 20;

/** The statuses that browsers follow (Fetch standard, "redirect status"). */
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/**
 * A person with a browser who uses an application.
 *
 * @example
 * ```ts
 * import { Engine, html } from "@framework/core";
 * import { Visitor } from "@framework/core/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new Engine();
 * app.route("GET /", () => `<form method="post"><input name="name"></form>`);
 * app.route("POST /", () => {
 *   app.response().cookie("name", String(app.request().data.name));
 *   app.redirect("/hello");
 * });
 * app.route("/hello", () => html`Hello, ${app.request().cookies.name}!`);
 *
 * const page = await new Visitor(app).visit("/");
 * const hello = await page.form().fill({ name: "Ada" }).submit();
 * assertEquals(hello.path, "/hello");
 * assertEquals(hello.text, "Hello, Ada!");
 * ```
 */
export class Visitor {
  readonly #app: Door;
  readonly #origin: string;
  readonly #headers: HeadersInit;
  readonly #jar = new CookieJar();

  /** Makes a visitor without cookies. Throws `TypeError` for an unknown option. */
  constructor(app: Door, options: VisitorOptions = {}) {
    checkOptions("make a visitor", options, ["origin", "headers"]);
    const { origin = "http://localhost", headers = [] } = options;
    this.#app = app;
    this.#origin = new URL(origin).origin;
    this.#headers = headers;
  }

  /** The values of the visitor's cookies, by name; of several with one name, that of the longest path. */
  get cookies(): Record<string, string> {
    const cookies = this.#jar.getCookiesSync(this.#origin, { allPaths: true });
    return Object.fromEntries(
      cookies.reverse().map(({ key, value }) => [key, value]),
    );
  }

  /**
   * Requests a path, follows redirects within the application, and returns the page. Rejects with
   * `RangeError` after more than 20 redirects.
   */
  async visit(path: string, options: VisitOptions = {}): Promise<Page> {
    const { url, response } = await this.#follow(path, options);
    return new Page(this, url, response, await response.text());
  }

  /**
   * Requests a path as `visit()` does, and returns the response with its body unread: for a download, or for
   * events that never end. Cancel the body, or abort the `signal` of the options, to leave.
   *
   * @example
   * ```ts
   * import { Engine } from "@framework/core";
   * import { Visitor } from "@framework/core/testing";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new Engine();
   * app.route("/ticks", async function* () {
   *   for (;;) yield await Promise.resolve("tick ");
   * });
   *
   * const response = await new Visitor(app).open("/ticks");
   * const reader = response.body!.getReader();
   * const { value } = await reader.read();
   * assertEquals(new TextDecoder().decode(value), "tick ");
   * await reader.cancel();
   * ```
   */
  async open(path: string, options: VisitOptions = {}): Promise<Response> {
    return (await this.#follow(path, options)).response;
  }

  async #follow(
    path: string,
    options: VisitOptions,
  ): Promise<{ url: URL; response: Response }> {
    let url = new URL(path, this.#origin);
    let sent = requestOf(options, this.#headers);
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const response = await this.#request(url, sent);
      const location = response.headers.get("location");
      const isRedirect = REDIRECTS.includes(response.status) && location;
      const target = isRedirect ? new URL(location, url) : undefined;
      if (target?.origin !== this.#origin) return { url, response };
      await response.body?.cancel();
      if (response.status < 307) sent = withoutBody(sent);
      url = target;
    }
    throw new RangeError(
      `Cannot visit "${path}": more than ${MAX_REDIRECTS} redirects`,
    );
  }

  async #request(url: URL, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    const kept = this.#jar.getCookieStringSync(url.href);
    const cookies = [headers.get("cookie"), kept].filter(Boolean).join("; ");
    if (cookies !== "") headers.set("cookie", cookies);
    const request = new Request(url, { ...init, headers, redirect: "manual" });
    const response = await this.#app.fetch(request);
    for (const cookie of response.headers.getSetCookie()) {
      this.#jar.setCookieSync(cookie, url.href, { ignoreError: true });
    }
    return response;
  }
}

/** The request of a visit, with the headers that all visits have. */
function requestOf(
  { json, ...init }: VisitOptions,
  common: HeadersInit,
): RequestInit {
  const isJson = json !== undefined;
  const headers = new Headers({ accept: isJson ? "*/*" : PAGES });
  if (isJson) headers.set("content-type", "application/json");
  for (const given of [common, init.headers]) {
    new Headers(given).forEach((value, name) => headers.set(name, value));
  }
  if (!isJson) return { ...init, headers };
  return { method: "POST", ...init, headers, body: JSON.stringify(json) };
}

/** What a browser sends after a redirect that is no 307 or 308: a plain GET. */
function withoutBody(init: RequestInit): RequestInit {
  const { body: _body, method: _method, ...rest } = init;
  const headers = new Headers(init.headers);
  for (const name of ["content-type", "origin"]) headers.delete(name);
  return { ...rest, headers };
}
