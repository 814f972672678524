/**
 * Owns the types of middleware, and checking values for them. `route.ts` keeps the middleware of a route,
 * `handling/start.ts` runs it around the callback.
 */

import { isClass } from "../callback.ts";
import { wrongKind } from "../errors.ts";

/** The named parameters of the matched route. */
export type RouteParameters = Record<string, string | null>;

/** Methods that run around the callback of a route. */
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

const PARTS = ["before", "after", "error"] as const;

/** Throws `TypeError` when a value is no middleware. */
export function checkMiddleware(value: unknown): asserts value is Middleware {
  if (typeof value === "function" && !isClass(value)) return;
  const guard: Guard = Object(isClass(value) ? value.prototype : value);
  const types = PARTS.map((name) => typeof guard[name]);
  const isGuard = types.includes("function") &&
    types.every((type) => type === "function" || type === "undefined");
  if (isGuard) return;
  const rule = 'it must be a function, or have "before", "after" or "error"';
  throw wrongKind("add middleware", rule, value);
}

/** The guard of a middleware; an instance for a class, made anew for each request. */
export function guardOf(middleware: Middleware): Guard {
  if (typeof middleware !== "function") return middleware;
  if (isClass(middleware)) return new middleware() as Guard;
  return { before: middleware as (params: RouteParameters) => unknown };
}
