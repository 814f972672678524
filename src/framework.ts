/**
 * Owns the static form of an application: the class {@linkcode Framework} stands for one engine and
 * offers the engine's methods, in the engine's order, as static ones.
 */

import type { CallbackForm } from "./callback.ts";
import type { Filter } from "./dispatcher.ts";
import {
  callByName,
  type ConnectionInfo,
  Engine,
  type Original,
  type OriginalMethod,
} from "./engine.ts";
import type { Class } from "./loader.ts";
import type { HttpRequest } from "./request.ts";
import type { HttpResponse } from "./response.ts";
import type { Route, RouteCallback } from "./route.ts";
import type { Router, VerbParameters } from "./router.ts";
import type { Server, StartOptions } from "./server.ts";
import type { View } from "./view.ts";

let engine = new Engine();

/**
 * The framework as a static interface: every method of {@linkcode Engine}, called on the class.
 *
 * Inside a handler, a filter or anything they call, the methods speak of the request being handled,
 * after any number of awaits. Mapped methods and registered classes are called by their names.
 *
 * @example
 * ```ts
 * import { Framework } from "@framework/core";
 * import { assertEquals } from "@std/assert";
 *
 * Framework.route("/hello/@name", (name) => `Hello, ${name}!`);
 * Framework.map("shout", (text: string) => text.toUpperCase());
 *
 * const response = await Framework.fetch(new Request("http://localhost/hello/Ada"));
 * assertEquals(await response.text(), "Hello, Ada!");
 * assertEquals(Framework.shout("hey"), "HEY");
 * ```
 */
export class Framework {
  // deno-lint-ignore no-explicit-any -- mapped methods and registered classes have types of their own
  static [name: string]: any;

  /** {@linkcode Engine.fetch} of the engine behind this class. */
  static readonly fetch = (
    request: Request,
    info?: ConnectionInfo,
  ): Response | Promise<Response> => engine.fetch(request, info);

  /** {@linkcode Engine.map} */
  static map<Callback extends CallbackForm>(
    name: string,
    callback: Callback,
    passRoute = false,
  ): typeof Framework {
    engine.map(name, callback, passRoute);
    expose(name);
    return this;
  }

  /** {@linkcode Engine.register} */
  static register<Type extends Class | string>(
    name: string,
    type: Type,
    params: readonly unknown[] = [],
    callback?: (
      instance: Type extends Class<infer Instance> ? Instance : object,
    ) => unknown,
  ): typeof Framework {
    engine.register(name, type, params, callback);
    expose(name);
    return this;
  }

  /** {@linkcode Engine.before} */
  static before(name: string, filter: Filter): void {
    engine.before(name, filter);
  }

  /** {@linkcode Engine.after} */
  static after(name: string, filter: Filter): void {
    engine.after(name, filter);
  }

  /** {@linkcode Engine.path} */
  static path(folder: string | URL): void {
    engine.path(folder);
  }

  /** The value of a variable, or undefined. */
  static get<Value = unknown>(key: string): Value;
  /** Declares a route for GET. */
  static get<Path extends string, Pass extends boolean = false>(
    path: Path,
    callback: RouteCallback<Path, Pass>,
    passRoute?: Pass,
    alias?: string,
  ): Route;
  static get(...params: [string, ...unknown[]]): unknown {
    return engine.get(...params as Parameters<Engine["get"]>);
  }

  /** {@linkcode Engine.set} */
  static set(
    key: string | Readonly<Record<string, unknown>>,
    value?: unknown,
  ): void {
    engine.set(key, value);
  }

  /** {@linkcode Engine.has} */
  static has(key: string): boolean {
    return engine.has(key);
  }

  /** {@linkcode Engine.clear} */
  static clear(key?: string | readonly string[]): void {
    engine.clear(key);
  }

  /** {@linkcode Engine.init} */
  static init(): void {
    engine.init();
  }

  /** The engine behind this class; one that is given takes its place, such as in a test. */
  static app(replacement?: Engine): Engine {
    if (replacement !== undefined && !(replacement instanceof Engine)) {
      throw new TypeError(
        `Cannot replace the engine: it must be an Engine, got ${
          Deno.inspect(replacement)
        }`,
      );
    }
    return engine = replacement ?? engine;
  }

  /** {@linkcode Engine.start} */
  static start(options: StartOptions = {}): Server {
    return engine.start(options);
  }

  /** {@linkcode Engine.stop} */
  static stop(...params: Parameters<Engine["stop"]>): never {
    return engine.stop(...params);
  }

  /** {@linkcode Engine.halt} */
  static halt(...params: Parameters<Engine["halt"]>): never {
    return engine.halt(...params);
  }

  /** {@linkcode Engine.route} */
  static route<Pattern extends string, Pass extends boolean = false>(
    ...params: [
      pattern: Pattern,
      callback: RouteCallback<Pattern, Pass>,
      passRoute?: Pass,
      alias?: string,
    ]
  ): Route {
    return engine.route(...params);
  }

  /** {@linkcode Engine.group} */
  static group(...params: Parameters<Engine["group"]>): void {
    engine.group(...params);
  }

  /** {@linkcode Engine.redirect} */
  static redirect(
    ...params: Parameters<Engine["redirect"]>
  ): ReturnType<Engine["redirect"]> {
    return engine.redirect(...params);
  }

  /** {@linkcode Engine.render} */
  static render(...params: Parameters<Engine["render"]>): Promise<void> {
    return engine.render(...params);
  }

  /** {@linkcode Engine.error} */
  static error(
    ...params: Parameters<Engine["error"]>
  ): ReturnType<Engine["error"]> {
    return engine.error(...params);
  }

  /** {@linkcode Engine.notFound} */
  static notFound(): ReturnType<Engine["notFound"]> {
    return engine.notFound();
  }

  /** {@linkcode Engine.etag} */
  static etag(
    ...params: Parameters<Engine["etag"]>
  ): ReturnType<Engine["etag"]> {
    return engine.etag(...params);
  }

  /** {@linkcode Engine.lastModified} */
  static lastModified(
    ...params: Parameters<Engine["lastModified"]>
  ): ReturnType<Engine["lastModified"]> {
    return engine.lastModified(...params);
  }

  /** {@linkcode Engine.json} */
  static json(
    ...params: Parameters<Engine["json"]>
  ): ReturnType<Engine["json"]> {
    return engine.json(...params);
  }

  /** {@linkcode Engine.jsonp} */
  static jsonp(
    ...params: Parameters<Engine["jsonp"]>
  ): ReturnType<Engine["jsonp"]> {
    return engine.jsonp(...params);
  }

  /** {@linkcode Engine.getUrl} */
  static getUrl(...params: Parameters<Engine["getUrl"]>): string {
    return engine.getUrl(...params);
  }

  /** {@linkcode Engine.post} */
  static post<Path extends string, Pass extends boolean = false>(
    ...params: VerbParameters<Path, Pass>
  ): Route {
    return engine.post(...params);
  }

  /** {@linkcode Engine.put} */
  static put<Path extends string, Pass extends boolean = false>(
    ...params: VerbParameters<Path, Pass>
  ): Route {
    return engine.put(...params);
  }

  /** {@linkcode Engine.patch} */
  static patch<Path extends string, Pass extends boolean = false>(
    ...params: VerbParameters<Path, Pass>
  ): Route {
    return engine.patch(...params);
  }

  /** {@linkcode Engine.delete} */
  static delete<Path extends string, Pass extends boolean = false>(
    ...params: VerbParameters<Path, Pass>
  ): Route {
    return engine.delete(...params);
  }

  /** {@linkcode Engine.defer} */
  static defer(...params: Parameters<Engine["defer"]>): void {
    engine.defer(...params);
  }

  /** {@linkcode Engine.request} */
  static request(): HttpRequest {
    return engine.request();
  }

  /** {@linkcode Engine.response} */
  static response(): HttpResponse {
    return engine.response();
  }

  /** {@linkcode Engine.router} */
  static router(): Router {
    return engine.router();
  }

  /** {@linkcode Engine.view} */
  static view<Type extends object = View>(): Type {
    return engine.view<Type>();
  }

  /** {@linkcode Engine.original} */
  static original<Name extends Original>(
    name: Name,
  ): OriginalMethod<Name> {
    return engine.original(name);
  }
}

/** Makes a mapped or registered name callable on the class, whichever engine is behind it then. */
function expose(name: string): void {
  if (Object.hasOwn(Framework, name)) return;
  Object.defineProperty(Framework, name, {
    value: (...params: unknown[]) => call(name, params),
    configurable: true,
  });
}

function call(name: string, params: unknown[]): unknown {
  return callByName(engine, name, params);
}

/** Names that tools look up to learn what an object is: the class does not answer to them. */
const PROBES: ReadonlySet<string> = new Set([
  "then",
  "toJSON",
  "onListen",
  "onError",
  "default",
  "asymmetricMatch",
  "$$typeof",
]);

/**
 * What is looked up here is no method that was seen being mapped: it may be one of an engine that was
 * put behind the class, and otherwise calling it says which names are near. Own names, among them all
 * mapped ones, never come this way.
 */
Object.setPrototypeOf(
  Framework,
  new Proxy(Function.prototype, {
    get(target, name, receiver): unknown {
      if (typeof name === "symbol" || PROBES.has(name) || name in target) {
        return Reflect.get(target, name, receiver);
      }
      return (...params: unknown[]) => call(name, params);
    },
  }),
);
