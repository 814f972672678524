/**
 * Owns what answers a request: the default `stop`, `halt`, `redirect`, `json`, `jsonp`, `notFound` and
 * `error`, and what becomes of the value that a callback returns.
 */

import type { Application } from "../application/application.ts";
import {
  checkStatus,
  HttpError,
  reportError,
  throwStop,
  toError,
} from "../errors.ts";
import { checkHeader } from "../response/header.ts";
import { encodeJson, escapeJson } from "../response/json.ts";
import { locationOf, originOf } from "../response/location.ts";
import { Markup } from "../html.ts";
import { page } from "./pages.ts";
import type { BodyContent, HttpResponse } from "../response/response.ts";
import { outside, type Scope } from "../state/scope.ts";
import { masked } from "./secrets.ts";

/** The name of a JavaScript function, such as `go` or `app.go`. */
const FUNCTION_NAME =
  /^[\p{ID_Start}$_][\p{ID_Continue}$]*(?:\.[\p{ID_Start}$_][\p{ID_Continue}$]*)*$/u;

/** Sends what a callback returned; incidental values, such as an object's own chain, are no answer. */
export function answer(
  app: Application,
  outcome: unknown,
  scope?: Scope,
): unknown {
  if (typeof outcome === "string") {
    return void app.response(scope).write(outcome);
  }
  if (typeof outcome !== "object" || outcome === null) return;
  if (outcome instanceof Response) return app.response().send(outcome);
  if (outcome instanceof Markup) return void app.response().write(outcome);
  if (isPlain(outcome)) return app.call("json", outcome);
  if (isContent(outcome)) return void app.response().body(outcome);
  if (Symbol.asyncIterator in outcome) {
    const stream = ReadableStream.from(outcome as AsyncIterable<unknown>);
    return void app.response().body(stream);
  }
}

/** Ends the request with what there is. */
export function stop(app: Application, code?: number): never {
  const response = app.response();
  if (code !== undefined) response.status(code);
  response.seal("stop()");
  throwStop();
}

/** Ends the request with a message in place of what there is. */
export function halt(app: Application, code = 200, message = ""): never {
  app.response().respond("halt()", { status: code, text: String(message) });
  throwStop();
}

/** Answers with a redirect in place of what there is. */
export function redirect(app: Application, url: string, code = 303): void {
  checkStatus("redirect", code, 300, 399);
  const origin = originOf(app.setting("framework.base_url"));
  const location = locationOf(url, app.base(), origin);
  app.response().respond("redirect()", { status: code, headers: { location } });
}

/** Answers with JSON in place of what there is. */
export function json(
  app: Application,
  data: unknown,
  code?: number,
  encode = true,
  charset = "utf8",
  option = 0,
): void {
  const text = jsonText(data, encode, charset, option);
  const type = typeIn(charset, "application/json");
  app.response().respond("json()", { status: code, text, type });
}

/** Answers with JSON inside a call of the function that the query names. */
export function jsonp(
  app: Application,
  data: unknown,
  param = "jsonp",
  code?: number,
  encode = true,
  charset = "utf8",
  option = 0,
): void {
  const callback = app.request().query[param];
  if (
    typeof callback !== "string" || callback.length > 128 ||
    !FUNCTION_NAME.test(callback)
  ) {
    throw new HttpError(
      400,
      `The query parameter "${param}" must name a JavaScript function`,
    );
  }
  // Neither a line nor the script element around it may end inside the text.
  const text = escapeJson(
    jsonText(data, encode, charset, option),
    /[<\u2028\u2029]/g,
  );
  app.response().respond("jsonp()", {
    status: code,
    text: `${callback}(${text});`,
    type: typeIn(charset, "application/javascript"),
    headers: { "x-content-type-options": "nosniff" },
  });
}

/** Answers with the page of what is not found. */
export function notFound(app: Application): unknown {
  return showPage(app, "notFound()", undefined);
}

/** Answers with the page of an error. */
export function error(app: Application, thrown: unknown): unknown {
  const failure = toError(thrown);
  // Called by a mapped `error`, it was logged before that ran.
  const isOriginal = app.scope("error()").component("error()") !== undefined;
  if (!isOriginal) logError(app, failure);
  return showPage(app, "error()", failure);
}

/** Answers with the page of an error in its simplest form, for when `error` itself has failed. */
export function plainError(app: Application, failure: Error): void {
  showPage(app, "error()", failure, false);
}

/** Logs an error where `framework.log_errors` asks for it. */
export function logError(app: Application, failure: Error): void {
  if (!app.setting("framework.log_errors")) return;
  const { method, path } = app.scope("error()").visit.target;
  reportError(failure, `while handling ${method} ${path}`);
}

/** The status that an error is answered with, or without one what is not found. */
export function statusOf(failure: Error | undefined): number {
  if (failure === undefined) return 404;
  return failure instanceof HttpError ? failure.status : 500;
}

/** Adds the headers of an error to the response that shows it, such as `Allow` or `Retry-After`. */
export function addHeaders(response: HttpResponse, failure: unknown): void {
  if (!(failure instanceof HttpError)) return;
  for (const name of failure.headers.keys()) {
    const value = name === "set-cookie"
      ? failure.headers.getSetCookie()
      : failure.headers.get(name);
    response.header(name, value);
  }
}

/**
 * Shows the default page of an error, or without one of what is not found, in place of the response:
 * the status and the first line of the message, nothing else of the error. Under debug the page is
 * finished later, with what only a developer may see; the response is sealed at once.
 */
function showPage(
  app: Application,
  by: string,
  failure: Error | undefined,
  debug = app.setting("framework.debug"),
): unknown {
  const status = statusOf(failure);
  const [said = ""] = failure?.message.split("\n", 1) ?? [];
  // What an `HttpError` says is meant for the client.
  const message = failure instanceof HttpError ? said : masked(said);
  const { request } = app.scope(by).visit;
  const response = app.response().replace(by, status);
  if (response === undefined) return;
  addHeaders(response, failure);
  if (!debug) return show("");
  // Loaded inside the request, a module would leave its context behind in the runtime.
  return outside(() => import("./debug.ts"))
    .then(({ debugDetails }) => show(debugDetails(app, failure)));

  function show(details: string): void {
    const { type, text } = page(request, status, message, details);
    const vary = response!.header("vary");
    response!.respond(by, {
      status,
      text,
      type,
      headers: { vary: vary === null ? "Accept" : `${vary}, Accept` },
    });
  }
}

function jsonText(
  data: unknown,
  encode: boolean,
  charset: string,
  indentation: number,
): string {
  if (!encode && typeof data !== "string") {
    const got = Deno.inspect(data, { depth: 0 });
    throw new TypeError(
      `Cannot send JSON that is not to be encoded: it must be text, got ${got}`,
    );
  }
  const text = encode ? encodeJson(data, indentation) : String(data);
  // The body is UTF-8 whatever the header says; nearly every charset agrees with it on ASCII.
  return isUtf8(charset) ? text : escapeJson(text, /[\u0080-\uffff]/g);
}

/** A media type with its charset. Throws `TypeError` when no header can carry it. */
function typeIn(charset: string, type: string): string {
  if (isUtf8(charset)) return `${type}; charset=utf-8`;
  const named = `${type}; charset=${charset}`;
  checkHeader("content-type", named);
  return named;
}

function isUtf8(charset: string): boolean {
  return charset === "utf8" || /^utf-?8$/i.test(charset);
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ||
    Array.isArray(value);
}

function isContent(value: object): value is Exclude<BodyContent, string> {
  return value instanceof ReadableStream || value instanceof Blob ||
    value instanceof ArrayBuffer || ArrayBuffer.isView(value);
}
