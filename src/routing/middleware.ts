/**
 * Owns the middleware of routes: what can be middleware, and the order in which it runs around a
 * callback. The middleware of each route is kept by `route.ts`.
 */

import { isClass } from "../callback.ts";
import { HttpError, isStop } from "../errors.ts";
import type { Steps } from "../steps.ts";

/** The named parameters of the matched route. */
export type RouteParameters = Record<string, string | null>;

/** What runs around the callback of a route. */
export interface Guard {
  /** Runs before; `false`, also from a promise, is a 403 unless the response is sealed. */
  before?(params: RouteParameters): unknown;
  /** Runs after, the last one added first. */
  after?(params: RouteParameters): unknown;
  /**
   * Runs when the callback, or middleware added later, throws. The body is empty then, and the status
   * that of an `HttpError`, or 500. What it writes, sends or returns is the response; without any, what
   * was thrown goes on to the middleware added before, and in the end to `error()`.
   */
  error?(thrown: unknown, params: RouteParameters): unknown;
}

/** A guard, a class of guards of which each request gets its own, or a function that runs before. */
export type Middleware =
  | Guard
  | (new () => Guard)
  | ((params: RouteParameters) => unknown);

/** How middleware and callbacks respond. */
export interface Responding {
  /** Whether the response is sealed. */
  isSealed(): boolean;
  /** Sends what a callback returned. */
  send(returned: unknown): unknown;
  /** Lets `respond` respond to what was thrown; throws that on unless it does. */
  recover(thrown: unknown, respond: () => unknown): unknown;
}

const PARTS = ["before", "after", "error"] as const;

/** Throws `TypeError` when a value is no middleware. */
export function checkMiddleware(value: unknown): asserts value is Middleware {
  if (typeof value === "function" && !isClass(value)) return;
  const guard: Guard = Object(isClass(value) ? value.prototype : value);
  const types = PARTS.map((name) => typeof guard[name]);
  const isGuard = types.includes("function") &&
    types.every((type) => type === "function" || type === "undefined");
  if (isGuard) return;
  const got = Deno.inspect(value, { depth: 1 });
  throw new TypeError(
    `Cannot add middleware: it must be a function, or have a method "before", "after" or "error", got ${got}`,
  );
}

/**
 * Calls a callback between its middleware and sends what it returns; returns whether it passes on to the
 * next route. Middleware that seals the response skips what would come before it; what comes after runs
 * for all that ran before.
 */
export function* guarded(
  [first, ...others]: readonly Middleware[],
  params: RouteParameters,
  call: () => unknown,
  response: Responding,
): Steps<boolean> {
  if (first === undefined) {
    const returned = yield call();
    if (returned !== true) yield response.send(returned);
    return returned === true;
  }
  const guard = guardOf(first);
  const allowed = yield guard.before?.(params);
  let passes = false;
  if (!response.isSealed()) {
    if (allowed === false) throw new HttpError(403);
    try {
      passes = yield* guarded(others, params, call, response);
    } catch (thrown) {
      if (isStop(thrown) || guard.error === undefined) throw thrown;
      yield response.recover(thrown, () => guard.error!(thrown, params));
    }
  }
  yield guard.after?.(params);
  return passes;
}

function guardOf(middleware: Middleware): Guard {
  if (typeof middleware !== "function") return middleware;
  if (isClass(middleware)) return new middleware() as Guard;
  return { before: middleware as (params: RouteParameters) => unknown };
}
