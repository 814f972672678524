/**
 * Owns declaring routes — groups, aliases, resources — and asking which of them matches. The notation
 * is the pattern's, the index the table's; what a callback's result means is the engine's.
 */

import { type CallbackForm, resolveCallback } from "./callback.ts";
import { slashed, splitMethods } from "./grammar.ts";
import type { Class } from "./loader.ts";
import { checkMiddleware, type Middleware } from "./middleware.ts";
import { type NearRoute, nearRoutes } from "./near_routes.ts";
import { didYouMean } from "./near.ts";
import { decodePath } from "./path.ts";
import { Pattern, type UrlParameters } from "./pattern.ts";
import { Route, type RouteCallback } from "./route.ts";
import type { Layers } from "./scope.ts";
import { isThenable } from "./steps.ts";
import { Match, RouteTable } from "./table.ts";

export { Match, type NearRoute, RouteTable, type UrlParameters };

/** The parameters of `get`, `post`, `put`, `patch` and `delete`. */
export type VerbParameters<Path extends string, Pass extends boolean> = [
  path: Path,
  callback: RouteCallback<Path, Pass>,
  passRoute?: Pass,
  alias?: string,
];

/** The actions of a resource. */
export type ResourceAction =
  | "index"
  | "create"
  | "store"
  | "show"
  | "edit"
  | "update"
  | "destroy";

/** Which actions of a resource are routed, and what guards them. */
export interface ResourceOptions {
  /** These alone. */
  readonly only?: readonly ResourceAction[];
  /** All but these. */
  readonly except?: readonly ResourceAction[];
  /** The middleware of each. */
  readonly middleware?: readonly Middleware[];
}

/** The routes of a resource, in the order in which they are declared. */
const resourceRoutes: Readonly<
  Record<ResourceAction, readonly [methods: string, path: string]>
> = {
  index: ["GET", ""],
  create: ["GET", "/create"],
  store: ["POST", ""],
  show: ["GET", "/@id"],
  edit: ["GET", "/@id/edit"],
  update: ["PUT|PATCH", "/@id"],
  destroy: ["DELETE", "/@id"],
};

/** What a path that takes every method allows. */
const everyMethod = [
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
];

/** The routes of an application, and those of the current request behind them. */
export class Router {
  readonly #layers: Layers<RouteTable>;
  readonly #find: (name: string) => Promise<Class>;
  #prefix = "";
  #middleware: readonly Middleware[] = [];

  /** `find` finds the classes of callbacks such as `"Class->method"`. */
  constructor(
    layers: Layers<RouteTable> = single(),
    find: (name: string) => Promise<Class> = noClass,
  ) {
    this.#layers = layers;
    this.#find = find;
  }

  /**
   * Declares a route behind those that are there. The pattern is an optional list of methods and a
   * path, such as `GET|POST /post/@slug`.
   *
   * Throws `SyntaxError` when the pattern is malformed, `TypeError` when the callback is none.
   */
  route<Path extends string, Pass extends boolean = false>(
    pattern: Path,
    callback: RouteCallback<Path, Pass>,
    passRoute?: Pass,
    alias = "",
  ): Route {
    checkString(pattern, "make a route", "the pattern");
    checkString(alias, `make the route "${pattern}"`, "the alias");
    const parsed = new Pattern(this.#prefixed(pattern));
    const called = resolveCallback(
      callback,
      this.#find,
      `the route "${parsed.path}"`,
    );
    const route = new Route({
      methods: parsed.methods,
      pattern: parsed.path,
      alias,
      middleware: this.#middleware,
      regex: () => parsed.regex(false),
    });
    this.#layers.writable.add({
      route,
      pattern: parsed,
      callback: called,
      passRoute: passRoute === true,
    });
    return route;
  }

  /** Declares a route for GET, and so for HEAD. */
  get<Path extends string, Pass extends boolean = false>(
    ...params: VerbParameters<Path, Pass>
  ): Route {
    return this.#verb("GET", params);
  }

  /** Declares a route for POST. */
  post<Path extends string, Pass extends boolean = false>(
    ...params: VerbParameters<Path, Pass>
  ): Route {
    return this.#verb("POST", params);
  }

  /** Declares a route for PUT. */
  put<Path extends string, Pass extends boolean = false>(
    ...params: VerbParameters<Path, Pass>
  ): Route {
    return this.#verb("PUT", params);
  }

  /** Declares a route for PATCH. */
  patch<Path extends string, Pass extends boolean = false>(
    ...params: VerbParameters<Path, Pass>
  ): Route {
    return this.#verb("PATCH", params);
  }

  /** Declares a route for DELETE. */
  delete<Path extends string, Pass extends boolean = false>(
    ...params: VerbParameters<Path, Pass>
  ): Route {
    return this.#verb("DELETE", params);
  }

  /**
   * Declares what the callback declares under a prefix, with middleware for all of it. Groups nest.
   * The callback is synchronous: throws `TypeError` when it answers a promise.
   */
  group(
    prefix: string,
    callback: (router: Router) => void,
    middleware: readonly Middleware[] = [],
  ): void {
    checkString(prefix, "make a group", "the prefix");
    if (typeof callback !== "function") {
      throw new TypeError(
        `Cannot make the group "${prefix}": the callback is no function`,
      );
    }
    for (const each of middleware) checkMiddleware(each);
    const outer = { prefix: this.#prefix, middleware: this.#middleware };
    this.#prefix = join(outer.prefix, checkPath(prefix));
    this.#middleware = [...outer.middleware, ...middleware];
    let outcome: unknown;
    try {
      outcome = callback(this);
    } finally {
      this.#prefix = outer.prefix;
      this.#middleware = outer.middleware;
    }
    if (!isThenable(outcome)) return;
    outcome.then(undefined, () => {}); // the error below says it all
    throw new TypeError(
      `Cannot make the group "${prefix}": the callback must not be asynchronous`,
    );
  }

  /**
   * Declares the conventional routes of a resource: index, create, store, show, edit, update and
   * destroy, each with a method of that name in the controller (a class, an object, or the name of an
   * autoloaded class) and the alias `<last part of the path>.<action>`.
   */
  resource(
    path: string,
    controller: object | string,
    options: ResourceOptions = {},
  ): void {
    const { only, except = [], middleware = [] } = options;
    const actions = Object.keys(resourceRoutes) as ResourceAction[];
    const unknown = [...only ?? [], ...except].find((action) =>
      !actions.includes(action)
    );
    if (unknown !== undefined) {
      throw new TypeError(
        `Cannot make the resource "${path}": there is no action "${unknown}"${
          didYouMean(unknown, actions)
        }`,
      );
    }
    const name = path.split("/").findLast((part) => part !== "") ?? "";
    this.group(path, () => {
      for (const action of actions) {
        if (except.includes(action) || only && !only.includes(action)) continue;
        const [methods, rest] = resourceRoutes[action];
        const callback: CallbackForm = typeof controller === "string"
          ? `${controller}->${action}`
          : [controller, action];
        this.route<string>(
          `${methods} ${rest || "/"}`,
          callback,
          false,
          `${name}.${action}`,
        );
      }
    }, middleware);
  }

  /**
   * The path of the route with that alias, the values encoded into it; optional parts without values
   * are left out, and `*` takes its text under the name `*`.
   *
   * Throws `ReferenceError` when there is no such alias, `TypeError` when a value is missing,
   * `RangeError` when one does not fit its place.
   */
  getUrl(alias: string, params: UrlParameters = {}): string {
    const { own, application } = this.#layers;
    const pattern = own?.aliased(alias) ?? application.aliased(alias);
    if (pattern) return pattern.build(params);
    const aliases = this.#tables().flatMap((table) => [...table.aliases()]);
    throw new ReferenceError(
      `Cannot make a URL: no route has the alias "${alias}"${
        didYouMean(alias, aliases)
      }`,
    );
  }

  /** The declared routes, in order. */
  routes(): Route[] {
    return this.#tables().flatMap(({ declarations }) =>
      declarations.map(({ route }) => route)
    );
  }

  /**
   * The first route for a method and a path, as it is sent: encoded, without a query. HEAD is answered
   * as GET, unless a route for the path names it. Throws `HttpError` 400 for a malformed escape.
   */
  match(
    method: string,
    path: string,
    caseSensitive: boolean,
  ): Match | undefined {
    const decoded = decodePath(path);
    const query = { path: decoded, method, caseSensitive, from: 0 };
    if (method === "HEAD" && !this.#names(query)) query.method = "GET";
    return this.#layers.application.find(query) ??
      this.#layers.own?.find(query);
  }

  /** The next route that matches the same, in the order of declaration. */
  next(match: Match): Match | undefined {
    const { application, own } = this.#layers;
    const { table, rest } = match;
    const found = table.find(rest);
    if (found || table !== application) return found;
    return own?.find({ ...rest, from: 0 });
  }

  /** The methods for which a path is known, for the Allow header; none when it is unknown. */
  allowed(path: string, caseSensitive: boolean): string[] {
    const methods = new Set<string>();
    const query = { path: decodePath(path), caseSensitive, from: 0 };
    for (const table of this.#tables()) {
      for (
        let match = table.find(query);
        match;
        match = table.find(match.rest)
      ) {
        for (const method of match.route.methods) methods.add(method);
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
    const declarations = this.#tables().flatMap((table) => table.declarations);
    return nearRoutes(declarations, method, decodePath(path), caseSensitive);
  }

  #tables(): RouteTable[] {
    const { application, own } = this.#layers;
    return own ? [application, own] : [application];
  }

  #names(
    query: {
      path: string;
      method: string;
      caseSensitive: boolean;
      from: number;
    },
  ): boolean {
    return this.#tables().some((table) =>
      table.names(query.method) &&
      table.find({ ...query, named: true }) !== undefined
    );
  }

  #verb<Path extends string, Pass extends boolean>(
    method: string,
    [path, callback, passRoute, alias]: VerbParameters<Path, Pass>,
  ): Route {
    checkString(path, "make a route", "the path");
    const pattern = `${method} ${checkPath(path) || "/"}`;
    return this.route<string, Pass>(
      pattern,
      callback as RouteCallback<string, Pass>,
      passRoute,
      alias,
    );
  }

  #prefixed(pattern: string): string {
    if (this.#prefix === "") return pattern;
    const { methods, path } = splitMethods(pattern);
    return `${methods.join("|")} ${join(this.#prefix, path)}`.trim();
  }
}

/** A prefix and a path with one slash between them; no path, or a slash, is the prefix itself. */
function join(prefix: string, path: string): string {
  const start = prefix.replace(/\/+$/, "");
  return path === "" || path === "/" ? start : start + slashed(path);
}

function checkPath(path: string): string {
  const { methods } = splitMethods(path);
  if (methods.length === 0) return path.trim();
  throw new SyntaxError(
    `Cannot make a route: the path "${path}" names methods, which it has already`,
  );
}

function checkString(
  value: unknown,
  action: string,
  what: string,
): asserts value is string {
  if (typeof value === "string") return;
  throw new TypeError(
    `Cannot ${action}: ${what} must be a string, got ${Deno.inspect(value)}`,
  );
}

function noClass(name: string): Promise<never> {
  return Promise.reject(
    new ReferenceError(
      `Cannot load the class "${name}": nothing loads classes`,
    ),
  );
}

/** One table for everything. */
function single(): Layers<RouteTable> {
  const application = new RouteTable();
  return { application, own: undefined, writable: application };
}
