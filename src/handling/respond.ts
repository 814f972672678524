/**
 * Owns making a response of the value that a callback returns, and the default `stop`, `halt` and
 * `redirect`.
 */

import type { Application } from "../application/application.ts";
import type { Context, Exchange } from "../application/exchange.ts";
import { isFrameworkObject } from "../framework_object.ts";
import { checkStatus, throwStop, wrongKind } from "../errors.ts";
import { Markup } from "../html.ts";
import { isPlainRecord } from "../plain_record.ts";
import { locationOf } from "../response/location.ts";
import { type BodyContent, discard, streamOf } from "../response/stream.ts";
import { type Match, routeName } from "../routing/match.ts";
import { run, type Steps, type Waiting, waitingFor } from "../steps.ts";
import { messagePage } from "./default_page.ts";
import { hasJson } from "./json.ts";
import { settle } from "./unawaited.ts";

/**
 * Sends what code of the application returned, once the calls end that it did not await: the error of one is the response.
 * Text does not wait: it seals nothing, and the request waits for them before its end.
 */
export function sendReturned(
  context: Context,
  returned: unknown,
  match?: Match,
): Waiting {
  const { exchange: { pending }, reply } = context;
  const mustWait = pending?.isUnsettled && !reply.isSealed &&
    ["json", "body"].includes(kindOfResult(returned));
  return mustWait
    ? run(sendSettled(context, returned, match))
    : respondWith(context, returned, match);
}

function* sendSettled(
  context: Context,
  returned: unknown,
  match?: Match,
): Steps<undefined> {
  const { exchange, scope } = context; // a call of another scope may wait for this one
  try {
    yield settle(exchange, scope);
  } catch (thrown) {
    discardReturned(returned);
    throw thrown;
  }
  checkInTime(exchange, returned);
  yield respondWith(context, returned, match);
  return undefined;
}

/**
 * Makes a response of what code returned, at once; `sendReturned` waits for its calls before. Throws `TypeError` for a
 * value that cannot be sent. Code that calls this runs in the context: the method `json` writes to the current one.
 */
export function respondWith(
  context: Context,
  returned: unknown,
  match?: Match,
): Waiting {
  const { reply, section } = context;
  switch (kindOfResult(returned)) {
    case "text":
      return void reply.write(String(returned), section);
    case "json":
      return sendJson(context, returned);
    case "body":
      return void reply.setBody(bodyOf(returned));
    case "unsendable":
      throw unsendable(returned, match);
  }
}

/** What a value is that code returns as a response: nothing that is sent, text, what JSON represents, or a body. */
export function kindOfResult(
  value: unknown,
): "nothing" | "text" | "json" | "body" | "unsendable" {
  if (typeof value === "string" || value instanceof Markup) return "text";
  // `true` means passing on; `false` and the application itself are what an expression body such as
  // `() => list.delete(id)` or `() => app` happens to return.
  if (
    value === undefined || value === null || typeof value === "boolean" ||
    isFrameworkObject(value)
  ) return "nothing";
  if (typeof value !== "object") return "unsendable";
  const isStream = Symbol.asyncIterator in value;
  const isPlain = isPlainRecord(value) || Array.isArray(value);
  if (isPlain && !isStream) return "json"; // the most frequent ones come first
  if (isStream || isWebContent(value)) return "body";
  return hasJson(value) ? "json" : "unsendable";
}

/** Whether `respondWith` makes a response of a value. */
export function isResponse(value: unknown): boolean {
  const kind = kindOfResult(value);
  return kind !== "nothing" && kind !== "unsendable";
}

/**
 * Calls the method `json`. A mapped one may be asynchronous, and gets the status that was set: it may have a default.
 */
function sendJson(context: Context, data: unknown): Waiting {
  const { exchange: { app }, reply: { status } } = context;
  const hasStatus = status !== 200 && app.isMapped("json", context);
  const params = hasStatus ? [data, status] : [data];
  return waitingFor(app.call("json", params, context));
}

/** Ends the request with the content so far. */
export function stop(app: Application, code?: number): never {
  const { reply, section } = app.context("stop()");
  if (code !== undefined) reply.setStatus(code);
  reply.seal("stop()", section); // `halt` drops the body, and its sections with it
  throwStop();
}

/**
 * Ends the request with a message instead of the content so far; from status 400 on, in the format that the client
 * prefers.
 */
export function halt(app: Application, code = 200, message = ""): never {
  const { exchange, reply } = app.context("halt()");
  const text = String(message);
  const init = code >= 400
    ? messagePage(exchange, code, text, reply.header("vary"))
    : { status: code, text };
  reply.respond("halt()", init);
  throwStop();
}

/** Responds with a redirect instead of the content so far. */
export function redirect(app: Application, url: string, code = 303): void {
  const { exchange, reply } = app.context("redirect()");
  checkStatus("redirect", code, 300, 399);
  const { base, origin } = exchange;
  const headers = { location: locationOf(url, base, origin) };
  reply.respond("redirect()", { status: code, headers });
}

function isWebContent(value: unknown): value is BodyContent | Response {
  // A list of these classes would have the runtime load all of them at the start.
  return value instanceof Response || value instanceof Blob ||
    value instanceof ReadableStream || value instanceof ArrayBuffer ||
    ArrayBuffer.isView(value);
}

/** The body that a value of that kind is. */
function bodyOf(value: unknown): BodyContent | Response {
  return isWebContent(value)
    ? value
    : streamOf(value as AsyncIterable<unknown>);
}

/** Throws once the request is over: what its code has returned by then is not sent. */
export function checkInTime(exchange: Exchange, returned: unknown): void {
  if (exchange.isOver) discardReturned(returned);
  exchange.checkNotOver();
}

/** Cancels the stream that a callback returned, if any, where something else is sent. */
export function discardReturned(returned: unknown): void {
  if (kindOfResult(returned) === "body") discard(bodyOf(returned));
}

function unsendable(value: unknown, match?: Match): TypeError {
  const by = match ? routeName(match) : "a callback";
  const rule =
    "it must be text, bytes, a stream, a Response, or an object or a list that JSON can represent";
  return wrongKind(`send what ${by} returned`, rule, value);
}
