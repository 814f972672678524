/**
 * Owns declaring routes, in groups and by resources, and asking which of them match. The notation is
 * the grammar's, the index the table's; what becomes of a callback's result is the engine's.
 */

import { type Classes, resolveCallback } from "../callback.ts";
import { joinPaths, pathOnly, splitMethods } from "./notation.ts";
import { checkMiddleware, type Middleware } from "./middleware.ts";
import { didYouMean } from "../suggestions.ts";
import { type NearRoute, nearRoutes } from "./explain.ts";
import { Path } from "./path.ts";
import { Pattern, type UrlParameters } from "./pattern.ts";
import { type ResourceOptions, resourceRoutes } from "./resource.ts";
import { Route, type RouteCallback } from "./route.ts";
import { Layered } from "../state/layers.ts";
import { isThenable } from "../steps.ts";
import { type Declaration, Match, RouteTable } from "./table.ts";
import type { Query } from "./trie.ts";

export { Match, type NearRoute, RouteTable, type UrlParameters };

/** The tables of the application and of the current request. */
type Layers = Pick<Layered<RouteTable>, "application" | "own" | "writable">;

/** What a group gives to the routes in it. */
interface Group {
  readonly prefix: string;
  readonly middleware: readonly Middleware[];
}

/** What a path allows that is matched under every method. */
const everyMethod = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;

/**
 * The routes of an application and, behind them, those of the current request.
 *
 * @example
 * ```ts
 * import { Engine } from "@framework/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new Engine();
 * app.group("/blog", (router) => {
 *   router.get("/@year:[0-9]{4}(/@month)", (year, month) => [year, month], false, "archive");
 * });
 *
 * const response = await app.fetch(new Request("http://localhost/blog/2024"));
 * assertEquals(await response.json(), ["2024", null]);
 * assertEquals(app.getUrl("archive", { year: 2024, month: 5 }), "/blog/2024/5");
 * ```
 */
export class Router {
  readonly #layers: Layers;
  readonly #classes: Classes;
  readonly #path = new Path();
  #group: Group = { prefix: "", middleware: [] };

  /**
   * `classes` says where the classes of callbacks such as `"Class->method"` come from.
   *
   * @ignore
   */
  constructor(
    layers: Layers = new Layered(() => new RouteTable()),
    classes: Classes = NO_CLASSES,
  ) {
    this.#layers = layers;
    this.#classes = classes;
  }

  /**
   * Declares a route behind those that are there. The pattern is an optional list of methods and a
   * path, such as `GET|POST /post/@slug`.
   *
   * Throws `SyntaxError` when the pattern is malformed, `TypeError` when the callback is none.
   */
  route<Path extends string, Pass extends boolean = false, Result = unknown>(
    pattern: Path,
    callback: RouteCallback<Path, Pass, Result>,
    passRoute?: Pass,
    alias = "",
  ): Route {
    checkString(pattern, "make a route", "the pattern");
    checkString(alias, `make the route "${pattern}"`, "the alias");
    const parsed = new Pattern(this.#prefixed(pattern));
    const owner = `the route "${parsed.path}"`;
    const called = resolveCallback(callback, this.#classes, owner);
    const { middleware } = this.#group;
    const route = new Route({ pattern: parsed, alias, middleware });
    this.#layers.writable.add({
      route,
      pattern: parsed,
      callback: called,
      passRoute: passRoute === true,
    });
    return route;
  }

  /** Declares a route for GET, and so for HEAD. */
  get<Path extends string, Pass extends boolean = false, Result = unknown>(
    path: Path,
    callback: RouteCallback<Path, Pass, Result>,
    passRoute?: Pass,
    alias?: string,
  ): Route {
    return this.#verb("GET", path, callback, passRoute, alias);
  }

  /** Declares a route for POST. */
  post<Path extends string, Pass extends boolean = false, Result = unknown>(
    path: Path,
    callback: RouteCallback<Path, Pass, Result>,
    passRoute?: Pass,
    alias?: string,
  ): Route {
    return this.#verb("POST", path, callback, passRoute, alias);
  }

  /** Declares a route for PUT. */
  put<Path extends string, Pass extends boolean = false, Result = unknown>(
    path: Path,
    callback: RouteCallback<Path, Pass, Result>,
    passRoute?: Pass,
    alias?: string,
  ): Route {
    return this.#verb("PUT", path, callback, passRoute, alias);
  }

  /** Declares a route for PATCH. */
  patch<Path extends string, Pass extends boolean = false, Result = unknown>(
    path: Path,
    callback: RouteCallback<Path, Pass, Result>,
    passRoute?: Pass,
    alias?: string,
  ): Route {
    return this.#verb("PATCH", path, callback, passRoute, alias);
  }

  /** Declares a route for DELETE. */
  delete<Path extends string, Pass extends boolean = false, Result = unknown>(
    path: Path,
    callback: RouteCallback<Path, Pass, Result>,
    passRoute?: Pass,
    alias?: string,
  ): Route {
    return this.#verb("DELETE", path, callback, passRoute, alias);
  }

  /**
   * Declares what the callback declares under a prefix, with middleware for all of it. Groups nest.
   * Throws `TypeError` when the prefix is no string or the callback is asynchronous.
   */
  group(
    prefix: string,
    callback: (router: Router) => void,
    middleware: readonly Middleware[] = [],
  ): void {
    checkString(prefix, "make a group", "the prefix");
    for (const each of middleware) checkMiddleware(each);
    const outer = this.#group;
    this.#group = {
      prefix: joinPaths(outer.prefix, pathOnly(prefix)),
      middleware: [...outer.middleware, ...middleware],
    };
    let outcome: unknown;
    try {
      outcome = callback(this);
    } finally {
      this.#group = outer;
    }
    if (!isThenable(outcome)) return;
    outcome.then(undefined, () => {}); // a failure in it is the lesser mistake
    throw new TypeError(
      `Cannot make the group "${prefix}": the callback is asynchronous`,
    );
  }

  /**
   * Declares the conventional routes of a resource: index, create, store, show, edit, update and
   * destroy. Each is answered by the method of that name of the controller, which is a class, an
   * object or the name of an autoloaded class, and has the alias `<last part of the path>.<action>`.
   */
  resource(
    path: string,
    controller: object | string,
    options: ResourceOptions = {},
  ): void {
    checkString(path, "make a resource", "the path");
    const routes = resourceRoutes(path, controller, options);
    this.group(path, () => {
      for (const { pattern, callback, alias } of routes) {
        this.route(pattern, callback, false, alias);
      }
    });
  }

  /**
   * The path of the route with that alias, the values encoded into it; optional parts without values
   * are left out, and `*` takes its text under the name `*`.
   *
   * Throws `ReferenceError` when there is no such alias, `TypeError` when a value is missing,
   * `RangeError` when one does not fit its place.
   */
  getUrl(alias: string, params: UrlParameters = {}): string {
    const tables = this.#tables();
    const known = tables.findLast(({ aliases }) => aliases.has(alias));
    if (known) return known.aliases.get(alias)!.build(params);
    const aliases = tables.flatMap(({ aliases }) => [...aliases.keys()]);
    const hint = didYouMean(alias, aliases);
    throw new ReferenceError(
      `Cannot make a URL: no route has the alias "${alias}"${hint}`,
    );
  }

  /** The declared routes, in order. */
  routes(): Route[] {
    return this.#declarations().map(({ route }) => route);
  }

  /**
   * The first route for a method and a path, encoded as it is sent, without a query. HEAD is answered
   * as GET unless a route for the path names it. Throws `HttpError` 400 for a malformed escape.
   *
   * @ignore
   */
  match(
    method: string,
    path: string,
    caseSensitive: boolean,
  ): Match | undefined {
    this.#path.read(path);
    const query = { method, caseSensitive, from: 0 };
    const asGet = method === "HEAD" && !this.#first({ ...query, named: true });
    return this.#first(asGet ? { ...query, method: "GET" } : query);
  }

  /**
   * The next route that matches the same, in the order of declaration.
   *
   * @ignore
   */
  next(match: Match): Match | undefined {
    const { application } = this.#layers;
    const { table, rest } = match;
    const path = this.#path.reuse(match.path);
    const found = table.find(path, rest);
    if (found || table !== application) return found;
    return this.#layers.own()?.find(path, { ...rest, from: 0 });
  }

  /**
   * The methods for which a path is known, for the Allow header; none when it is unknown.
   *
   * @ignore
   */
  allowed(path: string, caseSensitive: boolean): string[] {
    this.#path.read(path);
    const methods = new Set<string>();
    for (const table of this.#tables()) {
      let found = table.find(this.#path, { caseSensitive, from: 0 });
      for (; found; found = table.find(this.#path, found.rest)) {
        for (const method of found.route.methods) methods.add(method);
      }
    }
    if (methods.delete("*")) {
      for (const method of everyMethod) methods.add(method);
    }
    if (methods.has("GET")) methods.add("HEAD");
    return methods.size > 0 ? [...methods.add("OPTIONS")] : [];
  }

  /** The routes that nearly match, the nearest first, and what keeps each from matching. */
  explain(method: string, path: string, caseSensitive = false): NearRoute[] {
    const { text } = this.#path.read(path);
    return nearRoutes(this.#declarations(), method, text, caseSensitive);
  }

  #tables(): RouteTable[] {
    const { application } = this.#layers;
    const own = this.#layers.own();
    return own ? [application, own] : [application];
  }

  #declarations(): Declaration[] {
    return this.#tables().flatMap((table) => table.declarations);
  }

  #first(query: Query): Match | undefined {
    const found = this.#layers.application.find(this.#path, query);
    return found ?? this.#layers.own()?.find(this.#path, query);
  }

  #verb(
    method: string,
    path: string,
    callback: unknown,
    passRoute?: boolean,
    alias?: string,
  ): Route {
    checkString(path, "make a route", "the path");
    const pattern: string = `${method} ${pathOnly(path) || "/"}`;
    const any = callback as RouteCallback<string, boolean>;
    return this.route(pattern, any, passRoute, alias);
  }

  #prefixed(pattern: string): string {
    const { prefix } = this.#group;
    if (prefix === "") return pattern;
    const { methods, path } = splitMethods(pattern);
    return `${methods.join("|")} ${joinPaths(prefix, path)}`.trim();
  }
}

function checkString(
  value: unknown,
  action: string,
  what: string,
): asserts value is string {
  if (typeof value === "string") return;
  const got = Deno.inspect(value, { depth: 1 });
  throw new TypeError(`Cannot ${action}: ${what} must be a string, got ${got}`);
}

/** A router on its own knows no folders and no requests. */
const NO_CLASSES: Classes = {
  find(name) {
    const problem = `Cannot load the class "${name}": this router loads none`;
    return Promise.reject(new ReferenceError(problem));
  },
  make: (type) => new type(),
};
