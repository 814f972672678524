/**
 * Owns calling the routes: the method `start`, whose default calls the callback of the first route that matches between
 * its middleware, the next one when it passes, and `notFound` when none is left.
 */

import type { Context, Exchange } from "../application/exchange.ts";
import type { MappedMethod } from "../application/mapped_method.ts";
import { HttpError, isStop, refusal, toError, wrongKind } from "../errors.ts";
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
import { noteError } from "./pages.ts";
import { receiveFor } from "./receive.ts";
import { discardReturned, kindOf, sendReturned } from "./respond.ts";
import { settle } from "./unfinished.ts";

/** Calls the routes, by the method `start` where that is mapped or filtered. */
export function dispatch(exchange: Exchange): Waiting {
  const start = exchange.app.method("start", exchange.layer);
  return start === undefined || start.isUnchanged
    ? callRoutes(exchange.main)
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

async function callRoutesAfterFilters({ main }: Exchange): Promise<void> {
  if (await mayGoOn(main, 'the before("start") filters')) {
    await callRoutes(main);
  }
}

function callRoutes(context: Context): Waiting {
  const match = context.exchange.firstRoute();
  return match === undefined
    ? respondUnmatched(context)
    : callRoute(context, match);
}

/** Calls a route and sends what it returns; when that is `true`, calls the next route. */
function callRoute(context: Context, match: Match): Waiting {
  const { middleware } = match.route;
  if (context.exchange.hasBody || middleware.length > 0) {
    return callRouteLater(context, match);
  }
  const returned = match.call();
  if (typeof returned === "string") { // the most frequent one comes first
    return context.reply.write(returned, context.section);
  }
  return returned === true || isThenable(returned)
    ? follow(context, match, returned)
    : sendReturned(context, returned, match);
}

async function callRouteLater(context: Context, match: Match): Promise<void> {
  if (context.exchange.hasBody) await receiveFor(context.exchange, match);
  const passes = await callGuarded(context, match, match.params, 0);
  if (passes) await passOn(context, match);
}

async function follow(
  context: Context,
  match: Match,
  returned: unknown,
): Promise<void> {
  const value = await returned;
  if (value === true) await passOn(context, match);
  else await sendReturned(context, value, match);
}

async function passOn(context: Context, match: Match): Promise<void> {
  if (!await mayGoOn(context, routeName(match))) return;
  const next = context.exchange.nextRoute(match);
  await (next ? callRoute(context, next) : respondUnmatched(context));
}

/**
 * Calls a callback between its middleware from an index on. Returns whether the callback passes on. When a `before`
 * responds, the middleware inside of it and the callback are skipped.
 */
async function callGuarded(
  context: Context,
  match: Match,
  params: RouteParameters,
  index: number,
): Promise<boolean> {
  const middleware = match.route.middleware[index];
  if (middleware === undefined) {
    const returned = await match.call();
    if (returned !== true) await sendReturned(context, returned, match);
    return returned === true;
  }
  const hooks = hooksOf(middleware);
  let passes = false;
  if (await isAllowed(context, match, middleware, hooks, params)) {
    try {
      passes = await callGuarded(context, match, params, index + 1);
    } catch (thrown) {
      if (isStop(thrown) || hooks.error === undefined) throw thrown;
      await showByHook(context, thrown, () => hooks.error!(thrown, params));
    }
  }
  await hooks.after?.(params);
  return passes;
}

/**
 * Whether middleware lets the request go on. It fails closed: a value that is not recognized, a status of 400 or above
 * and a response each keep the request out.
 */
async function isAllowed(
  context: Context,
  match: Match,
  middleware: Middleware,
  hooks: MiddlewareHooks,
  params: RouteParameters,
): Promise<boolean> {
  const allowed = await hooks.before?.(params);
  const goesOn = await mayGoOn(context, nameOf(middleware));
  if (allowed instanceof Response || kindOf(allowed) === "text") {
    await sendReturned(context, allowed);
    return false;
  }
  if (!goesOn) {
    discardReturned(allowed);
    return false;
  }
  if (allowed === undefined || allowed === true || isFrameworkObject(allowed)) {
    return true;
  }
  if (allowed === false) {
    throw refusal(403, "You are not allowed to make this request");
  }
  discardReturned(allowed);
  throw wrongKind(
    `continue after ${nameOf(middleware)} of ${routeName(match)}`,
    "it must return nothing, true, false, text or a Response",
    allowed,
  );
}

/** Waits for the calls that code has not awaited. Returns false once it has responded, or set the status of an error. */
async function mayGoOn(context: Context, before: string): Promise<boolean> {
  const { exchange, reply } = context;
  if (exchange.pending !== undefined) await settle(context, before);
  return reply.status < 400 && !hasResponded(exchange);
}

/** Whether the response is certain. */
function hasResponded({ isOver, reply }: Exchange): boolean {
  return isOver || reply.isSealed;
}

/** Lets the `error` of middleware respond to what was thrown; rethrows when it does nothing. */
async function showByHook(
  context: Context,
  thrown: unknown,
  callHook: () => unknown,
): Promise<void> {
  const { exchange, reply } = context;
  const { isSealed } = reply;
  if (!isSealed) {
    reply.startPage(thrown instanceof HttpError ? thrown.status : 500);
  }
  await sendReturned(context, await callHook());
  if (exchange.pending !== undefined) await settle(context, "the error hook");
  if (isSealed || !reply.isSealed && reply.isEmpty) throw thrown;
  noteError(exchange, toError(thrown));
}

/** Responds with the methods of the path where its routes name others only, else by `notFound`. */
function respondUnmatched(context: Context): Waiting {
  const { exchange, reply } = context;
  const { app, method } = exchange;
  const named = new Set<string>();
  for (const { route } of exchange.allRoutes()) {
    for (const name of route.pattern.methods) named.add(name);
  }
  if (named.has("GET")) named.add("HEAD");
  if (named.size > 0 && !named.has(method)) {
    const methods = [...named.add("OPTIONS")].join(", ");
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
  return waitingFor(app.call("notFound", [], context));
}
