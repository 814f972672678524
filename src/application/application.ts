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
import { isStop, wrongKind } from "../errors.ts";
import { checkRecord } from "../options.ts";
import { HttpRequest, ownRequest } from "./http_request.ts";
import { Router, routesOf } from "../routing/router.ts";
import type { Routes } from "../routing/routes.ts";
import { Current, innermost } from "../state/current.ts";
import { type Layer, type LayerSource, Store } from "../state/layer.ts";
import { Unfinished } from "../state/unfinished.ts";
import { noSuchMethod } from "../suggestions.ts";
import { Autoload } from "./autoload.ts";
import { callingOther, Context, type Exchange, pendingOf } from "./exchange.ts";
import { MappedMethod, type Wrapper } from "./mapped_method.ts";
import { checkName, type ComponentName, type Original } from "./names.ts";
import { Plan } from "./plan.ts";
import { type Component, RegisteredClass } from "./registered_class.ts";
import {
  checkSetting,
  defaultSettings,
  keptValue,
  type Settings,
} from "./settings.ts";

/** A default method; the application is bound as its first parameter. */
// deno-lint-ignore no-explicit-any -- each method has parameters of its own
export type DefaultMethod = (app: Application, ...params: any[]) => unknown;

/** What every application declares first. */
export interface Defaults {
  readonly methods: Readonly<Record<Original, DefaultMethod>>;
  /** How they run inside a request, once mapped or filtered; undefined for those that run as any other method. */
  readonly wrappers: Readonly<Record<Original, Wrapper | undefined>>;
  readonly components: (app: Application) => Record<ComponentName, Component>;
}

/**
 * An application: what was declared, whether it serves, and what it has not finished.
 *
 * Each question about the server, and about where a request comes from, has its own flag:
 *
 * - May code outside of requests still change the application? Not while `isServing`: from `start()` on or, with any
 *   other server, from its first request (`handling/handle.ts`), until the server of `start()` has ended or `init()` is
 *   called.
 * - Is the server that of `deno serve`? `isUnderDenoServe`, which `server/deno_serve.ts` sets.
 * - Does a server of `start()` run, so that neither `start()` nor `init()` may be called? `Engine` knows its server.
 * - Is the server shutting down? `unfinished.isDraining`, which `server/` sets and resets.
 * - Has any server received this request, or the one around it? `Exchange.isServed`.
 * - Did the server pass on the connection? Every server does, except perhaps the user's own `Deno.serve`:
 *   `Exchange.hasConnectionInfo`. Only for such requests does a drain wait, and only to them does `framework.coalesce`
 *   apply.
 * - Did the program make the request itself, as tests do? `isFromProgram()` of `handling/client.ts`; `isLocal()` there
 *   asks whether the client is on this machine, and `seesDetails()` who may see details under debug.
 * - May the request be a copy of one that a server has received? `Exchange.mayBeCopy`.
 * - Which scheme has the server? `isSecure`, which `server/` sets, and `endServing()` resets when it has ended.
 */
export class Application implements LayerSource {
  /** Which context the running code belongs to. */
  readonly current: Current<Context> = new Current<Context>();
  /** What a server that drains waits for. */
  readonly unfinished: Unfinished = new Unfinished(
    () => this.#running(),
    () => this.plan.settings["framework.shutdown_timeout"],
  );
  /** Whether a server has begun to pass requests to it: then only `configure()` can change it. */
  isServing = false;
  /** Whether `Framework` stands for it. */
  isStatic = false;
  /** Whether `deno serve` runs it, whose server has no TLS and ends with the process. */
  isUnderDenoServe = false;
  /** Whether its server has TLS; undefined where that is not known. */
  isSecure: boolean | undefined = undefined;
  autoload!: Autoload;
  variables!: Store<unknown>;
  /** The methods and classes by name: `map()` replaces a class, but no class replaces a method. */
  #callables!: Store<MappedMethod | RegisteredClass>;
  readonly #defaultMethods: ReadonlyMap<string, Method>;
  /** The compiled plan; undefined after a declaration. */
  #plan: Plan | undefined;
  readonly #defaults: Defaults;
  #components!: Readonly<Record<string, Component>>;

  constructor(defaults: Defaults) {
    this.#defaults = defaults;
    this.#defaultMethods = new Map(
      Object.entries(defaults.methods)
        .map(([name, method]) => [name, method.bind(undefined, this)]),
    );
    this.init();
  }

  /**
   * Declares the defaults and drops everything else. Throws inside a request and inside `configure()`, and while a
   * server runs: that of `deno serve` or, with `isListening`, that of `start()`. The end of any other server goes
   * unnoticed.
   */
  init(isListening = false): void {
    if (this.context()) {
      throw new Error("Cannot initialize: a request is being handled");
    }
    if (this.current.isConfiguring) {
      throw new Error("Cannot initialize inside configure()");
    }
    const hasServer = isListening || this.isUnderDenoServe;
    // In a request of another application, it is refused below, and goes on to serve.
    if (!hasServer && innermost() === undefined) this.isServing = false;
    this.checkShared();
    this.autoload = new Autoload(this);
    this.variables = new Store(this);
    this.#callables = new Store(this);
    this.#components = this.#defaults.components(this);
    // The defaults are declared by the methods that users call.
    this.set({ ...defaultSettings });
    for (const [name, method] of this.#defaultMethods) {
      this.map(name, method, false, true);
    }
    for (const [name, { type }] of Object.entries(this.#components)) {
      this.register(name, type);
    }
  }

  // Serving

  /** Call it when the application's server has drained. */
  endServing(): void {
    this.isServing = false;
    this.isSecure = undefined;
  }

  // Declaring

  /** Sets each variable of a record. Throws `TypeError` for no record, or a value that does not fit its setting. */
  set(values: Readonly<Record<string, unknown>>): void {
    const rule =
      "the first argument must be a name, or a record of values by name";
    checkRecord("set variables", rule, values);
    const entries = Object.entries(values);
    for (const [name, value] of entries) checkSetting(name, value);
    for (const [name, value] of entries) {
      this.variables.set(name, keptValue(name, value));
    }
    if (entries.some(([name]) => isSetting(name))) this.#replan();
  }

  /** Clears the named variables, or all without a name. */
  clear(names: readonly string[]): void {
    if (names.length === 0) this.variables.clear();
    for (const name of names) this.variables.delete(name);
    if (names.length === 0 || names.some(isSetting)) this.#replan();
  }

  /**
   * Maps a method; it replaces one of that name, whose filters stay. With `passRoute` its last argument is the
   * matched route, or null. `isDefault` is for `init()` alone.
   */
  map(
    name: string,
    callback: CallbackForm,
    passRoute = false,
    isDefault = false,
  ): void {
    checkName(name, "map");
    const what = `the method "${name}"`;
    const called = resolveCallback(callback, this.autoload, what);
    const route = () => this.context()?.exchange.match?.toRoute() ?? null;
    const method: Method = passRoute
      ? (...params) => called(...params, route())
      : called;
    const wrapper = this.#defaults.wrappers[name as Original];
    const filters = this.#method(name)?.filters;
    this.#declare(name, new MappedMethod(method, isDefault, wrapper, filters));
  }

  /**
   * Registers a class; does nothing when a method has the name. A class that extends a component's gets the
   * component's parameters when it is given none. Throws `TypeError` when the type is not a class, the parameters are
   * not an array, or the callback is not a function.
   */
  register(
    name: string,
    type: Class | string,
    params: readonly unknown[] = [],
    callback?: Method,
  ): void {
    checkName(name, "register");
    const action = `register "${name}"`;
    const isClass = typeof type === "function" && "prototype" in type;
    if (typeof type !== "string" && !isClass) {
      const rule = "it must be a class or the name of one";
      throw wrongKind(action, rule, type);
    }
    if (name === "router" && !isClass) {
      const rule =
        "it must be a class: routes are declared before one is loaded";
      throw wrongKind(action, rule, type);
    }
    if (!Array.isArray(params)) {
      const rule = "the parameters of the constructor must be an array";
      throw wrongKind(action, rule, params);
    }
    if (typeof (callback ?? Object) !== "function") {
      throw wrongKind(action, "the callback must be a function", callback);
    }
    if (this.#method(name)) return;
    const component = this.#components[name];
    const context = this.context();
    if (context !== undefined && component?.isInUse?.(context)) {
      throw new Error(
        `Cannot ${action} here: the request already has an object of another class`,
      );
    }
    this.#declare(
      name,
      new RegisteredClass(name, type, params, callback, component, this),
    );
  }

  /** Appends a filter. Throws `TypeError` when it is not a function, or when there is no such method. */
  filter(name: string, moment: "before" | "after", filter: CallbackForm): void {
    const action = `add a filter ${moment}`;
    checkName(name, action);
    const what = `the filter ${moment} "${name}"`;
    const called = resolveCallback(filter, this.autoload, what);
    const mapped = this.#method(name);
    if (mapped === undefined) throw this.#unknown(name, action);
    this.#declare(name, mapped.filtered(moment, called));
  }

  #declare(name: string, callable: MappedMethod | RegisteredClass): void {
    this.#callables.set(name, callable);
    this.#replan();
  }

  /** Replaces the plan after a write: inside a request its plan, else that of later requests. */
  #replan(): void {
    const exchange = this.context()?.exchange;
    if (exchange === undefined) this.#plan = undefined;
    else exchange.usePlan(this.#compiled(exchange.layer));
  }

  /** The plan of the requests with that layer, or of those without one. */
  #compiled(layer: Layer | null): Plan {
    const settings: Settings & Record<string, unknown> = { ...defaultSettings };
    for (const name in defaultSettings) {
      settings[name] = this.variables.get(name, layer) ?? settings[name];
    }
    const [start, send] = ["start", "send"].map((name) => {
      const method = this.#method(name, layer);
      return method?.isUnchanged ? undefined : method;
    });
    return new Plan(settings, start, send);
  }

  // Reading

  /** The plan of all requests that declare nothing for themselves. */
  get plan(): Plan {
    return this.#plan ??= this.#compiled(null);
  }

  /** The plan of the current request; outside a request, the one that the next request will get. */
  get currentPlan(): Plan {
    return this.current.get()?.exchange.plan ?? this.plan;
  }

  /** The context of the current request, if any. */
  context(): Context | undefined;
  /** The context of the current request; throws outside one, naming the call. */
  context(call: string): Context;
  context(call?: string): Context | undefined {
    const context = this.current.get();
    if (context !== undefined || call === undefined) return context;
    throw new Error(`Cannot call ${call} here: no request is being handled`);
  }

  get layer(): Layer | null {
    return this.current.get()?.exchange.layer ?? null;
  }

  requestLayer(): Layer | null {
    const exchange = this.current.get()?.exchange;
    return exchange ? exchange.layer ??= new Map() : null;
  }

  /**
   * Throws when the application serves, or a served request of another one is handled, and the calling code is
   * not in `configure()`: Deno forgets the request in some callbacks, and what is set for one client must not
   * reach every other.
   */
  checkShared(): void {
    const { innermostSinceMade: context } = this.current;
    const isInServed = context instanceof Context && context.exchange.isServed;
    if (!this.isServing && !isInServed || this.current.isConfiguring) return;
    throw new Error(
      "Cannot change the application here: it has started serving, and this code belongs to none of its requests. " +
        "Wrap the change in configure() to apply it to every request, or call init() to start over " +
        "once no server is running",
    );
  }

  /** Runs work as the application itself, outside of every request. */
  configure<Result>(work: () => Result): Result {
    return this.current.configure(work);
  }

  /** Under debug, has `src/debug/` warn of mistakes. */
  warnOfMistakes(): void {
    const { plan } = this;
    if (plan.isDebugging) plan.loadDebug().then((debug) => debug.warn(this));
  }

  // Calling

  /** Whether something is mapped or registered under the name. */
  has(name: string): boolean {
    return this.#callables.has(name);
  }

  /**
   * Calls a method with its filters, and has the response wait for a promise that it returns; or returns an instance of
   * a class. The context must be the current one, unless the name is that of a component: passing it saves looking it
   * up. A method that was to respond, and fails, lets no guard go on, also where that catches the error.
   */
  call(
    name: string,
    params: unknown[] = [],
    context: Context | undefined = this.current.get(),
  ): unknown {
    const layer = context?.exchange.layer ?? null;
    const callable = this.#callables.get(name, layer);
    if (callable === undefined) throw this.#unknown(name, "call");
    return callAndNote(name, callable, params, context);
  }

  /** Whether another method is mapped in place of a default one. */
  isMapped(name: Original, { exchange: { layer } }: Context): boolean {
    return this.#method(name, layer)?.isDefault === false;
  }

  /** The default of a method; throws `TypeError` when there is none of that name. */
  original(name: string): Method {
    const method = this.#defaultMethods.get(name);
    const action = "call the original of";
    if (!method) throw noSuchMethod(name, action, this.#defaultMethods.keys());
    // A mapped `start` may stop waiting for the default one, such as after a time-out.
    if (name === "start") return method;
    const wrapper = this.#defaults.wrappers[name as Original];
    const unchanged = new MappedMethod(method, true, wrapper);
    return (...params) => callAndNote(name, unchanged, params, this.context());
  }

  /**
   * What `request()` returns in a context, by default in the current one. Where that is no `HttpRequest`, since it is
   * mapped or autoloaded, the framework's own.
   */
  request(context: Context = this.context("request()")): HttpRequest {
    const request = this.call("request", [], context);
    return request instanceof HttpRequest
      ? request
      : ownRequest(context.exchange);
  }

  /** The router, by default that of the current context. */
  router(context?: Context): Router {
    return this.call("router", [], context) as Router;
  }

  /**
   * The routes of the router, to which `handling/components.ts` gives them; the plan has them, unless a mapped method
   * returns the router.
   */
  routes(context: Context): Routes {
    const { plan } = context.exchange;
    if (plan.routes !== undefined) return plan.routes;
    const router: unknown = this.router(context);
    if (!(router instanceof Router)) {
      throw wrongKind("find a route", "router() must return a Router", router);
    }
    const routes = routesOf(router);
    if (this.#method("router") === undefined) plan.routes = routes;
    return routes;
  }

  /** The requests that a server has passed on and that have no response yet. */
  #running(): Exchange[] {
    const contexts = this.current.openContexts();
    return [...new Set(contexts.map(({ exchange }) => exchange))]
      .filter((each) => each.hasConnectionInfo && !each.isConcluded);
  }

  #method(
    name: string,
    layer: Layer | null = this.layer,
  ): MappedMethod | undefined {
    const callable = this.#callables.get(name, layer);
    return callable instanceof MappedMethod ? callable : undefined;
  }

  #unknown(name: string, action: string): TypeError {
    const known = this.#callables.all();
    if (!known.has(name) && isMethodOf(Object(this.router()), name)) {
      const problem = `it is a method of the router: router().${name}()`;
      return new TypeError(`Cannot ${action} "${name}": ${problem}`);
    }
    if (!known.has(name)) return noSuchMethod(name, action, known.keys());
    const state = "it is a registered class, not a method";
    return new TypeError(`Cannot ${action} "${name}": ${state}`);
  }
}

/** Whether a variable is a setting, which the plan has. */
function isSetting(name: string): boolean {
  return Object.hasOwn(defaultSettings, name);
}

/** Whether a class has given an object a method. */
function isMethodOf(object: object, name: string): boolean {
  const method = Reflect.get(Object.getPrototypeOf(object), name);
  return typeof method === "function" && !(name in Object.prototype);
}

/** Calls a method or class; notes what the response waits for, and what keeps guards from going on. */
function callAndNote(
  name: string,
  callable: MappedMethod | RegisteredClass,
  params: unknown[],
  context?: Context,
): unknown {
  const { responds } = callable;
  if (responds && context?.exchange.hasNested) noteResponder(context);
  try {
    return tracked(name, callable.call(params, context), responds, context);
  } catch (thrown) {
    throw responds ? notingFailure(thrown, context) : thrown;
  }
}

/** Notes which reply is to be the response, for code of another application, which then calls no further route. */
function noteResponder(context: Context): void {
  const calling = callingOther(context.exchange) ?? context.caller;
  const known = calling?.exchange.responder?.reply.isSealed;
  if (calling !== undefined && !known) calling.exchange.responder = context;
}

/**
 * Has the response to the context's request wait for a promise that a method returned and, where code of a mounted
 * application has called it, also the response of that one.
 */
function tracked(
  name: string,
  result: unknown,
  responds: boolean,
  context?: Context,
): unknown {
  // Not any thenable: calling `then` of one, such as a query, may begin its work.
  if (!(result instanceof Promise) || context === undefined) return result;
  if (responds) result.catch((why) => notingFailure(why, context));
  const calling = callingOther(context.exchange);
  return context.track(name, calling?.track(name, result) ?? result);
}

/**
 * Notes that a method has failed which was to respond: a guard that catches the error goes no further, also one of a
 * mounted application.
 */
function notingFailure(thrown: unknown, context?: Context): unknown {
  if (isStop(thrown)) return thrown;
  const calling = callingOther(context?.exchange);
  for (const each of [context, context?.caller, calling]) {
    if (each) pendingOf(each.exchange).failToRespond(thrown);
  }
  return thrown;
}
