/**
 * Owns the default `start`: matching a route, calling it, passing on to the next one, and what an
 * unknown path gets.
 */

import type { Application } from "../application/application.ts";
import type { Plan } from "../application/plan.ts";
import { HttpError } from "../errors.ts";
import { withoutBase } from "../response/location.ts";
import { guarded } from "../routing/middleware.ts";
import type { Match } from "../routing/router.ts";
import type { Scope } from "../state/scope.ts";
import { isThenable, run } from "../steps.ts";
import { recover } from "./pages.ts";
import { respondWith } from "./respond.ts";

/** Responds to a request by the first matching route, or by the next one while they pass. */
export function start(
  app: Application,
  scope: Scope,
  plan: Plan = app.plan(scope),
): unknown {
  // A filter may have sealed the response: what it kept the client from must not run all the same.
  if (app.isSealed(scope)) return;
  const match = matchOnce(app, scope, plan);
  if (match === undefined) return respondUnmatched(app, scope, plan);
  return follow(app, scope, match, callRoute(app, scope, match));
}

/** The first matching route. It is looked for once, unless the request has changed its plan since. */
export function matchOnce(
  app: Application,
  scope: Scope,
  { settings, base }: Plan,
): Match | undefined {
  if (scope.match && scope.plan === undefined) return scope.match as Match;
  const { method, path } = scope.target;
  const below = base === "" ? path : withoutBase(path, base);
  const caseSensitive = settings["framework.case_sensitive"];
  const match = app.router(scope).match(method, below, caseSensitive);
  scope.match = match;
  return match;
}

/** Calls the callback of a route between its middleware. */
function callRoute(app: Application, scope: Scope, match: Match): unknown {
  scope.root.match = match;
  const { middleware } = match.route;
  if (middleware.length === 0) return match.call();
  const call = () => match.call();
  return run(guarded(middleware, match.params, call, {
    isSealed: () => app.isSealed(app.scope("start()")),
    send: (returned) => respondWith(app, returned, scope, match),
    recover: (thrown, respond) => run(recover(app, thrown, respond)),
  }));
}

/** Goes on from what a route returned: the next one while they pass, else the response. */
function follow(
  app: Application,
  scope: Scope,
  match: Match,
  returned: unknown,
): unknown {
  while (returned === true) {
    const next = app.router(scope).next(match);
    if (next === undefined) return app.call("notFound");
    match = next;
    returned = callRoute(app, scope, match);
  }
  if (returned === undefined) return;
  if (typeof returned === "string") return app.write(scope, returned);
  return isThenable(returned)
    ? followAsync(app, scope, match, returned)
    : respondWith(app, returned, scope, match);
}

async function followAsync(
  app: Application,
  scope: Scope,
  match: Match,
  pending: PromiseLike<unknown>,
): Promise<unknown> {
  const returned = await pending;
  app.scope("start()"); // throws when the request has ended meanwhile
  return await follow(app, scope, match, returned);
}

/** Tells which methods a path has, or that nothing was found. */
function respondUnmatched(
  app: Application,
  scope: Scope,
  { settings, base }: Plan,
): unknown {
  const router = app.router(scope);
  if (!router.hasOtherMethods) {
    return app.registry.call("notFound", [], scope);
  }
  const { method, path } = scope.target;
  const caseSensitive = settings["framework.case_sensitive"];
  const allowed = router.allowed(withoutBase(path, base), caseSensitive);
  const response = app.response(scope).header("allow", allowed.join(", "));
  if (method === "OPTIONS") {
    return void response.respond("the response to OPTIONS", { status: 204 });
  }
  if (!settings["framework.method_not_allowed"]) return app.call("notFound");
  const methods = allowed.join(", ");
  throw new HttpError(405, `This address takes ${methods}, not ${method}`);
}
