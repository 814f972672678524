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
    return app.call("json", [returned], scope);
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
