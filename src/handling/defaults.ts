/**
 * Owns what the extensible methods do by default. The engine maps each of them through the same door
 * as a user's method, so each can be replaced and filtered by its name.
 */

import {
  answer,
  error,
  halt,
  json,
  jsonp,
  notFound,
  redirect,
  stop,
} from "./responders.ts";
import type { Application, DefaultMethod } from "../application/application.ts";
import { etag, lastModified } from "./caching.ts";
import { defer } from "./deferred.ts";
import type { Method } from "../callback.ts";
import { HttpError } from "../errors.ts";
import { render } from "./frames.ts";
import { withoutBase } from "../response/location.ts";
import type { HttpResponse } from "../response/response.ts";
import type { Match } from "../routing/router.ts";
import type { Scope } from "../state/scope.ts";
import { isThenable, run, type Steps } from "../steps.ts";
import type { Target } from "../request/target.ts";

/** The default of every extensible method. */
export const defaultMethods: Readonly<Record<string, DefaultMethod>> = {
  start,
  stop,
  halt,
  redirect,
  render,
  error,
  notFound,
  etag,
  lastModified,
  json,
  jsonp,
  getUrl: (app, alias, params) =>
    app.base() + app.router().getUrl(alias, params),
  route: onRouter("route"),
  group: onRouter("group"),
  post: onRouter("post"),
  put: onRouter("put"),
  patch: onRouter("patch"),
  delete: onRouter("delete"),
  defer,
};

/** Answers the current request: the first matching route, and the next one while they pass. */
function start(app: Application): unknown {
  const scope = app.scope("start()");
  // A filter may have answered: what it kept the client from must not run all the same.
  const response = scope.component("response") as HttpResponse | undefined;
  if (response?.sent) return;
  const match = firstMatch(app, scope);
  if (match === undefined) return unmatched(app, scope.visit.target);
  const outcome = invoke(app, match, scope);
  return outcome === true || isThenable(outcome)
    ? run(follow(app, match, outcome, scope))
    : answer(app, outcome, scope);
}

/** The first route that matches what is asked for, below the base. */
export function firstMatch(app: Application, scope: Scope): Match | undefined {
  const { method, path } = scope.visit.target;
  const caseSensitive = app.setting("framework.case_sensitive", scope);
  const below = withoutBase(path, app.base(scope));
  return app.router(scope).match(method, below, caseSensitive);
}

function invoke(app: Application, match: Match, scope: Scope): unknown {
  scope.root.match = match;
  return app.invoke(match);
}

/** Goes on from the outcome of the first match: a promise, or that it passes. */
function* follow(
  app: Application,
  first: Match,
  pending: unknown,
  scope: Scope,
): Steps<unknown> {
  let match: Match | undefined = first;
  let outcome = yield pending;
  while (outcome === true) {
    app.scope("start()"); // throws when the request has ended meanwhile
    match = app.router(scope).next(match);
    if (match === undefined) return yield app.call("notFound");
    outcome = yield invoke(app, match, scope);
  }
  return answer(app, outcome, scope);
}

/** What a path without a route for the method answers: the allowed methods, or nothing is found. */
function unmatched(app: Application, target: Target): unknown {
  const path = withoutBase(target.path, app.base());
  const caseSensitive = app.setting("framework.case_sensitive");
  const allowed = app.router().allowed(path, caseSensitive);
  if (allowed.length === 0) return app.call("notFound");
  const response = app.response().header("allow", allowed.join(", "));
  if (target.method === "OPTIONS") {
    response.respond("the response to OPTIONS", { status: 204 });
    return;
  }
  if (app.setting("framework.method_not_allowed")) throw new HttpError(405);
  return app.call("notFound");
}

/** A method that the router has under the same name. */
function onRouter(
  name: "route" | "group" | "post" | "put" | "patch" | "delete",
): DefaultMethod {
  return (app, ...params) => {
    const router: Record<typeof name, Method> = app.router();
    return router[name](...params);
  };
}
