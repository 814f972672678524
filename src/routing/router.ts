/**
 * Owns declaring routes, also in groups and as resources. Patterns are parsed in `notation.ts`, routes are searched
 * in `tree.ts`, and called in `handling/dispatch.ts`.
 */

import { wrongKind } from "../errors.ts";
import { FRAMEWORK_OBJECT } from "../extension_keys.ts";
import type { Fetch } from "../http.ts";
import { checkOptions, didYouMean } from "../options.ts";
import type { Layered } from "../state/layer.ts";
import { isThenable, withoutRequest } from "../waiting.ts";
import {
  arityOf,
  type Classes,
  type Method,
  resolveCallback,
  type RouteArguments,
  type Taking,
} from "./callback.ts";
import { checkMiddleware, type Middleware } from "./middleware.ts";
import { splitMethods, withSlash } from "./notation.ts";
import {
  Pattern,
  queryText,
  type UrlParameters,
  type UrlQuery,
} from "./pattern.ts";
import {
  declarationOf,
  type DeclareRoute,
  Route,
  type RouteCallback,
} from "./route.ts";
import type { Tree } from "./tree.ts";

/** What a router needs of its application. */
interface RouterOwner {
  readonly routes: Layered<Tree>;
  readonly autoload: Classes;
  readonly settings: { readonly "framework.case_sensitive": boolean };
}

/** What a group gives to the routes in it. */
interface Group {
  readonly prefix: string;
  readonly middleware: readonly Middleware[];
}

/**
 * The actions on the whole of a resource.
 *
 * @internal
 */
type CollectionAction = "index" | "create" | "store";

/**
 * The actions on one of its members, which get its `id`.
 *
 * @internal
 */
type MemberAction = "show" | "edit" | "update" | "destroy";

/** The actions of a resource: methods of its controller. */
export type ResourceAction = CollectionAction | MemberAction;

/**
 * The actions as methods, which get the parameters of the path, those of a member the `id` after them.
 *
 * @internal
 */
type Actions<Path extends string> =
  & { [Action in CollectionAction]?: Taking<RouteArguments<Path>> }
  & { [Action in MemberAction]?: Taking<RouteArguments<`${Path}/@id`>> };

/** The controller of a resource: an object or a class with the actions as methods, or the name of an autoloaded class. */
export type Controller<Path extends string> =
  | Actions<Path>
  // deno-lint-ignore no-explicit-any -- its parameters are its own
  | (new (...params: any[]) => Actions<Path>)
  | string;

/** Which actions of a resource get routes, all by default, and the names of these. */
export interface ResourceOptions {
  /** These actions only. */
  readonly only?: readonly ResourceAction[];
  /** The first part of the aliases; the last part of the path by default. */
  readonly as?: string;
}

/** The patterns of a resource, in the order in which they are declared. */
const RESOURCE: readonly [ResourceAction, pattern: string][] = [
  ["index", "GET /"],
  ["create", "GET /create"],
  ["store", "POST /"],
  ["show", "GET /@id"],
  ["edit", "GET /@id/edit"],
  ["update", "PUT|PATCH /@id"],
  ["destroy", "DELETE /@id"],
];

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
  #group: Group = { prefix: "", middleware: [] };

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
  readonly [FRAMEWORK_OBJECT] = true;

  /**
   * Appends a route. The pattern is an optional list of methods and a path, such as
   * `GET|POST /post/@slug`.
   *
   * Throws `SyntaxError` when the pattern is malformed, `TypeError` when the callback is not one, when `passRoute`
   * is not a boolean and, in a group whose prefix has parameters, when the callback names some but not all of the
   * values; `Error` when another path has the alias.
   */
  route<
    Path extends string,
    Pass extends boolean = false,
    Result = unknown,
  >(
    pattern: Path,
    callback: RouteCallback<`${Prefix}${Path}`, Pass, Result>,
    passRoute: Pass = false as Pass,
    alias: string = "",
  ): Route {
    if (typeof passRoute !== "boolean") {
      const rule =
        "passRoute must be true or false (add middleware with addMiddleware(); the alias is the fourth argument)";
      throw wrongKind(`make the route "${pattern}"`, rule, passRoute);
    }
    const { methods, path } = splitMethods(pattern);
    const parsed = new Pattern(methods, joinPaths(this.#group.prefix, path));
    this.#checkArity(parsed, callback, passRoute);
    const owner = `the route "${parsed.path}"`;
    const routes = this.#app.routes;
    const tree = routes.writable();
    const route = new Route({
      pattern: parsed,
      callback: resolveCallback(callback, this.#app.autoload, owner),
      passRoute,
      alias,
      order: tree.routes.length,
      isOpen: () => {
        routes.owner.layerToWrite(); // throws once the application serves
        return routes.now === tree; // in a request, it may be a copy
      },
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
   * can be nested. Throws `TypeError` when the prefix is not a string, or the callback is asynchronous.
   */
  group<Path extends string>(
    prefix: Path,
    callback: (router: Router<`${Prefix}${NoInfer<Path>}`>) => void,
    middleware: readonly Middleware[] = [],
  ): void {
    middleware.forEach(checkMiddleware);
    const outer = this.#group;
    const joined = joinPaths(outer.prefix, pathOnly(prefix));
    let returned: unknown;
    try {
      this.#group = {
        prefix: joined,
        middleware: [...outer.middleware, ...middleware],
      };
      returned = callback(this as never); // the same router, typed by the prefix
    } finally {
      this.#group = outer;
    }
    if (!isThenable(returned)) return;
    returned.then(undefined, () => {}); // the error below says more than its own
    throw new TypeError(
      `Cannot make the group "${prefix}": the callback is asynchronous`,
    );
  }

  /**
   * Appends the conventional routes of a resource: index, create, store, show, edit, update and destroy.
   * Each calls the controller's method of that name; the controller is a class, an object or the name of an
   * autoloaded class. The alias of a route is `<last part of the path>.<action>`, or `<as>.<action>`. Throws
   * `TypeError` when an option is unknown, or the controller, unless it is autoloaded, has no such method.
   */
  resource<Path extends string>(
    path: Path,
    controller: Controller<`${Prefix}${Path}`>,
    options: ResourceOptions = {},
  ): void {
    checkOptions(`make the resource "${path}"`, options, ["only", "as"]);
    const last = path.split("/").findLast((part) => part !== "") ?? "";
    const { only, as = last } = options;
    this.group(path, (router) => {
      for (const [action, pattern] of RESOURCE) {
        if (only && !only.includes(action)) continue;
        const callback = typeof controller === "string"
          ? `${controller}->${action}` as const
          : [controller, action] as const;
        router.route(pattern, callback, false, `${as}.${action}`);
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
    const path = joinPaths(this.#group.prefix, pathOnly(prefix));
    const [segments = [], ...others] = new Pattern([], path).choices;
    if (others.length > 0 || segments.some(({ isStar }) => isStar)) {
      const rule = 'the prefix must be a path without optional parts or "*"';
      throw wrongKind("mount an application", rule, path);
    }
    const callback = this.#mounting(prefix, app);
    const pattern = joinPaths(prefix, "*"); // always its end: who shows or follows the prefix cuts it off
    const route = this.route(pattern as string, callback, true);
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
   * matches all of its paths. A route whose pattern ends in `*` is assumed to pass.
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
      const pattern = `${method} ${pathOnly(path) || "/"}`;
      return this.route(pattern as typeof path, ...others);
    };
  }

  /** Throws where a callback would get the first parameters of the prefix under the names of its own. */
  #checkArity(pattern: Pattern, callback: unknown, passRoute: boolean): void {
    const total = pattern.names.length + Number(passRoute);
    const arity = arityOf(callback);
    const { names } = new Pattern([], this.#group.prefix);
    if (arity === 0 || arity >= total || names.length === 0) return;
    throw new TypeError(
      `Cannot make the route "${pattern.path}": its callback takes ${arity} of ${total} values, of which the first come ` +
        'from the prefix of the group. Name all of them; by the group\'s router, as in router.get("/path", ...), ' +
        "the compiler knows them",
    );
  }
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

/** Another application: a function, or an object with such a `fetch`, such as an engine. */
export type Mountable = Fetch | { readonly fetch: Fetch };

/** Makes the callback of a mount's route, which is declared with `passRoute`. Throws `TypeError` without a `fetch`. */
export type Mounting = (prefix: string, mounted: Mountable) => Method;
