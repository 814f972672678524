/**
 * Owns the names of mapped methods and registered classes: which may be given, what each reserved one
 * is reserved for, and how an object offers the given ones.
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

/** Marks the forms of an application: a callback that returns one ended in a chain of calls, and sends nothing. */
export const FORM: unique symbol = Symbol("form of an application");

/** The names that cannot be given, by the reason. */
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

/** Throws `TypeError` when a name cannot be given; the action goes into the message. */
export function checkName(name: string, action: string): void {
  const why = typeof name !== "string" || name === ""
    ? "a name must be a string that is not empty"
    : reserved.get(name);
  if (why === undefined) return;
  throw new TypeError(`Cannot ${action} ${Deno.inspect(name)}: ${why}`);
}

/**
 * A prototype whose methods `find` looks up by name, for every name that can be given. What the object
 * itself or the given prototype has goes first.
 */
export function dynamicMethods<Receiver>(
  prototype: object,
  find: (receiver: Receiver, name: string) => Method | undefined,
): object {
  return new Proxy(Object.create(prototype), {
    get: (target, name, receiver) =>
      typeof name === "symbol" || name in target || reserved.has(name)
        ? Reflect.get(target, name, receiver)
        : find(receiver, name),
  });
}
