/**
 * Owns what becomes of the value that a callback returns, and the methods that make a whole response of
 * their parameters: the default `stop`, `halt`, `redirect`, `json` and `jsonp`.
 */

import type { Application } from "../application/application.ts";
import { FORM } from "../application/names.ts";
import { checkStatus, HttpError, throwStop } from "../errors.ts";
import { Markup } from "../html.ts";
import { HttpRequest } from "../request/request.ts";
import { checkHeader } from "../response/header.ts";
import { encodeJson, escapeJson } from "../response/json.ts";
import { locationOf, originOf } from "../response/location.ts";
import { keepOutcome, type Outcome } from "../response/outcome.ts";
import { HttpResponse } from "../response/response.ts";
import { type BodyContent, streamOf } from "../response/stream.ts";
import { Route } from "../routing/route.ts";
import { type Match, Router } from "../routing/router.ts";
import { currentOrThrow, type Scope } from "../state/scope.ts";
import { View } from "../view/view.ts";

/** The name of a JavaScript function, such as `go` or `app.go`. */
const FUNCTION_NAME =
  /^[\p{ID_Start}$_][\p{ID_Continue}$]*(?:\.[\p{ID_Start}$_][\p{ID_Continue}$]*)*$/u;

const USUAL_TYPE = "application/json; charset=utf-8";

/** The framework's own objects: what a chain of calls ends with is no content. */
const OWN = [HttpResponse, HttpRequest, Router, Route, View] as const;

/** Makes the response of what a callback returned. Throws `TypeError` for what cannot be sent. */
export function respondWith(
  app: Application,
  returned: unknown,
  scope?: Scope,
  match?: Match,
): unknown {
  if (typeof returned === "string") {
    return void app.response(scope).write(returned);
  }
  if (returned === undefined || returned === null) return;
  if (typeof returned === "object" && isPlain(returned)) {
    return app.registry.call("json", [returned], scope);
  }
  if (typeof returned === "boolean" || FORM in Object(returned)) return;
  if (typeof returned !== "object") throw unsendable(returned, match);
  if (returned instanceof Response) return app.response(scope).send(returned);
  if (returned instanceof Markup) {
    return void app.response(scope).write(returned);
  }
  if (OWN.some((type) => returned instanceof type)) return;
  if (isContent(returned)) return void app.response(scope).body(returned);
  if (Symbol.asyncIterator in returned) {
    const stream = streamOf(returned as AsyncIterable<unknown>);
    return void app.response(scope).body(stream);
  }
  if (!hasJson(returned)) throw unsendable(returned, match);
  return app.call("json", returned);
}

/** Ends the request with what there is. */
export function stop(app: Application, code?: number): never {
  const response = app.response(app.scope("stop()"));
  if (code !== undefined) response.status(code);
  response.seal("stop()");
  throwStop();
}

/** Ends the request with a message in place of what there is. */
export function halt(app: Application, code = 200, message = ""): never {
  const scope = app.scope("halt()");
  respond(app, scope, "halt()", { status: code, text: String(message) });
  throwStop();
}

/** Responds with a redirect in place of what there is. */
export function redirect(app: Application, url: string, code = 303): void {
  const response = app.response(app.scope("redirect()"));
  checkStatus("redirect", code, 300, 399);
  const origin = originOf(app.setting("framework.base_url"));
  const location = locationOf(url, app.base(), origin);
  response.respond("redirect()", { status: code, headers: { location } });
}

/** Responds with JSON in place of what there is. */
export function json(
  app: Application,
  data: unknown,
  code?: number,
  encode = true,
  charset = "utf8",
  option = 0,
): void {
  const scope = currentOrThrow(app.owner, "json()");
  const isUsual = encode && charset === "utf8";
  const text = isUsual
    ? encodeJson(data, option)
    : jsonText(data, encode, charset, option);
  const type = isUsual ? USUAL_TYPE : typeIn(charset, "application/json");
  respond(app, scope, "json()", { status: code, text, type });
}

/** Responds with JSON inside a call of the function that the query names. */
export function jsonp(
  app: Application,
  data: unknown,
  param = "jsonp",
  code?: number,
  encode = true,
  charset = "utf8",
  option = 0,
): void {
  const response = app.response(app.scope("jsonp()"));
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
  response.respond("jsonp()", {
    status: code,
    text: `${callback}(${text});`,
    type: typeIn(charset, "application/javascript"),
    headers: { "x-content-type-options": "nosniff" },
  });
}

/** Responds with an outcome and seals the response, of which most requests need no object. */
export function respond(
  app: Application,
  scope: Scope,
  by: string,
  outcome: Outcome,
): void {
  if (!keepOutcome(scope, by, outcome)) {
    app.response(scope).respond(by, outcome);
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

/** Whether JSON can carry an object: of errors, maps, sets and generators it would show nothing. */
function hasJson(value: object): boolean {
  return "toJSON" in value && typeof value.toJSON === "function" ||
    !(value instanceof Error) && !(Symbol.iterator in value);
}

function unsendable(value: unknown, match?: Match): TypeError {
  const shown = Deno.inspect(value, { depth: 0, strAbbreviateSize: 100 });
  const by = match
    ? `the route "${match.route.methods.join("|")} ${match.route.pattern}"`
    : "a callback";
  return new TypeError(
    `Cannot send what ${by} returned: ${shown} is neither text, bytes, a stream, a Response nor a value that JSON can carry`,
  );
}
