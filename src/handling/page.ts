/**
 * Owns what a response without content of its own looks like: the default pages of `notFound` and
 * `error`, as HTML for people and as problem details for JSON clients (RFC 9457).
 */

import { accepts } from "@std/http/negotiation";
import { STATUS_TEXT, type StatusCode } from "@std/http/status";
import { escape } from "../html.ts";
import { headerOf } from "../runtime.ts";

/** Short: with the head, the page still fits into one write of Deno. */
const STYLE =
  ":root{color-scheme:light dark}body{font:1em/1.5 system-ui;margin:3em auto;max-width:40em;overflow-wrap:anywhere;padding:0 1em}";

/** Caches must keep the forms of a page apart. */
const VARY = { vary: "Accept" };

/**
 * The content type, headers and text of the page for a status, in the form that the client asks for. The
 * message is escaped; the details are HTML already, and stand in the HTML page only.
 */
export function pageOf(
  request: Request,
  status: number,
  message: string,
  details: string,
  members: Readonly<Record<string, unknown>> = {},
): { type: string; text: string; headers: { vary: string } } {
  const title = STATUS_TEXT[status as StatusCode] ?? "Error";
  const detail = message === title ? "" : message;
  if (wantsJson(request)) {
    const problem = {
      ...members,
      type: "about:blank",
      title,
      status,
      ...(detail ? { detail } : {}),
    };
    const text = JSON.stringify(problem);
    return { type: "application/problem+json", text, headers: VARY };
  }
  const heading = `${status} ${title}`;
  const paragraph = detail && `<p>${escape(detail)}</p>\n`;
  return {
    type: "text/html; charset=utf-8",
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
