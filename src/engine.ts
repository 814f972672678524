/**
 * Owns an application: the core methods, the door `fetch` through which each request comes, and the
 * order of the steps in between. The steps themselves live in the rooms below; the defaults enter
 * through the same `map` and `register` that a user calls.
 */

import { Autoload } from "./autoload.ts";
import { type CallbackForm, resolveCallback } from "./callback.ts";
import { Dispatcher, type Filter, type Method } from "./dispatcher.ts";
import { framed } from "./frames.ts";
import { handle } from "./lifecycle.ts";
import { type Class, Loader, type Registration } from "./loader.ts";
import { type Application, defaultMethods } from "./methods.ts";
import { guarded, type Middleware } from "./middleware.ts";
import { checkName } from "./names.ts";
import { didYouMean } from "./near.ts";
import { HttpRequest, type RequestContext } from "./request.ts";
import { HttpResponse, type ResponseContext } from "./response.ts";
import type { Route, RouteCallback } from "./route.ts";
import {
  type Match,
  Router,
  RouteTable,
  type UrlParameters,
  type VerbParameters,
} from "./router.ts";
import { current, enter, Layered, Scope, Store } from "./scope.ts";
import { listen, type Server, type StartOptions } from "./server.ts";
import { checkSetting, defaults, type Settings } from "./settings.ts";
import { isThenable, run } from "./steps.ts";
import { NO_TARGET } from "./target.ts";
import { View } from "./view.ts";

/** What the runtime tells about a connection; `Deno.serve` and `deno serve` pass it on. */
export interface ConnectionInfo {
  /** The address of the other end. */
  readonly remoteAddr?: Deno.Addr;
}

/** A value, or a promise of it once a filter or a mapped method is asynchronous. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** The names of the extensible methods that the framework brings. */
export type Original =
  | "start"
  | "stop"
  | "halt"
  | "route"
  | "group"
  | "redirect"
  | "render"
  | "error"
  | "notFound"
  | "etag"
  | "lastModified"
  | "json"
  | "jsonp"
  | "getUrl"
  | "post"
  | "put"
  | "patch"
  | "delete"
  | "defer";

/** What an extensible method does by itself; of `start`, the part that answers a request. */
export type OriginalMethod<Name extends Original> = Name extends "start"
  ? () => unknown
  : Engine[Name];

/** An engine, seen with a method that was mapped. */
export type Mapped<Name extends string, Callback> = string extends Name
  ? unknown
  : {
    [Key in Name]: Callback extends (...params: infer Params) => infer Result
      ? (...params: Params) => Result
      : Method;
  };

/** An engine, seen with a class that was registered. */
export type Registered<Name extends string, Type> = string extends Name
  ? unknown
  : {
    [Key in Name]: (
      shared?: boolean,
    ) => Type extends Class<infer Instance> ? Instance : Promise<object>;
  };

/** Calls a method or class of an engine by its name; for the static form. */
export let callByName: (
  engine: Engine,
  name: string,
  params: unknown[],
) => unknown;

/**
 * An application: its routes, variables, methods and classes. {@linkcode Framework} is one behind a
 * static interface.
 *
 * @example
 * ```ts
 * import { Engine } from "@framework/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new Engine();
 * app.route("/hello/@name", (name) => `Hello, ${name}!`);
 *
 * const response = await app.fetch(new Request("http://localhost/hello/Ada"));
 * assertEquals(await response.text(), "Hello, Ada!");
 * ```
 */
export class Engine {
  /**
   * Answers a web request: the one door for `start()`, for `deno serve` and for tests. It rejects
   * only when `framework.handle_errors` is false.
   */
  readonly fetch: (
    request: Request,
    info?: ConnectionInfo,
  ) => Response | Promise<Response>;

  readonly #application: Application = {
    scope: (call) => this.#scope(call),
    start: () =>
      this.#dispatcher.run("start", this.#dispatcher.get("start")!, []),
    background: (work) => this.#keepBackground(work),
    call: (name, ...params) => this.#run(name, params),
    invoke: (match) => this.#invoke(match),
    setting: (key) => this.#setting(key),
    base: () => this.#base(),
    request: () => this.request(),
    response: () => this.response(),
    router: () => this.router(),
    view: () => this.view(),
  };
  #dispatcher!: Dispatcher;
  #loader!: Loader;
  #autoload!: Autoload;
  #variables!: Store<unknown>;
  #originals!: Map<string, Method>;
  #components: Record<string, Component> = {};
  readonly #background = new Set<Promise<unknown>>();
  readonly #streams = new Set<(reason: unknown) => void>();
  #server: Server | undefined;

  static {
    callByName = (engine, name, params) => engine.#run(name, params);
  }

  /** Makes an application of its own: engines share nothing. */
  constructor() {
    this.fetch = (request, info) => this.#fetch(request, info);
    this.init();
  }

  // Core methods

  /**
   * Maps a method: `engine.<name>(...)` then runs the callback. A default method of that name is
   * replaced, its filters stay. With `passRoute` the matched route follows the arguments.
   *
   * Throws `TypeError` for the names of core methods and those that JavaScript gives a meaning.
   */
  map<Name extends string, Callback extends CallbackForm>(
    name: Name,
    callback: Callback,
    passRoute = false,
  ): this & Mapped<Name, Callback> {
    checkName(name, "map");
    const callable = resolveCallback(
      callback,
      (type) => this.#autoload.find(type),
      `the method "${name}"`,
    );
    const method = passRoute
      ? (...params: unknown[]) => callable(...params, this.#matchedRoute())
      : callable;
    const isDefault = this.#originals.get(name) === callback;
    this.#dispatcher.map(
      name,
      isDefault ? method : framed(this.#application, name, method),
    );
    this.#expose(name);
    return this as this & Mapped<Name, Callback>;
  }

  /**
   * Registers a class: `engine.<name>()` is its one shared instance, made on first use, and
   * `engine.<name>(false)` a new one. `params` go to the constructor; the callback runs at once
   * after construction. A class given by its name is autoloaded: the call is a promise then.
   *
   * Registered during a request, the class and its instance belong to that request. What the
   * application registers is made outside of requests, so that it cannot keep one.
   */
  register<Name extends string, Type extends Class | string>(
    name: Name,
    type: Type,
    params: readonly unknown[] = [],
    callback?: (
      instance: Type extends Class<infer Instance> ? Instance : object,
    ) => unknown,
  ): this & Registered<Name, Type> {
    checkName(name, "register");
    if (typeof type !== "function" && typeof type !== "string") {
      throw new TypeError(
        `Cannot register "${name}": it must be a class or the name of one, got ${
          Deno.inspect(type)
        }`,
      );
    }
    const component = this.#components[name];
    const own = component !== undefined && params.length === 0 &&
      isKindOf(type, component.type);
    this.#loader.register(name, {
      type,
      params: own ? component.params : params,
      callback: callback as ((instance: object) => unknown) | undefined,
      lifetime: component?.lifetime ??
        (current(this) ? "request" : "application"),
    });
    this.#expose(name);
    return this as this & Registered<Name, Type>;
  }

  /** Adds a filter that runs before a method, behind those that are there. */
  before(name: string, filter: Filter): void {
    this.#filter(name, "before", filter);
  }

  /** Adds a filter that runs after a method, behind those that are there. */
  after(name: string, filter: Filter): void {
    this.#filter(name, "after", filter);
  }

  /** Adds a folder in which classes known by their name are looked for. */
  path(folder: string | URL): void {
    this.#autoload.add(folder);
  }

  /** The value of a variable, or undefined. */
  get<Value = unknown>(key: string): Value;
  /** Declares a route for GET. */
  get<Path extends string, Pass extends boolean = false>(
    path: Path,
    callback: RouteCallback<Path, Pass>,
    passRoute?: Pass,
    alias?: string,
  ): Route;
  get(...params: [string, ...unknown[]]): unknown {
    if (params[1] === undefined) return this.#variables.get(params[0]);
    return this.router().get(...params as unknown as Parameters<Router["get"]>);
  }

  /**
   * Sets a variable, or each of a record: for the whole application while it is being declared, for
   * the current request alone inside one. Throws `TypeError` when a value does not fit its setting.
   */
  set(key: string | Readonly<Record<string, unknown>>, value?: unknown): void {
    const entries = typeof key === "string"
      ? [[key, value] as const]
      : Object.entries(key);
    for (const [name, each] of entries) checkSetting(name, each);
    for (const [name, each] of entries) this.#variables.set(name, each);
  }

  /** Whether a variable is set, to anything but null and undefined. */
  has(key: string): boolean {
    return this.#variables.has(key);
  }

  /** Clears a variable or several; without a key all of them, settings too. */
  clear(key?: string | readonly string[]): void {
    if (key === undefined || key.length === 0 && typeof key !== "string") {
      return this.#variables.clear();
    }
    for (const name of typeof key === "string" ? [key] : key) {
      this.#variables.delete(name);
    }
  }

  /** Sets everything back to the defaults: variables, methods, filters, classes and routes. */
  init(): void {
    if (current(this)) {
      throw new Error(
        "Cannot initialise the framework: a request is being handled",
      );
    }
    this.#dispatcher = new Dispatcher(this);
    this.#autoload = new Autoload();
    this.#loader = new Loader(
      this,
      (name) => this.#scope(`${name}()`),
      (name) => this.#autoload.find(name),
    );
    this.#variables = new Store(this);
    this.#originals = new Map();
    this.set({ ...defaults });
    for (const [name, method] of Object.entries(defaultMethods)) {
      const bound = method.bind(undefined, this.#application);
      this.#originals.set(name, bound);
      this.map(name, bound);
    }
    this.#components = this.#defaultComponents();
    for (const [name, { type }] of Object.entries(this.#components)) {
      this.register(name, type);
    }
  }

  /** This application; on {@linkcode Framework}, the engine behind it. */
  app(): this {
    return this;
  }

  // Extensible methods: each runs with its filters, and can be mapped anew

  /**
   * Listens for requests and answers the server's handle. The process drains on SIGINT and SIGTERM.
   *
   * Throws when the engine listens already, when the address is taken, or when the permission for
   * it is missing. Each request runs the mapped method `start` with its filters.
   */
  start(options: StartOptions = {}): Server {
    if (current(this)) {
      throw new Error("Cannot start the server: a request is being handled");
    }
    if (this.#server !== undefined) {
      throw new Error("Cannot start the server: it is listening already");
    }
    const server = listen(this.fetch, options, {
      shutdownTimeout: () => this.#setting("framework.shutdown_timeout"),
      idle: () => this.#idle(),
      cutStreams: (reason) => this.#cutStreams(reason),
    });
    this.#server = server;
    server.finished.then(() => this.#server = undefined);
    return server;
  }

  /** Ends the request at once and sends the current response, under another status if given. */
  stop(...params: [code?: number]): never {
    return this.#run("stop", params) as never;
  }

  /** Ends the request at once; the content so far is dropped, the headers stay. */
  halt(...params: [code?: number, message?: string]): never {
    return this.#run("halt", params) as never;
  }

  /**
   * Declares a route. The pattern is an optional list of methods and a path, such as
   * `"GET|POST /post/@slug"`; the callback gets the named parameters in order, then the route
   * itself when `passRoute` is true.
   *
   * Throws `SyntaxError` when the pattern is malformed, `TypeError` when the callback is none.
   */
  route<Pattern extends string, Pass extends boolean = false>(
    ...params: [
      pattern: Pattern,
      callback: RouteCallback<Pattern, Pass>,
      passRoute?: Pass,
      alias?: string,
    ]
  ): Route {
    return this.#run("route", params) as Route;
  }

  /** Declares what the callback declares under a prefix, with middleware for all of it. */
  group(
    ...params: [
      prefix: string,
      callback: (router: Router) => void,
      middleware?: readonly Middleware[],
    ]
  ): void {
    this.#run("group", params);
  }

  /**
   * Answers with a redirect, 303 unless another code is given; a relative target lies under the base.
   * Throws `TypeError` for targets that run code or carry control characters.
   */
  redirect(...params: [url: string, code?: number]): MaybePromise<void> {
    return this.#run("redirect", params) as MaybePromise<void>;
  }

  /**
   * Renders a template into the body, at the place of this call even when it is not awaited; with a
   * key the result is kept as a view variable for later templates instead.
   */
  render(
    ...params: [file: string, data?: Record<string, unknown>, key?: string]
  ): Promise<void> {
    return Promise.resolve(this.#run("render", params) as MaybePromise<void>);
  }

  /** Answers with the page of an error: its status for an {@linkcode HttpError}, otherwise 500. */
  error(...params: [error: unknown]): MaybePromise<void> {
    return this.#run("error", params) as MaybePromise<void>;
  }

  /** Answers with the page of what is not found, status 404. */
  notFound(...params: []): MaybePromise<void> {
    return this.#run("notFound", params) as MaybePromise<void>;
  }

  /**
   * Sets the ETag and, when the client's is current, ends the request with 304, or with 412 for
   * methods other than GET and HEAD (RFC 9110, section 13). The type is `"strong"`, `"string"`,
   * which is strong too, or `"weak"`.
   */
  etag(
    ...params: [id: string, type?: "string" | "strong" | "weak"]
  ): MaybePromise<void> {
    return this.#run("etag", params) as MaybePromise<void>;
  }

  /**
   * Sets Last-Modified to a UNIX timestamp in seconds and, when the client's copy is as new, ends the
   * request with 304 (RFC 9110, section 13.1.3).
   */
  lastModified(...params: [time: number]): MaybePromise<void> {
    return this.#run("lastModified", params) as MaybePromise<void>;
  }

  /**
   * Answers with JSON; without a code the status stays what it is, 200 at first. `encode` false
   * takes text that is JSON already, `option` is the indentation in spaces. Throws `TypeError`
   * naming the place of a BigInt or a cycle.
   */
  json(
    ...params: [
      data: unknown,
      code?: number,
      encode?: boolean,
      charset?: string,
      option?: number,
    ]
  ): MaybePromise<void> {
    return this.#run("json", params) as MaybePromise<void>;
  }

  /**
   * Answers with JSON inside a call of the function that the query parameter `param` names. Throws
   * {@linkcode HttpError} 400 when that is no dotted identifier of at most 128 characters.
   */
  jsonp(
    ...params: [
      data: unknown,
      param?: string,
      code?: number,
      encode?: boolean,
      charset?: string,
      option?: number,
    ]
  ): MaybePromise<void> {
    return this.#run("jsonp", params) as MaybePromise<void>;
  }

  /**
   * The URL path of the route with that alias, the parameters encoded into it. Throws when the alias
   * is unknown, or a value is missing or does not fit its place.
   */
  getUrl(...params: [alias: string, params?: UrlParameters]): string {
    return this.#run("getUrl", params) as string;
  }

  /** Declares a route for POST. */
  post<Path extends string, Pass extends boolean = false>(
    ...params: VerbParameters<Path, Pass>
  ): Route {
    return this.#run("post", params) as Route;
  }

  /** Declares a route for PUT. */
  put<Path extends string, Pass extends boolean = false>(
    ...params: VerbParameters<Path, Pass>
  ): Route {
    return this.#run("put", params) as Route;
  }

  /** Declares a route for PATCH. */
  patch<Path extends string, Pass extends boolean = false>(
    ...params: VerbParameters<Path, Pass>
  ): Route {
    return this.#run("patch", params) as Route;
  }

  /** Declares a route for DELETE. */
  delete<Path extends string, Pass extends boolean = false>(
    ...params: VerbParameters<Path, Pass>
  ): Route {
    return this.#run("delete", params) as Route;
  }

  /** Keeps work for after the response; the server waits for it before it ends. */
  defer(...params: [work: () => unknown]): void {
    this.#run("defer", params);
  }

  // Components

  /** The current request; throws outside one. */
  request(): HttpRequest {
    return this.#run("request", []) as HttpRequest;
  }

  /** The response being built for the current request; throws outside one. */
  response(): HttpResponse {
    return this.#run("response", []) as HttpResponse;
  }

  /** The router. */
  router(): Router {
    return this.#run("router", []) as Router;
  }

  /** The view: the default one, or the instance of a class registered as `view`. */
  view<Type extends object = View>(): Type {
    return this.#run("view", []) as Type;
  }

  /**
   * The framework's own version of a method that was mapped anew, for the new one to call. It runs
   * without filters.
   */
  original<Name extends Original>(name: Name): OriginalMethod<Name> {
    const method = this.#originals.get(name);
    if (method === undefined) {
      throw new TypeError(
        `Cannot call the original of "${name}": the framework has no such method${
          didYouMean(name, this.#originals.keys())
        }`,
      );
    }
    return method as OriginalMethod<Name>;
  }

  #fetch(
    request: Request,
    info?: ConnectionInfo,
  ): Response | Promise<Response> {
    const scope = new Scope(this, {
      request,
      remote: info?.remoteAddr,
      target: NO_TARGET,
      body: undefined,
    });
    try {
      return enter(scope, run, handle(this.#application, scope));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Every call of an extensible method, mapped method or registered class goes through here. */
  #run(name: string, params: unknown[]): unknown {
    const method = this.#dispatcher.get(name);
    if (method === undefined) return this.#instance(name, params);
    const outcome = this.#dispatcher.run(name, method, params);
    return isThenable(outcome) ? this.#tracked(name, outcome) : outcome;
  }

  /** Asynchronous work of a request is waited for; whether its failure is handled, its caller says. */
  #tracked(name: string, work: PromiseLike<unknown>): PromiseLike<unknown> {
    const scope = current(this);
    if (scope === undefined) return work;
    const promise = Promise.resolve(work);
    scope.track(name, promise);
    return promise.then((value) => value);
  }

  #instance(name: string, params: unknown[]): unknown {
    const registration = this.#loader.get(name);
    if (registration === undefined) throw this.#unknown(name, "call");
    return params[0] === false
      ? this.#loader.make(name, registration)
      : this.#loader.shared(name, registration);
  }

  #filter(name: string, moment: "before" | "after", filter: Filter): void {
    const action = `add a filter ${moment}`;
    checkName(name, action);
    if (typeof filter !== "function") {
      throw new TypeError(
        `Cannot ${action} "${name}": the filter is no function`,
      );
    }
    if (this.#dispatcher.get(name) === undefined) {
      throw this.#unknown(name, action);
    }
    this.#dispatcher.filter(name, moment, filter);
  }

  #unknown(name: string, action: string): TypeError {
    if (action !== "call" && this.#loader.get(name)) {
      return new TypeError(
        `Cannot ${action} "${name}": it is a registered class, not a method`,
      );
    }
    const names = [...this.#dispatcher.names(), ...this.#loader.names()];
    return new TypeError(
      `Cannot ${action} "${name}": there is no such method${
        didYouMean(name, names)
      }`,
    );
  }

  #keepBackground(work: Promise<unknown>): void {
    this.#background.add(work);
    work.finally(() => this.#background.delete(work));
  }

  async #idle(): Promise<void> {
    while (this.#background.size > 0) await Promise.all(this.#background);
  }

  #cutStreams(reason: unknown): number {
    const cuts = [...this.#streams];
    for (const cut of cuts) cut(reason);
    return cuts.length;
  }

  #hold(cut: (reason: unknown) => void): () => void {
    const release = this.#scope("response()").hold();
    this.#streams.add(cut);
    return () => {
      this.#streams.delete(cut);
      release();
    };
  }

  /** Makes a mapped or registered name callable on this object. */
  #expose(name: string): void {
    if (name in this) return;
    Object.defineProperty(this, name, {
      value: (...params: unknown[]) => this.#run(name, params),
      configurable: true,
    });
  }

  #invoke(match: Match): unknown {
    const { middleware } = match.route;
    if (middleware.length === 0) return match.call();
    return run(guarded(match, () => this.response().sent));
  }

  #matchedRoute(): object | null {
    return current(this)?.root.match?.toRoute() ?? null;
  }

  #scope(call: string): Scope {
    const scope = current(this);
    if (scope !== undefined) return scope;
    throw new Error(
      `Cannot call ${call} here: no request is being handled`,
    );
  }

  #setting<Key extends keyof Settings>(key: Key): Settings[Key] {
    return (this.#variables.get(key) ?? defaults[key]) as Settings[Key];
  }

  #base(): string {
    const base = this.#setting("framework.base_url");
    return base === null ? "" : basePath(base);
  }

  /** The components that the framework brings, with what their constructors are given. */
  #defaultComponents(): Record<string, Component> {
    const variables = new Store<unknown>(this);
    return {
      request: {
        type: HttpRequest,
        params: () => this.#requestParams(),
        lifetime: "each request",
      },
      response: {
        type: HttpResponse,
        params: () => [this.#responseContext],
        lifetime: "each request",
      },
      router: {
        type: Router,
        params: [new Layered(this, () => new RouteTable())],
      },
      view: {
        type: View,
        params: [{
          variables,
          path: () => this.#setting("framework.views.path"),
          extension: () => this.#setting("framework.views.extension"),
          debug: () => this.#setting("framework.debug"),
        }],
      },
    };
  }

  #requestParams(): [Request, RequestContext] {
    const { request, target, remote, body } = this.#scope("request()").visit;
    return [request, {
      path: target.path,
      search: target.search,
      base: this.#base(),
      remote,
      trustProxy: this.#setting("framework.trust_proxy"),
      body,
    }];
  }

  readonly #responseContext: ResponseContext = {
    secure: () => this.request().secure,
    debug: () => this.#setting("framework.debug"),
    hold: (cut) => this.#hold(cut),
  };
}

/** A component that the framework brings. */
interface Component {
  readonly type: Class;
  readonly params: Registration["params"];
  readonly lifetime?: Registration["lifetime"];
}

/** The base path of a setting that may be a path or a whole URL, without a slash at its end. */
function basePath(base: string): string {
  const path = URL.canParse(base) ? new URL(base).pathname : base;
  const trimmed = path.replace(/^\/+|\/+$/g, "");
  return trimmed === "" ? "" : `/${trimmed}`;
}

/** Whether a class is a component's default class, or extends it. */
function isKindOf(type: Class | string, component: Class): boolean {
  return typeof type === "function" &&
    (type === component || type.prototype instanceof component);
}
