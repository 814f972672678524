/**
 * Owns receiving a request's body: for which route it is read, within which limit, and the method that a form
 * may ask for. How it is read is in `request/body.ts`.
 *
 * A body is checked more than once, because each route may have a limit of its own, and may pass:
 *
 * 1. `receive` reads it before `start`, within the largest limit of the routes that match and are not streamed
 *    (`largestLimit`). For a form that may ask for another method, those of the other methods count, too, until its
 *    method is known.
 * 2. `receiveFor` checks, before each callback, that what was read is within the limit of that one route (`limitOf`). A
 *    body that is still unread is read now: a streamed route has passed, or a filter of `start` has declared this one.
 * 3. For a streamed route, `checkStream` checks the declared length, and `HttpRequest.raw` counts what arrives.
 */

import type { Exchange } from "../application/exchange.ts";
import { type HttpRequest, ownRequest } from "../application/http_request.ts";
import { isRefusal, toError } from "../errors.ts";
import { OVERRIDES } from "../methods.ts";
import { checkLength, kindOf, readBody, tooLarge } from "../request/body.ts";
import type { Declaration } from "../routing/route.ts";
import type { Match } from "../routing/match.ts";
import { headerOf } from "../runtime.ts";
import type { Waiting } from "../steps.ts";
import { hasRoute, search, searchNext, takeMethod } from "./search.ts";

/**
 * Reads the body before `start`, where a route takes it whole: filters of `start` and middleware run once it has
 * arrived. Then a POST gets the method that its form asks for, whose route is then searched. Returns what to await, if
 * anything.
 */
export function receive(
  exchange: Exchange,
  match: Match | undefined,
): Waiting {
  if (!exchange.hasUnreadBody) return undefined; // the caller of `fetch` has read it
  const isForm = mayOverride(exchange);
  if (match?.declaration.takesStream) {
    const mayBeForAnother = isForm && hasOverride(exchange, match);
    if (!mayBeForAnother) return void checkStream(exchange, match.declaration);
  }
  if (isForm) return receiveForm(exchange, match);
  return match && read(exchange, largestLimit(exchange, match));
}

/** Reads a form within the largest limit of the routes that may be called, and takes the method it asks for. */
async function receiveForm(
  exchange: Exchange,
  match: Match | undefined,
): Promise<void> {
  if (!match && !hasRoute(exchange)) return;
  const others = OVERRIDES.map((method) => search(exchange, method));
  const limits = [match, ...others]
    .filter((each) => each !== undefined)
    .map((each) => largestLimit(exchange, each));
  if (limits.length === 0) limits.push(largestLimit(exchange));
  await read(exchange, Math.max(...limits));
  // Not by `request()`, which code of the application may still replace.
  const method = methodOverride(ownRequest(exchange));
  const taken = method ? takeMethod(exchange, method) : match;
  const limit = taken?.declaration.takesStream
    ? taken.declaration.bodyLimit
    : largestLimit(exchange, taken);
  checkRead(exchange, limit);
}

/** Whether a form may ask for another route than the streamed one, if that takes everything below, such as a mount. */
function hasOverride(exchange: Exchange, { declaration }: Match): boolean {
  return declaration.pattern.endsInStar &&
    OVERRIDES.some((method) =>
      search(exchange, method)?.declaration.takesStream === false
    );
}

/**
 * Receives the body for a route that is about to be called: reads it when that was not done for an earlier one,
 * and throws {@linkcode HttpError} 413 when it is too large for this one. Returns what to await, if anything.
 */
export function receiveFor(
  exchange: Exchange,
  match: Match,
): Waiting {
  const { declaration } = match;
  if (exchange.body !== undefined) {
    checkRead(exchange, limitOf(exchange, declaration));
  }
  if (!exchange.hasUnreadBody) return undefined;
  if (!declaration.takesStream) {
    return read(exchange, largestLimit(exchange, match))
      .then(() => checkRead(exchange, limitOf(exchange, declaration)));
  }
  return void checkStream(exchange, declaration);
}

function checkRead({ body }: Exchange, limit = Infinity): void {
  if (body!.length > limit) throw tooLarge(limit);
}

/** Refuses a stream whose declared length is above the route's own limit. */
function checkStream(exchange: Exchange, { bodyLimit }: Declaration): void {
  if (bodyLimit === undefined) return;
  try {
    checkLength(exchange.raw, bodyLimit);
  } catch (error) {
    throw refused(exchange, error);
  }
}

async function read(exchange: Exchange, limit: number): Promise<void> {
  const { nesting, plan: { settings }, raw } = exchange;
  const isDraining = (): boolean =>
    nesting.some(({ app }) => app.unfinished.isDraining);
  const seconds = settings["framework.body_timeout"];
  try {
    exchange.body = await readBody(raw, limit, seconds, isDraining);
  } catch (error) {
    throw refused(exchange, error);
  }
}

/** Leaves a body that was refused, or has failed, empty: its page may ask for it, and no drain waits for it. */
function refused(exchange: Exchange, error: unknown): unknown {
  exchange.body = new Uint8Array();
  return error;
}

/**
 * The largest limit of the routes that match and read the body, since the first ones may pass; otherwise the setting.
 */
function largestLimit(exchange: Exchange, first?: Match): number {
  const limits: number[] = [];
  for (let match = first; match; match = searchNext(exchange, match)) {
    const { declaration } = match;
    const limit = declaration.takesStream
      ? undefined
      : limitOf(exchange, declaration);
    if (limit !== undefined) limits.push(limit);
  }
  return limits.length > 0
    ? Math.max(...limits)
    : exchange.plan.settings["framework.body_limit"];
}

/**
 * The limit of one route, by default the setting. A stream has none by default, nor has a route for everything below,
 * such as one that logs: it takes what the routes behind it take, whose limits it would undo.
 */
function limitOf(
  { plan }: Exchange,
  { bodyLimit, pattern, takesStream }: Declaration,
): number | undefined {
  const isUnlimited = takesStream || pattern.endsInStar;
  return bodyLimit ??
    (isUnlimited ? undefined : plan.settings["framework.body_limit"]);
}

/** Whether a request is a form whose field `_method` may replace its method. */
function mayOverride({ method, plan, raw }: Exchange): boolean {
  if (!plan.settings["framework.method_override"]) return false;
  const kind = kindOf(headerOf(raw, "content-type") ?? "");
  return method === "POST" && (kind === "form" || kind === "multipart");
}

/** The method that the field `_method` of a form asks for: one of `OVERRIDES`, otherwise "". */
function methodOverride(request: HttpRequest): string {
  try {
    const { _method } = request.data;
    const method = typeof _method === "string" ? _method.toUpperCase() : "";
    return OVERRIDES.includes(method) ? method : "";
  } catch (error) {
    if (!isRefusal(toError(error))) throw error;
    return ""; // a malformed form is an error only for the handler that reads it
  }
}
