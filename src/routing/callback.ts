/** Owns the forms of a callback, for routes and mapped methods alike, and making a function of each. */

import { wrongKind } from "../errors.ts";
import { didYouMean } from "../options.ts";

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
 * Makes a function of a callback; `what` says in messages what it is for. Throws `TypeError` when the callback has none
 * of the forms, or when there is no such method; the function of an autoloaded class rejects instead.
 */
export function resolveCallback(
  callback: unknown,
  classes: Classes,
  what: string,
): Method {
  if (typeof callback === "function" && !isClass(callback)) {
    return callback as Method;
  }
  if (Array.isArray(callback) && callback.length === 2) {
    const [target, method] = callback;
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

/** How many parameters a callback names; undefined for that of an autoloaded class. */
export function arityOf(callback: unknown): number | undefined {
  if (typeof callback === "function") return callback.length;
  if (!Array.isArray(callback)) return undefined;
  const [target, method] = callback;
  const called: unknown = Object(target.prototype)[method] ?? target[method];
  return typeof called === "function" ? called.length : undefined;
}

/** What loads the class of a callback such as `"Class->method"`, and rejects when there is none; undefined for others. */
export function loaderOf(
  callback: unknown,
  classes: Classes,
  what: string,
): (() => Promise<Method>) | undefined {
  const names = typeof callback === "string" ? NAMES.exec(callback) : null;
  if (names === null) return undefined;
  const [, name = "", arrow, method = ""] = names;
  return async () =>
    methodOf(await classes.find(name), method, classes, what, arrow === "::");
}

/** Whether a value was written as a class, so that it cannot be called without `new`. */
export function isClass(value: unknown): value is new () => object {
  return typeof value === "function" && "prototype" in value && // an arrow function is told at once
    /^class\b/.test(Function.prototype.toString.call(value));
}

/** A function that calls a method of an object, of an instance of a class or, where that has none, of the class. */
function methodOf(
  target: object,
  method: string,
  classes: Classes,
  what: string,
  isStatic = false,
): Method {
  const type = typeof target === "function" ? target as Class : undefined;
  const has = (owner: object = {}): boolean =>
    typeof Reflect.get(owner, method) === "function";
  const call = (receiver: object, params: unknown[]): unknown =>
    (receiver as Record<string, Method>)[method]!(...params);
  if (type && has(type.prototype) && !(isStatic && has(type))) {
    return (...params) => call(classes.make(type), params);
  }
  if (has(target)) return (...params) => call(target, params);
  const { name } = type ?? target.constructor;
  const hint = didYouMean(method, methodsOf(target));
  throw new TypeError(
    `Cannot make ${what}: "${name}" has no method "${method}"${hint}`,
  );
}

/** The names of the methods that a callback `[target, name]` can call: for a class those of instances, too. */
export function methodsOf(target: object): string[] {
  const names = new Set<string>();
  const { prototype } = target as { prototype?: object };
  for (let owner of [target, prototype]) {
    for (; owner && !isRoot(owner); owner = Object.getPrototypeOf(owner)) {
      const members = Object.getOwnPropertyDescriptors(owner);
      for (const [name, { value }] of Object.entries(members)) {
        if (typeof value === "function") names.add(name);
      }
    }
  }
  names.delete("constructor");
  return [...names];
}

function isRoot(owner: object): boolean {
  return owner === Object.prototype || owner === Function.prototype;
}
