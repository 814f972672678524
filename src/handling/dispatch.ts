/**
 * Owns dispatching a request: calling the method `start`, and what that does by default. It
 *
 * - finds the route,
 * - calls its callback between its middleware,
 * - passes on to the next route, when the callback returns true and has not responded,
 * - responds when no route matches.
 *
 * What a callback returns is sent by `respond.ts`. A mapped `start` may stop waiting for all this, such as after a
 * time-out, and respond by `halt()`: what goes on after a wait asks first whether the response is certain
 * (`hasResponded`), or whether the request is over (`checkNotOver`).
 */

import type { Application } from "../application/application.ts";
import type { Context, Exchange } from "../application/exchange.ts";
import type { Wrapper } from "../application/mapped_method.ts";
import { isFrameworkObject } from "../framework_object.ts";
import { isStop, refusal, wrongKind } from "../errors.ts";
import { enter } from "../state/current.ts";
import { hooksOf, type Middleware, nameOf } from "../routing/middleware.ts";
import { type Match, routeName } from "../routing/match.ts";
import {
  isThenable,
  run,
  type Steps,
  type Waiting,
  waitingFor,
} from "../steps.ts";
import { onMiddlewareError } from "./pages.ts";
import { receiveFor } from "./receive.ts";
import {
  checkInTime,
  discardReturned,
  isResponse,
  kindOfResult,
  respondWith,
  sendReturned,
} from "./respond.ts";
import { firstRoute, forgetMatch, methodsOfPath, nextRoute } from "./search.ts";
import { awaitCalls } from "./unawaited.ts";

/** Dispatches a request: by the method `start` where that is mapped or filtered, which by default calls the routes. */
export function dispatch({ context, plan }: Exchange): Waiting {
  const { debug, start } = plan;
  const call = start === undefined ? callRoutes : callStart;
  return debug === undefined ? call(context) : debug.timedStart(context, call);
}

/** Calls the method `start`, and sends what it returns like the result of a callback. */
function callStart(context: Context): Waiting {
  const { exchange } = context;
  firstRoute(exchange); // filters can ask for the route
  // Not by `app.call`, which would note it as a call of the request: guards inside of `start` would wait for `start`.
  const returned = exchange.plan.start?.call([], context);
  const isWaiting = isThenable(returned) || exchange.routesBegun !== undefined;
  return isWaiting
    ? run(endStart(context, returned))
    : sendReturned(context, returned);
}

/**
 * Waits for a mapped `start` and, unless that has responded or returned a response, for the routes that it has begun: it
 * may have forgotten to await the default one. What is written by then may be theirs.
 */
function* endStart(context: Context, started: unknown): Steps<undefined> {
  const { exchange } = context;
  const returned = yield started;
  yield sendReturned(context, returned);
  if (!hasResponded(context) && !isResponse(returned)) {
    yield exchange.routesBegun;
  }
  return undefined;
}

/**
 * Runs `start` with its filters: a response that one of them returns is an error, since nothing would send it, and the
 * calls that they did not await end first.
 */
export const startBehindFilters: Wrapper = {
  responds: false,
  run: (method, params, context) =>
    method.run(params, {
      check: checkFiltered,
      beforeMethod: () => awaitCalls(context, 'the before("start") filters'),
    }),
};

/** Of what such a filter returns, only `false` has a meaning: it skips the filters after it, but not `start`. */
function checkFiltered(returned: unknown): void {
  if (!isResponse(returned)) return;
  discardReturned(returned);
  const rule =
    "it must not return a response (call halt() or redirect() instead)";
  throw wrongKind('continue after a before("start") filter', rule, returned);
}

/**
 * The default `start`. When a filter before it has responded, no route is called. A mapped `start` may wait for the
 * routes in a call of its own, such as one with a time-out: the routes get another scope, so that they do not wait for
 * that call.
 */
export function start(app: Application): Waiting {
  const context = app.context("start()");
  const { exchange, section } = context;
  if (hasResponded(context)) return undefined;
  // With filters alone, this is the only call. A mapped one, also for this request alone, may make several.
  if (exchange.plan.start?.isDefault) return callRoutes(context);
  forgetMatch(exchange);
  exchange.pending?.takeFailure(); // of code that has called the routes all the same
  return exchange.routesBegun = enter(context.part({ section }), callRoutes);
}

/** Calls the first matching route, the next ones while they pass, or `notFound`. */
function callRoutes(context: Context): Waiting {
  const match = firstRoute(context.exchange);
  return match === undefined
    ? respondUnmatched(context)
    : follow(context, match, callRoute(context, match));
}

/** Calls a route, once its body has arrived. Returns what is to be sent, true to pass on, or nothing: it was sent. */
function callRoute(context: Context, match: Match): unknown {
  const { exchange } = context;
  const receiving = exchange.hasBody ? receiveFor(exchange, match) : undefined;
  return receiving === undefined
    ? callGuarded(context, match)
    : receiving.then(() => callGuarded(context, match));
}

/** Calls the callback of a route, between its middleware; not after a response that came while a body was awaited. */
function callGuarded(context: Context, match: Match): unknown {
  if (hasResponded(context)) return undefined;
  const { middleware } = match.declaration;
  return middleware.length === 0
    ? match.call()
    : run(guarded(context, match, middleware));
}

/**
 * Calls a callback between the given middleware and sends what it returns. Returns true when the callback passes to
 * the next route, otherwise undefined. When a `before` responds, the middleware inside of it and the callback are
 * skipped; its own `after` and those around it still run.
 */
function* guarded(
  context: Context,
  match: Match,
  [first, ...others]: readonly Middleware[],
): Steps<true | undefined> {
  const { exchange } = context;
  if (first === undefined) {
    const returned = yield match.call();
    if (returned === true) return true;
    yield sendReturned(context, returned, match);
    return undefined;
  }
  const { params } = match;
  const hooks = hooksOf(first);
  const allowed = yield hooks.before?.(params);
  const responds = isHookResponse(allowed);
  // Settled or not: a failure that the hook has caught counts, too, unless it responds in another way.
  if (exchange.pending !== undefined) {
    yield awaitCalls(context, nameOf(first), !responds && allowed !== false);
  }
  let passes: true | undefined;
  if (responds) {
    yield respondWith(context, allowed); // its calls have ended
  } else if (!hasResponded(context)) {
    checkAllowed(allowed, first, match);
    try {
      passes = yield* guarded(context, match, others);
    } catch (thrown) {
      const isForHook = !isStop(thrown) && !exchange.isOver;
      if (!isForHook || hooks.error === undefined) throw thrown;
      const respond = () => hooks.error!(thrown, params);
      yield* onMiddlewareError(context, thrown, respond);
    }
  } else discardReturned(allowed);
  exchange.checkNotOver();
  yield hooks.after?.(params);
  return passes;
}

/**
 * Whether the response is certain: this one, that of another application by which code of this one has responded or,
 * until this one has responded where it is mounted, that of the application around it. So it is of a request that is
 * over: code that is to get an error then, and not just stop, asks `checkNotOver`.
 */
function hasResponded({ exchange, reply }: Context): boolean {
  return reply.isSealed || exchange.isOver ||
    exchange.responder?.reply.isSealed || outerHasResponded(exchange);
}

function outerHasResponded({ mountPoint, outerContext }: Exchange): boolean {
  return mountPoint?.isDone === false && outerContext !== undefined &&
    hasResponded(outerContext);
}

/** Whether middleware has returned a response in place of everything inside of it. */
function isHookResponse(value: unknown): boolean {
  return value instanceof Response || kindOfResult(value) === "text";
}

/** Throws unless middleware lets the request go on. Fails closed: an unrecognized value must not admit anyone. */
function checkAllowed(
  value: unknown,
  middleware: Middleware,
  match: Match,
): void {
  if (value === undefined || value === true || isFrameworkObject(value)) return;
  if (value === false) {
    throw refusal(403, "You are not allowed to make this request");
  }
  discardReturned(value);
  throw wrongKind(
    `continue after ${nameOf(middleware)} of ${routeName(match)}`,
    "it must return nothing, true, false, text or a Response",
    value,
  );
}

/**
 * Sends what a route returned; for `true`, passes on. Routes with middleware have sent it already: they return true or
 * nothing.
 */
function follow(context: Context, match: Match, returned: unknown): Waiting {
  const { exchange } = context;
  if (returned === true) return run(passOn(context, match));
  if (!isThenable(returned)) return sendReturned(context, returned, match);
  return Promise.resolve(returned).then((late) => {
    checkInTime(exchange, late);
    return follow(context, match, late);
  });
}

/**
 * Calls the routes behind one that has passed, until one does not pass, or has responded: what it sealed, or a call
 * that it did not await, may forbid the rest. When none is left, it responds as if none had matched.
 */
function* passOn(context: Context, passing: Match): Steps<undefined> {
  const { exchange } = context;
  for (let match = passing;;) {
    if (exchange.pending !== undefined) { // settled or not: a failure that code has caught counts, too
      yield awaitCalls(context, routeName(match));
      exchange.checkNotOver();
    }
    if (hasResponded(context)) return undefined;
    const next = nextRoute(exchange, match);
    if (next === undefined) return void (yield respondUnmatched(context));
    match = next;
    const returned = yield callRoute(context, match);
    checkInTime(exchange, returned);
    if (returned !== true) {
      return void (yield sendReturned(context, returned, match));
    }
  }
}

/**
 * Responds when no route matches, or all that match have passed: with the methods of the path where its routes name
 * others only, else by `notFound`.
 */
function respondUnmatched(context: Context): Waiting {
  const { exchange, reply } = context;
  const { method, plan: { settings } } = exchange;
  const named = methodsOfPath(exchange);
  const isOther = named.length > 0 && !named.includes(method);
  if (!isOther) return callNotFound(context);
  const methods = [...new Set([...named, "OPTIONS"])].join(", ");
  const headers = { allow: methods };
  if (method === "OPTIONS") {
    const init = { status: 204, headers };
    return void reply.respond("the response to OPTIONS", init);
  }
  if (settings["framework.method_not_allowed"]) {
    const message = `${method} is not allowed here; use ${methods}`;
    throw refusal(405, message, { headers });
  }
  reply.setHeader("allow", methods);
  return callNotFound(context);
}

function callNotFound(context: Context): Waiting {
  return waitingFor(context.exchange.app.call("notFound", [], context));
}
