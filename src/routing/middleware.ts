/**
 * Owns the middleware of routes: what may be one, and how several guard a callback. Which route they
 * belong to is the route's; a path is never looked at.
 */

import { isClass } from "../callback.ts";
import { HttpError } from "../errors.ts";
import type { Steps } from "../steps.ts";

/** The named parameters of the matched route. */
export type RouteParameters = Record<string, string | null>;

/** What runs around the callback of a route. */
export interface Guard {
  /** Runs before; `false`, also from a promise, answers 403. */
  before?(params: RouteParameters): unknown;
  /** Runs after, the last one added first. */
  after?(params: RouteParameters): unknown;
}

/** A guard, a class of guards of which each request gets its own, or a function that runs before. */
export type Middleware =
  | Guard
  | (new () => Guard)
  | ((params: RouteParameters) => unknown);

/** A matched route, as far as it is guarded. */
export interface Guarded {
  readonly route: { readonly middleware: readonly Middleware[] };
  readonly params: RouteParameters;
  /** Invokes the callback. */
  call(): unknown;
}

/** Throws `TypeError` when a value is no middleware. */
export function checkMiddleware(value: unknown): asserts value is Middleware {
  if (typeof value === "function" && !isClass(value)) return;
  const guard: Guard = Object(isClass(value) ? value.prototype : value);
  const parts = [guard.before, guard.after].filter((one) => one !== undefined);
  const callable = parts.every((part) => typeof part === "function");
  if (parts.length > 0 && callable) return;
  throw new TypeError(
    `Cannot add middleware: it must be a function, or have a method "before" or "after", got ${
      Deno.inspect(value, { depth: 1 })
    }`,
  );
}

/**
 * Invokes the callback of a matched route between its guards; answers whether it passes on. A response
 * that one of them seals skips what would come before it; what comes after runs for each guard that
 * ran. What the callback returned is sent before that, so that `after` finds the response written.
 */
export function* guarded(
  match: Guarded,
  isSealed: () => boolean,
  send: (outcome: unknown) => unknown,
): Steps<boolean> {
  const ran: Guard[] = [];
  for (const middleware of match.route.middleware) {
    const guard = guardOf(middleware);
    ran.push(guard);
    const outcome = yield guard.before?.(match.params);
    if (outcome === false) throw new HttpError(403);
    if (isSealed()) break;
  }
  const outcome: unknown = isSealed() ? undefined : yield match.call();
  if (outcome !== true) yield send(outcome);
  for (const guard of ran.reverse()) yield guard.after?.(match.params);
  return outcome === true;
}

function guardOf(middleware: Middleware): Guard {
  if (typeof middleware !== "function") return middleware;
  if (isClass(middleware)) return new middleware() as Guard;
  return { before: middleware as (params: RouteParameters) => unknown };
}
