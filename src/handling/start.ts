/**
 * Owns `start`: finding the route, calling it between its middleware, passing on to the next one, and the
 * response when no route matches. What a callback returns is sent by `respond.ts`, plain text from here.
 */

import type { RequestScope } from "../application/application.ts";
import { HttpError, isStop, wrongKind } from "../errors.ts";
import { Markup } from "../html.ts";
import { keepOutcome } from "../response/outcome.ts";
import { guardOf, type Middleware, nameOf } from "../routing/middleware.ts";
import type { Match } from "../routing/router.ts";
import { isThenable, run, type Steps } from "../steps.ts";
import { onMiddlewareError } from "./pages.ts";
import { receiveFor } from "./receive.ts";
import { isOwn, respondWith, routeName } from "./respond.ts";
import { allowedMethods, search } from "./search.ts";

/** Runs `start`; what a mapped or filtered one returns is sent like the result of a callback. */
export function callStart(scope: RequestScope): unknown {
  const { start: changed } = scope.plan;
  if (changed === undefined) return start(scope);
  matchOnce(scope); // filters can ask for the route
  const returned = changed.call([], scope);
  return isThenable(returned)
    ? returned.then((value) => respondWith(scope, value))
    : respondWith(scope, returned);
}

/** The default `start`: calls the first matching route, the next ones while they pass, or `notFound`. */
export function start(scope: RequestScope): unknown {
  const match = matchOnce(scope);
  return match === undefined
    ? respondUnmatched(scope)
    : follow(scope, match, callRoute(scope, match));
}

/** The first matching route: searched once, unless something was declared meanwhile. */
export function matchOnce(scope: RequestScope): Match | undefined {
  if (scope.match !== undefined && scope.plan === scope.app.plan) {
    return scope.match;
  }
  return scope.match = search(scope, scope.target.method);
}

/** Calls a route, once its body has arrived; returns what is to be sent, or true to pass on. */
function callRoute(scope: RequestScope, match: Match): unknown {
  scope.root.match = match;
  const receiving = receiveFor(scope, match);
  return receiving === undefined
    ? callGuarded(scope, match)
    : receiving.then(() => callGuarded(scope, match));
}

/** Calls the callback of a route, between its middleware. */
function callGuarded(scope: RequestScope, match: Match): unknown {
  const { middleware } = match.route;
  return middleware.length === 0
    ? match.call()
    : run(guarded(scope, match, middleware));
}

/**
 * Calls a callback between the given middleware and sends what it returns; returns whether it passes on to
 * the next route. When a `before` responds, the middleware inside of it and the callback are skipped; its own
 * `after` and those around it still run.
 */
function* guarded(
  scope: RequestScope,
  match: Match,
  [first, ...others]: readonly Middleware[],
): Steps<boolean> {
  const { app } = scope;
  if (first === undefined) {
    const returned = yield match.call();
    if (returned !== true) yield respondWith(scope, returned, match);
    return returned === true;
  }
  const { params } = match;
  const guard = guardOf(first);
  const allowed = yield guard.before?.(params);
  let passes = false;
  if (isResponse(allowed)) {
    yield respondWith(scope, allowed);
  } else if (!app.isSealed(app.scope("start()"))) {
    checkAllowed(allowed, first, match);
    try {
      passes = yield* guarded(scope, match, others);
    } catch (thrown) {
      if (isStop(thrown) || guard.error === undefined) throw thrown;
      const respond = () => guard.error!(thrown, params);
      yield* onMiddlewareError(scope, thrown, respond);
    }
  }
  yield guard.after?.(params);
  return passes;
}

/** Whether middleware has returned a response in place of everything inside of it. */
function isResponse(value: unknown): boolean {
  return typeof value === "string" || value instanceof Markup ||
    value instanceof Response;
}

/** Throws unless middleware lets the request go on: what cannot be understood must not let everybody in. */
function checkAllowed(
  value: unknown,
  middleware: Middleware,
  match: Match,
): void {
  if (value === undefined || value === true || isOwn(value)) return;
  if (value === false) {
    throw new HttpError(403, "You may not open this address");
  }
  throw wrongKind(
    `go on after ${nameOf(middleware)} of ${routeName(match)}`,
    "it must return nothing, true, false, text or a Response",
    value,
  );
}

/** Sends what a route returned; for `true`, calls the next matching route, or `notFound` after the last. */
function follow(scope: RequestScope, match: Match, returned: unknown): unknown {
  const { app } = scope;
  while (returned === true) {
    const next = app.router(scope).next(match);
    if (next === undefined) {
      scope.root.match = undefined;
      return app.call("notFound");
    }
    match = next;
    returned = callRoute(scope, match);
  }
  if (returned === undefined) return;
  if (typeof returned === "string") {
    const isKept = keepOutcome(scope, { text: returned });
    if (!isKept) app.response(scope).write(returned);
    return;
  }
  if (!isThenable(returned)) return respondWith(scope, returned, match);
  return Promise.resolve(returned).then((late) => {
    app.scope("start()"); // throws when the request has ended meanwhile
    return follow(scope, match, late);
  });
}

/** Responds when no route matches: with the methods of the path where it has others, else by `notFound`. */
function respondUnmatched(scope: RequestScope): unknown {
  const { app, plan: { settings }, target: { method } } = scope;
  const allowed = allowedMethods(scope);
  if (allowed.length === 0) return app.call("notFound", [], scope);
  const methods = allowed.join(", ");
  const response = app.response(scope).header("allow", methods);
  if (method === "OPTIONS") {
    return void response.respond("the response to OPTIONS", { status: 204 });
  }
  if (!settings["framework.method_not_allowed"]) return app.call("notFound");
  throw new HttpError(405, `This address takes ${methods}, not ${method}`);
}
