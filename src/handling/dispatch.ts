/**
 * Owns calling the routes: the method `start`, whose default calls the callback of the first route that matches between
 * its middleware, the next one when it passes, and `notFound` when none is left.
 */

import type { Context, Exchange } from "../application/exchange.ts";
import type { MappedMethod } from "../application/mapped_method.ts";
import { isStop, refusal, toError, wrongKind } from "../errors.ts";
import { isFrameworkObject } from "../extension_keys.ts";
import {
  hooksOf,
  type Middleware,
  type MiddlewareHooks,
  nameOf,
  type RouteParameters,
} from "../routing/middleware.ts";
import { type Match, routeName } from "../routing/tree.ts";
import { isThenable, type Waiting, waitingFor } from "../waiting.ts";
import { noteError, startPage } from "./pages.ts";
import { receiveFor } from "./receive.ts";
import { discardReturned, kindOf, sendReturned } from "./respond.ts";
import { settle } from "./unfinished.ts";

/** Calls the routes, by the method `start` where that is mapped or filtered. */
export function dispatch(exchange: Exchange): Waiting {
  const start = exchange.app.method("start", exchange.layer);
  return start === undefined || start.isUnchanged
    ? callRoutes(exchange)
    : callStart(exchange, start);
}

async function callStart(
  exchange: Exchange,
  start: MappedMethod,
): Promise<void> {
  exchange.firstRoute(); // filters can ask for it
  const returned = await start.run([], exchange.main);
  await sendReturned(exchange.main, returned);
  await exchange.routesBegun; // a mapped `start` may not have awaited them
}

/** The default `start`. When a filter before it has responded, no route is called. */
export function start({ exchange }: Context): Promise<void> {
  return exchange.routesBegun = callRoutesAfterFilters(exchange);
}

async function callRoutesAfterFilters(exchange: Exchange): Promise<void> {
  await settle(exchange.main, 'the before("start") filters');
  const isRefused = takeOuterStatus(exchange) >= 400;
  if (!isRefused && !hasResponded(exchange)) await callRoutes(exchange);
}

function callRoutes(exchange: Exchange): Waiting {
  const match = exchange.firstRoute();
  return match === undefined
    ? respondUnmatched(exchange)
    : callRoute(exchange, match);
}

/** Calls a route and sends what it returns; when that is `true`, calls the next route. */
function callRoute(exchange: Exchange, match: Match): Waiting {
  const receiving = exchange.hasBody ? receiveFor(exchange, match) : undefined;
  if (receiving !== undefined) {
    return receiving.then(() => callReceived(exchange, match));
  }
  return callReceived(exchange, match);
}

/** Calls a route whose body, if any, was read. */
function callReceived(exchange: Exchange, match: Match): Waiting {
  const returned = match.route.middleware.length === 0
    ? match.call()
    : callGuarded(exchange, match, match.params, 0);
  if (returned === undefined) return undefined; // it has responded, perhaps
  if (typeof returned === "string") return exchange.reply.write(returned);
  return returned === true || isThenable(returned)
    ? follow(exchange, match, returned)
    : sendReturned(exchange.main, returned, match);
}

function follow(
  exchange: Exchange,
  match: Match,
  returned: unknown,
): Promise<void> {
  return Promise.resolve(returned).then((value) =>
    value === true
      ? passOn(exchange, match)
      : sendReturned(exchange.main, value, match)
  );
}

async function passOn(exchange: Exchange, match: Match): Promise<void> {
  await settle(exchange.main, routeName(match));
  if (hasResponded(exchange)) return;
  const next = exchange.nextRoute(match);
  await (next ? callRoute(exchange, next) : respondUnmatched(exchange));
}

/**
 * Calls a callback between its middleware from an index on. Returns `true` when it passes on. When a `before` responds,
 * the middleware inside of it and the callback are skipped.
 */
async function callGuarded(
  exchange: Exchange,
  match: Match,
  params: RouteParameters,
  index: number,
): Promise<true | undefined> {
  const middleware = match.route.middleware[index];
  if (middleware === undefined) {
    const returned = await match.call();
    if (returned === true) return true;
    await sendReturned(exchange.main, returned, match);
    return undefined;
  }
  const hooks = hooksOf(middleware);
  let passes: true | undefined;
  if (await isAllowed(exchange, match, middleware, hooks, params)) {
    try {
      passes = await callGuarded(exchange, match, params, index + 1);
    } catch (thrown) {
      if (isStop(thrown) || hooks.error === undefined) throw thrown;
      await showByHook(exchange, thrown, () => hooks.error!(thrown, params));
    }
  }
  await hooks.after?.(params);
  return passes;
}

/**
 * Whether middleware lets the request go on. It fails closed: a response, a status of 400 or above, and any value that is
 * not recognized keep the request out.
 */
async function isAllowed(
  exchange: Exchange,
  match: Match,
  middleware: Middleware,
  hooks: MiddlewareHooks,
  params: RouteParameters,
): Promise<boolean> {
  const { main, reply } = exchange;
  const status = takeOuterStatus(exchange);
  const allowed = await hooks.before?.(params);
  if (exchange.pending !== undefined) await settle(main, nameOf(middleware));
  if (allowed instanceof Response || kindOf(allowed) === "text") {
    await sendReturned(main, allowed);
    return false;
  }
  const isRefused = takeOuterStatus(exchange) >= 400 && reply.status !== status;
  if (allowed === false && !hasResponded(exchange)) {
    const message = "You are not allowed to make this request";
    throw refusal(isRefused ? reply.status : 403, message);
  }
  if (isRefused || hasResponded(exchange)) {
    discardReturned(allowed);
    return false;
  }
  if (allowed === undefined || allowed === true || isFrameworkObject(allowed)) {
    return true;
  }
  discardReturned(allowed);
  throw wrongKind(
    `continue after ${nameOf(middleware)} of ${routeName(match)}`,
    "it must return nothing, true, false, text or a Response",
    allowed,
  );
}

/** Whether the response is certain; where the application is mounted, also that of the one around it. */
function hasResponded({ isOver, mountedIn, reply }: Exchange): boolean {
  return isOver || reply.isSealed ||
    mountedIn !== undefined && hasResponded(mountedIn);
}

/** The status, which is that of the application around where it has set one of 400 or above for a mounted one. */
function takeOuterStatus({ mountedIn, reply }: Exchange): number {
  const outer = mountedIn === undefined ? 200 : takeOuterStatus(mountedIn);
  if (outer >= 400 && reply.status < 400) reply.setStatus(outer);
  return reply.status;
}

/** Lets the `error` of middleware respond to what was thrown; rethrows when it does nothing. */
async function showByHook(
  exchange: Exchange,
  thrown: unknown,
  callHook: () => unknown,
): Promise<void> {
  const { main, reply } = exchange;
  const { isSealed } = reply;
  if (!isSealed) startPage(reply, toError(thrown));
  await sendReturned(main, await callHook());
  await settle(main, "the error hook");
  if (isSealed || !reply.isSealed && reply.isEmpty) throw thrown;
  noteError(exchange, toError(thrown));
}

/** Responds with the methods of the path where its routes name others only, else by `notFound`. */
function respondUnmatched(exchange: Exchange): Waiting {
  const { app, main, method, reply } = exchange;
  const named = exchange.allRoutes()
    .flatMap(({ route }) => route.pattern.methods);
  if (named.includes("GET")) named.push("HEAD");
  if (named.length > 0 && !named.includes(method)) {
    const methods = [...new Set([...named, "OPTIONS"])].join(", ");
    const headers = { allow: methods };
    if (method === "OPTIONS") {
      reply.replace({ status: 204, headers });
      return reply.seal("the response to OPTIONS"), undefined;
    }
    if (exchange.settings["framework.method_not_allowed"]) {
      const message = `${method} is not allowed here; use ${methods}`;
      throw refusal(405, message, { headers });
    }
    reply.setHeader("allow", methods);
  }
  return waitingFor(app.call("notFound", [], main));
}
