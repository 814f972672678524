/**
 * Owns what an application consists of: its variables, methods, classes and folders, and the plan that
 * is compiled of them. The handling of requests asks here for everything that can be declared.
 */

import type { Class, Method } from "../callback.ts";
import { checkStatus } from "../errors.ts";
import type { HttpRequest } from "../request/request.ts";
import {
  isBodiless,
  type Outcome,
  type ResponseContext,
  textResponse,
} from "../response/outgoing.ts";
import { HttpResponse } from "../response/response.ts";
import type { Router } from "../routing/router.ts";
import type { BackgroundWork } from "../state/background.ts";
import { Store } from "../state/layers.ts";
import {
  current,
  currentOrThrow,
  type Owner,
  type Scope,
} from "../state/scope.ts";
import { noSuchMethod } from "../suggestions.ts";
import type { View } from "../view/view.ts";
import { Autoload } from "./autoload.ts";
import {
  type Component,
  components,
  responseContext,
  takeOutcome,
} from "./components.ts";
import { compilePlan, type Plan } from "./plan.ts";
import {
  type Filter,
  type Frame,
  type MappedMethod,
  type Registration,
  Registry,
} from "./registry.ts";
import { checkSetting, defaults, type Settings } from "./settings.ts";

/** A default method; the application is bound as its first parameter. */
// deno-lint-ignore no-explicit-any -- each method has parameters of its own
export type DefaultMethod = (app: Application, ...params: any[]) => unknown;

/** Runs a mapped method where its output belongs. */
export type DefaultFrame = (
  app: Application,
  method: MappedMethod,
  params: unknown[],
) => unknown;

/** What an application begins with. */
export interface Beginning {
  readonly methods: Readonly<Record<string, DefaultMethod>>;
  readonly frames: Readonly<Record<string, DefaultFrame>>;
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
  readonly #components: ReadonlyMap<string, Component>;
  readonly #responseContext: ResponseContext;
  #plan: Plan | undefined;

  constructor(owner: Owner, background: BackgroundWork, beginning: Beginning) {
    this.owner = owner;
    this.background = background;
    this.autoload = new Autoload(owner);
    this.variables = new Store(owner);
    const frames = Object.entries(beginning.frames).map(([name, frame]) =>
      [name, frame.bind(undefined, this)] as [string, Frame]
    );
    const framed = Object.fromEntries(frames);
    this.registry = new Registry(owner, this.autoload, framed);
    const methods = Object.entries(beginning.methods);
    this.#originals = new Map(
      methods.map(([name, method]) => [name, method.bind(undefined, this)]),
    );
    this.#components = new Map(Object.entries(components(this)));
    this.#responseContext = responseContext(this);
  }

  /** Sets, maps and registers the defaults, by the doors that users have. */
  declareDefaults(): void {
    this.set({ ...defaults });
    for (const [name, method] of this.#originals) this.map(name, method);
    for (const [name, { type }] of this.#components) {
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

  /** Clears the named variables. */
  clear(names: Iterable<string>): void {
    for (const name of names) this.variables.delete(name);
    this.#replan();
  }

  /** Maps a method. */
  map(name: string, method: Method): void {
    const isDefault = this.#originals.get(name) === method;
    this.registry.map(name, method, isDefault);
    this.#replan();
  }

  /** Registers a class; one that extends a component and has no parameters gets the component's. */
  register(name: string, registration: Registration): void {
    const { type, params } = registration;
    const component = this.#components.get(name);
    const isComponent = component !== undefined && params.length === 0 &&
      typeof type === "function" &&
      (type === component.type || type.prototype instanceof component.type);
    this.registry.register(name, {
      ...registration,
      slot: component?.slot,
      opened: component?.opened,
      params: isComponent ? component.params : params,
    });
    this.#replan();
  }

  /** Appends a filter. */
  filter(name: string, moment: "before" | "after", filter: Filter): void {
    this.registry.filter(name, moment, filter);
    this.#replan();
  }

  /** A write may have changed the plan: that of the request which made it, or everybody's. */
  #replan(): void {
    const scope = current(this.owner);
    if (scope) scope.root.plan = compilePlan(this, scope);
    else this.#plan = undefined;
  }

  // Asking

  /** The plan that holds for a request, or without one for the next. */
  plan(scope?: Scope): Plan {
    return (scope?.root.plan as Plan | undefined) ??
      (this.#plan ??= compilePlan(this));
  }

  /** The value of a setting. Give the scope where it is known. */
  setting<Key extends keyof Settings>(
    key: Key,
    scope: Scope | undefined = current(this.owner),
  ): Settings[Key] {
    return this.plan(scope).settings[key];
  }

  /** The path of the application, without a slash at its end. */
  base(scope: Scope | undefined = current(this.owner)): string {
    return this.plan(scope).base;
  }

  /** The scope of the current request; throws outside one, naming the call. */
  scope(call: string): Scope {
    return current(this.owner) ?? currentOrThrow(this.owner, call);
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

  /** Whether a class is the framework's own for the component of that name. */
  isComponent(name: string, type: Class | string): boolean {
    return this.#components.get(name)?.type === type;
  }

  request(): HttpRequest {
    return this.registry.call("request", []) as HttpRequest;
  }

  response(scope: Scope = this.scope("response()")): HttpResponse {
    return (scope.httpResponse ?? this.#openResponse(scope)) as HttpResponse;
  }

  /** Appends text to the response. */
  write(scope: Scope, text: string): void {
    if (text !== "" && this.isUntouched(scope)) scope.outcome = { text };
    else this.response(scope).write(text);
  }

  /** Responds with the outcome of a method and seals the response. */
  respond(scope: Scope, by: string, outcome: Outcome): void {
    const { text, status } = outcome;
    if (!text || isBodiless(status) || !this.isUntouched(scope)) {
      return this.response(scope).respond(by, outcome);
    }
    if (status !== undefined) checkStatus("respond", status, 200, 599);
    scope.outcome = outcome;
    scope.sealedBy = by;
  }

  /** Whether nobody has written anything or asked for the response, which most requests do without. */
  isUntouched(scope: Scope): boolean {
    return scope.httpResponse === undefined && scope.outcome === undefined &&
      !this.plan(scope).needsResponse;
  }

  /** Whether the response is sealed. */
  isSealed({ sealedBy, httpResponse }: Scope): boolean {
    return sealedBy !== undefined ||
      (httpResponse as HttpResponse | undefined)?.sent === true;
  }

  /** Makes the web response, without a body for a HEAD request. */
  toResponse(scope: Scope, isHead: boolean): Response {
    const outcome = scope.outcome as Outcome | undefined;
    return outcome === undefined || isHead
      ? this.response(scope).toResponse(isHead)
      : textResponse(outcome, this.#responseContext);
  }

  router(scope: Scope | undefined = current(this.owner)): Router {
    const plan = this.plan(scope);
    if (plan.router !== undefined) return plan.router;
    const router = this.registry.call("router", [], scope) as Router;
    return plan.keepsRouter ? plan.router = router : router;
  }

  view(): View {
    return this.registry.call("view", []) as View;
  }

  #openResponse(scope: Scope): object {
    if (this.plan(scope).hasOwnResponse) {
      return this.registry.call("response", [], scope) as object;
    }
    const response = new HttpResponse(this.#responseContext);
    scope.httpResponse = response;
    takeOutcome(response, scope);
    return response;
  }
}
