/**
 * Owns the route object, which declaring a route returns and `passRoute` passes to a callback. Routes are
 * searched in `tree.ts`.
 */

import { FRAMEWORK_OBJECT } from "../extension_keys.ts";
import type { RouteArguments, Taking } from "./callback.ts";
import type { Match } from "./tree.ts";
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
  Pass = false,
  Result = unknown,
> =
  | Taking<
    [...RouteArguments<Pattern>, ...(Pass extends true ? [route: Route] : [])],
    Result
  >
  | readonly [target: object, method: string]
  | `${string}->${string}`
  | `${string}::${string}`;

/**
 * Declares a route and returns it. The text of the pattern gives the types of the callback; in a group, the parameters
 * of its prefix come first.
 */
export interface DeclareRoute<Prefix extends string = ""> {
  <
    Path extends string,
    Pass extends boolean = false,
    Result = unknown,
  >(
    pattern: Path,
    callback: RouteCallback<`${Prefix}${Path}`, Pass, Result>,
    passRoute?: Pass,
    alias?: string,
  ): Route;
}

/** A declaration of a route; users see it through `Route`. */
export interface Declaration {
  readonly pattern: Pattern;
  readonly callback: (...params: unknown[]) => unknown;
  readonly passRoute: boolean;
  readonly alias: string;
  /** The index in the order of declaration, in its own tree: that of the application, or of a request. */
  readonly order: number;
  /** Whether the route may still change. */
  readonly isOpen: () => boolean;
  readonly middleware: Middleware[];
  takesStream: boolean;
  bodyLimit: number | undefined;
  /** What is mounted here. */
  mounted: object | undefined;
}

/** Returns the declaration of a route: a private field of `Route`, so that users do not see it. */
export let declarationOf: (route: Route) => Declaration;

/**
 * A route as declared, or, passed to its callback, as one request matched it.
 *
 * @example
 * ```ts
 * import { Engine } from "@framework/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new Engine();
 * app.route("/files/@owner/*", (owner, route) => {
 *   return { owner, file: route.splat, pattern: route.pattern };
 * }, true).addMiddleware(() => app.request().cookies.user === "ada");
 *
 * const init = { headers: { cookie: "user=ada" } };
 * const request = new Request("http://localhost/files/ada/a/b.txt", init);
 * assertEquals(await (await app.fetch(request)).json(), {
 *   owner: "ada",
 *   file: "a/b.txt",
 *   pattern: "/files/@owner/*",
 * });
 * ```
 */
export class Route {
  /** The methods that the route matches; `*` alone for every method. */
  readonly methods: string[];
  /** The named parameters of this request, decoded; null where an optional part is absent. */
  readonly params: RouteParameters;
  /** The pattern without its methods, group prefixes included. */
  readonly pattern: string;
  /** The name for `getUrl`, or "". */
  readonly alias: string;
  readonly #declared: Declaration;
  /** The match that this object was made for; undefined for the route as it was declared. */
  readonly #match: Match | undefined;

  static {
    declarationOf = (route) => route.#declared;
  }

  /**
   * Made by the router. The route of a callback has the values of its request, and cannot be changed.
   *
   * @ignore
   */
  constructor(declaration: Declaration, match?: Match) {
    const { pattern, alias } = declaration;
    this.methods = pattern.methods.length > 0 ? [...pattern.methods] : ["*"];
    this.params = match?.params ?? {};
    this.pattern = pattern.path;
    this.alias = alias;
    this.#declared = declaration;
    this.#match = match;
  }

  /** @ignore */
  readonly [FRAMEWORK_OBJECT] = true;

  /** The expression for whole decoded paths; parameters are named groups. */
  get regex(): RegExp {
    const caseSensitive = this.#match?.path.isCaseSensitive ?? false;
    return this.#declared.pattern.regex(caseSensitive);
  }

  /**
   * What `*` matches in this request's path, decoded, or ""; the texts of several are joined by slashes. Throws
   * `HttpError` 400 when it has a segment `..`, which only an escaped slash or a backslash can bring in. It may begin
   * with a slash: append it to a folder, and do not resolve it.
   */
  get splat(): string {
    return this.#match ? this.#declared.pattern.splat(this.#match.path) : "";
  }

  /**
   * Appends middleware: a function that runs before the callback, or an object or class with `before`,
   * `after` or `error`. Throws `TypeError` for anything else, `Error` in a request, unless the request has
   * declared the route itself.
   */
  addMiddleware(...middleware: Middleware[]): this {
    this.#checkOpen();
    middleware.forEach(checkMiddleware);
    this.#declared.middleware.push(...middleware);
    return this;
  }

  /**
   * Sets the largest body of the route's requests, above or below `framework.body_limit`. A larger one is a 413
   * before anything reads it, even when a route that matches first passes. On a `streamed()` route whose client
   * has sent no length, reading `raw.body` beyond the limit throws that 413. Throws `RangeError` for a negative
   * number, and in a request, as `addMiddleware()` does.
   */
  bodyLimit(bytes: number): this {
    if (!(bytes >= 0)) {
      throw new RangeError(
        `Cannot limit the bodies of the route "${this.pattern}": the limit must be a number of bytes, at least 0, got ${bytes}`,
      );
    }
    this.#checkOpen();
    this.#declared.bodyLimit = bytes;
    return this;
  }

  /**
   * Leaves the bodies of the route's requests unread, for large uploads: the callback reads `request().raw.body`,
   * with no limit but that of `bodyLimit()`. `data`, `files`, `json` and `getBody()` then throw.
   * Throws in a request, as `addMiddleware()` does.
   */
  streamed(): this {
    this.#checkOpen();
    this.#declared.takesStream = true;
    return this;
  }

  #checkOpen(): void {
    if (this.#match === undefined && this.#declared.isOpen()) return;
    const reason = "a request is being handled";
    throw new Error(`Cannot change the route "${this.pattern}": ${reason}`);
  }
}
