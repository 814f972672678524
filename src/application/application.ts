/**
 * Owns what an application consists of: its variables, methods, classes and folders, and the plan that
 * is compiled of them. The handling of requests asks here for everything that can be declared.
 */

import {
  type CallbackForm,
  type Class,
  type Method,
  resolveCallback,
} from "../callback.ts";
import type { HttpRequest } from "../request/request.ts";
import type { Outcome, ResponseContext } from "../response/outcome.ts";
import type { HttpResponse } from "../response/response.ts";
import type { Match, Router } from "../routing/router.ts";
import type { BackgroundWork } from "../state/background.ts";
import { Store } from "../state/layers.ts";
import {
  configure,
  current,
  currentOrThrow,
  type Owner,
  type Scope,
  writingScope,
} from "../state/scope.ts";
import { noSuchMethod } from "../suggestions.ts";
import type { View } from "../view/view.ts";
import { Autoload } from "./autoload.ts";
import { checkName } from "./names.ts";
import { compilePlan, type Plan } from "./plan.ts";
import {
  type Filter,
  type Frame,
  type MappedMethod,
  type Registration,
  Registry,
} from "./registry.ts";
import { checkSetting, defaults, type Settings } from "./settings.ts";

/** A scope with what the application keeps in it. */
export interface RequestScope extends Scope {
  readonly root: RequestScope;
  /** Compiled before everything else. */
  plan: Plan;
  match: Match | undefined;
  outcome: Outcome | undefined;
  httpResponse: HttpResponse | undefined;
}

/** A default method; the application is bound as its first parameter. */
// deno-lint-ignore no-explicit-any -- each method has parameters of its own
export type DefaultMethod = (app: Application, ...params: any[]) => unknown;

/** Runs a mapped method where its output belongs. */
export type DefaultFrame = (
  app: Application,
  method: MappedMethod,
  params: unknown[],
  scope: RequestScope,
) => unknown;

/** A class that the framework brings, and how instances of it are made. */
export interface Component extends Registration {
  readonly type: Class;
}

/** What an application begins with. */
export interface Beginning {
  readonly methods: Readonly<Record<string, DefaultMethod>>;
  readonly frames: Readonly<Record<string, DefaultFrame>>;
  readonly components: (
    app: Application,
  ) => Readonly<Record<string, Component>>;
  readonly responseContext: (app: Application) => ResponseContext;
}

/** An application; initialising an engine makes another one. */
export class Application {
  readonly owner: Owner;
  /** What goes on after responses; it outlives the application. */
  readonly background: BackgroundWork;
  readonly autoload: Autoload;
  readonly registry: Registry;
  readonly variables: Store<unknown>;
  readonly #originals: ReadonlyMap<string, Method>;
  /** What responses ask the application. */
  readonly responseContext: ResponseContext;
  /** The plan of the next request; undefined after a declaration. */
  plan: Plan | undefined;
  readonly #components: Readonly<Record<string, Component>>;

  /** Declares the defaults. Throws inside a request, and once the owner serves. */
  constructor(owner: Owner, background: BackgroundWork, beginning: Beginning) {
    if (writingScope(owner)) {
      throw new Error("Cannot initialise: a request is being handled");
    }
    this.owner = owner;
    this.background = background;
    this.autoload = new Autoload(owner);
    this.variables = new Store(owner);
    const frames = Object.entries(beginning.frames).map(([name, frame]) =>
      [name, frame.bind(undefined, this) as Frame] as const
    );
    const framed = Object.fromEntries(frames);
    this.registry = new Registry(owner, this.autoload, framed);
    const methods = Object.entries(beginning.methods);
    this.#originals = new Map(
      methods.map(([name, method]) => [name, method.bind(undefined, this)]),
    );
    this.responseContext = beginning.responseContext(this);
    this.#components = beginning.components(this);
    this.#declareDefaults();
  }

  /** Sets, maps and registers the defaults, by the doors that users have. */
  #declareDefaults(): void {
    this.set({ ...defaults });
    for (const [name, method] of this.#originals) this.map(name, method);
    for (const name in this.#components) {
      const { type } = this.#components[name]!;
      this.register(name, { type, params: [] });
    }
  }

  // Declaring

  /** Sets each variable of a record. Throws `TypeError` when a value does not fit its setting. */
  set(variables: Readonly<Record<string, unknown>>): void {
    const entries = Object.entries(variables);
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

  /** Maps a method; with `passRoute` it gets the route that is being followed, or null. */
  map(name: string, callback: CallbackForm, passRoute = false): void {
    checkName(name, "map");
    const what = `the method "${name}"`;
    const callable = resolveCallback(callback, this.autoload, what);
    const isDefault = this.#originals.get(name) === callable;
    const route = () => this.current()?.root.match?.toRoute() ?? null;
    const method: Method = passRoute
      ? (...params) => callable(...params, route())
      : callable;
    this.registry.map(name, method, isDefault);
    this.#replan();
  }

  /** Registers a class; one that extends a component and has no parameters gets the component's. */
  register(name: string, registration: Registration): void {
    checkName(name, "register");
    const { type, params, callback } = registration;
    const component = Object.hasOwn(this.#components, name)
      ? this.#components[name]
      : undefined;
    const isLike = component !== undefined && params.length === 0 &&
      typeof type === "function" &&
      (type === component.type || type.prototype instanceof component.type);
    this.registry.register(name, {
      ...registration,
      slot: component?.slot,
      opened: component?.opened,
      params: isLike ? component.params : params,
      isDefault: isLike && type === component.type && callback === undefined,
    });
    this.#replan();
  }

  /** Appends a filter. */
  filter(name: string, moment: "before" | "after", filter: Filter): void {
    this.registry.filter(name, moment, filter);
    this.#replan();
  }

  /** Runs work as the application itself. Throws `TypeError` when it is not a function. */
  configure<Result>(work: () => Result): Result {
    if (typeof work !== "function") {
      const got = Deno.inspect(work);
      throw new TypeError(
        `Cannot configure the application: the work must be a function, got ${got}`,
      );
    }
    return configure(this.owner, work);
  }

  /** A write may have changed the plan: that of the request which made it, or everybody's. */
  #replan(): void {
    const root = this.current()?.root;
    if (root) root.plan = this.compile(root);
    else this.plan = undefined;
  }

  // Asking

  /** Compiles the plan of a request, or without one of all that declare nothing. */
  compile(scope?: RequestScope): Plan {
    const plan = compilePlan(this.registry, this.variables, scope);
    return scope === undefined ? this.plan = plan : plan;
  }

  /** The plan that holds for a request, or without one for the next. */
  planFor(scope: RequestScope | undefined = this.current()): Plan {
    return scope?.root.plan ?? this.plan ?? this.compile();
  }

  /** The value of a setting. Give the scope where it is known. */
  setting<Key extends keyof Settings>(
    key: Key,
    scope?: RequestScope,
  ): Settings[Key] {
    return this.planFor(scope).settings[key];
  }

  /** The path of the application, without a slash at its end. */
  base(): string {
    return this.planFor().base;
  }

  /** The scope of the current request, if any. */
  current(): RequestScope | undefined {
    return current(this.owner) as RequestScope | undefined;
  }

  /** The scope of the current request; throws outside one, naming the call. */
  scope(call: string): RequestScope {
    return currentOrThrow(this.owner, call) as RequestScope;
  }

  /** Calls an extensible method with its filters. */
  call(name: string, ...params: unknown[]): unknown {
    return this.registry.call(name, params);
  }

  /** The default of a method; throws `TypeError` when there is none of that name. */
  original(name: string): Method {
    const method = this.#originals.get(name);
    if (method !== undefined) return method;
    throw noSuchMethod(name, "call the original of", this.#originals.keys());
  }

  request(): HttpRequest {
    return this.registry.call("request", []) as HttpRequest;
  }

  response(scope: Scope = this.scope("response()")): HttpResponse {
    return (scope.httpResponse ??
      this.registry.call("response", [], scope)) as HttpResponse;
  }

  /** Whether the response is sealed. */
  isSealed({ sealedBy, httpResponse }: RequestScope): boolean {
    return sealedBy !== undefined || httpResponse?.sent === true;
  }

  router(scope: RequestScope | undefined = this.current()): Router {
    const plan = this.planFor(scope);
    if (plan.router !== undefined) return plan.router;
    const router = this.registry.call("router", [], scope) as Router;
    return plan.keepsRouter ? plan.router = router : router;
  }

  view(): View {
    return this.registry.call("view", []) as View;
  }
}
