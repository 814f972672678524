/**
 * Owns which names may be given to mapped methods and registered classes, and what each reserved one
 * is reserved for.
 */

/** The core methods: they can be neither mapped, nor registered over, nor filtered. */
export const CORE_METHODS: readonly string[] = [
  "map",
  "register",
  "before",
  "after",
  "path",
  "get",
  "set",
  "has",
  "clear",
  "init",
  "app",
];

/** The doors of the framework itself. */
const DOORS: ReadonlySet<string> = new Set(["fetch", "original"]);

/** Names that JavaScript looks up by itself: an object that answers to them breaks. */
const LANGUAGE: ReadonlySet<string> = new Set([
  "then",
  "toJSON",
  ...Object.getOwnPropertyNames(Object.prototype),
  ...Object.getOwnPropertyNames(Function.prototype),
  "prototype",
]);

/** Throws `TypeError` when a name cannot be given; the action goes into the message. */
export function checkName(
  name: unknown,
  action: string,
): asserts name is string {
  if (typeof name !== "string" || name === "") {
    throw new TypeError(
      `Cannot ${action} ${
        Deno.inspect(name)
      }: a name is a string with characters`,
    );
  }
  if (CORE_METHODS.includes(name)) {
    throw new TypeError(`Cannot ${action} "${name}": it is a core method`);
  }
  if (DOORS.has(name)) {
    throw new TypeError(
      `Cannot ${action} "${name}": it is a door of the framework itself`,
    );
  }
  if (LANGUAGE.has(name)) {
    throw new TypeError(
      `Cannot ${action} "${name}": JavaScript gives this name a meaning of its own`,
    );
  }
}
