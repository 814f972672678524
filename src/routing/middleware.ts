/**
 * Owns the types of middleware, and checking values for them. `route.ts` keeps the middleware of a route,
 * `handling/dispatch.ts` runs it around the callback.
 */

import { isClass, methodsOf } from "./callback.ts";
import { wrongKind } from "../errors.ts";
import type { FrameworkObject } from "../extension_keys.ts";
import type { Markup } from "../html.ts";
import type { MaybePromise } from "../waiting.ts";
import { suggestions } from "../options.ts";

/** The named parameters of the matched route. */
export type RouteParameters = Record<string, string | null>;

/**
 * What middleware may return before the callback, perhaps as a promise: nothing, `true` or the end of a chain
 * of calls to go on, `false` for a 403, text or a web `Response` to respond instead of everything inside of it.
 */
export type MiddlewareResult = MaybePromise<
  void | undefined | boolean | string | Markup | Response | FrameworkObject
>;

/** Methods that run around the callback of a route. */
export interface MiddlewareHooks {
  /**
   * Runs before the callback. When it returns a response or has sealed one, neither middleware added later nor the
   * callback runs. Any value that is not a `MiddlewareResult` is an error.
   */
  before?(params: RouteParameters): MiddlewareResult;
  /**
   * Runs after the callback, the middleware added last first; not when the request was halted or stopped, or an error
   * passed through.
   */
  after?(params: RouteParameters): unknown;
  /**
   * Runs when the callback, or middleware added later, throws. By then the body is empty, and the status is the one of
   * the `HttpError`, or 500. What it writes, sends or returns is the response; if that is nothing, the error goes on to
   * the middleware added before, and in the end to `error()`.
   */
  error?(thrown: unknown, params: RouteParameters): unknown;
}

/** Hooks, a class of them, instantiated each time it runs, or a function that runs before. */
export type Middleware =
  | MiddlewareHooks
  | (new () => MiddlewareHooks)
  | ((params: RouteParameters) => MiddlewareResult);

const ADD = "add middleware";

const HOOKS = ["before", "after", "error"] as const;

/** Throws `TypeError` when a value is not middleware, or would let everybody in since nothing calls its hook. */
export function checkMiddleware(value: unknown): asserts value is Middleware {
  const isGuard = typeof value === "function" && !isClass(value);
  const hooks: MiddlewareHooks = isGuard
    ? { before: value as MiddlewareHooks["before"] & object }
    : Object(typeof value === "function" ? value.prototype : value);
  if (!isGuard) checkNames(value, hooks);
  if (!HOOKS.some((name) => typeof hooks[name] === "function")) {
    const rule = 'it must be a function, or have "before", "after" or "error"';
    throw wrongKind(ADD, rule, value);
  }
  // One `(context, next)` of another framework would let everybody in.
  if (hooks.before && hooks.before.length > 1) {
    const rule =
      "it is called with the route's parameters, not with a context or next(); return false to refuse";
    throw wrongKind(ADD, rule, value);
  }
}

/** Nothing would call `befor` or a static `before`, so that it lets everybody in beside a valid `after`. */
function checkNames(value: unknown, hooks: MiddlewareHooks): void {
  const missing = HOOKS.filter((name) => hooks[name] === undefined);
  for (const name of methodsOf(Object(value))) {
    const [meant] = suggestions(name, missing);
    if (meant === undefined) continue;
    const rule =
      `nothing calls its method "${name}"; did you mean "${meant}"? It must be an instance method`;
    throw wrongKind(ADD, rule, value);
  }
}

/** The hooks of a middleware; of a class, those of a new instance. */
export function hooksOf(middleware: Middleware): MiddlewareHooks {
  if (typeof middleware !== "function") return middleware;
  if (isClass(middleware)) return new middleware() as MiddlewareHooks;
  return { before: middleware as NonNullable<MiddlewareHooks["before"]> };
}

/** Names a middleware in messages: by the name of its function or class, if it has one. */
export function nameOf(middleware: Middleware): string {
  const { name } = typeof middleware === "function"
    ? middleware
    : middleware.constructor;
  return name && name !== "Object"
    ? `the middleware "${name}"`
    : "a middleware";
}
