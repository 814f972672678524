/**
 * Owns receiving a request's body: for which route it is read, within which limit, and the method that a form
 * may ask for. How it is read is in `request/body.ts`.
 */

import type { RequestScope } from "../application/application.ts";
import {
  checkLength,
  hasBody,
  kindOf,
  readBody,
  tooLarge,
} from "../request/body.ts";
import { methodOverride } from "../request/request.ts";
import type { Route } from "../routing/route.ts";
import type { Match } from "../routing/router.ts";
import { headerOf } from "../runtime.ts";
import { allowedMethods, search } from "./search.ts";

/** The methods that a form can ask for. */
const OVERRIDES = ["PUT", "PATCH", "DELETE"];

/** Whether a request has a body that was not read. GET and HEAD have none, which saves asking Deno. */
export function hasUnreadBody({ root }: RequestScope): boolean {
  const { body, request, target: { method } } = root;
  if (method === "GET" || method === "HEAD") return false;
  return body === undefined && hasBody(request) && !request.bodyUsed;
}

/**
 * Reads the body before `start`, where a route takes it whole; then a POST gets the method that its form asks
 * for, whose route is searched anew.
 */
export async function receive(
  scope: RequestScope,
  match: Match | undefined,
): Promise<void> {
  if (match?.route.takesStream) return checkStream(scope, match.route);
  const isForm = mayOverride(scope);
  if (match === undefined) {
    const isPathTaken = isForm && allowedMethods(scope).length > 0;
    if (!isPathTaken) return;
  }
  const others = isForm ? OVERRIDES.map((method) => search(scope, method)) : [];
  const limits = [match, ...others]
    .filter((each) => each !== undefined && !each.route.takesStream)
    .map((each) => limitOf(scope, each));
  const [first = limitOf(scope)] = limits;
  await read(scope, Math.max(first, ...limits));
  if (!isForm) return;
  const method = methodOverride(scope.app.request());
  if (method) {
    scope.target = { ...scope.target, method };
    scope.match = search(scope, method);
  }
  checkRead(scope, limitOf(scope, scope.match));
}

/**
 * Receives the body for a route that is about to be called: reads it when that was not done for an earlier one,
 * and throws {@linkcode HttpError} 413 when it is too large for this one. Returns what to await, if anything.
 */
export function receiveFor(
  scope: RequestScope,
  match: Match,
): Promise<void> | undefined {
  const { route } = match;
  if (scope.root.body !== undefined) checkRead(scope, route.bodyLimit());
  if (!hasUnreadBody(scope)) return undefined;
  if (!route.takesStream) return read(scope, limitOf(scope, match));
  checkStream(scope, route);
}

function checkRead({ root }: RequestScope, limit = Infinity): void {
  if (root.body!.length > limit) throw tooLarge(limit);
}

/** Refuses a stream whose declared length is above the route's own limit. */
function checkStream({ root }: RequestScope, route: Route): void {
  const limit = route.bodyLimit();
  if (limit !== undefined) checkLength(root.request, limit);
}

async function read({ root }: RequestScope, limit: number): Promise<void> {
  const { "framework.body_timeout": seconds } = root.plan.settings;
  root.body = await readBody(root.request, limit, seconds);
}

/**
 * The largest limit of the routes that match: the first ones may pass. Those without one take part only when
 * none has any, with the setting: a route for every path, such as one that logs, would undo the limits.
 */
function limitOf(scope: RequestScope, first?: Match): number {
  const router = scope.app.router(scope);
  const limits: number[] = [];
  for (let match = first; match; match = router.next(match)) {
    const limit = match.route.bodyLimit();
    if (limit !== undefined) limits.push(limit);
  }
  const { "framework.body_limit": usual } = scope.root.plan.settings;
  return limits.length > 0 ? Math.max(...limits) : usual;
}

/** Whether a request is a form whose field `_method` may replace its method. */
function mayOverride({ plan, request, target }: RequestScope): boolean {
  if (!plan.settings["framework.method_override"]) return false;
  const kind = kindOf(headerOf(request, "content-type") ?? "");
  return target.method === "POST" && (kind === "form" || kind === "multipart");
}
