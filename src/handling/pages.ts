/**
 * Owns `notFound` and `error`, whose pages are HTML for people and problem details for JSON clients (RFC 9457); `halt`;
 * and the log of errors that have got a page.
 */

import { STATUS_TEXT, type StatusCode } from "@std/http/status";
import type { Details } from "../application/debug_tools.ts";
import type { Context, Exchange } from "../application/exchange.ts";
import type { Rule } from "../application/mapped_method.ts";
import { errorHeaders, HttpError, toError } from "../errors.ts";
import { escape } from "../html.ts";
import { varyBy } from "../http.ts";
import { errorLine, errorText, report, reportError } from "../report.ts";
import { ValidationError } from "../request/schema.ts";
import type { Content, Reply } from "../response/reply.ts";
import { HTML } from "../response/web_response.ts";
import {
  isFromProgram,
  isOfLeaving,
  prefersJson,
  seesDetails,
} from "./client.ts";
import { encoded } from "./json.ts";
import { respondAlone } from "./respond.ts";

const NOT_FOUND = new HttpError(404);

const NO_DETAILS: Details = { html: "", problem: {} };

/** The rule of `notFound` and `error`: a page begins empty, with its status. */
export const pageRule: Rule = (context, method, params) => {
  const { exchange, reply } = context;
  const isError = method.name === "error";
  const error = isError ? toError(params[0]) : NOT_FOUND;
  if (reply.isSealed) {
    if (!isError) return exchange.debug?.ignored(reply, method.name);
    return reportError(error, "after the response was sealed", exchange.label);
  }
  if (isError) {
    params[0] = error;
    noteError(exchange, error);
  }
  if (!method.isUnchanged) {
    const own = context.alone(method.name);
    startPage(own.reply, error);
    return respondAlone(own, method, params);
  }
  method.run(params, context);
  reply.seal(`${method.name}()`);
  exchange.debug?.sealed(reply);
};

/** The default `notFound`. */
export function notFound(context: Context): void {
  show(context, NOT_FOUND);
}

/** The default `error`. */
export function error(context: Context, thrown: unknown): void {
  show(context, toError(thrown));
}

/** Puts a message in place of the content; from status 400 on, in the format that the client prefers. */
export function halt(
  { exchange, reply }: Context,
  code = 200,
  message = "",
): void {
  const text = String(message);
  reply.replace(
    code >= 400 ? messagePage(exchange, code, text) : { status: code, text },
  );
}

/** Writes the default page. A status that code has given to its own page stays. */
function show({ exchange, reply }: Context, error: Error): void {
  const { pageStatus, status } = reply;
  if (pageStatus === undefined || pageStatus === status) {
    startPage(reply, error);
  }
  const { debug } = exchange;
  const details = debug !== undefined && seesDetails(exchange)
    ? debug.detailsOf(exchange, error === NOT_FOUND ? undefined : error)
    : NO_DETAILS;
  reply.replace(errorPage(exchange, reply.status, error, details));
}

/** Shows the default page when `error` itself has failed: that of an error for the log, if there is one. */
export function showPlainly(exchange: Exchange): void {
  const { errors = [], reply } = exchange;
  const isLogged = (each: Error): boolean => !(each instanceof HttpError);
  const error = errors.find(isLogged) ?? errors[0]!;
  reply.reopen();
  startPage(reply, error);
  reply.replace(errorPage(exchange, reply.status, error, NO_DETAILS));
  reply.seal("error()");
}

/** Begins the page of an error: without the content so far, and with what the error says of status and headers. */
export function startPage(reply: Reply, error: Error): void {
  reply.startPage(error instanceof HttpError ? error.status : 500);
  const headers = error instanceof HttpError ? errorHeaders(error) : undefined;
  if (headers === undefined) return;
  for (const [name, value] of headers) {
    if (name !== "set-cookie") reply.setHeader(name, value);
    else reply.addCookie(value);
  }
}

function errorPage(
  exchange: Exchange,
  status: number,
  error: Error,
  { html, problem }: Details,
): Content {
  const detail = messageOf(exchange, error);
  if (!prefersJson(exchange)) return htmlPage(exchange, status, detail, html);
  const errors = error instanceof ValidationError ? error.issues : undefined;
  const members = { detail: detail || undefined, errors, ...problem };
  return problemPage(exchange, status, members);
}

/** The message of an `HttpError`; of any other error a reference to the log. */
function messageOf(exchange: Exchange, error: Error): string {
  const isShown = error instanceof HttpError || isFromProgram(exchange) ||
    seesDetails(exchange);
  if (!isShown) return `Reference: ${exchange.id}`;
  return error.message && error.message.split("\n", 1)[0]!;
}

/** A text that ends a request with an error status: the detail for JSON clients, else the whole body. */
export function messagePage(
  exchange: Exchange,
  status: number,
  text: string,
): Content {
  return prefersJson(exchange)
    ? problemPage(exchange, status, { detail: text || undefined })
    : { status, text, headers: varyHeaders(exchange) };
}

function problemPage(
  exchange: Exchange,
  status: number,
  problem: Readonly<Record<string, unknown>>,
): Content {
  const title = STATUS_TEXT[status as StatusCode] ?? "Error";
  const detail = problem.detail === title ? undefined : problem.detail;
  const members = { type: "about:blank", title, ...problem, status, detail };
  return {
    status,
    type: "application/problem+json",
    text: encoded(members),
    headers: varyHeaders(exchange),
  };
}

function htmlPage(
  exchange: Exchange,
  status: number,
  detail: string,
  details: string,
): Content {
  const title = STATUS_TEXT[status as StatusCode] ?? "Error";
  const paragraph = detail === "" || detail === title
    ? ""
    : `<p>${escape(detail)}</p>\n`;
  // A page without a style suits every Content-Security-Policy.
  const text = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${status} ${title}</title>
<main>
<h1>${status} ${title}</h1>
${paragraph}${details}</main>
</body>
</html>
`;
  return { status, type: HTML, text, headers: varyHeaders(exchange) };
}

const VARY = { vary: "Accept" };

/** Caches must keep the formats apart that a client chooses. */
function varyHeaders({ reply, settings }: Exchange): Record<string, string> {
  if (settings["framework.error_format"] !== "auto") return {};
  if (reply.headers === undefined) return VARY;
  return { vary: varyBy("Accept", reply.header("vary")) };
}

// The log: the page hides what the operator needs

/** Keeps an error that has got a page until the status of the response is known. */
export function noteError(exchange: Exchange, error: Error): void {
  const errors = exchange.errors ??= [];
  if (!errors.includes(error)) errors.push(error);
}

/** Logs the errors of a response of status 500 or above. The program's own requests have got the message. */
export function logErrors(exchange: Exchange, status: number): void {
  const errors = exchange.errors ?? [];
  exchange.errors = undefined;
  if (status < 500 || !logsAll(exchange) && isFromProgram(exchange)) return;
  for (const error of errors) {
    const isLogged = exchange.settings["framework.debug"] ||
      !isOfLeaving(error, exchange);
    if (isLogged) logError(exchange, error);
  }
}

/** Logs an error in one line, or whole where a setting asks for that. */
export function logError(exchange: Exchange, error: Error): void {
  const text = logsAll(exchange) ? errorText(error) : errorLine(error);
  report(`${exchange.label} ${text}`);
}

function logsAll({ settings }: Exchange): boolean {
  return settings["framework.log_errors"] || settings["framework.debug"];
}
