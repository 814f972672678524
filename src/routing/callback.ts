/**
 * Owns callbacks, of routes and mapped methods alike: their forms, making a function of each, and the types of a route's
 * callback. Its arguments are read by the compiler from the text of the pattern.
 */

import { wrongKind } from "../errors.ts";
import type { Markup } from "../html.ts";
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

/** Where the autoloaded classes of callbacks come from. */
export interface Classes {
  /** Finds an autoloaded class by its name. */
  find(name: string): Promise<Class>;
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
  const names = typeof callback === "string" ? NAMES.exec(callback) : null;
  if (names !== null) {
    const [, name = "", arrow, method = ""] = names;
    return async (...params) => {
      const type = await classes.find(name);
      return methodOf(type, method, what, arrow === "::")(...params);
    };
  }
  const [target, method] = Array.isArray(callback) ? callback : [];
  if (target instanceof Object && typeof method === "string") {
    return methodOf(target, method, what);
  }
  const rule =
    'the callback must be a function, [target, "method"] or "Class->method"';
  throw wrongKind(`make ${what}`, rule, callback);
}

/** How many parameters a callback names; 0 for that of an autoloaded class. */
export function arityOf(callback: unknown): number {
  const [target, method] = Array.isArray(callback) ? callback : [];
  const called = target?.prototype?.[method] ?? target?.[method] ?? callback;
  return typeof called === "function" ? called.length : 0;
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
  what: string,
  isStatic = false,
): Method {
  const type = typeof target === "function" ? target as Class : undefined;
  const has = (owner: object = {}): boolean =>
    typeof Reflect.get(owner, method) === "function";
  const call = (receiver: object, params: unknown[]): unknown =>
    (receiver as Record<string, Method>)[method]!(...params);
  if (type && has(type.prototype) && !(isStatic && has(type))) {
    return (...params) => call(new type(), params);
  }
  if (has(target)) return (...params) => call(target, params);
  const { name } = type ?? target.constructor;
  const hint = didYouMean(method, methodsOf(target));
  throw new TypeError(
    `Cannot make ${what}: "${name}" has no method "${method}"${hint}`,
  );
}

/** The prototypes whose methods are nobody's own. */
const ROOTS: readonly object[] = [Object.prototype, Function.prototype];

/** The names of the methods that a callback `[target, name]` can call: for a class those of instances, too. */
export function methodsOf(target: object): string[] {
  if (ROOTS.includes(target)) return [];
  const members = Object.entries(Object.getOwnPropertyDescriptors(target));
  const own = members.filter(([name, { value }]) =>
    typeof value === "function" && name !== "constructor"
  ).map(([name]) => name);
  const { prototype = Object.prototype } = target as { prototype?: object };
  const parent = Object.getPrototypeOf(target) ?? Object.prototype;
  return [...own, ...methodsOf(prototype), ...methodsOf(parent)];
}

/**
 * The arguments that a pattern gives: a string for each name, or null where a part is optional; any number of
 * them when the compiler does not know the text of the pattern.
 *
 * @internal
 */
export type RouteArguments<Pattern extends string> =
  Record<never, never> extends Record<Pattern, unknown> ? (string | null)[]
    : Pattern extends `${string}\\${"@" | "(" | ")" | "[" | "]"}${string}`
      ? (string | null)[]
    : Read<WithoutClasses<Pattern>>;

/**
 * A function that takes these arguments. Where the compiler does not know them, a function of any strings
 * fits: the parameters of a method are compared in both directions.
 */
export type Taking<Arguments extends unknown[], Result = unknown> =
  number extends Arguments["length"]
    ? { call(...values: Arguments): Checked<Result> }["call"]
    : (...values: Arguments) => Checked<Result>;

/**
 * What a callback may return: `true` passes on to the next route; text is written; a web `Response`,
 * bytes, streams and async iterables are sent; every other object is sent as JSON. A number, a
 * symbol, a function, a `Map` and a `Set` are refused, and an `Error` when it is returned. A promise of any of these
 * is awaited.
 */
export type RouteResult = Sendable | PromiseLike<Sendable>;

/** @internal */
type Sendable =
  | string
  | Markup
  | boolean
  | null
  | undefined
  | void
  | BufferSource
  | AsyncIterable<unknown>
  | readonly unknown[]
  | { toJSON(): unknown }
  | JsonObject;

/** Any object but a function, an iterable such as a `Map`, and a promise. */
type JsonObject = object & {
  readonly [Symbol.hasInstance]?: never;
  readonly [Symbol.iterator]?: never;
  readonly [Symbol.toStringTag]?: never;
};

/**
 * What a result of that type must be: anything where the type is `unknown` or `any`, which is checked when it is sent;
 * where a promise was not awaited, a text for the message of the compiler.
 *
 * @internal
 */
type Checked<Result> = unknown extends Awaited<Result> ? unknown
  : true extends HasPromise<Awaited<Result>> ? Unawaited
  : RouteResult;

/**
 * What `json()` takes: anything but a promise and, as far as the compiler looks, an object with one among its
 * members. It refuses a type parameter, which may stand for one: give it as `unknown`.
 */
export type JsonData<Data> =
  & Data
  & (true extends HasPromise<Data> ? Unawaited : unknown);

/** @internal */
type Unawaited = "a promise cannot be sent as JSON: await it";

/**
 * Whether a value is a promise or has one among its members, which are not looked into.
 *
 * @internal
 */
type HasPromise<Data> = unknown extends Data ? false
  : Data extends PromiseLike<unknown> ? true
  : Data extends AsyncIterable<unknown> | { toJSON(): unknown } ? false
  : Data extends object
    ? true extends { [Key in keyof Data]-?: IsPromise<Data[Key]> }[keyof Data]
      ? true
    : false
  : false;

/** Whether a value may be a promise; the compiler knows nothing of `any`. */
type IsPromise<Value> = unknown extends Value ? false
  : [Extract<Value, PromiseLike<unknown>>] extends [never] ? false
  : true;

/** The text without character classes such as `[@.]`, in which an `@` begins no name. */
type WithoutClasses<Text extends string> = Text extends
  `${infer Before}[${string}]${infer After}`
  ? `${Before}${WithoutClasses<After>}`
  : Text;

/** The arguments of the names after each `@`; `Depth` has an element for each open parenthesis. */
type Read<
  Text extends string,
  Depth extends 1[] = [],
  Found extends unknown[] = [],
> = Text extends `${infer Before}@${infer After}`
  ? Closed<Before, Opened<Before, Depth>> extends infer Here extends 1[] ? Read<
      After,
      Here,
      IsName<After> extends true ? [...Found, Value<Here>] : Found
    >
  : never
  : Found;

/** Null where the value is in an optional part. */
type Value<Depth extends 1[]> = Depth extends [] ? string : string | null;

type Opened<Text extends string, Depth extends 1[]> = Text extends
  `${string}(${infer After}` ? Opened<After, [...Depth, 1]> : Depth;

type Closed<Text extends string, Depth extends 1[]> = Text extends
  `${string})${infer After}`
  ? Closed<After, Depth extends [1, ...infer Rest extends 1[]] ? Rest : []>
  : Depth;

/** Whether a text begins like a name: with an underscore or a letter, which has two cases. */
type IsName<Text extends string> = Text extends `_${string}` ? true
  : Text extends `${infer First}${string}`
    ? Lowercase<First> extends Uppercase<First> ? false : true
  : false;
