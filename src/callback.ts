/** Owns the forms of a callback, for routes and mapped methods alike, and making a function of each. */

import { wrongKind } from "./errors.ts";
import { didYouMean } from "./suggestions.ts";

/** A function that can be mapped. */
// deno-lint-ignore no-explicit-any -- any function can be a method: its parameters are its own
export type Method = (...params: any[]) => unknown;

/** A class that can be instantiated with `new`. */
export type Class<Instance extends object = object> = new (
  // deno-lint-ignore no-explicit-any -- its parameters are given when it is registered
  ...params: any[]
) => Instance;

/**
 * What can be given as a callback: a function; an object and the name of its method; a class and the name of
 * its method, for which each request makes one instance, unless the method is static; or the name of an
 * autoloaded class, with `->` before the name of an instance method and `::` before that of a static one.
 */
export type CallbackForm =
  | Method
  | readonly [target: object, method: string]
  | `${string}->${string}`
  | `${string}::${string}`;

/** Where the classes of callbacks, and their instances, come from. */
export interface Classes {
  /** Finds an autoloaded class by its name. */
  find(name: string): Promise<Class>;
  /** The instance whose method is called: inside an application, one for each request. */
  make(type: Class): object;
}

/** The name of a class and of a method. */
const NAMES = /^([A-Za-z_$][\w$]*)(->|::)([\w$]+)$/;

/**
 * Makes a function of a callback; `what` says in messages what the callback is for. Throws `TypeError` when
 * the callback has none of the forms, or when there is no such method; the function of an autoloaded class
 * rejects instead.
 */
export function resolveCallback(
  callback: unknown,
  classes: Classes,
  what: string,
): Method {
  const isFunction = typeof callback === "function" && !isClass(callback);
  if (isFunction) return callback as Method;
  if (Array.isArray(callback) && callback.length === 2) {
    const [target, method] = callback as unknown[];
    if (target instanceof Object && typeof method === "string") {
      return methodOf(target, method, classes, what);
    }
  }
  const load = loaderOf(callback, classes, what);
  if (load !== undefined) return async (...params) => (await load())(...params);
  const rule =
    'the callback must be a function, [target, "method"] or "Class->method"';
  throw wrongKind(`make ${what}`, rule, callback);
}

/**
 * What loads the class of a callback such as `"Class->method"`, and rejects when there is no such class or method;
 * undefined for other callbacks.
 */
export function loaderOf(
  callback: unknown,
  classes: Classes,
  what: string,
): (() => Promise<Method>) | undefined {
  const names = typeof callback === "string" ? NAMES.exec(callback) : null;
  if (names === null) return undefined;
  const [, name = "", arrow, method = ""] = names;
  return async () => {
    const type = await classes.find(name);
    return methodOf(type, method, classes, what, arrow === "::");
  };
}

/** Whether a value was written as a class, so that it cannot be called without `new`. */
export function isClass(value: unknown): value is new () => object {
  return typeof value === "function" &&
    /^class\b/.test(Function.prototype.toString.call(value));
}

/**
 * A function that calls a method of an object or a class. When a class has both an instance method and a
 * static one of that name, `prefersStatic` decides.
 */
function methodOf(
  target: object,
  method: string,
  classes: Classes,
  what: string,
  prefersStatic = false,
): Method {
  const type = typeof target === "function" ? target as Class : undefined;
  const isOnTarget = hasMethod(target, method);
  const call = (receiver: object, params: unknown[]): unknown =>
    (receiver as Record<string, Method>)[method]!(...params);
  const isOfInstances = hasMethod(type?.prototype, method);
  if (type && isOfInstances && !(prefersStatic && isOnTarget)) {
    return (...params) => call(classes.make(type), params);
  }
  if (isOnTarget) return (...params) => call(target, params);
  const owner = type?.prototype ?? Object.getPrototypeOf(target);
  const { name } = owner.constructor;
  const known = [...Object.getOwnPropertyNames(owner), ...Object.keys(target)];
  const hint = didYouMean(method, known);
  throw new TypeError(
    `Cannot make ${what}: "${name}" has no method "${method}"${hint}`,
  );
}

/** The names of the methods that a callback `[target, name]` can call: for a class those of instances, too. */
export function methodsOf(target: object): string[] {
  const names = new Set<string>();
  const type = typeof target === "function" ? target as Class : undefined;
  for (let owner of [target, type?.prototype]) {
    for (; owner && !isRoot(owner); owner = Object.getPrototypeOf(owner)) {
      Object.getOwnPropertyNames(owner).forEach((name) => names.add(name));
    }
  }
  names.delete("constructor");
  return [...names].filter((name) =>
    hasMethod(target, name) || hasMethod(type?.prototype, name)
  );
}

function isRoot(owner: object): boolean {
  return owner === Object.prototype || owner === Function.prototype;
}

function hasMethod(owner: object | undefined, method: string): boolean {
  return typeof Reflect.get(owner ?? {}, method) === "function";
}
