/**
 * Owns the content of the default pages of `notFound` and `error`: HTML for people, problem details for
 * JSON clients (RFC 9457). When such a page is sent is decided in `pages.ts`.
 */

import { accepts } from "@std/http/negotiation";
import { STATUS_TEXT, type StatusCode } from "@std/http/status";
import type { Exchange } from "../application/exchange.ts";
import { escape } from "../html.ts";
import { JSON_TYPE } from "../media_type.ts";
import type { ReplyInit } from "../response/reply.ts";
import { HTML } from "../response/web_response.ts";
import { headerOf } from "../runtime.ts";
import { varyBy } from "../vary.ts";

const PROBLEM = "application/problem+json";

const HTML_FORM = "text/html";
const JSON_FORMS = [PROBLEM, "application/json"];

/** What a default page puts in place of the content so far. */
export type DefaultPage = ReplyInit & {
  readonly status: number;
  readonly text: string;
  readonly type: string;
};

/** The form in which clients get pages. */
interface Form {
  readonly isJson: boolean;
  /** Whether the client has chosen it: caches must keep the forms apart then. */
  readonly isChosen: boolean;
  /** The pages that say no more than their status, by status. */
  readonly bare: Map<number, DefaultPage>;
}

/** The forms by `framework.error_format`, and those that a client chooses under "auto". */
const FIXED = { html: newForm(false, false), json: newForm(true, false) };
const CHOSEN = { html: newForm(false, true), json: newForm(true, true) };

function newForm(isJson: boolean, isChosen: boolean): Form {
  return { isJson, isChosen, bare: new Map() };
}

/**
 * The page for a status in the form that the client prefers, with what it adds to the `Vary` that was set.
 * `problem` has members of the problem details, of which the HTML page shows `detail`; `details` is HTML for
 * that page only.
 */
export function pageOf(
  exchange: Exchange,
  status: number,
  vary: string | null,
  problem: Readonly<Record<string, unknown>> = {},
  details = "",
): DefaultPage {
  const form = formOf(exchange);
  const isBare = vary === null && details === "" &&
    Object.keys(problem).length === 0;
  const known = isBare ? form.bare.get(status) : undefined;
  if (known !== undefined) return known;
  const page = {
    ...form.isJson
      ? problemPage(status, problem)
      : htmlPage(status, problem.detail, details),
    headers: varyHeaders(form, vary),
    kept: isBare ? {} : undefined,
  };
  if (isBare) form.bare.set(status, page);
  return page;
}

/**
 * A text that ends a request with a status of an error: the detail for JSON clients, else the whole body, of the
 * type that was set before.
 */
export function messagePage(
  exchange: Exchange,
  status: number,
  text: string,
  vary: string | null,
): ReplyInit {
  const form = formOf(exchange);
  const page = form.isJson
    ? problemPage(status, { detail: text || undefined })
    : { status, text };
  return { ...page, headers: varyHeaders(form, vary) };
}

function varyHeaders(
  { isChosen }: Form,
  vary: string | null,
): Record<string, string> {
  return isChosen ? { vary: varyBy("Accept", vary) } : {};
}

function problemPage(
  status: number,
  problem: Readonly<Record<string, unknown>>,
): DefaultPage {
  const title = statusTitle(status);
  const detail = problem.detail === title ? undefined : problem.detail;
  const members = { type: "about:blank", title, ...problem, status, detail };
  return { status, type: PROBLEM, text: JSON.stringify(members) };
}

function statusTitle(status: number): string {
  return STATUS_TEXT[status as StatusCode] ?? "Error";
}

function htmlPage(
  status: number,
  detail: unknown,
  details: string,
): DefaultPage {
  const title = statusTitle(status);
  const heading = `${status} ${title}`;
  const paragraph = detail === undefined || detail === "" || detail === title
    ? ""
    : `<p>${escape(String(detail))}</p>\n`;
  // A page without a style of its own suits every Content-Security-Policy. `</body>`, of an element that HTML opens by
  // itself, is where `debug/live.ts` puts its script.
  const text = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${heading}</title>
<main>
<h1>${heading}</h1>
${paragraph}${details}</main>
</body>
</html>
`;
  return { status, type: HTML, text };
}

/** The form of an error: by the setting, else what the client prefers, else as it has sent JSON or not. */
function formOf({ raw, plan }: Exchange): Form {
  const format = plan.settings["framework.error_format"];
  if (format !== "auto") return FIXED[format];
  const isJson = preferenceOf(raw) ??
    JSON_TYPE.test(headerOf(raw, "content-type") ?? "");
  return isJson ? CHOSEN.json : CHOSEN.html;
}

/** Whether a client prefers JSON to HTML; undefined when it prefers neither. */
function preferenceOf(raw: Request): boolean | undefined {
  const accept = headerOf(raw, "accept");
  if (accept === null || accept === "*/*") return undefined;
  if (accept !== lastAccept.accept) {
    lastAccept = { accept, prefersJson: prefersJson(raw) };
  }
  return lastAccept.prefersJson;
}

/** The last `Accept` header and what it means: reading one takes longer than the rest of a page. */
let lastAccept: { accept: string; prefersJson: boolean | undefined } = {
  accept: "",
  prefersJson: undefined,
};

function prefersJson(request: Request): boolean | undefined {
  const first = accepts(request, HTML_FORM, ...JSON_FORMS);
  if (first !== HTML_FORM) return first === undefined ? undefined : true;
  // Of forms that are preferred equally, the one that is offered first is returned.
  const last = accepts(request, ...JSON_FORMS, HTML_FORM);
  return last === HTML_FORM ? false : undefined;
}
