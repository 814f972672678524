/**
 * Owns what an application consists of: its variables, methods, classes and folders, and the plan that
 * is compiled from them. The code that handles requests asks here for everything that can be declared.
 */

import {
  type CallbackForm,
  type Class,
  type Method,
  resolveCallback,
} from "../callback.ts";
import { wrongKind } from "../errors.ts";
import type { HttpRequest } from "../request/request.ts";
import { keepOutcome, type Outcome } from "../response/outcome.ts";
import type { HttpResponse } from "../response/response.ts";
import type { Match, Router } from "../routing/router.ts";
import { Store } from "../state/layers.ts";
import {
  type CompiledPlan,
  current,
  currentOrThrow,
  type Owner,
  type Scope,
  writingScope,
} from "../state/scope.ts";
import { noSuchMethod } from "../suggestions.ts";
import { Autoload } from "./autoload.ts";
import {
  MappedMethod,
  RegisteredClass,
  type Registration,
  type Wrapper,
} from "./callable.ts";
import { checkName } from "./names.ts";
import { basePath, checkSetting, defaults, type Settings } from "./settings.ts";

/**
 * What every request needs of the application, looked up once. A declaration drops the plan, and the next
 * request compiles it anew; a request that declares something for itself gets a plan of its own.
 */
export interface Plan extends CompiledPlan {
  /** The value of every setting. */
  readonly settings: Readonly<Settings>;
  /** The mapped or filtered `start`; undefined for the default. */
  readonly start: MappedMethod | undefined;
  /** The mapped or filtered `send`; undefined for the default. */
  readonly send: MappedMethod | undefined;
  /** The router, once it was asked for; not kept when a mapped method returns it. */
  router: Router | undefined;
}

/** A scope, with the types of what the application keeps in it. */
export interface RequestScope extends Scope {
  readonly app: Application;
  readonly root: RequestScope;
  /** Set before anything else happens. */
  plan: Plan;
  match: Match | undefined;
  outcome: Outcome | undefined;
  httpResponse: HttpResponse | undefined;
}

/** A default method; the application is bound as its first parameter. */
// deno-lint-ignore no-explicit-any -- each method has parameters of its own
export type DefaultMethod = (app: Application, ...params: any[]) => unknown;

/** The classes that the framework brings, and how instances of each are made. */
export type Components = Readonly<Record<string, Registration<Class>>>;

/** What an application begins with. */
export interface BuiltIns {
  readonly methods: Readonly<Record<string, DefaultMethod>>;
  readonly wrappers: Readonly<Record<string, Wrapper<RequestScope>>>;
  readonly components: (app: Application) => Components;
}

/** An application; initialising an engine makes another one. */
export class Application {
  readonly autoload: Autoload;
  readonly variables: Store<unknown>;
  /** The plan of the next request; undefined after a declaration. */
  plan: Plan | undefined;
  /** The methods and classes by name; a mapped method hides a class. */
  readonly #callables: Store<MappedMethod | RegisteredClass>;
  readonly #originals: ReadonlyMap<string, Method>;
  readonly #wrappers: BuiltIns["wrappers"];
  readonly #components: Components;
  /** The framework's own class of responses, as registered: the application may register another. */
  readonly #usualResponse: unknown;

  /** Declares the defaults. Throws inside a request, and once the owner serves. */
  constructor(readonly owner: Owner, builtIns: BuiltIns) {
    if (writingScope(owner)) {
      throw new Error("Cannot initialise: a request is being handled");
    }
    this.autoload = new Autoload(owner);
    this.variables = new Store(owner);
    this.#callables = new Store(owner);
    this.#wrappers = builtIns.wrappers;
    this.#components = builtIns.components(this);
    this.#originals = new Map(
      Object.entries(builtIns.methods)
        .map(([name, method]) => [name, method.bind(undefined, this)]),
    );
    // The defaults are declared by the methods that users call.
    this.set({ ...defaults });
    for (const [name, method] of this.#originals) this.map(name, method);
    for (const [name, { type }] of Object.entries(this.#components)) {
      this.register(name, { type, params: [] });
    }
    this.#usualResponse = this.#callables.get("response");
  }

  // Declaring

  /** Sets each variable of a record. Throws `TypeError` for no record, or a value that does not fit its setting. */
  set(values: Readonly<Record<string, unknown>>): void {
    const rule = "it must be a name, or a record of values by name";
    if (Object(values) !== values) throw wrongKind("set", rule, values);
    const entries = Object.entries(values);
    for (const [name, value] of entries) checkSetting(name, value);
    for (const [name, value] of entries) this.variables.set(name, value);
    if (entries.some(([name]) => name in defaults)) this.#replan();
  }

  /** Clears the named variables, or all without a name. */
  clear(names: readonly string[]): void {
    if (names.length === 0) this.variables.clear();
    for (const name of names) this.variables.delete(name);
    this.#replan();
  }

  /**
   * Maps a method; one of that name is replaced, its filters stay. With `passRoute` its last argument is the
   * matched route, or null.
   */
  map(name: string, callback: CallbackForm, passRoute = false): void {
    checkName(name, "map");
    const what = `the method "${name}"`;
    const callable = resolveCallback(callback, this.autoload, what);
    const route = () => this.current()?.root.match?.toRoute() ?? null;
    const method: Method = passRoute
      ? (...params) => callable(...params, route())
      : callable;
    const isDefault = this.#originals.get(name) === callable;
    const wrapper = this.#wrappers[name] as Wrapper | undefined;
    const filters = this.#method(name)?.filters;
    this.#declare(name, new MappedMethod(method, isDefault, wrapper, filters));
  }

  /**
   * Registers a class; does nothing when a method has the name. A class that extends a component's gets the
   * component's parameters when it is given none. Throws `TypeError` when the type is no class.
   */
  register(name: string, registration: Registration): void {
    checkName(name, "register");
    const { type, params } = registration;
    const isClass = typeof type === "function" && "prototype" in type;
    if (typeof type !== "string" && !isClass) {
      const rule = "it must be a class or the name of one";
      throw wrongKind(`register "${name}"`, rule, type);
    }
    if (this.#method(name)) return;
    const component = this.#components[name];
    const inherits = component && params.length === 0 && isClass &&
      (type === component.type || type.prototype instanceof component.type);
    const given = inherits ? component.params : params;
    const completed = { ...component, ...registration, params: given };
    const scope = this.current();
    this.#declare(name, new RegisteredClass(name, completed, this, scope));
  }

  /** Appends a filter. Throws `TypeError` when it is no function, or when there is no such method. */
  filter(name: string, moment: "before" | "after", filter: CallbackForm): void {
    const action = `add a filter ${moment}`;
    checkName(name, action);
    const what = `the filter ${moment} "${name}"`;
    const callable = resolveCallback(filter, this.autoload, what);
    const mapped = this.#method(name);
    if (mapped === undefined) throw this.#unknown(name, action);
    this.#declare(name, mapped.filtered(moment, callable));
  }

  #declare(name: string, callable: MappedMethod | RegisteredClass): void {
    this.#callables.set(name, callable);
    this.#replan();
  }

  /** Replaces the plan after a write: the request's own inside a request, else that of later requests. */
  #replan(): void {
    const root = this.current()?.root;
    if (root) root.plan = this.#compiled();
    else this.plan = undefined;
  }

  #compiled(): Plan {
    const settings: Settings & Record<string, unknown> = { ...defaults };
    for (const name in defaults) {
      settings[name] = this.variables.get(name) ?? settings[name];
    }
    const [start, send] = ["start", "send"].map((name) => {
      const method = this.#method(name);
      return method?.isUnchanged ? undefined : method;
    });
    const isUsual = this.#callables.get("response") === this.#usualResponse;
    return {
      settings,
      base: basePath(settings["framework.base_url"]),
      trustsProxy: settings["framework.trust_proxy"],
      socketLimit: settings["framework.socket_limit"],
      start,
      send,
      router: undefined,
      needsResponse: !isUsual || settings["framework.debug"],
    };
  }

  // Reading

  /** Compiles the plan of all requests that declare nothing for themselves. */
  compile(): Plan {
    return this.plan = this.#compiled();
  }

  /** The plan of a request; outside of one, that of the next request. */
  planFor(scope: RequestScope | undefined = this.current()): Plan {
    return scope?.root.plan ?? this.plan ?? this.compile();
  }

  /** The scope of the current request, if any. */
  current(): RequestScope | undefined {
    return current(this.owner) as RequestScope | undefined;
  }

  /** The scope of the current request; throws outside one, naming the call. */
  scope(call: string): RequestScope {
    return currentOrThrow(this.owner, call) as RequestScope;
  }

  /** Whether the response is sealed. */
  isSealed({ sealedBy, httpResponse }: RequestScope): boolean {
    return httpResponse?.sent ?? sealedBy !== undefined;
  }

  // Calling

  /** Whether something is mapped or registered under the name. */
  has(name: string): boolean {
    return this.#callables.has(name);
  }

  /** Calls a method with its filters, or returns an instance of a class. */
  call(
    name: string,
    params: unknown[] = [],
    scope: Scope | undefined = this.current(),
  ): unknown {
    const callable = scope?.root.own
      ? this.#callables.get(name, scope)
      : this.#callables.application.get(name);
    if (callable === undefined) throw this.#unknown(name, "call");
    return tracked(name, callable.call(params, scope), scope);
  }

  /** The default of a method; throws `TypeError` when there is none of that name. */
  original(name: string): Method {
    const method = this.#originals.get(name);
    const action = "call the original of";
    if (!method) throw noSuchMethod(name, action, this.#originals.keys());
    // A mapped `start` may stop waiting for the default one, such as after a time-out.
    if (name === "start") return method;
    return (...params) => tracked(name, method(...params), this.current());
  }

  /** The current request. */
  request(): HttpRequest {
    return this.call("request") as HttpRequest;
  }

  /** The response being built, or the page in its place. */
  response(scope: Scope = this.scope("response()")): HttpResponse {
    const known = scope.httpResponse ?? this.call("response", [], scope);
    return known as HttpResponse;
  }

  /** Responds with an outcome and seals the response. Most requests need no `HttpResponse` for that. */
  respond(scope: Scope, by: string, outcome: Outcome): void {
    if (keepOutcome(scope, outcome, by)) return;
    this.response(scope).respond(by, outcome);
  }

  /** The router, kept in the plan unless a mapped method makes it. */
  router(scope: RequestScope | undefined = this.current()): Router {
    const plan = this.planFor(scope);
    if (plan.router !== undefined) return plan.router;
    const router = this.call("router", [], scope) as Router;
    if (this.#method("router") === undefined) plan.router = router;
    return router;
  }

  #method(name: string): MappedMethod | undefined {
    const callable = this.#callables.get(name);
    return callable instanceof MappedMethod ? callable : undefined;
  }

  #unknown(name: string, action: string): TypeError {
    const known = this.#callables.all();
    if (!known.has(name)) return noSuchMethod(name, action, known.keys());
    const state = "it is a registered class, not a method";
    return new TypeError(`Cannot ${action} "${name}": ${state}`);
  }
}

/**
 * Has the response wait for a promise that a method returned. Tracking handles a rejection, so the caller gets
 * another promise: if nobody awaits that one, the rejection is noticed.
 */
function tracked(name: string, result: unknown, scope?: Scope): unknown {
  if (!(result instanceof Promise) || scope === undefined) return result;
  scope.track(name, result);
  return result.then((value) => value);
}
