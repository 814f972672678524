/**
 * Owns the engine, one of the two forms of an application: the core methods, `fetch`, which every request goes
 * through, and `start`. How a request is handled is in `handling/handle.ts`; what the core methods change is in
 * `application/application.ts`.
 */

import { Application } from "./application/application.ts";
import {
  type ComponentName,
  COMPONENTS,
  type Core,
  type DeclaredName,
  defineMethod,
  dynamicMethods,
  type Original,
} from "./application/names.ts";
import type { Filter, Mapped } from "./application/mapped_method.ts";
import type { InstanceOf, Registered } from "./application/registered_class.ts";
import type {
  VariableName,
  VariableType,
  VariableValue,
  VariableValues,
} from "./application/settings.ts";
import type {
  CallbackForm,
  Class,
  JsonData,
  Method,
} from "./routing/callback.ts";
import { FRAMEWORK_OBJECT } from "./extension_keys.ts";
import type { ConnectionInfo } from "./http.ts";
import { defaults } from "./handling/defaults.ts";
import { handleRequest } from "./handling/handle.ts";
import type { Mountable } from "./routing/router.ts";
import type { HttpRequest } from "./application/request.ts";
import { webRequest } from "./request/target.ts";
import type { HttpResponse } from "./response/response.ts";
import type { Middleware } from "./routing/middleware.ts";
import type { DeclareRoute, Route, RouteCallback } from "./routing/route.ts";
import type { Router } from "./routing/router.ts";
import type { UrlParameters, UrlQuery } from "./routing/pattern.ts";
import { listen, type StartOptions } from "./server/listen.ts";
import type { Server } from "./server/server.ts";
import { configure } from "./state/current.ts";
import { surviveErrors } from "./state/uncaught.ts";
import type { MaybePromise } from "./waiting.ts";
import type { View } from "./view/view.ts";

/** The default of an extensible method; of `start`, the part that handles a request. */
export type OriginalMethod<Name extends Original> = Name extends "start"
  ? () => unknown
  : Engine[Name];

/** The parameters of each extensible method, as its filters get them: `start` none, `error` what it responds to. */
export type MethodParameters = {
  [Name in keyof Engine & string as Exclude<Name, Core | ComponentName>]:
    Name extends "start" ? []
      : Name extends "error" ? [error: Error]
      : Engine[Name] extends (...params: infer Params) => unknown ? Params
      : never;
};

/**
 * A filter of the method of that name, in any form of a callback.
 *
 * @internal
 */
export type FilterOf<Name extends string> =
  | Filter<
    // deno-lint-ignore no-explicit-any -- a mapped method has parameters of its own
    Name extends keyof MethodParameters ? MethodParameters[Name] : any[]
  >
  | Exclude<CallbackForm, Method>;

/** Returns the application behind an engine, for `Framework`. */
export let applicationOf: (engine: Engine) => Application;

/**
 * An application: its routes, variables, methods and classes. {@linkcode Framework} is one with a static interface.
 *
 * @example
 * ```ts
 * import { Engine, html } from "@framework/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new Engine();
 * app.route("/hello/@name", (name) => html`Hello, ${name}!`);
 *
 * const response = await app.fetch("/hello/Ada");
 * assertEquals(await response.text(), "Hello, Ada!");
 * ```
 */
export class Engine {
  /**
   * Handles a web request; `start()`, `deno serve` and tests all use it. A URL or a path stands for a GET: `"/users"`
   * is a GET of `http://localhost/users`. Rejects only when `framework.handle_errors` is false, or when not even the
   * page of an error can be sent. Throws `TypeError` for anything but a request, a URL or a path, and for options.
   */
  readonly fetch: (
    request: Request | URL | string,
    info?: ConnectionInfo,
  ) => Response | Promise<Response> = (request, info) =>
    request instanceof Request
      ? handleRequest(this.#app, request, info)
      : handleRequest(this.#app, webRequest(request, info), info);

  readonly #app = new Application(defaults);
  #server: Server | undefined;
  /** Whether `deno serve` serves it, of which nobody tells the end. */
  #isServed = false;

  static {
    applicationOf = (engine) => engine.#app;
    const methods = dynamicMethods(
      {},
      (engine: Engine, name) =>
        engine.#app.has(name)
          ? (...params) => engine.#app.call(name, params)
          : undefined,
    );
    Object.setPrototypeOf(Engine.prototype, methods);
    // The interface below declares them; `start` is a method of the class.
    const { ofRequest, ofApplication } = defaults;
    const names = Object.keys({ ...ofRequest, ...ofApplication });
    for (const name of [...names, ...COMPONENTS]) {
      if (name === "start") continue;
      defineMethod(
        Engine.prototype,
        name,
        function (this: Engine, ...params: unknown[]): unknown {
          return this.#app.call(name, params);
        },
      );
    }
  }

  /**
   * `deno serve` reads this of the default export, and nothing else does: from then on, no late error of a request ends
   * the process.
   *
   * @ignore
   */
  get onListen(): undefined {
    this.#app.isSecure = false; // it has no TLS
    this.#isServed = true;
    surviveErrors(() => Deno.exit(1));
    return undefined;
  }

  /** @ignore */
  readonly [FRAMEWORK_OBJECT] = true;

  // Members: `map()` refuses those that `application/names.ts` lists; `start` alone can be mapped, for each request

  /**
   * Maps a method: `engine.<name>(...)` then runs the callback. It replaces a default method of that name, whose
   * filters stay; it can call {@linkcode original}. With `passRoute`, the matched route, or null, follows the
   * arguments.
   *
   * The type of the returned engine has the method. To type the name elsewhere, and on {@linkcode Framework}, add
   * it to `interface Engine`, or to `namespace Framework`, in a `declare module "@framework/core"`.
   *
   * Throws `TypeError` when the name is that of a core method or has a meaning in JavaScript, and when the
   * callback is not one.
   */
  map<Name extends string, Callback extends CallbackForm>(
    name: DeclaredName<Name>,
    callback: Callback,
    passRoute = false,
  ): this & Mapped<Name, Callback> {
    this.#app.map(name, callback, passRoute);
    return this as this & Mapped<Name, Callback>;
  }

  /**
   * Registers a class: `engine.<name>()` returns its shared instance, made on first use, and
   * `engine.<name>(false)` a new one. The constructor gets `params`; the callback gets the new instance right
   * after construction. A class given by its name is autoloaded: the call then returns a promise. A mapped method
   * of that name takes precedence.
   *
   * A class that is registered during a request belongs to that request, as does its instance. The application's
   * shared instance is made outside of requests, so that it cannot hold on to one.
   *
   * Throws `TypeError` for the names that {@linkcode map} refuses, and for what is neither a class nor the name of one.
   */
  register<Name extends string, Type extends Class | string>(
    name: DeclaredName<Name>,
    type: Type,
    params: readonly unknown[] = [],
    callback?: (instance: InstanceOf<Type>) => unknown,
  ): this & Registered<Name, Type> {
    this.#app.register(name, type, params, callback);
    return this as this & Registered<Name, Type>;
  }

  /**
   * Appends a filter that runs before a method, in any form of a callback. Throws `TypeError` for core and
   * unknown methods, and for a second filter.
   */
  before<Name extends string>(
    name: DeclaredName<Name>,
    filter: FilterOf<Name>,
  ): void {
    checkSingle("before", arguments);
    this.#app.filter(name, "before", filter);
  }

  /**
   * Appends a filter that runs after a method, in any form of a callback. Throws `TypeError` for core and
   * unknown methods, and for a second filter.
   */
  after<Name extends string>(
    name: DeclaredName<Name>,
    filter: FilterOf<Name>,
  ): void {
    checkSingle("after", arguments);
    this.#app.filter(name, "after", filter);
  }

  /** Adds a folder of autoloaded classes. Throws `TypeError` for anything but a path or a `file:` URL. */
  path(folder: string | URL): void {
    this.#app.autoload.add(folder);
  }

  /** The value of a variable, or undefined. A setting has its own type; it is undefined after it has been cleared. */
  get<Value = unknown, Key extends string = string>(
    key: VariableName<Key>,
  ): VariableType<Key, Value> | undefined;
  /** Declares a route for GET. */
  get<
    Path extends string,
    Pass extends boolean = false,
    Result = unknown,
  >(
    path: Path,
    callback: RouteCallback<Path, Pass, Result>,
    passRoute?: Pass,
    alias?: string,
  ): Route;
  // The parameters are `never`, so that the compiler holds a wrong call against the overloads alone.
  get(...params: never[]): unknown {
    if (params.length === 1) return this.#app.variables.now[params[0]!];
    const get: Method = this.#app.router().get;
    return get(...params);
  }

  /**
   * Sets a variable: in a request for that request alone, otherwise for the whole application. Throws `TypeError`
   * when a value does not fit its setting, and `Error` outside of a request once the application serves: use
   * {@linkcode configure} there.
   */
  set<Key extends string>(
    key: VariableName<Key>,
    value: VariableValue<Key>,
  ): void;
  /** Sets each variable of a record. */
  set<Values extends Readonly<Record<string, unknown>>>(
    variables: VariableValues<Values>,
  ): void;
  set(...[key, value]: never[]): void {
    this.#app.set(typeof key === "string" ? { [key]: value } : key!);
  }

  /** Whether a variable has a value other than null and undefined. */
  has<Key extends string>(key: VariableName<Key>): boolean {
    return this.#app.variables.has(key);
  }

  /**
   * Clears one variable or several. Without a key, or with an empty list of them, clears everything; settings return to
   * their defaults.
   */
  clear(key: VariableName | readonly VariableName[] = []): void {
    this.#app.clear(typeof key === "string" ? [key] : key);
  }

  /**
   * Resets everything: variables, methods, filters, classes and routes. Throws in a request, in
   * {@linkcode configure}, and while a server of {@linkcode start} or `deno serve` runs. Call it to declare an
   * application again after a `Deno.serve` of your own has shut down, which the engine does not see.
   */
  init(): void {
    this.#app.init(this.#isServed || this.#server !== undefined);
  }

  /** This application; on {@linkcode Framework}, the engine behind it. */
  app(): this {
    return this;
  }

  /**
   * Runs work as the application itself, outside of any request, and returns what the work returns. What it sets
   * holds for every later request. Once the application serves, only this changes it, from a timer as well as
   * from a handler; until then, `set` and the like do the same.
   *
   * @example
   * ```ts
   * import { Engine } from "@framework/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new Engine();
   * app.set("visits", 0);
   * app.route("/", () => {
   *   app.configure(() => app.set("visits", app.get<number>("visits")! + 1));
   *   return `${app.get("visits")}`;
   * });
   *
   * await app.fetch("/");
   * const second = await app.fetch("/");
   * assertEquals(await second.text(), "2");
   * ```
   */
  configure<Result>(work: () => Result): Result {
    return configure(work);
  }

  /**
   * Listens for requests and returns the server's handle. The process drains on SIGINT and SIGTERM.
   *
   * Each request runs the method `start` with its filters. From now on only {@linkcode configure} changes the
   * application. Throws when the options are no record, the engine is already listening, the address is taken, or the
   * permission is missing.
   */
  start(options: StartOptions = {}): Server {
    const app = this.#app;
    if (app.context() || this.#server) {
      throw new Error(
        "Cannot start the server in a request, or while it is listening",
      );
    }
    const server = this.#server = listen(this.fetch, options, app);
    app.isServing = true;
    app.isSecure = options.cert !== undefined;
    const release = (): void => {
      this.#server = app.isSecure = undefined;
      app.isServing = false;
    };
    server.ended.then(release, release);
    return server;
  }

  /**
   * The default version of a method, which a mapped one can call. It runs without filters. The response
   * waits for its promise as for any call, except for that of `start`. Throws `TypeError` when the framework has
   * no such method.
   */
  original<Name extends Original>(name: Name): OriginalMethod<Name> {
    return this.#app.original(name) as OriginalMethod<Name>;
  }
}

/** The extensible methods, which are called with their filters, and the components. */
export interface Engine {
  /** Ends the request at once and sends the response so far, with another status if given, 200 to 599. */
  stop(code?: number): never;

  /** Ends the request at once with a status, 200 to 599, and a message. Drops the content so far; headers stay. */
  halt(code?: number, message?: string): never;

  /**
   * Declares a route. The pattern is an optional list of methods and a path, such as
   * `"GET|POST /post/@slug"`; the callback gets the named parameters in order, then the route
   * itself when `passRoute` is true.
   *
   * Throws `SyntaxError` when the pattern is malformed, `TypeError` when the callback is not one, and `Error` when
   * another path has the alias.
   */
  route: DeclareRoute;

  /** Puts a prefix and middleware in front of every route that the callback declares. */
  group<Prefix extends string>(
    prefix: Prefix,
    callback: (router: Router<NoInfer<Prefix>>) => void,
    middleware?: readonly Middleware[],
  ): void;

  /**
   * Responds with a redirect, 303 unless another code is given. A relative target is below the base. Throws
   * `TypeError` for a target that runs code or has control characters, `RangeError` for a code outside of 300 to
   * 399.
   */
  redirect(url: string, code?: number): MaybePromise<void>;

  /**
   * Renders a template into the response, at the place of this call even when it is not awaited. With a key, the
   * result becomes a view variable for later templates instead. Rejects when there is no such template, and when
   * rendering fails.
   */
  render(
    file: string,
    data?: Record<string, unknown>,
    key?: string | null,
  ): Promise<void>;

  /** Responds with an error page. The status is that of an {@linkcode HttpError}, otherwise 500. */
  error(error: unknown): MaybePromise<void>;

  /** Responds with the page for an unknown path, status 404. */
  notFound(): MaybePromise<void>;

  /**
   * Sets the ETag and, when the client's is current, ends the request with 304, or with 412 for
   * methods other than GET and HEAD (RFC 9110, section 13). The type is `"strong"`, `"string"`,
   * which is strong too, or `"weak"`. Throws `TypeError` for other types, and for an id with quotes or
   * characters that are not visible ASCII.
   */
  etag(id: string, type?: "string" | "strong" | "weak"): MaybePromise<void>;

  /**
   * Sets Last-Modified to a UNIX timestamp in seconds. When the client's copy is as new, ends a GET or HEAD with
   * 304. Ends a request of any method with 412 when its `If-Unmodified-Since` is older (RFC 9110, section 13).
   * Throws `RangeError` when the time is not a number of seconds.
   */
  lastModified(time: number): MaybePromise<void>;

  /**
   * Responds with JSON; without a code, 200 to 599, the status stays as it is, 200 at first. `encode` false
   * takes text that is JSON already, `option` is the indentation in spaces. Throws `TypeError` naming the
   * place of a BigInt, a cycle, and what JSON would send as `{}`, such as a promise, a `Map` or an error.
   */
  json<Data>(
    data: JsonData<Data>,
    code?: number,
    encode?: boolean,
    charset?: string,
    option?: number,
  ): MaybePromise<void>;

  /**
   * Responds with JSON inside a call of the function that the query parameter `param` names. Throws
   * {@linkcode HttpError} 400 when that is not a dotted identifier of at most 128 characters, and as `json` does.
   */
  jsonp<Data>(
    data: JsonData<Data>,
    param?: string,
    code?: number,
    encode?: boolean,
    charset?: string,
    option?: number,
  ): MaybePromise<void>;

  /**
   * The URL path of the route with that alias, the parameters encoded into it, and a query of the record: a list
   * repeats its name, null and undefined are left out. Throws `ReferenceError` for an unknown alias, `TypeError` when
   * a value is missing, `RangeError` when one does not fit its parameter.
   */
  getUrl(alias: string, params?: UrlParameters, query?: UrlQuery): string;

  /** Declares a route for POST. */
  post: DeclareRoute;

  /** Declares a route for PUT. */
  put: DeclareRoute;

  /** Declares a route for PATCH. */
  patch: DeclareRoute;

  /** Declares a route for DELETE. */
  delete: DeclareRoute;

  /**
   * Runs work after the response. A server that shuts down waits for it; an error in it is logged. Throws
   * `TypeError` when it is not a function.
   */
  defer(work: () => unknown): void;

  /**
   * Runs last for every request, with the final web response, even for a 304, a 404, a 500, a refused request and
   * a HEAD. By default it returns that response. Filter it to look at the response or to replace it. An error in a
   * filter is logged, and the client gets a plain 500 with the headers so far.
   */
  send(response: Response): MaybePromise<Response>;

  /**
   * Hands every request below the prefix to another application: an engine, a function from a web request to its
   * response, or an object with such a `fetch`. The application gets the canonical path without the prefix, and the
   * body unread. It takes its turn among the routes. The `base`, the `url`, `getUrl` and `redirect` of an engine have
   * the prefix in front while it handles such a request, unless it has a `framework.base_url` of its own. Throws
   * `TypeError` when the prefix has optional parts, when there is no `fetch`, and for middleware, and `SyntaxError`
   * when the prefix names a method.
   */
  mount(prefix: string, app: Mountable): void;

  /** The current request, or, with false, a new object for it. Throws outside of a request. */
  request(shared?: boolean): HttpRequest;

  /** The response to the current request, or with false a new one. Throws outside of a request. */
  response(shared?: boolean): HttpResponse;

  /** The router, or with false a new one. */
  router(shared?: boolean): Router;

  /** The view, the default one or that of a class registered as `view`; with false a new one. */
  view<Type extends object = View>(shared?: boolean): Type;
}

/** Throws `TypeError` for a further filter, which would be ignored. */
function checkSingle(name: "before" | "after", params: IArguments): void {
  if (params[2] === undefined) return;
  throw new TypeError(
    `Cannot call ${name}() with several filters: call it once for each`,
  );
}
