/**
 * Owns the forms of a callback, of routes and of mapped methods alike, and makes each of them a plain
 * function.
 */

import { didYouMean } from "./suggestions.ts";

/** What can be mapped. */
// deno-lint-ignore no-explicit-any -- any function can be a method: its parameters are its own
export type Method = (...params: any[]) => unknown;

/** A class whose instances can be made. */
export type Class<Instance extends object = object> = new (
  // deno-lint-ignore no-explicit-any -- its parameters are given when it is registered
  ...params: any[]
) => Instance;

/**
 * What can be given as a callback: a function; an object and the name of its method; a class and a
 * method, for which each request makes one instance, unless the method is static; or the name of a class
 * that is autoloaded, with `->` before a method of an instance and `::` before a static one.
 */
export type CallbackForm =
  | Method
  | readonly [target: object, method: string]
  | `${string}->${string}`
  | `${string}::${string}`;

/** Where the classes of callbacks come from. */
export interface Classes {
  /** Finds a class by its name. */
  find(name: string): Promise<Class>;
  /** The instance whose method is called: one for each request. */
  make(type: Class): object;
}

type Callable = (...params: unknown[]) => unknown;

/** The name of a class and of a method. */
const named = /^[A-Za-z_$][\w$]*(?:->|::)[\w$]+$/;

/**
 * The function that a callback stands for; `what` names its owner in messages. Throws `TypeError`
 * when it has none of the forms, or when there is no such method.
 */
export function resolveCallback(
  callback: unknown,
  classes: Classes,
  what: string,
): (...params: unknown[]) => unknown {
  if (typeof callback === "function" && !isClass(callback)) {
    return callback as Callable;
  }
  if (typeof callback === "string" && named.test(callback)) {
    return autoloaded(callback, classes, what);
  }
  if (Array.isArray(callback) && callback.length === 2) {
    const [target, method] = callback as unknown[];
    if (target instanceof Object && typeof method === "string") {
      return methodOf(target, method, classes, what);
    }
  }
  const got = Deno.inspect(callback, { depth: 1 });
  throw new TypeError(
    `Cannot make ${what}: the callback must be a function, [target, "method"] or "Class->method", got ${got}`,
  );
}

/** Whether a value was written as a class, so that it cannot be called without `new`. */
export function isClass(value: unknown): value is new () => object {
  return typeof value === "function" &&
    /^class\b/.test(Function.prototype.toString.call(value));
}

function autoloaded(
  callback: string,
  classes: Classes,
  what: string,
): Callable {
  const [name, method] = callback.split(/->|::/) as [string, string];
  const isStatic = callback.includes("::");
  return async (...params) => {
    const type = await classes.find(name);
    return methodOf(type, method, classes, what, isStatic)(...params);
  };
}

function methodOf(
  target: object,
  method: string,
  classes: Classes,
  what: string,
  staticFirst = false,
): Callable {
  const type = typeof target === "function" ? target as Class : undefined;
  const own = isMethod(target, method);
  if (type && isMethod(type.prototype, method) && !(staticFirst && own)) {
    return (...params) => invoke(classes.make(type), method, params);
  }
  if (own) return (...params) => invoke(target, method, params);
  const owner = type?.prototype ?? Object.getPrototypeOf(target);
  const name = owner.constructor?.name ?? "object";
  const known = [...Object.getOwnPropertyNames(owner), ...Object.keys(target)];
  const hint = didYouMean(method, known);
  throw new TypeError(
    `Cannot make ${what}: "${name}" has no method "${method}"${hint}`,
  );
}

function isMethod(target: object | undefined, method: string): boolean {
  return typeof Reflect.get(target ?? {}, method) === "function";
}

function invoke(target: object, method: string, params: unknown[]): unknown {
  return (target as Record<string, Callable>)[method]!(...params);
}
