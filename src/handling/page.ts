/**
 * Owns what a response without content of its own looks like: the default pages of `notFound` and
 * `error`, as HTML for people and as problem details for JSON clients (RFC 9457).
 */

import { accepts } from "@std/http/negotiation";
import { STATUS_TEXT, type StatusCode } from "@std/http/status";
import { escape } from "../html.ts";
import { HTML } from "../response/outcome.ts";
import { headerOf } from "../runtime.ts";

/** Short: with the head, the page still fits into one write of Deno. */
const STYLE =
  ":root{color-scheme:light dark}body{font:1em/1.5 system-ui;margin:3em auto;max-width:40em;overflow-wrap:anywhere;padding:0 1em}";

/** Caches must keep the forms of a page apart. */
const VARY = { vary: "Accept" };

/** A page, as an outcome. */
interface Page {
  readonly status: number;
  readonly type: string;
  readonly headers: { readonly vary: string };
  readonly text: string;
}

/** The HTML pages that say no more than their status. */
const bare = new Map<number, Page>();

/**
 * The page for a status in the form that the client asks for. The message is escaped; the details are HTML
 * already, and stand in the HTML page only.
 */
export function pageOf(
  request: Request,
  status: number,
  message = "",
  details = "",
  members: Readonly<Record<string, unknown>> = {},
): Page {
  if (wantsJson(request)) return problemOf(status, message, members);
  if (message !== "" || details !== "") {
    return htmlOf(status, message, details);
  }
  const known = bare.get(status) ?? htmlOf(status, "", "");
  bare.set(status, known);
  return known;
}

/** Problem details (RFC 9457, section 3.1). */
function problemOf(
  status: number,
  message: string,
  members: Readonly<Record<string, unknown>>,
): Page {
  const title = titleOf(status);
  const detail = message === "" || message === title ? {} : { detail: message };
  const problem = { ...members, type: "about:blank", title, status, ...detail };
  const text = JSON.stringify(problem);
  return { status, type: "application/problem+json", headers: VARY, text };
}

function htmlOf(status: number, message: string, details: string): Page {
  const title = titleOf(status);
  const heading = `${status} ${title}`;
  const paragraph = message === "" || message === title
    ? ""
    : `<p>${escape(message)}</p>\n`;
  return {
    status,
    type: HTML,
    headers: VARY,
    text: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${heading}</title>
<style>${STYLE}</style>
<main>
<h1>${heading}</h1>
${paragraph}${details}</main>
`,
  };
}

function titleOf(status: number): string {
  return STATUS_TEXT[status as StatusCode] ?? "Error";
}

function wantsJson(request: Request): boolean {
  if (!headerOf(request, "accept")?.includes("json")) return false;
  const type = accepts(
    request,
    "text/html",
    "application/problem+json",
    "application/json",
  );
  return type !== undefined && type !== "text/html";
}
