/**
 * Owns the visitor of tests, who uses an application as a person with a browser does: keeps cookies,
 * follows redirects and links, and opens pages with forms.
 */

import { type DefaultTreeAdapterTypes, parse } from "npm:parse5@^8.1.1";
import { ofProgram } from "../extension_keys.ts";
import { checkOptions } from "../options.ts";
import { counted } from "../report.ts";
import { CookieJar } from "./cookies.ts";
import {
  attribute,
  buttonsOf,
  buttonText,
  elementsOf,
  textOf,
} from "./elements.ts";
import { Form } from "./form.ts";

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

  /**
   * Makes a visitor without cookies. A text instead of the options is the origin. Throws `TypeError` for an unknown
   * option.
   */
  constructor(app: Door, options: VisitorOptions | string = {}) {
    const given = typeof options === "string" ? { origin: options } : options;
    checkOptions("make a visitor", given, ["origin", "headers"]);
    const { origin = "http://localhost", headers = [] } = given;
    this.#app = app;
    this.#origin = new URL(origin).origin;
    this.#headers = headers;
  }

  /** The values of the visitor's cookies, by name; of several with one name, that of the longest path. */
  get cookies(): Record<string, string> {
    return this.#jar.values();
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
    let sent = requestOf(options);
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const response = await this.#request(url, sent);
      const location = response.headers.get("location");
      const target = REDIRECTS.includes(response.status) && location !== null
        ? new URL(location, url)
        : undefined;
      if (target === undefined || target.origin !== this.#origin) {
        return { url, response };
      }
      await response.body?.cancel();
      if (response.status < 307) sent = afterRedirect(sent, response.status);
      url = target;
    }
    throw new RangeError(
      `Cannot visit "${path}": more than ${MAX_REDIRECTS} redirects`,
    );
  }

  async #request(url: URL, init: RequestInit): Promise<Response> {
    const headers = new Headers(this.#headers);
    for (const [name, value] of new Headers(init.headers)) {
      headers.set(name, value);
    }
    const cookies = [headers.get("cookie"), this.#jar.header(url)];
    const cookie = cookies.filter(Boolean).join("; ");
    if (cookie !== "") headers.set("cookie", cookie);
    const request = new Request(url, { ...init, headers, redirect: "manual" });
    const response = await this.#app.fetch(ofProgram(request));
    this.#jar.keep(response.headers, url);
    return response;
  }
}

/**
 * A page that a visitor has opened, made by {@linkcode Visitor.prototype.visit | Visitor.visit}.
 *
 * @example
 * ```ts
 * import { Engine } from "@framework/core";
 * import { Visitor } from "@framework/core/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new Engine();
 * app.route("/", () => `<h1>News</h1><a href="/archive?year=9">Archive</a>`);
 * app.route("/archive", () => app.request().query);
 *
 * const home = await new Visitor(app).visit("/");
 * assertEquals([home.status, home.texts("h1")], [200, ["News"]]);
 * const archive = await home.click("Archive");
 * assertEquals(archive.path, "/archive?year=9");
 * assertEquals(archive.json(), { year: "9" });
 * ```
 */
export class Page {
  /** The response; its body has already been read. */
  readonly response: Response;
  /** The text of the response. */
  readonly text: string;
  readonly #visitor: Visitor;
  readonly #url: URL;
  #document: DefaultTreeAdapterTypes.Document | undefined;

  /**
   * Pages are made by their visitor.
   *
   * @ignore
   */
  constructor(visitor: Visitor, url: URL, response: Response, text: string) {
    this.#visitor = visitor;
    this.#url = url;
    this.response = response;
    this.text = text;
  }

  /** The status. */
  get status(): number {
    return this.response.status;
  }

  /** The path and query of the page, after redirects. */
  get path(): string {
    return this.#url.pathname + this.#url.search;
  }

  /** The value of a JSON response; throws `SyntaxError`, which names status and type, when the text is not JSON. */
  json<Value = unknown>(): Value {
    try {
      return JSON.parse(this.text);
    } catch (cause) {
      const type = this.response.headers.get("content-type");
      const typed = type === null ? "and it has no type" : `its type "${type}"`;
      const { message } = cause as SyntaxError;
      throw new SyntaxError(
        `Cannot read "${this.path}" as JSON: its status is ${this.status}, ${typed}; ${message}`,
        { cause },
      );
    }
  }

  /** The text of each element with that tag, such as `"h1"`, its white space folded. */
  texts(tag: string): string[] {
    return this.#elements(tag).map(textOf);
  }

  /** The value of that attribute of each element with that tag that has it, such as the `href` of each `a`. */
  attributes(tag: string, name: string): string[] {
    return this.#elements(tag).flatMap((each) => attribute(each, name) ?? []);
  }

  /** Follows the first link with that text; rejects with `RangeError` when there is none, or it leads to another site. */
  async click(text: string): Promise<Page> {
    const links = this.#elements("a");
    const link = links.find((each) => textOf(each) === text);
    const target = link && attribute(link, "href");
    if (target === undefined) {
      const known = links.map((each) => `"${textOf(each)}"`).join(", ");
      throw new RangeError(
        `Cannot click "${text}": the page has ${
          known ? `the links ${known}` : "no links"
        }`,
      );
    }
    return await this.#go(new URL(target, this.#base));
  }

  /**
   * A form of the page, by its position from 0 or by the text of a button in it, which then submits it; the first
   * form when neither is given. Throws `RangeError` when there is none.
   */
  form(which: number | string = 0): Form<Page> {
    const forms = this.#elements("form");
    const buttons = forms.flatMap((form) =>
      buttonsOf(form).map((button) => (
        { form, button, text: buttonText(button) }
      ))
    );
    const pressed = buttons.find(({ text }) => text === which);
    const form = typeof which === "number" ? forms[which] : pressed?.form;
    if (form === undefined) {
      const known = buttons.map(({ text }) => `"${text}"`).join(", ");
      const problem = `the page has ${counted(forms.length, "form")} and ${
        known ? `the buttons ${known}` : "no buttons"
      }`;
      throw new RangeError(
        `Cannot find the form ${JSON.stringify(which)}: ${problem}`,
      );
    }
    return new Form(form, ({ action, method, body }) => {
      // Without an action, a form goes to the page itself, whatever its base.
      const url = action === ""
        ? new URL(this.#url)
        : new URL(action, this.#base);
      if (method === "POST") return this.#go(url, { method, body });
      url.search = new URLSearchParams(
        [...body].map(([name, value]) => [name, String(value)]),
      ).toString();
      return this.#go(url);
    }, pressed?.button);
  }

  /** Visits another page of the site. */
  #go(url: URL, options?: VisitOptions): Promise<Page> {
    if (url.origin === this.#url.origin) {
      return this.#visitor.visit(url.href, options);
    }
    const problem = `Cannot go to "${url.href}": it is another site`;
    return Promise.reject(new RangeError(problem));
  }

  /** What links are relative to: the page or, where it has one, its `base`. */
  get #base(): URL {
    const [href = ""] = this.attributes("base", "href");
    return new URL(href, this.#url);
  }

  #elements(tag: string): DefaultTreeAdapterTypes.Element[] {
    this.#document ??= parse(this.text);
    return elementsOf(this.#document).filter((each) => each.tagName === tag);
  }
}

function requestOf({ json, ...init }: VisitOptions): RequestInit {
  if (json === undefined) return init;
  const headers = new Headers(init.headers);
  headers.set("content-type", "application/json");
  return { method: "POST", ...init, headers, body: JSON.stringify(json) };
}

/** The headers of a body that a plain GET does not have (Fetch standard, "request-body-header name"). */
const BODY_HEADERS: readonly string[] = [
  "content-encoding",
  "content-language",
  "content-location",
  "content-type",
];

/** What a browser sends after a redirect: after a form, a plain GET (Fetch standard, section 4.4). */
function afterRedirect(init: RequestInit, status: number): RequestInit {
  const method = (init.method ?? "GET").toUpperCase();
  const isRead = method === "GET" || method === "HEAD";
  if (isRead || (status !== 303 && method !== "POST")) return init;
  const { body: _body, method: _method, ...rest } = init;
  const headers = new Headers(init.headers);
  for (const name of BODY_HEADERS) headers.delete(name);
  return { ...rest, headers };
}
