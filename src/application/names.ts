/**
 * Owns the names of mapped methods and registered classes: which are allowed, and how an object gets a method for each
 * name.
 */

import type { Method } from "../routing/callback.ts";

/** The core methods, which can be neither replaced nor filtered. */
const CORE = [
  ...["map", "register", "before", "after", "path", "get", "set"] as const,
  ...["has", "clear", "init", "app", "configure", "fetch", "original"] as const,
];

/** The classes that an application registers when it begins. */
export const COMPONENTS = ["request", "response", "router", "view"] as const;

/**
 * The extensible methods that need a request. `start` runs for each; `Engine.start()`, which has its name, listens.
 *
 * @internal
 */
export type OfRequest =
  | ("start" | "stop" | "halt" | "redirect" | "render" | "error" | "notFound")
  | ("etag" | "lastModified" | "json" | "jsonp" | "defer");

/**
 * The extensible methods of the application itself.
 *
 * @internal
 */
export type OfApplication =
  | ("route" | "group" | "getUrl" | "post" | "put" | "patch" | "delete")
  | ("mount" | "send");

/**
 * The names of the extensible methods that the framework brings. Users reach the default of one by `original()`.
 *
 * The compiler finds one that is missing in the tables of `handling/defaults.ts`, a test one that is missing in the
 * `Engine` interface or in `Framework`.
 */
export type Original = OfRequest | OfApplication;

/**
 * The names of the core methods.
 *
 * @internal
 */
export type Core = typeof CORE[number];

/**
 * The names of the classes that the framework registers.
 *
 * @internal
 */
export type ComponentName = typeof COMPONENTS[number];

/**
 * The name of a method or class to declare; the type lists those of the framework, so that editors complete them.
 *
 * @internal
 */
export type DeclaredName<Name extends string> =
  | Original
  | ComponentName
  | (Name & Record<never, never>);

/** The names that cannot be mapped: those of the framework itself, of tools, and with a meaning in JavaScript. */
const RESERVED: ReadonlySet<string> = new Set([
  ...CORE,
  ...["default", "onListen", "onError", "asymmetricMatch", "$$typeof"],
  ...["then", "toJSON", "prototype", "__proto__"],
  ...Object.getOwnPropertyNames(Object.prototype),
  ...Object.getOwnPropertyNames(Function.prototype),
]);

/** Throws `TypeError` when a name is not allowed; the action goes into the message. */
export function checkName(name: string, action: string): void {
  if (typeof name === "string" && name !== "" && !RESERVED.has(name)) return;
  const isCore = CORE.some((core) => core === name);
  const why = isCore ? "it is a core method" : "this name is reserved";
  throw new TypeError(`Cannot ${action} ${Deno.inspect(name)}: ${why}`);
}

/** Gives an object a method. */
export function defineMethod(
  target: object,
  name: string,
  method: Method,
): void {
  const descriptor = { value: method, configurable: true, writable: true };
  Object.defineProperty(target, name, descriptor);
}

/**
 * A prototype that has every allowed name: `find` returns the method of that name. Members of the object
 * itself and of the target take precedence.
 */
export function dynamicMethods<Receiver>(
  target: object,
  find: (receiver: Receiver, name: string) => Method | undefined,
  has: (name: string) => boolean = () => false,
): object {
  return new Proxy(target, {
    get: (target, name, receiver) =>
      typeof name === "symbol" || name in target || RESERVED.has(name)
        ? Reflect.get(target, name, receiver)
        : find(receiver, name),
    has: (target, name) => name in target || has(String(name)),
  });
}
