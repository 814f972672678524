/**
 * Owns the types of a route's callback: the arguments, which the compiler reads from the text of the
 * pattern, and the results that can be sent. Nothing here exists at run time.
 */

import type { Markup } from "../html.ts";

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
 * symbol, a function, a `Map`, a `Set` and an `Error` are refused. A promise of any of these is
 * awaited.
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

/** Any object but a function, an iterable such as a `Map`, a promise, and an `Error`. */
type JsonObject =
  & object
  & {
    readonly [Symbol.hasInstance]?: never;
    readonly [Symbol.iterator]?: never;
    readonly [Symbol.toStringTag]?: never;
  }
  & (
    | { readonly name?: never }
    | { readonly message?: never }
    | { readonly stack?: never }
  );

/**
 * What a result of that type must be: itself where the type is `unknown`, which is checked when it is sent, and
 * where the type shows a mistake, a text for the message of the compiler. A result of type `any`, or none, is
 * assignable to the type with the text: the message shows it for parameters alone that do not fit.
 *
 * @internal
 */
type Checked<Result> = 0 extends Result & 1 ? NoSuchParameter
  : [Result] extends [void] ? void | NoSuchParameter
  : [Result] extends [PromiseLike<infer Value>]
    ? 0 extends Value & 1 ? PromiseLike<NoSuchParameter> : CheckedValue<Value>
  : CheckedValue<Result>;

/** @internal */
type CheckedValue<Value> = unknown extends Awaited<Value> ? unknown
  : true extends HasPromise<Awaited<Value>> ? Unawaited
  : true extends IsNumber<Awaited<Value>> ? NumberResult
  : true extends IsCollection<Awaited<Value>> ? CollectionResult
  : RouteResult;

/** @internal */
type NoSuchParameter =
  "a callback gets the parameters of its pattern and, with passRoute, the route; use request() and response() for the rest";

/** @internal */
type NumberResult =
  "a number is not a response: set a status with response().status(), return text with String()";

/** @internal */
type CollectionResult =
  "a Map or a Set is not a response: return Object.fromEntries(map) or [...set]";

/** Whether a value may be a `Map` or a `Set` that does not say what its JSON is. */
type IsCollection<Value> = [
  Exclude<
    Extract<Value, ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>>,
    { toJSON(): unknown }
  >,
] extends [never] ? false : true;

/** Whether a value may be a number. */
type IsNumber<Value> = [Extract<Value, number>] extends [never] ? false : true;

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
