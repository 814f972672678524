/**
 * Owns declaring routes, also in groups and as resources. Patterns are parsed in `notation.ts`, routes are searched
 * in `routes.ts`, and called in `handling/dispatch.ts`.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { type Classes, loaderOf, resolveCallback } from "../callback.ts";
import { FRAMEWORK_OBJECT } from "../framework_object.ts";
import { splitMethods, withSlash } from "./notation.ts";
import { checkMiddleware, type Middleware } from "./middleware.ts";
import { wrongKind } from "../errors.ts";
import { didYouMean } from "../suggestions.ts";
import { Pattern, type UrlParameters } from "./pattern.ts";
import { type ResourceOptions, resourceRoutes } from "./resource.ts";
import type { Mountable, Mounting } from "./mountable.ts";
import { Routes } from "./routes.ts";
import {
  declarationOf,
  type DeclareRoute,
  type PassRoute,
  Route,
  type RouteCallback,
} from "./route.ts";
import { surrounding, track } from "../state/current.ts";
import { isThenable } from "../steps.ts";
import { withoutRequest } from "../without_request.ts";
import { queryText, type UrlQuery } from "./url_query.ts";

/** What a group gives to the routes in it. */
interface Group {
  /**
   * The context of the code that has made it, also by way of `configure()`. In any other, it is gone: Deno leaks it after
   * an `import()` in it.
   */
  readonly context: unknown;
  readonly prefix: string;
  readonly middleware: readonly Middleware[];
}

const NO_GROUP: Group = { context: undefined, prefix: "", middleware: [] };

/** Returns the routes of a router: a private field, so that users do not see it. */
export let routesOf: (router: Router) => Routes;

/**
 * The routes of an application, followed by those of the current request.
 *
 * Guide: [docs/routing.md](./docs/routing.md)
 *
 * @example
 * ```ts
 * import { Engine } from "@framework/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new Engine();
 * app.group("/blog", (router) => {
 *   const list = (year: string, month: string | null) => [year, month];
 *   router.get("/@year:[0-9]{4}(/@month)", list, false, "archive");
 * });
 *
 * const response = await app.fetch("/blog/2024");
 * assertEquals(await response.json(), ["2024", null]);
 * const url = app.getUrl("archive", { year: 2024, month: 5 });
 * assertEquals(url, "/blog/2024/5");
 * ```
 */
export class Router {
  readonly #routes: Routes;
  readonly #classes: Classes;
  readonly #mounting: Mounting;
  readonly #isCaseSensitive: () => boolean;

  static {
    routesOf = (router) => router.#routes;
  }

  /** The group in whose callback code runs, also where that goes on later. */
  readonly #groups = new AsyncLocalStorage<Group>();

  /** Appends a route for GET, and so for HEAD. */
  readonly get: DeclareRoute = this.#declarer("GET");

  /** Appends a route for POST. */
  readonly post: DeclareRoute = this.#declarer("POST");

  /** Appends a route for PUT. */
  readonly put: DeclareRoute = this.#declarer("PUT");

  /** Appends a route for PATCH. */
  readonly patch: DeclareRoute = this.#declarer("PATCH");

  /** Appends a route for DELETE. */
  readonly delete: DeclareRoute = this.#declarer("DELETE");

  /**
   * `routes` are those of the application, `classes` finds the classes of callbacks such as `"Class->method"`,
   * `mounting` hands requests over to other applications, `isCaseSensitive` returns `framework.case_sensitive`.
   *
   * @ignore
   */
  constructor(
    routes: Routes = new Routes(),
    classes: Classes = NO_CLASSES,
    mounting: Mounting = cannotMount,
    isCaseSensitive: () => boolean = () => false,
  ) {
    this.#routes = routes;
    this.#classes = classes;
    this.#mounting = mounting;
    this.#isCaseSensitive = isCaseSensitive;
  }

  /** @ignore */
  get [FRAMEWORK_OBJECT](): true {
    return true;
  }

  /**
   * Appends a route. The pattern is an optional list of methods and a path, such as
   * `GET|POST /post/@slug`.
   *
   * Throws `SyntaxError` when the pattern is malformed, `TypeError` when the callback is not one or `passRoute`
   * is not a boolean, and `Error` when another path has the alias.
   */
  route<
    Path extends string,
    Pass extends boolean | string | object = false,
    Result = unknown,
  >(
    pattern: Path,
    callback: RouteCallback<Path, Pass, Result>,
    passRoute: PassRoute<Pass> = false as PassRoute<Pass>,
    alias: string = "",
  ): Route {
    checkString("make a route", "the pattern", pattern);
    const action = `make the route "${pattern}"`;
    checkString(action, "the alias", alias);
    if (typeof passRoute !== "boolean") {
      const rule =
        "passRoute must be true or false (add middleware with addMiddleware(); the alias is the fourth argument)";
      throw wrongKind(action, rule, passRoute);
    }
    const { methods, path } = splitMethods(pattern);
    const parsed = new Pattern(methods, joinPaths(this.#group.prefix, path));
    const owner = `the route "${parsed.path}"`;
    const called = resolveCallback(callback, this.#classes, owner);
    const tree = this.#routes.writable;
    const route = new Route({
      pattern: parsed,
      callback: called,
      load: loaderOf(callback, this.#classes, owner),
      passRoute,
      alias,
      order: tree.routes.length,
      // `writable` throws once the application serves, and is another tree in a request.
      isOpen: () => this.#routes.writable === tree,
      isCaseSensitive: this.#isCaseSensitive,
      middleware: [...this.#group.middleware],
      takesStream: false,
      bodyLimit: undefined,
      mounted: undefined,
    });
    tree.add(route);
    return route;
  }

  /**
   * Runs the callback, and puts the prefix and the middleware in front of every route that it declares. Groups
   * can be nested. Throws `TypeError` when the prefix is not a string, the callback is not a synchronous
   * function, or the middleware is not a list.
   */
  group(
    prefix: string,
    callback: (router: Router) => void,
    middleware: readonly Middleware[] = [],
  ): void {
    checkString("make a group", "the prefix", prefix);
    const action = `make the group "${prefix}"`;
    if (typeof callback !== "function") {
      throw wrongKind(action, "the callback must be a function", callback);
    }
    if (!Array.isArray(middleware)) {
      throw wrongKind(action, "the middleware must be a list", middleware);
    }
    middleware.forEach(checkMiddleware);
    const outer = this.#group;
    const group: Group = {
      context: surrounding(),
      prefix: joinPaths(outer.prefix, pathOnly(prefix)),
      middleware: [...outer.middleware, ...middleware],
    };
    const returned: unknown = this.#groups.run(group, callback, this);
    if (!isThenable(returned)) return;
    returned.then(undefined, () => {}); // the error below says more than its own
    throw new TypeError(`Cannot ${action}: the callback is asynchronous`);
  }

  get #group(): Group {
    const group = this.#groups.getStore() ?? NO_GROUP;
    return group.context === surrounding() ? group : NO_GROUP;
  }

  /**
   * Appends the conventional routes of a resource: index, create, store, show, edit, update and destroy.
   * Each calls the controller's method of that name; the controller is a class, an object or the name of an
   * autoloaded class. The alias of a route is `<last part of the path>.<action>`, or `<as>.<action>`. Throws
   * `TypeError` when an option is unknown or names another action, or the controller, unless it is autoloaded, has
   * no such method.
   */
  resource(
    path: string,
    controller: object | string,
    options: ResourceOptions = {},
  ): void {
    checkString("make a resource", "the path", path);
    this.group(path, () => {
      const routes = resourceRoutes(path, controller, options);
      for (const [pattern, callback, alias] of routes) {
        this.route(pattern, callback, false, alias);
      }
    });
  }

  /**
   * Hands every request under the prefix to another application, which sees the path without the prefix: an
   * engine, a function from `Request` to `Response`, or an object with such a `fetch`. Throws `TypeError` for
   * anything else, and when the prefix has optional parts; `SyntaxError` when it names a method.
   */
  mount(prefix: string, app: Mountable): void {
    if (arguments.length > 2) {
      throw new TypeError(
        "Cannot mount an application with middleware: mount it in a group() that has the middleware",
      );
    }
    const path = typeof prefix === "string"
      ? joinPaths(this.#group.prefix, pathOnly(prefix))
      : prefix;
    if (typeof path !== "string" || !isPrefix(new Pattern([], path))) {
      const rule = 'the prefix must be a path without optional parts or "*"';
      throw wrongKind("mount an application", rule, path);
    }
    const callback = this.#mounting(prefix, app);
    const pattern = joinPaths(prefix, "*"); // always its end: who shows or follows the prefix cuts it off
    const route = this.route<string, true>(pattern, callback, true);
    declarationOf(route.streamed()).mounted = app;
  }

  /**
   * Makes the path of the route with that alias, with encoded values. Optional parts without values are
   * left out; the text of `*` is the value named `*`. A list in the query repeats its name.
   *
   * Throws `ReferenceError` when there is no such alias, `TypeError` when a value is missing,
   * `RangeError` when one does not fit its parameter.
   */
  getUrl(
    alias: string,
    params: UrlParameters = {},
    query: UrlQuery = {},
  ): string {
    const known = this.#routes.trees.map(({ aliases }) => aliases);
    const pattern = known.findLast((one) => one.has(alias))?.get(alias);
    if (pattern) return pattern.build(params) + queryText(query);
    const hint = didYouMean(alias, known.flatMap((one) => [...one.keys()]));
    throw new ReferenceError(
      `Cannot make a URL: no route has the alias "${alias}"${hint}`,
    );
  }

  /** The declared routes, in order. */
  routes(): Route[] {
    return this.#routes.trees.flatMap(({ routes }) => routes);
  }

  /**
   * Returns warnings, for a test, also of mounted engines: each route that can never be reached because an earlier one
   * matches all of its paths, and each `"Class->method"` that does not load. A route whose pattern ends in `*` is
   * assumed to pass.
   */
  check(): Promise<string[]> {
    const routes = this.routes();
    const isCaseSensitive = this.#isCaseSensitive();
    const checked = withoutRequest(() => import("./check.ts"))
      .then(({ check }) => check(routes, isCaseSensitive));
    return track("check", checked);
  }

  /** Makes `get` and the like: each declares routes of one method, typed from the path. */
  #declarer(method: string): DeclareRoute {
    return (path, ...others) => {
      checkString("make a route", "the path", path);
      const pattern = `${method} ${pathOnly(path) || "/"}`;
      return this.route(pattern as typeof path, ...others);
    };
  }
}

/** Whether a pattern can stand before a star: each of its segments is there, and matches one of a path. */
function isPrefix({ choices: [segments = [], ...others] }: Pattern): boolean {
  return others.length === 0 && !segments.some(({ isStar }) => isStar);
}

/** A prefix and a path with one slash between them; without a path, or for a slash, the prefix. */
function joinPaths(prefix: string, path: string): string {
  const start = prefix.replace(/\/+$/, "");
  return path === "" || path === "/" ? start : start + withSlash(path);
}

/** A path without methods; throws `SyntaxError` when it names one. */
function pathOnly(source: string): string {
  const { methods, path } = splitMethods(source);
  if (methods.length === 0) return path;
  throw new SyntaxError(
    `Cannot make a route: the path "${source}" must not name a method`,
  );
}

function checkString(action: string, what: string, value: unknown): void {
  if (typeof value === "string") return;
  throw wrongKind(action, `${what} must be a string`, value);
}

/** For a router without an application: autoloads no classes, and makes an instance for each call. */
const NO_CLASSES: Classes = {
  find: (name) =>
    Promise.reject(new ReferenceError(`Cannot load the class "${name}"`)),
  make: (type) => new type(),
};

function cannotMount(prefix: string): never {
  const reason = "this router belongs to no application";
  throw new Error(`Cannot mount an application under "${prefix}": ${reason}`);
}
