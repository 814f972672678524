/**
 * Owns declaring routes, also in groups and as resources. Patterns are parsed in `notation.ts`, routes are searched
 * in `routes.ts`, and called in `handling/dispatch.ts`.
 */

import {
  arityOf,
  type Classes,
  loaderOf,
  type Method,
  resolveCallback,
} from "./callback.ts";
import type { RouteArguments } from "./arguments.ts";
import { FRAMEWORK_OBJECT } from "../extension_keys.ts";
import { splitMethods, withSlash } from "./notation.ts";
import { checkMiddleware, type Middleware } from "./middleware.ts";
import { wrongKind } from "../errors.ts";
import { didYouMean } from "../options.ts";
import { Pattern, type UrlParameters } from "./pattern.ts";
import {
  type Controller,
  type ResourceOptions,
  resourceRoutes,
} from "./resource.ts";
import type { Tree } from "./tree.ts";
import {
  declarationOf,
  type DeclareRoute,
  type PassRoute,
  Route,
  type RouteCallback,
} from "./route.ts";
import type { Layered } from "../state/layer.ts";
import { isThenable } from "../waiting.ts";
import { withoutRequest } from "../waiting.ts";
import { queryText, type UrlQuery } from "./pattern.ts";
import type { Fetch } from "../http.ts";
import type { MaybePromise } from "../waiting.ts";

/** What a router needs of its application. */
interface RouterOwner {
  readonly routes: Layered<Tree>;
  readonly autoload: Classes;
  readonly settings: { readonly "framework.case_sensitive": boolean };
}

/** What a group gives to the routes in it. */
interface Group {
  readonly prefix: string;
  /** How many parameters the prefix has. */
  readonly parameters: number;
  readonly middleware: readonly Middleware[];
}

const NO_GROUP: Group = { prefix: "", parameters: 0, middleware: [] };

/** Declares a route by a call whose group the compiler does not know: one of the engine, or a static one. */
export let declareUntyped: (
  router: Router,
  name: "route" | "get" | "post" | "put" | "patch" | "delete",
  params: readonly unknown[],
) => Route;

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
export class Router<Prefix extends string = ""> {
  /**
   * For the compiler alone: routers whose prefixes have other parameters cannot stand for each other.
   *
   * @ignore
   */
  declare protected readonly given: (
    values: RouteArguments<Prefix>,
  ) => RouteArguments<Prefix>;
  readonly #app: RouterOwner;
  readonly #mounting: Mounting;

  /** The group whose callback runs. */
  #group: Group = NO_GROUP;
  #isUntyped = false;

  static {
    declareUntyped = (router, name, params) => {
      router.#isUntyped = true;
      try {
        const declare: Record<typeof name, Method> = router;
        return declare[name](...params) as Route;
      } finally {
        router.#isUntyped = false;
      }
    };
  }

  /** Appends a route for GET, and so for HEAD. */
  readonly get: DeclareRoute<Prefix> = this.#declarer("GET");

  /** Appends a route for POST. */
  readonly post: DeclareRoute<Prefix> = this.#declarer("POST");

  /** Appends a route for PUT. */
  readonly put: DeclareRoute<Prefix> = this.#declarer("PUT");

  /** Appends a route for PATCH. */
  readonly patch: DeclareRoute<Prefix> = this.#declarer("PATCH");

  /** Appends a route for DELETE. */
  readonly delete: DeclareRoute<Prefix> = this.#declarer("DELETE");

  /**
   * `mounting` hands requests over to other applications.
   *
   * @ignore
   */
  constructor(app: RouterOwner, mounting: Mounting) {
    this.#app = app;
    this.#mounting = mounting;
  }

  /** @ignore */
  get [FRAMEWORK_OBJECT](): true {
    return true;
  }

  /**
   * Appends a route. The pattern is an optional list of methods and a path, such as
   * `GET|POST /post/@slug`.
   *
   * Throws `SyntaxError` when the pattern is malformed, `TypeError` when the callback is not one, when `passRoute`
   * is not a boolean and, where the compiler does not know the group, when the callback names some but not all
   * parameters; `Error` when another path has the alias.
   */
  route<
    Path extends string,
    Pass extends boolean | string | object = false,
    Result = unknown,
  >(
    pattern: Path,
    callback: RouteCallback<`${Prefix}${Path}`, Pass, Result>,
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
    const called = resolveCallback(callback, this.#app.autoload, owner);
    const total = parsed.names.length + Number(passRoute);
    this.#checkArity(pattern, owner, callback, total);
    const routes = this.#app.routes;
    const tree = routes.writable();
    const route = new Route({
      pattern: parsed,
      callback: called,
      load: loaderOf(callback, this.#app.autoload, owner),
      passRoute,
      alias,
      order: tree.routes.length,
      isOpen: () => {
        routes.owner.layerToWrite(); // throws once the application serves
        return routes.now === tree; // in a request, it may be a copy
      },
      isCaseSensitive: () => this.#app.settings["framework.case_sensitive"],
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
  group<Path extends string>(
    prefix: Path,
    callback: (router: Router<`${Prefix}${NoInfer<Path>}`>) => void,
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
    const joined = joinPaths(outer.prefix, pathOnly(prefix));
    let returned: unknown;
    try {
      this.#group = {
        prefix: joined,
        parameters: new Pattern([], joined).names.length,
        middleware: [...outer.middleware, ...middleware],
      };
      returned = callback(this as never); // the same router, typed by the prefix
    } finally {
      this.#group = outer;
    }
    if (!isThenable(returned)) return;
    returned.then(undefined, () => {}); // the error below says more than its own
    throw new TypeError(`Cannot ${action}: the callback is asynchronous`);
  }

  /**
   * Appends the conventional routes of a resource: index, create, store, show, edit, update and destroy.
   * Each calls the controller's method of that name; the controller is a class, an object or the name of an
   * autoloaded class. The alias of a route is `<last part of the path>.<action>`, or `<as>.<action>`. Throws
   * `TypeError` when an option is unknown or names another action, or the controller, unless it is autoloaded, has
   * no such method.
   */
  resource<Path extends string>(
    path: Path,
    controller: Controller<`${Prefix}${Path}`>,
    options: ResourceOptions = {},
  ): void {
    checkString("make a resource", "the path", path);
    this.group(path, (router) => {
      const routes = resourceRoutes(path, controller, options);
      for (const [pattern, callback, alias] of routes) {
        router.route(pattern, callback, false, alias);
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
    const route = this.route(pattern as string, callback as Method, true);
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
    const { aliases } = this.#app.routes.now;
    const pattern = aliases.get(alias);
    if (pattern) return pattern.build(params) + queryText(query);
    const hint = didYouMean(alias, aliases.keys());
    throw new ReferenceError(
      `Cannot make a URL: no route has the alias "${alias}"${hint}`,
    );
  }

  /** The declared routes, in order. */
  routes(): Route[] {
    return [...this.#app.routes.now.routes];
  }

  /**
   * Returns warnings, for a test, also of mounted engines: each route that can never be reached because an earlier one
   * matches all of its paths, and each `"Class->method"` that does not load. A route whose pattern ends in `*` is
   * assumed to pass.
   */
  check(): Promise<string[]> {
    const routes = this.routes();
    const isCaseSensitive = this.#app.settings["framework.case_sensitive"];
    return withoutRequest(() => import("../debug/check.ts"))
      .then(({ check }) => check(routes, isCaseSensitive));
  }

  /** Makes `get` and the like: each declares routes of one method, typed from the path. */
  #declarer(method: string): DeclareRoute<Prefix> {
    return (path, ...others) => {
      checkString("make a route", "the path", path);
      const pattern = `${method} ${pathOnly(path) || "/"}`;
      return this.route(pattern as typeof path, ...others);
    };
  }

  /** Throws where a callback would get the first parameters of the prefix under the names of its own. */
  #checkArity(
    pattern: string,
    owner: string,
    callback: unknown,
    total: number,
  ): void {
    const isTyped = !this.#isUntyped && typeof callback === "function";
    if (isTyped || this.#group.parameters === 0) return;
    const arity = arityOf(callback) ?? 0;
    if (arity === 0 || arity >= total) return;
    throw new TypeError(
      `Cannot make ${owner}: its callback takes ${arity} of ${total} values, of which the first come from the prefix of ` +
        `the group. Name all of them; where the group's router declares the route, as in ` +
        `router.get("${pattern}", ...), the compiler knows them`,
    );
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

/** Another application: a function, or an object with such a `fetch`, such as an engine. */
export type Mountable = Fetch | { readonly fetch: Fetch };

/**
 * Makes the callback of the route under which something is mounted, to be declared with `passRoute`. Throws
 * `TypeError` when what is to be mounted has no `fetch`.
 */
export type Mounting = (
  prefix: string,
  mounted: Mountable,
) => (...params: unknown[]) => MaybePromise<Response | undefined>;
