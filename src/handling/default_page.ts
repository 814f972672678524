/**
 * Owns the content of the default pages of `notFound` and `error`: HTML for people, problem details for
 * JSON clients (RFC 9457). When such a page is sent is decided in `pages.ts`.
 */

import { accepts } from "@std/http/negotiation";
import { STATUS_TEXT, type StatusCode } from "@std/http/status";
import { escape } from "../html.ts";
import { HTML } from "../response/outcome.ts";
import { headerOf } from "../runtime.ts";

/** Short: with the head, the page still fits into one write of Deno. */
const STYLE =
  ":root{color-scheme:light dark}body{font:1em/1.5 system-ui;margin:3em auto;max-width:40em;overflow-wrap:anywhere;padding:0 1em}";

const FORMS = ["text/html", "application/problem+json", "application/json"];

/** Caches must keep the two forms of a page apart. */
export const VARY = "Accept";

/** A page, as an outcome. */
type Page = ReturnType<typeof pageWith>;

/** The HTML pages that have nothing but their status, by status. */
const bare = new Map<number, Page>();

/**
 * The page for a status in the form that the client prefers. `problem` has members of the problem details,
 * of which the HTML page shows `detail`; `details` is HTML for that page only.
 */
export function pageOf(
  request: Request,
  status: number,
  problem: Readonly<Record<string, unknown>> = {},
  details = "",
): Page {
  const title = STATUS_TEXT[status as StatusCode] ?? "Error";
  const detail = problem.detail === title ? undefined : problem.detail;
  if (wantsJson(request)) {
    const members = { type: "about:blank", title, ...problem, status, detail };
    const text = JSON.stringify(members);
    return pageWith(status, "application/problem+json", text);
  }
  const heading = `${status} ${title}`;
  if (detail !== undefined || details !== "") {
    return pageWith(status, HTML, htmlPage(heading, detail, details));
  }
  const known = bare.get(status) ?? pageWith(status, HTML, htmlPage(heading));
  bare.set(status, known);
  return known;
}

function pageWith(status: number, type: string, text: string) {
  return { status, type, text, headers: { vary: VARY } };
}

function htmlPage(heading: string, detail: unknown = "", details = ""): string {
  const paragraph = detail && `<p>${escape(String(detail))}</p>\n`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${heading}</title>
<style>${STYLE}</style>
<main>
<h1>${heading}</h1>
${paragraph}${details}</main>
`;
}

function wantsJson(request: Request): boolean {
  if (!headerOf(request, "accept")?.includes("json")) return false;
  return accepts(request, ...FORMS)?.includes("json") ?? false;
}
