/**
 * Owns the names of mapped methods and registered classes: which are allowed, why the others are not, and
 * how an object gets a method for each name.
 */

import type { Method } from "../callback.ts";

/** The names of the extensible methods that the framework brings. */
export type Original =
  | "start"
  | "stop"
  | "halt"
  | "route"
  | "group"
  | "redirect"
  | "render"
  | "error"
  | "notFound"
  | "etag"
  | "lastModified"
  | "json"
  | "jsonp"
  | "getUrl"
  | "post"
  | "put"
  | "patch"
  | "delete"
  | "defer"
  | "send"
  | "mount";

/**
 * The names of the core methods, which can be neither replaced nor filtered.
 *
 * @internal
 */
export type Core =
  | "map"
  | "register"
  | "before"
  | "after"
  | "path"
  | "get"
  | "set"
  | "has"
  | "clear"
  | "init"
  | "app"
  | "configure"
  | "fetch"
  | "original";

/**
 * The names of the classes that the framework registers.
 *
 * @internal
 */
export type Component = "request" | "response" | "router" | "view";

/**
 * The name of a method or class to declare; the framework's own are in the type, so that editors complete them.
 *
 * @internal
 */
export type DeclaredName<Name extends string> =
  | Original
  | Component
  | (Name & Record<never, never>);

/** Marks `Framework` and engines: a callback that returns one, at the end of a chain of calls, sends nothing. */
export const FORM: unique symbol = Symbol("form of an application");

/** The names that are not allowed, by the reason. */
const RESERVED = {
  "it is a core method":
    "map register before after path get set has clear init app configure",
  "it is a member of the framework itself": "fetch original",
  "tools look this name up to learn what a value is":
    "default onListen onError asymmetricMatch $$typeof",
  "JavaScript gives this name a meaning of its own": [
    "then toJSON prototype __proto__",
    ...Object.getOwnPropertyNames(Object.prototype),
    ...Object.getOwnPropertyNames(Function.prototype),
  ].join(" "),
};

const reserved: ReadonlyMap<unknown, string> = new Map(
  Object.entries(RESERVED).flatMap(([why, names]) =>
    names.split(" ").map((name) => [name, why] as const)
  ),
);

/** Throws `TypeError` when a name is not allowed; the action goes into the message. */
export function checkName(name: string, action: string): void {
  const why = typeof name !== "string" || name === ""
    ? "a name must be a string that is not empty"
    : reserved.get(name);
  if (why === undefined) return;
  throw new TypeError(`Cannot ${action} ${Deno.inspect(name)}: ${why}`);
}

/**
 * A prototype that has every allowed name: `find` returns the method of that name. Members of the object
 * itself and of the given prototype take precedence.
 */
export function dynamicMethods<Receiver>(
  prototype: object,
  find: (receiver: Receiver, name: string) => Method | undefined,
  has: (name: string) => boolean = () => false,
): object {
  return new Proxy(Object.create(prototype), {
    get: (target, name, receiver) =>
      typeof name === "symbol" || name in target || reserved.has(name)
        ? Reflect.get(target, name, receiver)
        : find(receiver, name),
    has: (target, name) => name in target || has(String(name)),
  });
}
