/**
 * Owns an application: the core methods, the door `fetch` through which each request comes, and the
 * way from a name to what is mapped or registered under it. The steps of a request and the defaults
 * live in the rooms below; the defaults enter through the same `map` and `register` that a user calls.
 */

import { BackgroundWork } from "./state/background.ts";
import {
  type CallbackForm,
  type Class,
  type Method,
  resolveCallback,
} from "./callback.ts";
import { paramsOf } from "./application/components.ts";
import type { Filter, Mapped } from "./application/registry.ts";
import { framed } from "./handling/frames.ts";
import { handle } from "./handling/handle.ts";
import type { InstanceOf, Registered } from "./application/loader.ts";
import { answering, type Call, checkName } from "./application/names.ts";
import type { MethodParameters, Original } from "./handling/parameters.ts";
import { Parts } from "./application/parts.ts";
import type { HttpRequest } from "./request/request.ts";
import type { HttpResponse } from "./response/response.ts";
import type { Middleware } from "./routing/middleware.ts";
import type { Route, RouteCallback } from "./routing/route.ts";
import type { Router } from "./routing/router.ts";
import {
  type ConnectionInfo,
  current,
  enter,
  outside,
  Scope,
  Visit,
} from "./state/scope.ts";
import { listen, type Server, type StartOptions } from "./server/listen.ts";
import { endWithRuntime, whenServed } from "./server/process.ts";
import {
  checkSetting,
  defaults,
  type Settings,
} from "./application/settings.ts";
import type { View } from "./view/view.ts";

export type { ConnectionInfo };

/** A value, or a promise of it once a filter or a mapped method is asynchronous. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** What an extensible method does by itself; of `start`, the part that answers a request. */
export type OriginalMethod<Name extends Original> = Name extends "start"
  ? () => unknown
  : Engine[Name];

/** Calls a method or class of an engine by its name; for the static form. */
export let callByName: Call<Engine>;

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
  readonly fetch = (
    request: Request,
    info?: ConnectionInfo,
  ): Response | Promise<Response> => {
    const scope = new Scope(this, new Visit(request, info));
    try {
      return enter(scope, handle, this.#parts.application, scope);
    } catch (error) {
      return Promise.reject(error);
    }
  };

  readonly #work = new BackgroundWork(this);
  #parts!: Parts;
  #server: Server | undefined;

  static {
    callByName = (engine, name, params) => engine.#run(name, params);
    const knows = (engine: Engine, name: string) =>
      engine.#parts.dispatcher.has(name);
    const prototype = answering(Object.prototype, callByName, knows);
    Object.setPrototypeOf(Engine.prototype, prototype);
    whenServed(
      Engine.prototype,
      (engine: Engine) =>
        endWithRuntime(engine.#work, () => engine.#shutdownTimeout),
    );
  }

  /** Makes an application of its own: engines share nothing. */
  constructor() {
    this.init();
  }

  // Core methods

  /**
   * Maps a method: `engine.<name>(...)` then runs the callback. A default method of that name is
   * replaced, its filters stay; {@linkcode original} is for the new one to call. With `passRoute` the
   * matched route follows the arguments.
   *
   * The engine that comes back is typed with the method. Elsewhere, and on {@linkcode Framework}, a
   * `declare module "@framework/core"` that adds to `interface Engine`, or to `namespace Framework`,
   * types the name.
   *
   * Throws `TypeError` for the names of core methods and those that JavaScript gives a meaning.
   */
  map<Name extends string, Callback extends CallbackForm>(
    name: Name,
    callback: Callback,
    passRoute = false,
  ): this & Mapped<Name, Callback> {
    checkName(name, "map");
    const what = `the method "${name}"`;
    const callable = resolveCallback(callback, this.#parts.autoload, what);
    const route = () => current(this)?.root.match?.toRoute() ?? null;
    const method: Method = passRoute
      ? (...params) => callable(...params, route())
      : callable;
    const isDefault = this.#parts.originals.get(name) === callback;
    const app = this.#parts.application;
    this.#parts.dispatcher.map(
      name,
      isDefault ? method : framed(app, name, method),
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
    callback?: (instance: InstanceOf<Type>) => unknown,
  ): this & Registered<Name, Type> {
    checkName(name, "register");
    const component = this.#parts.components.get(name);
    this.#parts.dispatcher.register(name, {
      type,
      params: paramsOf(component, type, params),
      callback: callback as ((instance: object) => unknown) | undefined,
      lifetime: component?.lifetime,
    });
    this.#expose(name);
    return this as this & Registered<Name, Type>;
  }

  /** Adds a filter that runs before a method, behind those that are there. */
  before(name: string, filter: Filter): void {
    this.#parts.dispatcher.filter(name, "before", filter);
  }

  /** Adds a filter that runs after a method, behind those that are there. */
  after(name: string, filter: Filter): void {
    this.#parts.dispatcher.filter(name, "after", filter);
  }

  /** Adds a folder in which classes known by their name are looked for. */
  path(folder: string | URL): void {
    this.#parts.autoload.add(folder);
  }

  /** The value of a setting, or undefined when it was cleared. */
  get<Key extends keyof Settings>(key: Key): Settings[Key] | undefined;
  /** The value of a variable, or undefined. */
  get<Value = unknown>(key: string): Value;
  /** Declares a route for GET. */
  get<Path extends string, Pass extends boolean = false, Result = unknown>(
    path: Path,
    callback: RouteCallback<Path, Pass, Result>,
    passRoute?: Pass,
    alias?: string,
  ): Route;
  get(...params: never[]): unknown {
    return params.length === 1
      ? this.#parts.variables.get(params[0]!)
      : this.router().get(...params as unknown as Parameters<Router["get"]>);
  }

  /**
   * Sets a variable, or each of a record: for the whole application while it is being declared, for
   * the current request alone inside one. Throws `TypeError` when a value does not fit its setting.
   */
  set(key: string | Readonly<Record<string, unknown>>, value?: unknown): void {
    const variables = typeof key === "string" ? { [key]: value } : key;
    const entries = Object.entries(variables);
    for (const [name, each] of entries) checkSetting(name, each);
    for (const [name, each] of entries) this.#parts.variables.set(name, each);
  }

  /** Whether a variable is set, to anything but null and undefined. */
  has(key: string): boolean {
    return this.#parts.variables.has(key);
  }

  /** Clears a variable or several; without a key all of them, settings too. */
  clear(key: string | readonly string[] = []): void {
    if (typeof key === "string") this.#parts.variables.delete(key);
    else if (key.length === 0) this.#parts.variables.clear();
    else for (const name of key) this.#parts.variables.delete(name);
  }

  /** Sets everything back to the defaults: variables, methods, filters, classes and routes. */
  init(): void {
    if (current(this)) {
      throw new Error("Cannot initialise: a request is being handled");
    }
    this.#parts = new Parts(this, this.#work);
    const { originals, components } = this.#parts;
    this.set({ ...defaults });
    for (const [name, method] of originals) this.map(name, method);
    for (const [name, { type }] of components) this.register(name, type);
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
    const why = current(this)
      ? "a request is being handled"
      : this.#server && "it is listening already";
    if (why !== undefined) throw new Error(`Cannot start the server: ${why}`);
    const seconds = () => this.#shutdownTimeout;
    const server = listen(this.fetch, options, this.#work, seconds);
    this.#server = server;
    const forget = (): void => void (this.#server = undefined);
    server.finished.then(forget, forget);
    return server;
  }

  /** Ends the request at once and sends the current response, under another status if given. */
  stop(...params: MethodParameters["stop"]): never {
    return this.#run("stop", params);
  }

  /** Ends the request at once; the content so far is dropped, the headers stay. */
  halt(...params: MethodParameters["halt"]): never {
    return this.#run("halt", params);
  }

  /**
   * Declares a route. The pattern is an optional list of methods and a path, such as
   * `"GET|POST /post/@slug"`; the callback gets the named parameters in order, then the route
   * itself when `passRoute` is true.
   *
   * Throws `SyntaxError` when the pattern is malformed, `TypeError` when the callback is none.
   */
  route<Path extends string, Pass extends boolean = false, Result = unknown>(
    pattern: Path,
    callback: RouteCallback<Path, Pass, Result>,
    passRoute?: Pass,
    alias?: string,
  ): Route;
  // An overload, so that filters see the arguments that were given and no more; of `never`, so that
  // the compiler never says that a wrong call would have suited the implementation.
  route(...params: never[]): Route {
    return this.#run("route", params);
  }

  /** Declares what the callback declares under a prefix, with middleware for all of it. */
  group(
    prefix: string,
    callback: (router: Router) => void,
    middleware?: readonly Middleware[],
  ): void;
  group(...params: never[]): void {
    return this.#run("group", params);
  }

  /**
   * Answers with a redirect, 303 unless another code is given; a relative target lies under the base.
   * Throws `TypeError` for targets that run code or carry control characters.
   */
  redirect(...params: MethodParameters["redirect"]): MaybePromise<void> {
    return this.#run("redirect", params);
  }

  /**
   * Renders a template into the body, at the place of this call even when it is not awaited; with a
   * key the result is kept as a view variable for later templates instead.
   */
  render(...params: MethodParameters["render"]): Promise<void> {
    return this.#run("render", params);
  }

  /** Answers with the page of an error: its status for an {@linkcode HttpError}, otherwise 500. */
  error(...params: MethodParameters["error"]): MaybePromise<void> {
    return this.#run("error", params);
  }

  /** Answers with the page of what is not found, status 404. */
  notFound(...params: MethodParameters["notFound"]): MaybePromise<void> {
    return this.#run("notFound", params);
  }

  /**
   * Sets the ETag and, when the client's is current, ends the request with 304, or with 412 for
   * methods other than GET and HEAD (RFC 9110, section 13). The type is `"strong"`, `"string"`,
   * which is strong too, or `"weak"`.
   */
  etag(...params: MethodParameters["etag"]): MaybePromise<void> {
    return this.#run("etag", params);
  }

  /**
   * Sets Last-Modified to a UNIX timestamp in seconds and, when the client's copy is as new, ends the
   * request with 304 (RFC 9110, section 13.1.3).
   */
  lastModified(
    ...params: MethodParameters["lastModified"]
  ): MaybePromise<void> {
    return this.#run("lastModified", params);
  }

  /**
   * Answers with JSON; without a code the status stays what it is, 200 at first. `encode` false
   * takes text that is JSON already, `option` is the indentation in spaces. Throws `TypeError`
   * naming the place of a BigInt or a cycle.
   */
  json(...params: MethodParameters["json"]): MaybePromise<void> {
    return this.#run("json", params);
  }

  /**
   * Answers with JSON inside a call of the function that the query parameter `param` names. Throws
   * {@linkcode HttpError} 400 when that is no dotted identifier of at most 128 characters.
   */
  jsonp(...params: MethodParameters["jsonp"]): MaybePromise<void> {
    return this.#run("jsonp", params);
  }

  /**
   * The URL path of the route with that alias, the parameters encoded into it. Throws when the alias
   * is unknown, or a value is missing or does not fit its place.
   */
  getUrl(...params: MethodParameters["getUrl"]): string {
    return this.#run("getUrl", params);
  }

  /** Declares a route for POST. */
  post<Path extends string, Pass extends boolean = false, Result = unknown>(
    path: Path,
    callback: RouteCallback<Path, Pass, Result>,
    passRoute?: Pass,
    alias?: string,
  ): Route;
  post(...params: never[]): Route {
    return this.#run("post", params);
  }

  /** Declares a route for PUT. */
  put<Path extends string, Pass extends boolean = false, Result = unknown>(
    path: Path,
    callback: RouteCallback<Path, Pass, Result>,
    passRoute?: Pass,
    alias?: string,
  ): Route;
  put(...params: never[]): Route {
    return this.#run("put", params);
  }

  /** Declares a route for PATCH. */
  patch<Path extends string, Pass extends boolean = false, Result = unknown>(
    path: Path,
    callback: RouteCallback<Path, Pass, Result>,
    passRoute?: Pass,
    alias?: string,
  ): Route;
  patch(...params: never[]): Route {
    return this.#run("patch", params);
  }

  /** Declares a route for DELETE. */
  delete<Path extends string, Pass extends boolean = false, Result = unknown>(
    path: Path,
    callback: RouteCallback<Path, Pass, Result>,
    passRoute?: Pass,
    alias?: string,
  ): Route;
  delete(...params: never[]): Route {
    return this.#run("delete", params);
  }

  /** Keeps work for after the response; the server waits for it before it ends. */
  defer(...params: MethodParameters["defer"]): void {
    return this.#run("defer", params);
  }

  // Components

  /** The current request, or with false a new object of it; throws outside one. */
  request(...params: [shared?: boolean]): HttpRequest {
    return this.#run("request", params);
  }

  /** The response being built for the current request, or with false a new one; throws outside one. */
  response(...params: [shared?: boolean]): HttpResponse {
    return this.#run("response", params);
  }

  /** The router, or with false a new one. */
  router(...params: [shared?: boolean]): Router {
    return this.#run("router", params);
  }

  /** The view, the default one or that of a class registered as `view`; with false a new one. */
  view<Type extends object = View>(...params: [shared?: boolean]): Type {
    return this.#run("view", params);
  }

  /**
   * The framework's own version of a method that was mapped anew, for the new one to call. It runs
   * without filters.
   */
  original<Name extends Original>(name: Name): OriginalMethod<Name> {
    return this.#parts.original(name) as OriginalMethod<Name>;
  }

  get #shutdownTimeout(): number {
    const name = "framework.shutdown_timeout";
    return outside(() => this.#parts.application.setting(name));
  }

  #run<Result>(name: string, params: unknown[]): Result {
    return this.#parts.dispatcher.runTracked(name, params) as Result;
  }

  /** Makes the name of an application's method or class callable without a search for it. */
  #expose(name: string): void {
    if (name in this || current(this)) return;
    Object.defineProperty(this, name, {
      value: (...params: unknown[]) => this.#run(name, params),
      configurable: true,
    });
  }
}
