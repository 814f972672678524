/**
 * Owns the static form of an application: the class {@linkcode Framework} has the methods of one engine, in
 * the engine's order, as static ones.
 */

import type { CallbackForm, Class, Method } from "./routing/callback.ts";
import { FRAMEWORK_OBJECT } from "./extension_keys.ts";
import { applicationOf, Engine } from "./engine.ts";
import type { InstanceOf } from "./application/registered_class.ts";
import {
  type DeclaredName,
  defineMethod,
  dynamicMethods,
} from "./application/names.ts";

let engine = new Engine();

// Lets the compiler accept any static name, for mapped methods and registered classes. A static index signature
// says the same, but Deno drops it where the package comes from JSR.
// deno-lint-ignore no-explicit-any
const /** @internal */ AnyMember: any = class {};

/**
 * The framework as a static interface: every method of {@linkcode Engine}, called on the class.
 *
 * In a handler, a filter and anything they call, the methods concern the request being handled, even after
 * an `await`. Mapped methods and registered classes are called by their names.
 *
 * Guide: [docs/extending.md](./docs/extending.md)
 *
 * @example
 * ```ts
 * import { Framework, html } from "@framework/core";
 * import { assertEquals } from "@std/assert";
 *
 * Framework.route("/hello/@name", (name) => html`Hello, ${name}!`);
 * Framework.map("shout", (text: string) => text.toUpperCase());
 *
 * const response = await Framework.fetch("/hello/Ada");
 * assertEquals(await response.text(), "Hello, Ada!");
 * assertEquals(Framework.shout("hey"), "HEY");
 * ```
 */
export class Framework extends AnyMember {
  /** There are no instances: every member is static. */
  private constructor() {
    super();
  }

  /** @ignore */
  static readonly [FRAMEWORK_OBJECT] = true;

  /** @ignore */
  static get onListen(): undefined {
    return engine.onListen;
  }

  /** {@linkcode Engine.prototype.fetch | Engine.fetch} of the engine behind this class; it needs no `this`. */
  static readonly fetch: Engine["fetch"] = (request, info) =>
    engine.fetch(request, info);

  /** Maps a method; `Framework.<name>(...)` then runs it. See {@linkcode Engine.prototype.map | Engine.map}. */
  declare static map: <Name extends string>(
    name: DeclaredName<Name>,
    callback: CallbackForm,
    passRoute?: boolean,
  ) => typeof Framework;

  /**
   * Registers a class; `Framework.<name>()` then returns its instance. See
   * {@linkcode Engine.prototype.register | Engine.register}.
   */
  declare static register: <Name extends string, Type extends Class | string>(
    name: DeclaredName<Name>,
    type: Type,
    params?: readonly unknown[],
    callback?: (instance: InstanceOf<Type>) => unknown,
  ) => typeof Framework;

  /** Adds a filter before a method. See {@linkcode Engine.prototype.before | Engine.before}. */
  declare static before: Engine["before"];

  /** Adds a filter after a method. See {@linkcode Engine.prototype.after | Engine.after}. */
  declare static after: Engine["after"];

  /** Adds a folder of autoloaded classes. See {@linkcode Engine.prototype.path | Engine.path}. */
  declare static path: Engine["path"];

  /**
   * Reads a variable or, with a callback, declares a route for GET. See
   * {@linkcode Engine.prototype.get | Engine.get}.
   */
  declare static get: Engine["get"];

  /** Sets a variable, or each of a record. See {@linkcode Engine.prototype.set | Engine.set}. */
  declare static set: Engine["set"];

  /** Whether a variable is set. See {@linkcode Engine.prototype.has | Engine.has}. */
  declare static has: Engine["has"];

  /** Clears one variable, several, or all. See {@linkcode Engine.prototype.clear | Engine.clear}. */
  declare static clear: Engine["clear"];

  /** Resets everything to the defaults. See {@linkcode Engine.prototype.init | Engine.init}. */
  declare static init: Engine["init"];

  /** Runs work as the application itself. See {@linkcode Engine.prototype.configure | Engine.configure}. */
  declare static configure: Engine["configure"];

  /**
   * The engine behind this class. An engine that is passed replaces it, for example in a test. Throws `Error`
   * while the current one serves.
   */
  static app(replacement: Engine = engine): Engine {
    if (replacement !== engine && applicationOf(engine).isServing) {
      throw new Error(
        "Cannot replace the engine: the one behind Framework is serving. Shut its server down, and call init() after a Deno.serve of your own",
      );
    }
    engine = replacement;
    return engine;
  }

  /** Listens for requests. See {@linkcode Engine.prototype.start | Engine.start}. */
  declare static start: Engine["start"];

  /** Ends the request and sends the content so far. See {@linkcode Engine.stop}. */
  declare static stop: Engine["stop"];

  /** Ends the request with a status and a message alone. See {@linkcode Engine.halt}. */
  declare static halt: Engine["halt"];

  /** Declares a route. See {@linkcode Engine.route}. */
  declare static route: Engine["route"];

  /** Declares routes under a prefix. See {@linkcode Engine.group}. */
  declare static group: Engine["group"];

  /** Responds with a redirect. See {@linkcode Engine.redirect}. */
  declare static redirect: Engine["redirect"];

  /** Renders a template. See {@linkcode Engine.render}. */
  declare static render: Engine["render"];

  /** Responds with the page of an error. See {@linkcode Engine.error}. */
  declare static error: Engine["error"];

  /** Responds with the page for a path that was not found. See {@linkcode Engine.notFound}. */
  declare static notFound: Engine["notFound"];

  /** Sets the ETag and checks conditions on it. See {@linkcode Engine.etag}. */
  declare static etag: Engine["etag"];

  /** Sets Last-Modified and checks conditions on it. See {@linkcode Engine.lastModified}. */
  declare static lastModified: Engine["lastModified"];

  /** Responds with JSON. See {@linkcode Engine.json}. */
  declare static json: Engine["json"];

  /** Responds with JSON inside a function call. See {@linkcode Engine.jsonp}. */
  declare static jsonp: Engine["jsonp"];

  /** The path of a route by its alias. See {@linkcode Engine.getUrl}. */
  declare static getUrl: Engine["getUrl"];

  /** Declares a route for POST. See {@linkcode Engine.post}. */
  declare static post: Engine["post"];

  /** Declares a route for PUT. See {@linkcode Engine.put}. */
  declare static put: Engine["put"];

  /** Declares a route for PATCH. See {@linkcode Engine.patch}. */
  declare static patch: Engine["patch"];

  /** Declares a route for DELETE. See {@linkcode Engine.delete}. */
  declare static delete: Engine["delete"];

  /** Runs work after the response. See {@linkcode Engine.defer}. */
  declare static defer: Engine["defer"];

  /** Sends the final web response. See {@linkcode Engine.send}. */
  declare static send: Engine["send"];

  /** Hands requests to another application. See {@linkcode Engine.mount}. */
  declare static mount: Engine["mount"];

  /** The current request. See {@linkcode Engine.request}. */
  declare static request: Engine["request"];

  /** The response being built. See {@linkcode Engine.response}. */
  declare static response: Engine["response"];

  /** The router. See {@linkcode Engine.router}. */
  declare static router: Engine["router"];

  /** The view. See {@linkcode Engine.view}. */
  declare static view: Engine["view"];

  /** The default of a mapped method. See {@linkcode Engine.prototype.original | Engine.original}. */
  declare static original: Engine["original"];
}

// The methods that are only declared above call the engine that is behind the class at that time. An accessor of the
// engine would become a method, too: declare it by hand.
for (const name of Object.getOwnPropertyNames(Engine.prototype)) {
  if (name === "constructor" || Object.hasOwn(Framework, name)) continue;
  defineMethod(Framework, name, (...params) => {
    const method: Method = Reflect.get(engine, name);
    const returned = method.apply(engine, params);
    return name === "map" || name === "register" ? Framework : returned;
  });
}

// Any other name is looked up when it is called: it may be mapped for the current request alone, or on an
// engine before `app()` put it behind this class.
const methods = dynamicMethods(
  class {
    constructor() {
      throw new TypeError(
        "Cannot make a Framework: it is static, use new Engine() for an application as an object",
      );
    }
  },
  (_, name) => (...params) => applicationOf(engine).call(name, params),
  (name) => applicationOf(engine).has(name),
);
Object.setPrototypeOf(Framework, methods);
