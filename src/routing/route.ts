/**
 * Owns the route object: what a declaration answers and what a callback is passed on request. Finding
 * routes is the router's.
 */

import type { RouteArguments, Taking } from "./arguments.ts";
import {
  checkMiddleware,
  type Middleware,
  type RouteParameters,
} from "./middleware.ts";
import type { Pattern } from "./pattern.ts";

/**
 * The callback of a route. Its arguments are typed from the pattern: a string for each named
 * parameter in order of appearance, or null where a part is optional, and the route itself when it is
 * passed. It returns a `RouteResult`.
 */
export type RouteCallback<
  Pattern extends string,
  Pass extends boolean = false,
  Result = unknown,
> =
  | Taking<
    [...RouteArguments<Pattern>, ...(Pass extends true ? [route: Route] : [])],
    Result
  >
  | readonly [target: object, method: string]
  | `${string}->${string}`
  | `${string}::${string}`;

/** A declared route with its callback. */
export interface Declaration {
  readonly route: Route;
  readonly pattern: Pattern;
  readonly callback: (...params: unknown[]) => unknown;
  readonly passRoute: boolean;
}

/** What a route is made of. */
export interface RouteDetails {
  readonly pattern: Pattern;
  readonly alias: string;
  readonly middleware: readonly Middleware[];
  /** What the request gave; none for the route as declared. */
  readonly params?: RouteParameters;
  readonly splat?: string;
  readonly caseSensitive?: boolean;
}

/** A route as declared, or, passed to its callback, as one request matched it. */
export class Route {
  /** The methods that it matches; `*` alone for every method. */
  readonly methods: string[];
  /** The named parameters of this request, decoded; null where an optional part took no part. */
  readonly params: RouteParameters;
  /** What `*` matched, decoded; several are joined by slashes. */
  readonly splat: string;
  /** The pattern without its methods, group prefixes included. */
  readonly pattern: string;
  /** The name for `getUrl`, or nothing. */
  readonly alias: string;
  /** The middleware in the order in which it runs: that of groups first. */
  readonly middleware: readonly Middleware[];
  readonly #details: RouteDetails;
  #takesStream = false;

  /**
   * Routes are made by the router.
   *
   * @ignore
   */
  constructor(details: RouteDetails) {
    const { methods, path } = details.pattern;
    this.methods = methods.length > 0 ? [...methods] : ["*"];
    this.params = details.params ?? {};
    this.splat = details.splat ?? "";
    this.pattern = path;
    this.alias = details.alias;
    this.#details = details;
    this.middleware = [...details.middleware];
  }

  /** The expression for whole paths, decoded; parameters are named groups. */
  get regex(): RegExp {
    const { pattern, caseSensitive = false } = this.#details;
    return pattern.regex(caseSensitive);
  }

  /**
   * Adds middleware behind what is there: a function that runs before the callback, or an object or
   * class with `before` or `after`. Throws when the route is one that a request was given.
   */
  addMiddleware(...middleware: Middleware[]): this {
    if (this.#details.params) {
      throw new Error(
        `Cannot add middleware to "${this.pattern}": the route is being handled`,
      );
    }
    for (const each of middleware) checkMiddleware(each);
    (this.middleware as Middleware[]).push(...middleware);
    return this;
  }

  /**
   * Leaves the bodies of the route's requests unread, for large uploads: the callback takes
   * `request().raw.body`, and no limit counts. `data`, `files` and `getBody()` throw there.
   */
  streamed(): this {
    this.#takesStream = true;
    return this;
  }

  /** Whether bodies are left unread. */
  get takesStream(): boolean {
    return this.#takesStream;
  }

  /**
   * The route as a request matched it.
   *
   * @ignore
   */
  matched(
    params: RouteParameters,
    splat: string,
    caseSensitive: boolean,
  ): Route {
    const { middleware } = this;
    const matched = { middleware, params, splat, caseSensitive };
    return new Route({ ...this.#details, ...matched });
  }
}
