/** Owns a page that a visitor has opened: what it shows, its links and its forms. Only for tests. */

import {
  attribute,
  type Element,
  formOf,
  parseElements,
  textOf,
} from "./elements.ts";
import { buttonText, Form, isSubmit } from "./form.ts";
import type { Visitor } from "./visitor.ts";

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
  #parsed: Element[] | undefined;

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
      const problem = `its status is ${this.status}, its type ${type}`;
      const message = `Cannot read "${this.path}" as JSON: ${problem}`;
      throw new SyntaxError(message, { cause });
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
    if (target !== undefined) {
      return await this.#go(new URL(target, this.#base));
    }
    const known = listed("links", links.map(textOf));
    throw new RangeError(`Cannot click "${text}": the page has ${known}`);
  }

  /**
   * A form of the page, by its position from 0 or by the text of a button in it, which then submits it; the first
   * form when neither is given. Throws `RangeError` when there is none.
   */
  form(which: number | string = 0): Form {
    const page = this.#all;
    const buttons = page.filter((each) => isSubmit(each) && formOf(each, page));
    const button = buttons.find((each) => buttonText(each) === which);
    const form = typeof which === "number"
      ? this.#elements("form")[which]
      : button && formOf(button, page);
    if (form === undefined) {
      const known = listed("buttons", buttons.map(buttonText));
      const problem = `the forms of the page have ${known}`;
      throw new RangeError(`Cannot find the form "${which}": ${problem}`);
    }
    const elements = page.filter((each) => formOf(each, page) === form);
    return new Form(form, elements, button, (action, isPost, fields) => {
      // Without an action, a form goes to the page itself, whatever its base.
      const url = new URL(action, action === "" ? this.#url : this.#base);
      if (isPost) return this.#go(url, { method: "POST", body: fields });
      url.search = String(fields);
      return this.#go(url);
    });
  }

  /** Visits another page of the site, as a browser does from here. */
  async #go(url: URL, options: RequestInit = {}): Promise<Page> {
    const { origin } = this.#url;
    if (url.origin !== origin) {
      throw new RangeError(`Cannot go to "${url.href}": it is another site`);
    }
    const headers = new Headers({ referer: `${origin}${this.path}` });
    if (options.method === "POST") headers.set("origin", origin);
    return await this.#visitor.visit(url.href, { ...options, headers });
  }

  /** What links are relative to: the page or, where it has one, its `base`. */
  get #base(): URL {
    const [href = ""] = this.attributes("base", "href");
    return new URL(href, this.#url);
  }

  #elements(tag: string): Element[] {
    return this.#all.filter((each) => each.tagName === tag);
  }

  get #all(): Element[] {
    return this.#parsed ??= parseElements(this.text);
  }
}

function listed(noun: string, texts: readonly string[]): string {
  const quoted = texts.map((text) => `"${text}"`).join(", ");
  return quoted === "" ? `no ${noun}` : `the ${noun} ${quoted}`;
}
