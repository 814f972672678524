/**
 * Owns making a response of the value that a callback returns; the default `stop`, `halt` and `redirect`; and what
 * holds for methods that respond when they are mapped or filtered.
 */

import type { Application } from "../application/application.ts";
import type { Context } from "../application/exchange.ts";
import type { MappedMethod, Wrapper } from "../application/mapped_method.ts";
import { isFrameworkObject } from "../framework_object.ts";
import { checkStatus, isStop, throwStop, wrongKind } from "../errors.ts";
import { Markup } from "../html.ts";
import { JSON_UTF8 } from "../media_type.ts";
import { isPlainRecord } from "../plain_record.ts";
import { locationOf } from "../response/location.ts";
import type { Reply } from "../response/reply.ts";
import { type BodyContent, streamOf } from "../response/stream.ts";
import { type Match, routeName } from "../routing/match.ts";
import { enter } from "../state/current.ts";
import { Pending } from "../state/pending.ts";
import { run, type Steps, type Waiting, waitingFor } from "../steps.ts";
import { messagePage } from "./default_page.ts";
import { hasJson, SCRIPT } from "./json.ts";

/** Makes a response of what a callback returned. Throws `TypeError` for a value that cannot be sent. */
export function respondWith(
  context: Context,
  returned: unknown,
  match?: Match,
): Waiting {
  const { reply, section } = context;
  if (returned === undefined || returned === null) return;
  if (typeof returned === "string" || returned instanceof Markup) {
    return void reply.write(String(returned), section);
  }
  if (typeof returned === "object" && isListOrRecord(returned)) {
    return sendJson(context, returned);
  }
  // `true` means passing on; `false` and the application itself are what an expression body such as
  // `() => list.delete(id)` or `() => app` happens to return.
  if (typeof returned === "boolean" || isFrameworkObject(returned)) return;
  const content = bodyContentOf(returned);
  if (content !== undefined) return void reply.setBody(content);
  if (typeof returned !== "object" || !hasJson(returned)) {
    throw unsendable(returned, match);
  }
  return sendJson(context, returned);
}

/** Calls the method `json`: a mapped one may be asynchronous. */
function sendJson(context: Context, data: unknown): Waiting {
  return waitingFor(context.exchange.app.call("json", [data], context));
}

/** Ends the request with the content so far. */
export function stop(app: Application, code?: number): never {
  const { reply } = app.context("stop()");
  if (code !== undefined) reply.setStatus(code);
  reply.seal("stop()");
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

/**
 * Runs a mapped or filtered `halt` or `stop`, which the calling code never goes on after. It writes to a reply of its
 * own, since the one that the caller knows is sealed at once: an asynchronous method is waited for.
 */
export function ending(name: "halt" | "stop"): Wrapper {
  return (method, params, context) => {
    const { exchange, failure, reply, scope } = context;
    const copy = reply.openCopy(`${name}()`);
    if (copy === undefined) throwStop();
    const part = exchange.part(copy, undefined, failure, scope);
    let ended: Waiting | void;
    try {
      ended = enter(part, () => run(endBy(method, params, part)));
    } catch (thrown) {
      reply.dropCopy();
      throw thrown;
    }
    if (ended instanceof Promise) {
      const open = (): void => exchange.context.reply.reopen();
      (exchange.pending ??= new Pending()).end(ended, open);
    }
    throwStop();
  };
}

/** Ends a request by a method, which need not throw the signal. */
function* endBy(
  method: MappedMethod,
  params: unknown[],
  context: Context,
): Steps<void> {
  try {
    const { reply } = context;
    const { body } = reply;
    const returned = yield method.run(params, { isEnd: true });
    // What a method returns that has written the body is for nobody.
    const isFilled = reply.body !== body && !reply.isEmpty;
    if (!isFilled && isContent(returned)) yield respondWith(context, returned);
  } catch (thrown) {
    if (!isStop(thrown)) throw thrown;
  }
}

/**
 * Runs a mapped or filtered method that responds, such as `json`. What it has written or returned in place of the
 * default is the response all the same: no later code adds to it, and no guard lets pass.
 */
export function responding(name: "redirect" | "json" | "jsonp"): Wrapper {
  return (method, params, context) =>
    run(respondBy(name, method, params, context));
}

function* respondBy(
  name: string,
  method: MappedMethod,
  params: unknown[],
  context: Context,
): Steps<unknown> {
  const { reply } = context;
  const { body } = reply;
  const before = headOf(reply);
  const returned = yield method.run(params);
  if (reply.isSealed) return returned;
  // What a method returns that has written the body is for its caller.
  const isBody = reply.body === body && isContent(returned) &&
    (name !== "redirect" || isText(returned) || isBodyContent(returned));
  if (isBody) yield replaceBy(context, returned, name);
  const hasResponded = isBody || reply.body !== body ||
    headOf(reply) !== before;
  if (hasResponded && !reply.isSealed) reply.seal(`${name}()`);
  return isBody ? undefined : returned;
}

/** The status and the headers as one text. */
function headOf({ status, headers }: Reply): string {
  return JSON.stringify([status, ...headers ?? []]);
}

/** Whether a value is content of a response; numbers, booleans and nothing are for the caller of a method. */
function isContent(value: unknown): boolean {
  return typeof value === "string" ||
    typeof value === "object" && value !== null && !isFrameworkObject(value);
}

function isText(value: unknown): boolean {
  return typeof value === "string" || value instanceof Markup;
}

/** Responds with what a method has returned instead of the content so far. */
function replaceBy(
  context: Context,
  returned: unknown,
  name: string,
): Waiting {
  const { exchange: { app }, reply } = context;
  reply.clearBody();
  if (typeof returned !== "string") {
    return isText(returned) || isBodyContent(returned)
      ? respondWith(context, returned)
      : waitingFor(app.original("json")(returned)); // the mapped one has returned this
  }
  const hasType = name === "redirect" || reply.header("content-type") !== null;
  const type = name === "json" ? JSON_UTF8 : SCRIPT;
  reply.setBody(returned, hasType ? undefined : type);
}

/** Whether a value is a list or record, and no stream. */
function isListOrRecord(value: object): boolean {
  return (isPlainRecord(value) || Array.isArray(value)) &&
    !(Symbol.asyncIterator in value);
}

/** Whether a value is a body: a web response, bytes, or a stream. */
function isBodyContent(value: unknown): boolean {
  return isWebContent(value) || Symbol.asyncIterator in Object(value);
}

function isWebContent(value: unknown): value is BodyContent | Response {
  // A list of these classes would have the runtime load all of them at the start.
  return value instanceof Response || value instanceof Blob ||
    value instanceof ReadableStream || value instanceof ArrayBuffer ||
    ArrayBuffer.isView(value);
}

/** The body that a value is; undefined for any other value. */
function bodyContentOf(value: unknown): BodyContent | Response | undefined {
  if (isWebContent(value)) return value;
  if (!isBodyContent(value)) return undefined;
  return streamOf(value as AsyncIterable<unknown>);
}

function unsendable(value: unknown, match?: Match): TypeError {
  const by = match ? routeName(match) : "a callback";
  const rule =
    "it must be text, bytes, a stream, a Response, or an object or a list that JSON can represent";
  return wrongKind(`send what ${by} returned`, rule, value);
}
