/**
 * Owns the content of the default pages of `notFound` and `error`: HTML for people, problem details for
 * JSON clients (RFC 9457). When such a page is sent is decided in `pages.ts`.
 */

import { accepts } from "@std/http/negotiation";
import { STATUS_TEXT, type StatusCode } from "@std/http/status";
import type { Exchange } from "../application/exchange.ts";
import { escape } from "../html.ts";
import { encoded } from "./json.ts";
import { JSON_TYPE } from "../media_type.ts";
import type { ReplyInit } from "../response/reply.ts";
import { HTML } from "../response/web_response.ts";
import { headerOf } from "../runtime.ts";
import { varyBy } from "../vary.ts";

const PROBLEM = "application/problem+json";

const HTML_TYPE = "text/html";
const JSON_TYPES = [PROBLEM, "application/json"];

/** The content of a default page. Its headers replace those of the error. */
export type DefaultPage = ReplyInit & {
  readonly status: number;
  readonly text: string;
  readonly type: string;
};

/** The format of a page. */
interface Format {
  readonly isJson: boolean;
  /** Whether the client has chosen it: caches must keep the formats apart then. */
  readonly isChosen: boolean;
  /** The pages that say no more than their status, by status. */
  readonly bare: Map<number, DefaultPage>;
}

/** The formats by `framework.error_format`, and those that a client chooses under "auto". */
const FIXED = { html: newFormat(false, false), json: newFormat(true, false) };
const CHOSEN = { html: newFormat(false, true), json: newFormat(true, true) };

function newFormat(isJson: boolean, isChosen: boolean): Format {
  return { isJson, isChosen, bare: new Map() };
}

/**
 * The page for a status in the format that the client prefers, with what it adds to the `Vary` that was set.
 * `problem` has members of the problem details, of which the HTML page shows `detail`; `details` is HTML for
 * that page only. Throws `TypeError` for a problem that JSON cannot represent.
 */
export function pageOf(
  exchange: Exchange,
  status: number,
  vary: string | null,
  problem: Readonly<Record<string, unknown>> = {},
  details = "",
): DefaultPage {
  const format = formatOf(exchange);
  const isBare = vary === null && details === "" &&
    Object.keys(problem).length === 0;
  const known = isBare ? format.bare.get(status) : undefined;
  if (known !== undefined) return known;
  const page = {
    ...format.isJson
      ? problemPage(status, problem)
      : htmlPage(status, problem.detail, details),
    headers: varyHeaders(format, vary),
    isShared: isBare,
  };
  if (isBare) format.bare.set(status, page);
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
  const format = formatOf(exchange);
  const page = format.isJson
    ? problemPage(status, { detail: text || undefined })
    : { status, text };
  return { ...page, headers: varyHeaders(format, vary) };
}

function varyHeaders(
  { isChosen }: Format,
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
  return { status, type: PROBLEM, text: encoded(members) };
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
  // A page without a style suits every Content-Security-Policy. `</body>`, of an element that HTML opens by
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

/** The format of an error: that of the setting, else what the client prefers, else what it has sent. */
function formatOf({ raw, plan }: Exchange): Format {
  const setting = plan.settings["framework.error_format"];
  if (setting !== "auto") return FIXED[setting];
  const isJson = preferenceOf(raw) ??
    JSON_TYPE.test(headerOf(raw, "content-type") ?? "");
  return isJson ? CHOSEN.json : CHOSEN.html;
}

/** Whether a client prefers JSON to HTML; undefined when it prefers neither. */
function preferenceOf(raw: Request): boolean | undefined {
  const accept = headerOf(raw, "accept");
  if (accept === null || accept === "*/*") return undefined;
  if (accept !== lastAccept?.accept) {
    lastAccept = { accept, prefersJson: prefersJson(raw) };
  }
  return lastAccept.prefersJson;
}

/** The last `Accept` header and what it means: reading one takes longer than the rest of a page. */
let lastAccept:
  | { readonly accept: string; readonly prefersJson: boolean | undefined }
  | undefined;

function prefersJson(request: Request): boolean | undefined {
  const first = accepts(request, HTML_TYPE, ...JSON_TYPES);
  if (first !== HTML_TYPE) return first === undefined ? undefined : true;
  // Of types that are preferred equally, the one that is offered first is returned.
  const last = accepts(request, ...JSON_TYPES, HTML_TYPE);
  return last === HTML_TYPE ? false : undefined;
}
