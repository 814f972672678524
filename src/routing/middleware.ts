/**
 * Owns the types of middleware, and checking values for them. `route.ts` keeps the middleware of a route,
 * `handling/dispatch.ts` runs it around the callback.
 */

import { isClass } from "../callback.ts";
import { wrongKind } from "../errors.ts";
import type { FrameworkObject } from "../framework_object.ts";
import type { Markup } from "../html.ts";
import type { MaybePromise } from "../steps.ts";
import { suggestions } from "../suggestions.ts";

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

const HOOKS = ["before", "after", "error"] as const;

/** Throws `TypeError` when a value is not middleware, or has a method whose name is nearly that of a missing hook. */
export function checkMiddleware(value: unknown): asserts value is Middleware {
  if (typeof value === "function") checkHookOwner(value);
  if (typeof value === "function" && !isClass(value)) {
    return checkParameters(value, value);
  }
  const hooks: MiddlewareHooks = Object(
    isClass(value) ? value.prototype : value,
  );
  checkNames(value, hooks);
  const types = HOOKS.map((name) => typeof hooks[name]);
  const areHooks = types.includes("function") &&
    types.every((type) => type === "function" || type === "undefined");
  if (areHooks) return checkParameters(value, hooks.before);
  const rule = 'it must be a function, or have "before", "after" or "error"';
  throw wrongKind("add middleware", rule, value);
}

/**
 * Throws `TypeError` for a method that is a misspelled hook: nothing would call it, so that `befor` lets everybody in
 * beside a valid `after`. Where the hook is there, too, a name like its own is another method.
 */
function checkNames(value: unknown, hooks: MiddlewareHooks): void {
  const missing = HOOKS.filter((name) => hooks[name] === undefined);
  for (const name of methodNames(hooks)) {
    const [meant] = suggestions(name, missing);
    if (meant === undefined) continue;
    const rule =
      `nothing calls its method "${name}"; did you mean "${meant}"? Rename it if not`;
    throw wrongKind("add middleware", rule, value);
  }
}

/** The names of methods, inherited ones too; getters are left alone. */
function* methodNames(hooks: object): Generator<string> {
  let owner = hooks;
  while (owner !== null && owner !== Object.prototype) {
    const members = Object.getOwnPropertyDescriptors(owner);
    for (const [name, { value }] of Object.entries(members)) {
      if (typeof value === "function") yield name;
    }
    owner = Object.getPrototypeOf(owner);
  }
}

/** Throws `TypeError` for hooks that nothing would call: static ones, or those of a function that is not a class. */
function checkHookOwner(value: object): void {
  const holder = isClass(value)
    ? value
    : Object(Reflect.get(value, "prototype"));
  const lost = HOOKS.find((name) => typeof holder[name] === "function");
  if (lost === undefined) return;
  const rule = `"${lost}" must be an instance method of a class`;
  throw wrongKind("add middleware", rule, value);
}

/**
 * Throws `TypeError` for middleware as other frameworks have it: one `(context, next)` that does not call `next` to
 * refuse a request would let everybody in.
 */
function checkParameters(value: unknown, before?: { length: number }): void {
  if (before === undefined || before.length < 2) return;
  const rule =
    "it is called with only the route's parameters, not with a context or next(): use request(), " +
    "return nothing to continue or false to refuse, and use { before, after } to run code afterwards";
  throw wrongKind("add middleware", rule, value);
}

/** The classes of middleware whose instances have been checked: what their constructors add is not known before. */
const checked = new WeakSet<object>();

/** The hooks of a middleware; of a class, those of a new instance. */
export function hooksOf(middleware: Middleware): MiddlewareHooks {
  if (typeof middleware !== "function") return middleware;
  if (isClass(middleware)) return instanceOf(middleware);
  return { before: middleware as NonNullable<MiddlewareHooks["before"]> };
}

function instanceOf(middleware: new () => MiddlewareHooks): MiddlewareHooks {
  const hooks = new middleware();
  if (!checked.has(middleware)) checkNames(middleware, hooks);
  checked.add(middleware);
  return hooks;
}

/** Names a middleware in messages: by the name of its function or class, if it has one. */
export function nameOf(middleware: Middleware): string {
  const named = typeof middleware === "function"
    ? middleware
    : middleware.constructor;
  const isNamed = named !== Object && typeof named?.name === "string" &&
    named.name !== "";
  return isNamed ? `the middleware "${named.name}"` : "a middleware";
}
