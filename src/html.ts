/** Owns HTML as text: escaping values, and marking text that is HTML already. */

import { isPlainRecord } from "./options.ts";
import { isThenable } from "./waiting.ts";

/**
 * Text that is already HTML and is printed unescaped; a `String` object in every other respect. Made by
 * {@linkcode html} and {@linkcode markup}.
 *
 * @example
 * ```ts
 * import { html, type Markup } from "@framework/core";
 * import { assertEquals } from "@std/assert";
 *
 * function link(url: string, text: string): Markup {
 *   return html`<a href="${url}">${text}</a>`;
 * }
 *
 * const item = html`<li>${link("/a?b&c", "A < B")}</li>`;
 * assertEquals(`${item}`, '<li><a href="/a?b&amp;c">A &lt; B</a></li>');
 * ```
 */
export class Markup extends String {}

/**
 * Marks text as HTML, so that templates and {@linkcode html} print it unescaped. Only for text that is
 * safe to send.
 *
 * @example
 * ```ts
 * import { html, markup } from "@framework/core";
 * import { assertEquals } from "@std/assert";
 *
 * const icon = "<svg></svg>"; // of our own, never a visitor's
 * assertEquals(`${html`<b>${icon}</b>`}`, "<b>&lt;svg&gt;&lt;/svg&gt;</b>");
 * assertEquals(`${html`<b>${markup(icon)}</b>`}`, "<b><svg></svg></b>");
 * ```
 */
export function markup(html: string): Markup {
  return new Markup(html);
}

/**
 * A template tag that makes HTML of text. Values are escaped for content and for quoted attributes. `Markup`,
 * such as a nested `html`, is printed as it is, an array item by item, a plain record as JSON; `null` and
 * `undefined` print nothing. Throws `TypeError` for a promise, which must be awaited first.
 *
 * Escaping does not make a value safe in an attribute without quotes, in a script or in a style, nor a URL
 * that runs code.
 *
 * @example
 * ```ts
 * import { Engine, html } from "@framework/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new Engine();
 * app.route("/tags/@name", (name) => {
 *   const item = (tag: string) => html`<li title="${tag}">${tag}</li>`;
 *   return html`<ul>${[name, "c"].map(item)}</ul>`;
 * });
 *
 * const response = await app.fetch("/tags/%3Cb%3E");
 * assertEquals(
 *   await response.text(),
 *   '<ul><li title="&lt;b&gt;">&lt;b&gt;</li><li title="c">c</li></ul>',
 * );
 * ```
 */
export function html(
  strings: TemplateStringsArray,
  ...values: readonly unknown[]
): Markup {
  let text = "";
  for (const [index, raw] of strings.raw.entries()) {
    if (index > 0) text += htmlOf(values[index - 1]);
    // Text with an invalid escape, such as "\\201C" of CSS, exists only in its raw form.
    text += strings[index] ?? raw;
  }
  return new Markup(text);
}

/** How deeply arrays print their items; those that a client nests deeper print as JSON. */
const MAX_DEPTH = 100;

/** The HTML of a value, as {@linkcode html} and templates print it. */
export function htmlOf(value: unknown, depth = 0): string {
  if (typeof value === "string") return escape(value);
  if (typeof value === "number") return String(value);
  if (value === null || value === undefined) return "";
  if (value instanceof Markup) return value.toString();
  const isArray = Array.isArray(value);
  if (isArray && depth < MAX_DEPTH) {
    return value.map((item) => htmlOf(item, depth + 1)).join("");
  }
  if (isThenable(value)) {
    throw new TypeError("Cannot render a promise in html: await it first");
  }
  if (typeof value === "function" || typeof value === "symbol") {
    throw new TypeError(`Cannot render a ${typeof value} in html`);
  }
  const isData = isArray || typeof value === "object" && isPlainRecord(value);
  return escape(isData ? JSON.stringify(value) : String(value));
}

const UNSAFE = /[&<>"']/;

/** The entity of each unsafe character, by its code. */
const ENTITIES: (string | undefined)[] = Array(128).fill(undefined);
for (const entity of ["&&amp;", "<&lt;", ">&gt;", '"&quot;', "'&#39;"]) {
  ENTITIES[entity.charCodeAt(0)] = entity.slice(1);
}

/** Escapes text for HTML content and quoted attributes, in one pass, which is faster than `replace()`. */
export function escape(text: string): string {
  let html = "";
  let start = 0;
  for (let at = text.search(UNSAFE); at >= 0 && at < text.length; at++) {
    const code = text.charCodeAt(at);
    const entity = code < ENTITIES.length ? ENTITIES[code] : undefined;
    if (entity === undefined) continue;
    html += text.slice(start, at) + entity;
    start = at + 1;
  }
  return start === 0 ? text : html + text.slice(start);
}
