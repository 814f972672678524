/** Owns making a response of what code returns, the methods that respond, and when they seal the response. */

import type { Context } from "../application/exchange.ts";
import type { MappedMethod, Rule } from "../application/mapped_method.ts";
import { checkStatus, isStop, throwStop, wrongKind } from "../errors.ts";
import { isFrameworkObject } from "../extension_keys.ts";
import { Markup } from "../html.ts";
import { JSON_UTF8 } from "../http.ts";
import { isPlainRecord } from "../options.ts";
import { baseOrigin } from "../paths.ts";
import { locationOf } from "../response/header.ts";
import { type BodyContent, discard, streamOf } from "../response/stream.ts";
import { type Match, routeName } from "../routing/tree.ts";
import { enter, track } from "../state/current.ts";
import { run, type Steps, type Waiting, waitingFor } from "../waiting.ts";
import { hasJson, SCRIPT } from "./json.ts";
import { settle } from "./unfinished.ts";

/** Sends what code returned, once the calls have ended that it did not await: one may fail, and be the response. */
export function sendReturned(
  context: Context,
  returned: unknown,
  match?: Match,
): Waiting {
  if (returned === undefined) return undefined;
  const { exchange, reply } = context;
  const isFinal = exchange.pending === undefined || reply.isSealed ||
    typeof returned !== "object";
  if (isFinal) return respondWith(context, returned, match);
  return settle(context).then(() => respondWith(context, returned, match));
}

/** Makes a response of a value. Throws `TypeError` for one that cannot be sent. */
function respondWith(
  context: Context,
  returned: unknown,
  match?: Match,
): Waiting {
  const { exchange, reply, section } = context;
  switch (kindOf(returned)) {
    case "text":
      return reply.write(sentText(returned), section);
    case "json": {
      const hasStatus = reply.status !== 200; // a mapped `json` may have a default of its own
      const params = hasStatus ? [returned, reply.status] : [returned];
      return waitingFor(exchange.app.call("json", params, context));
    }
    case "body":
      return reply.setContent(bodyOf(returned));
    case "unsendable": {
      const action = `send what ${
        match ? routeName(match) : "the code"
      } returned`;
      const rule = "it must be text, JSON data, bytes, a stream or a Response";
      throw wrongKind(action, rule, returned);
    }
  }
}

type Kind = "nothing" | "text" | "json" | "body" | "unsendable";

/** What a returned value is: nothing that is sent, text, what JSON represents, or a body. */
export function kindOf(value: unknown): Kind {
  if (typeof value === "string" || value instanceof Markup) return "text";
  // `true` means passing on; `false` and the application itself are what an expression body such as
  // `() => list.delete(id)` or `() => app` happens to return.
  if (
    value === undefined || value === null || typeof value === "boolean" ||
    isFrameworkObject(value)
  ) return "nothing";
  if (typeof value !== "object") return "unsendable";
  if (Array.isArray(value)) return isMarkupList(value) ? "text" : "json";
  const isStream = Symbol.asyncIterator in value;
  if (isPlainRecord(value) && !isStream) return "json"; // the most frequent one comes first
  if (isStream || isWebContent(value)) return "body";
  return hasJson(value) ? "json" : "unsendable";
}

function isMarkupList(value: readonly unknown[]): boolean {
  return value.length > 0 && value.every((item) => item instanceof Markup);
}

function sentText(value: unknown): string {
  return Array.isArray(value) ? value.join("") : String(value);
}

function isWebContent(value: unknown): value is BodyContent | Response {
  return value instanceof Response || value instanceof Blob ||
    value instanceof ReadableStream || value instanceof ArrayBuffer ||
    ArrayBuffer.isView(value);
}

function bodyOf(value: unknown): Exclude<BodyContent, string> | Response {
  return isWebContent(value)
    ? value as Exclude<BodyContent, string>
    : streamOf(value as AsyncIterable<unknown>);
}

/** Cancels a stream that code returned, where something else is sent. */
export function discardReturned(returned: unknown): void {
  if (kindOf(returned) === "body") discard(bodyOf(returned));
}

// The methods that respond: the response is sealed when they are done, and the first seal wins. A mapped or filtered one
// responds alone: it has a reply of its own, which is sent in place of the one so far.

/** The rule of `json`, `jsonp` and `redirect`: the calling code goes on. */
export const sealingRule: Rule = (context, method, params) => {
  const { exchange, reply } = context;
  const { name } = method;
  if (reply.isSealed) return exchange.debug?.ignored(reply, name);
  if (!method.isUnchanged) {
    return respondAlone(context.alone(name), method, params);
  }
  const returned = method.run(params, context);
  reply.seal(`${name}()`);
  exchange.debug?.sealed(reply);
  return returned;
};

/** The rule of `halt` and `stop`: the calling code does not go on. The request waits for an asynchronous one. */
export const endingRule: Rule = (context, method, params) => {
  const { exchange, reply } = context;
  const { name } = method;
  if (reply.isSealed) exchange.debug?.ignored(reply, name);
  if (reply.isSealed && name === "halt") throwStop();
  const ended = untilStop(() =>
    name === "halt" && !method.isUnchanged
      ? respondAlone(context.alone(name), method, params)
      : enter(
        method.isUnchanged ? context : context.inside(name),
        (own) => run(endBy(own, method, params)),
      )
  );
  if (ended instanceof Promise) track(name, ended);
  throwStop();
};

function* endBy(
  context: Context,
  method: MappedMethod,
  params: unknown[],
): Steps<void> {
  yield sendReturned(context, yield method.run(params, context));
  context.reply.seal(`${method.name}()`);
}

/** Does work, which the signal that ends a request ends as well as its own end does. */
function untilStop(work: () => unknown): unknown {
  const ignore = (thrown: unknown): void => {
    if (!isStop(thrown)) throw thrown;
  };
  try {
    const ended = work();
    return ended instanceof Promise ? ended.catch(ignore) : ended;
  } catch (thrown) {
    ignore(thrown);
  }
}

/** Runs a mapped or filtered method that responds, in a context of its own. */
export function respondAlone(
  own: Context,
  method: MappedMethod,
  params: unknown[],
): unknown {
  return enter(own, () => run(respondBy(own, method, params)));
}

/** The caller's reply is that of the method from now on. When the method fails, the caller may still respond. */
function* respondBy(
  own: Context,
  method: MappedMethod,
  params: unknown[],
): Steps<unknown> {
  const { reply, parent } = own;
  const by = `${method.name}()`;
  parent!.reply.claim(by);
  try {
    const returned = yield method.run(params, own);
    const kind = kindOf(returned);
    const isResponse = kind !== "nothing" && kind !== "unsendable";
    if (isResponse) {
      reply.clearBody();
      yield respondWith(own, returned);
    }
    const isPlainText = kind === "text" && !(returned instanceof Markup);
    if (isPlainText && !reply.isSealed) reply.type ??= TYPES[method.name];
    if (own.exchange.pending !== undefined) yield settle(own);
    parent!.reply.adopt(reply, by);
    return isResponse ? undefined : returned;
  } catch (thrown) {
    if (isStop(thrown)) parent!.reply.adopt(reply, by);
    else parent!.reply.reopen();
    throw thrown;
  }
}

/** The content types of text that a mapped method returns. */
const TYPES: Readonly<Record<string, string>> = {
  json: JSON_UTF8,
  jsonp: SCRIPT,
};

export function stop({ reply }: Context, code?: number): void {
  if (code !== undefined) reply.setStatus(code);
}

export function redirect(
  { exchange, reply }: Context,
  url: string,
  code = 303,
): void {
  checkStatus("redirect", code, 300, 399);
  const baseUrl = exchange.settings["framework.base_url"];
  const origin = baseUrl === null ? "" : baseOrigin(baseUrl);
  const location = locationOf(url, exchange.base, origin);
  reply.replace({ status: code, headers: { location } });
}
