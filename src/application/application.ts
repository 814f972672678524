/** Owns what an application consists of: its variables, methods, classes and folders, and whether it serves. */

import {
  type CallbackForm,
  type Class,
  type Method,
  resolveCallback,
} from "../routing/callback.ts";
import { wrongKind } from "../errors.ts";
import { checkRecord, noSuchMethod } from "../options.ts";
import type { OpenStream } from "../response/stream.ts";
import type { Router } from "../routing/router.ts";
import { Tree } from "../routing/tree.ts";
import { current, isConfiguring, nextId, noRequest } from "../state/current.ts";
import { type Layer, Layered, type LayerOwner, Store } from "../state/layer.ts";
import { Autoload } from "./autoload.ts";
import type { Context } from "./exchange.ts";
import { MappedMethod, type Rule } from "./mapped_method.ts";
import {
  checkName,
  type ComponentName,
  type OfApplication,
  type OfRequest,
} from "./names.ts";
import { type Component, RegisteredClass } from "./registered_class.ts";
import {
  checkSetting,
  defaultSettings,
  isSetting,
  type Settings,
} from "./settings.ts";

// deno-lint-ignore no-explicit-any -- each method has parameters of its own
type Params = any[];

/** What every application declares first, by the same ways as its author. */
export interface Defaults {
  /** The methods that a request is needed for: they get its context. */
  readonly ofRequest: Readonly<
    Record<OfRequest, (context: Context, ...params: Params) => unknown>
  >;
  /** The methods of the application itself. */
  readonly ofApplication: Readonly<
    Record<OfApplication, (app: Application, ...params: Params) => unknown>
  >;
  readonly rules: Readonly<Partial<Record<string, Rule>>>;
  readonly components: (app: Application) => Record<ComponentName, Component>;
}

export class Application implements LayerOwner {
  /** Whether a server passes requests to it: then only `configure()` can change it. */
  isServing = false;
  /** Whether its server has TLS; undefined where that is not known. */
  isSecure: boolean | undefined = undefined;
  /** Whether the server is shutting down. */
  isDraining = false;
  /** Deferred work that is running. */
  readonly deferred: Set<Promise<unknown>> = new Set();
  /** The streams being sent. */
  readonly streams: Set<OpenStream> = new Set();
  autoload!: Autoload;
  variables!: Store<unknown>;
  /** The variables that are settings, with the defaults of those that are not set. */
  allSettings!: Layered<Settings>;
  /** The methods and classes by name. */
  callables!: Store<MappedMethod | RegisteredClass>;
  routes!: Layered<Tree>;
  /** The defaults of the methods by name. */
  #originals!: ReadonlyMap<string, MappedMethod>;
  #components!: Readonly<Record<string, Component>>;
  readonly #defaults: Defaults;
  /** The number before those of requests that can belong to it. */
  readonly #born = nextId();

  constructor(defaults: Defaults) {
    this.#defaults = defaults;
    this.#declareDefaults();
  }

  /** Drops everything that was declared. */
  init(isListening: boolean): void {
    if (this.context() || isListening || isConfiguring()) {
      throw new Error(
        "Cannot initialize in a request, in configure() or while it is serving",
      );
    }
    this.isServing = false;
    this.#declareDefaults();
  }

  #declareDefaults(): void {
    this.autoload = new Autoload(this);
    this.variables = new Store(this);
    const copy = (settings: Settings): Settings => ({ ...settings });
    this.allSettings = new Layered(this, copy(defaultSettings), copy);
    this.callables = new Store(this);
    this.routes = new Layered(this, new Tree(), (tree) => tree.copy());
    this.set({ ...defaultSettings });
    const { ofRequest, ofApplication, components } = this.#defaults;
    this.#components = components(this);
    const names = Object.keys({ ...ofRequest, ...ofApplication });
    this.#originals = new Map(
      names.map((name) => [name, this.#original(name)]),
    );
    for (const each of this.#originals) this.callables.set(...each);
    for (const [name, { type }] of Object.entries(this.#components)) {
      this.register(name, type);
    }
  }

  // Whose state the calling code reads and writes

  /** The context of the current request, if any. */
  context(): Context | undefined;
  /** The context of the current request; throws outside one, naming the call. */
  context(call: string): Context;
  context(call?: string): Context | undefined {
    let context = current(this.#born) as Context | undefined;
    while (context !== undefined && context.exchange.app !== this) {
      context = context.exchange.outer; // of another application that is mounted in this one, perhaps
    }
    if (context !== undefined || call === undefined) return context;
    throw noRequest(call);
  }

  get layer(): Layer | undefined {
    return this.context()?.exchange.layer;
  }

  layerToWrite(): Layer | undefined {
    const exchange = this.context()?.exchange;
    if (exchange !== undefined) return exchange.layer ??= new Map();
    if (!this.isServing || isConfiguring()) return undefined;
    throw new Error(
      "Cannot change the application here: it has started serving, and this code belongs to none of its requests. Use configure()",
    );
  }

  /** The settings, as the calling code sees them. */
  get settings(): Settings {
    return this.allSettings.now;
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
      this.#set(name, isSetting(name) ? value ?? defaultSettings[name] : value);
    }
  }

  #set(name: string, value: unknown): void {
    this.variables.set(name, value);
    if (!isSetting(name)) return;
    const setting = { [name]: value ?? defaultSettings[name] };
    Object.assign(this.allSettings.writable(), setting);
  }

  /** Clears the named variables, or all without a name. */
  clear(names: readonly string[]): void {
    const all = names.length > 0 ? names : Object.keys(this.variables.all());
    for (const name of all) this.#set(name, undefined);
  }

  /**
   * Maps a method; it replaces one of that name, whose filters stay. With `passRoute` its last argument is the
   * matched route, or null.
   */
  map(name: string, callback: CallbackForm, passRoute = false): void {
    checkName(name, "map");
    const what = `the method "${name}"`;
    const called = resolveCallback(callback, this.autoload, what);
    const route = () => this.context()?.exchange.match?.toRoute() ?? null;
    const method: Method = passRoute
      ? (...params) => called(...params, route())
      : called;
    const rule = this.#defaults.rules[name];
    const { filters } = this.method(name, this.layer) ?? {};
    const original = this.#originals.get(name);
    this.callables.set(
      name,
      new MappedMethod(name, method, false, false, rule, original, filters),
    );
  }

  /** Registers a class; does nothing when a method has the name. */
  register(
    name: string,
    type: Class | string,
    params: readonly unknown[] = [],
    callback?: Method,
  ): void {
    checkName(name, "register");
    const isClass = typeof type === "function" && "prototype" in type;
    if (typeof type !== "string" && !isClass) {
      const rule = "it must be a class or the name of one";
      throw wrongKind(`register "${name}"`, rule, type);
    }
    if (this.method(name, this.layer)) return;
    const component = this.#components[name];
    this.callables.set(
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
    const mapped = this.method(name, this.layer);
    if (mapped === undefined) throw this.#unknown(name, action);
    this.callables.set(name, mapped.filtered(moment, called));
  }

  // Calling

  /** Whether something is mapped or registered under the name. */
  has(name: string): boolean {
    return this.callables.has(name);
  }

  /** Calls a method with its filters, or returns an instance of a class. */
  call(
    name: string,
    params: unknown[] = [],
    context: Context | undefined = this.context(),
  ): unknown {
    const callable = this.callables.of(context?.exchange.layer)[name];
    if (callable === undefined) throw this.#unknown(name, "call");
    return callable.call(params, context);
  }

  /** The default of a method; throws `TypeError` when there is none of that name. */
  original(name: string): Method {
    const method = this.#originals.get(name);
    if (method === undefined) {
      const names = this.#originals.keys();
      throw noSuchMethod(name, "call the original of", names);
    }
    // Guards inside of `start` wait for all calls: they would wait for its own.
    return name === "start"
      ? () => method.run([], this.context("start()"))
      : (...params) => method.call(params, this.context());
  }

  #original(name: string): MappedMethod {
    const { ofRequest, ofApplication, rules } = this.#defaults;
    const takesContext = name in ofRequest;
    const method: Method = takesContext
      ? ofRequest[name as OfRequest]
      : ofApplication[name as OfApplication].bind(undefined, this);
    return new MappedMethod(name, method, true, takesContext, rules[name]);
  }

  /** The mapped method of that name, if it is one. */
  method(name: string, layer: Layer | undefined): MappedMethod | undefined {
    const callable = this.callables.of(layer)[name];
    return callable instanceof MappedMethod ? callable : undefined;
  }

  router(): Router {
    return this.call("router") as Router;
  }

  #unknown(name: string, action: string): TypeError {
    const names = Object.keys(this.callables.all());
    return noSuchMethod(name, action, names.filter((each) => each !== name));
  }
}
