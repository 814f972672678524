/**
 * Owns what becomes of the value that a callback returns, and the methods that end a request: the default
 * `stop`, `halt` and `redirect`.
 */

import type { Application } from "../application/application.ts";
import { FORM } from "../application/names.ts";
import { checkStatus, throwStop } from "../errors.ts";
import { Markup } from "../html.ts";
import { HttpRequest } from "../request/request.ts";
import { locationOf, originOf } from "../response/location.ts";
import { HttpResponse } from "../response/response.ts";
import { type BodyContent, streamOf } from "../response/stream.ts";
import { Route } from "../routing/route.ts";
import { type Match, Router } from "../routing/router.ts";
import type { Scope } from "../state/scope.ts";
import { View } from "../view/view.ts";

const OWN = [HttpResponse, HttpRequest, Router, Route, View];

/** Makes the response of what a callback returned. Throws `TypeError` for what cannot be sent. */
export function respondWith(
  app: Application,
  returned: unknown,
  scope?: Scope,
  match?: Match,
): unknown {
  if (returned === undefined || returned === null) return;
  if (typeof returned === "string" || returned instanceof Markup) {
    return void app.response(scope).write(returned);
  }
  if (typeof returned === "object" && isPlain(returned)) {
    return app.call("json", [returned], scope);
  }
  if (typeof returned === "boolean" || isOwn(returned)) return;
  if (returned instanceof Response) return app.response(scope).send(returned);
  const content = contentOf(returned);
  if (content !== undefined) return void app.response(scope).body(content);
  if (!hasJson(returned)) throw unsendable(returned, match);
  return app.call("json", [returned]);
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
  app.respond(scope, "halt()", { status: code, text: String(message) });
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

/** Whether it is the framework's own: what a chain of calls ends with is no content. */
function isOwn(value: unknown): boolean {
  return FORM in Object(value) || OWN.some((type) => value instanceof type);
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ||
    Array.isArray(value);
}

/** Bytes or a stream, of what is either. */
function contentOf(value: unknown): BodyContent | undefined {
  if (
    value instanceof ReadableStream || value instanceof Blob ||
    value instanceof ArrayBuffer || ArrayBuffer.isView(value)
  ) return value as BodyContent;
  if (!(Symbol.asyncIterator in Object(value))) return undefined;
  return streamOf(value as AsyncIterable<unknown>);
}

/** Whether JSON can carry a value: of errors, maps, sets and generators it would show nothing. */
function hasJson(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
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
