/**
 * Owns running a mapped or filtered `send`, the method that every response passes last. Without either,
 * this step is left out.
 */

import type { Details } from "../application/debug_tools.ts";
import type { Exchange } from "../application/exchange.ts";
import type { MappedMethod } from "../application/mapped_method.ts";
import { isStop, toError, wrongKind } from "../errors.ts";
import { isSealedWithBody, PAGE_HEADERS } from "../response/header.ts";
import { copied, copyOf, mutable } from "../response/web_response.ts";
import { discard, valueOf } from "../response/stream.ts";
import type { Steps } from "../steps.ts";
import { seesDetails } from "./client.ts";
import { pageOf } from "./default_page.ts";
import { logError } from "./error_log.ts";
import { messageOf } from "./pages.ts";
import { discardReturned } from "./respond.ts";

/** The headers that describe how a response is transferred. */
const OF_TRANSFER =
  /^(?:transfer-encoding|connection|upgrade|sec-websocket-.*)$/;

/**
 * Runs a changed `send` in the request's context. When a filter or the method fails, the error is logged, and
 * what follows gets a 500 with the headers so far: filters further on still add theirs. That is why `MappedMethod` does
 * not run these filters: there, an error ends the chain, and what a filter leaves is not checked before the next one.
 */
export function* send(
  exchange: Exchange,
  { method, filters }: MappedMethod,
  response: Response,
): Steps<Response> {
  let current = mutable(response); // filters set headers on it
  const madeStream = valueOf(current) === undefined ? current.body : undefined;
  const earlier: Response[] = [response];
  const take = (next: Response): void => {
    if (next === current) return;
    earlier.push(current);
    current = next;
    exchange.context.reply.replaceMade(next); // which `response()` and the log tell of
  };
  const params: unknown[] = [current];
  const output: { value: unknown } = { value: undefined };
  for (const filter of filters.before) {
    try {
      const returned = yield filter(params, output);
      take(replaced(current, params[0]));
      params[0] = current;
      if (returned === false) break;
    } catch (thrown) {
      take(yield* failed(exchange, current, thrown));
      params[0] = current;
    }
  }
  try {
    take(replaced(current, yield method(...params)));
  } catch (thrown) {
    take(yield* failed(exchange, current, thrown));
  }
  for (const filter of filters.after) {
    output.value = current;
    try {
      const returned = yield filter(params, output);
      take(replaced(current, output.value));
      if (returned === false) break;
    } catch (thrown) {
      take(yield* failed(exchange, current, thrown));
    }
  }
  // A stream that a filter has put in its place may still read it, but a text or nothing does not.
  const value = valueOf(current);
  const isStream = value === undefined && current.body !== null;
  if (!isStream) earlier.forEach(discard);
  const isNewStream = isStream && current.body !== madeStream;
  const isOfHead = exchange.isHead && value !== undefined;
  if (isNewStream || isOfHead) {
    // The last one alone: a stream that is bound holds the request, and nobody reads one that was replaced.
    take(mutable(copyOf(current, undefined, exchange)));
  }
  return current;
}

/** The response that a filter or the method leaves; of another one a copy. Throws `TypeError` when it cannot be sent. */
function replaced(before: Response, sent: unknown): Response {
  if (!(sent instanceof Response) || sent.bodyUsed || isLocked(sent)) {
    discardReturned(sent);
    const rule =
      '"send" must return a web Response whose body has not been read';
    throw wrongKind("send the response", rule, sent);
  }
  return sent === before ? before : copied(sent);
}

/** Whether code reads the body. A text has no stream that could be read, unless code has asked for it. */
function isLocked(response: Response): boolean {
  return valueOf(response) === undefined && response.body?.locked === true;
}

/**
 * Logs an error, and returns a plain 500 with the headers so far; under debug, the page of the error. It is too
 * late for `halt()`: nothing changes then.
 */
function* failed(
  exchange: Exchange,
  before: Response,
  thrown: unknown,
): Steps<Response> {
  if (isStop(thrown)) return before;
  const error = toError(thrown);
  logError(exchange, error);
  discard(before);
  const headers = new Headers(
    [...before.headers].filter(([name]) =>
      !isSealedWithBody(name) && !PAGE_HEADERS.includes(name) &&
      !OF_TRANSFER.test(name)
    ),
  );
  if (!seesDetails(exchange)) {
    const text = exchange.isHead ? null : "Internal Server Error";
    return new Response(text, { status: 500, headers });
  }
  const details = (yield exchange.plan.loadDebug()
    .then((debug) => debug.detailsOf(exchange, 500, error))) as Details;
  const problem = { ...details.problem, detail: messageOf(exchange, error) };
  const vary = headers.get("vary");
  const page = pageOf(exchange, 500, vary, problem, details.html);
  const described = { "content-type": page.type, ...page.headers };
  for (const [name, value] of Object.entries(described)) {
    headers.set(name, value);
  }
  return new Response(exchange.isHead ? null : page.text, {
    status: 500,
    headers,
  });
}
