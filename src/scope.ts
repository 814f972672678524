/**
 * Owns who is current: the one address of per-request state. Everything else asks here which
 * request the running code belongs to, and keeps what that request sets in the request's own layer.
 *
 * The AsyncLocalStorage holds an integer and not the scope itself: the runtime keeps every stored
 * object alive through young collections, which costs a third more time at the 99th percentile. A
 * request that ends synchronously is found through one variable; one that goes on is found by its
 * number in a map, until it ends. Work that outlives its request finds nothing, and is told so.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import type { Body } from "./body.ts";
import { isStop, reportError } from "./errors.ts";
import type { Target } from "./target.ts";

/** A thing of which the application has one and a request, on its first write, its own. */
export interface Layers<T> {
  /** The application's. */
  readonly application: T;
  /** The current request's, if it has one yet. */
  readonly own: T | undefined;
  /** Where a write goes now: the request's inside a request, the application's otherwise. */
  readonly writable: T;
}

const storage = new AsyncLocalStorage<number | undefined>();
const open = new Map<number, Scope>();
let synchronous: Scope | undefined;
let lastId = 0;

/** What is known of a request from the outside. */
export interface Visit {
  readonly request: Request;
  /** The other end of the connection. */
  readonly remote: Deno.Addr | undefined;
  /** What is asked for. */
  target: Target;
  /** The body, once it is read. */
  body: Body | undefined;
}

/** One request being handled by one owner (an engine), or a part of it with its own components. */
export class Scope {
  /** The number under which asynchronous work finds this scope. */
  readonly id: number = ++lastId;
  /** The scope of the whole request; itself, unless this is a part of one. */
  readonly root: Scope;
  /** Whether the response is made: what fails from here on can only be logged. */
  answered = false;
  /** Whether the request is over. */
  ended = false;
  /** The error of a rejected promise that nobody awaited. */
  failure: { readonly reason: unknown } | undefined;
  /** The match of the route that is being followed, on the scope of the whole request. */
  match: { toRoute(): object } | undefined;

  readonly #parent: Scope | undefined;
  #components: Map<string, object> | undefined;
  #layers: Map<object, unknown> | undefined;
  #parts: Scope[] | undefined;
  #tasks: Set<{ readonly name: string }> | undefined;
  #wake: (() => void) | undefined;
  #rejected = false;
  #deferred: (() => unknown)[] | undefined;
  #holds = 0;

  /** The engine is the owner; `root` is given for a part of a request. */
  constructor(readonly owner: object, readonly visit: Visit, root?: Scope) {
    this.root = root ?? this;
    this.#parent = root ? root.#parent : enclosing();
  }

  /** The scope of the nearest request of the owner around this one: requests can nest. */
  of(owner: object): Scope | undefined {
    return this.owner === owner ? this : this.#parent?.of(owner);
  }

  /** A part of this request with a component of its own in place of the request's. */
  part(name: string, component: object): Scope {
    const part = new Scope(this.owner, this.visit, this.root);
    (part.#components = new Map(
      this === this.root ? undefined : this.#components,
    ))
      .set(name, component);
    (this.root.#parts ??= []).push(part);
    open.set(part.id, part);
    return part;
  }

  /** The instance of a component that lives as long as the request. */
  component(name: string): object | undefined {
    return this.#components?.get(name) ?? this.root.#components?.get(name);
  }

  /** Keeps a component's instance until the request ends. */
  keep(name: string, component: object): void {
    (this.root.#components ??= new Map()).set(name, component);
  }

  /** What this request has of its own under a key. */
  layer(key: object): unknown {
    return this.root.#layers?.get(key);
  }

  /** Gives this request something of its own under a key. */
  setLayer(key: object, layer: unknown): void {
    (this.root.#layers ??= new Map()).set(key, layer);
  }

  /** Counts asynchronous work as the request's until it settles; its outcome stays its caller's. */
  track(name: string, work: PromiseLike<unknown>): void {
    const root = this.root;
    const task = { name };
    (root.#tasks ??= new Set()).add(task);
    const settled = (): void => {
      root.#tasks?.delete(task);
      root.#wake?.();
    };
    work.then(settled, () => {
      root.#rejected = true;
      settled();
    });
  }

  /** Whether tracked work is still under way, or a rejection may still turn out to be unhandled. */
  get unsettled(): boolean {
    return this.#rejected ||
      (this.#tasks !== undefined && this.#tasks.size > 0);
  }

  /** Waits for tracked work, at most so many seconds; answers the names of what did not settle. */
  async settle(seconds: number): Promise<string[]> {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      this.#wake?.();
    }, seconds * 1000);
    while (this.#tasks?.size && !late) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    clearTimeout(timer);
    // The runtime tells of unhandled rejections at the end of a turn: give it that turn.
    if (this.#rejected) await new Promise((resolve) => setTimeout(resolve));
    this.#rejected = false;
    return [...this.#tasks ?? []].map((task) => task.name);
  }

  /** Keeps work for after the response. */
  defer(work: () => unknown): void {
    (this.root.#deferred ??= []).push(work);
  }

  /** Whether work is kept for after the response. */
  get hasDeferred(): boolean {
    return this.#deferred !== undefined && this.#deferred.length > 0;
  }

  /** Takes the next deferred work, in the order of the calls. */
  nextDeferred(): (() => unknown) | undefined {
    return this.#deferred?.shift();
  }

  /** Keeps the request open, as for a stream of its response, until the answer is called, once. */
  hold(): () => void {
    const root = this.root;
    root.#holds += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      root.#holds -= 1;
      if (root.answered) root.end();
    };
  }

  /** Ends the request unless something holds it: from then on its number leads nowhere. */
  end(): void {
    if (this.#holds > 0) return;
    this.ended = true;
    open.delete(this.id);
    for (const part of this.#parts ?? []) open.delete(part.id);
  }
}

/** Runs work inside a scope; a scope whose work goes on asynchronously stays findable until it ends. */
export function enter<Arguments extends unknown[], Result>(
  scope: Scope,
  work: (...args: Arguments) => Result,
  ...args: Arguments
): Result {
  listen();
  const before = synchronous;
  // What is bound to the request around this one must find it meanwhile.
  if (before !== undefined && !before.root.ended) open.set(before.id, before);
  synchronous = scope;
  try {
    return storage.run(scope.id, work, ...args);
  } finally {
    synchronous = before;
    if (!scope.root.ended) open.set(scope.id, scope);
  }
}

/** Runs work outside every request, so that what it makes cannot hold on to one. */
export function outside<Result>(work: () => Result): Result {
  return storage.run(undefined, work);
}

/** Binds a function to the current request, for callers in another context such as a stream's. */
export function bind<Arguments extends unknown[], Result>(
  work: (...args: Arguments) => Result,
): (...args: Arguments) => Result {
  return AsyncLocalStorage.bind(work) as (...args: Arguments) => Result;
}

/**
 * The scope of the request that the owner is handling in the calling context, if any. Throws when
 * the calling code belongs to a request that has ended.
 */
export function current(owner: object): Scope | undefined {
  const id = storage.getStore();
  if (id === undefined) return undefined;
  const scope = synchronous?.id === id ? synchronous : open.get(id);
  if (scope === undefined) throw new EndedError();
  if (scope.owner === owner) return scope;
  const outer = scope.of(owner);
  if (outer?.root.ended) throw new EndedError();
  return outer;
}

/** The same, for a call that has a meaning only inside a request; throws outside one. */
export function required(owner: object, call: string): Scope {
  const scope = current(owner);
  if (scope !== undefined) return scope;
  throw new Error(`Cannot call ${call} here: no request is being handled`);
}

/** Thrown to work that outlives its request: it gets nothing, least of all another request's data. */
class EndedError extends Error {
  override readonly name = "EndedError";

  constructor() {
    super(
      "Cannot use the framework here: the request this work belongs to has ended",
    );
  }
}

/** A thing of which the application has one and each request, on its first write, its own. */
export class Layered<T> implements Layers<T> {
  readonly application: T;
  readonly #owner: object;
  readonly #create: () => T;

  /** `create` makes the application's at once, and a request's when it is first written. */
  constructor(owner: object, create: () => T) {
    this.#owner = owner;
    this.#create = create;
    this.application = create();
  }

  get own(): T | undefined {
    return current(this.#owner)?.layer(this) as T | undefined;
  }

  get writable(): T {
    const scope = current(this.#owner);
    if (scope === undefined) return this.application;
    const own = scope.layer(this) as T | undefined;
    if (own !== undefined) return own;
    const created = this.#create();
    scope.setLayer(this, created);
    return created;
  }
}

/** Named values in two layers: reads fall through from the request's to the application's. */
export class Store<Value> {
  readonly #layers: Layers<Map<string, Value | undefined>>;

  /** The engine is the owner. */
  constructor(owner: object) {
    this.#layers = new Layered(owner, () => new Map());
  }

  /** The value, or undefined. */
  get(key: string): Value | undefined {
    const own = this.#layers.own;
    return own !== undefined && own.has(key)
      ? own.get(key)
      : this.#layers.application.get(key);
  }

  /** Whether there is a value that is neither undefined nor null. */
  has(key: string): boolean {
    const value = this.get(key);
    return value !== undefined && value !== null;
  }

  /** Sets a value, for this request when there is one. */
  set(key: string, value: Value): void {
    this.#layers.writable.set(key, value);
  }

  /** Clears a value; inside a request the application's stays, hidden from this request. */
  delete(key: string): void {
    const { writable, application } = this.#layers;
    if (writable === application) application.delete(key);
    else writable.set(key, undefined);
  }

  /** Clears every value, with the same rule. */
  clear(): void {
    for (const key of this.keys()) this.delete(key);
  }

  /** The names of what has a value. */
  keys(): string[] {
    const { own, application } = this.#layers;
    const keys = new Set([...application.keys(), ...own?.keys() ?? []]);
    return [...keys].filter((key) => this.get(key) !== undefined);
  }
}

/** The scope that the running code is in, while its request lasts. */
function enclosing(): Scope | undefined {
  const id = storage.getStore();
  if (id === undefined) return undefined;
  return synchronous?.id === id ? synchronous : open.get(id);
}

let listening = false;

/**
 * An error that nobody catches would end the process. One that belongs to a request becomes that
 * request's error while there is still an answer to make, and a line in the log afterwards;
 * everybody else's is left to the runtime.
 */
function listen(): void {
  if (listening) return;
  listening = true;
  globalThis.addEventListener("unhandledrejection", (event) => {
    takeOver(event, event.reason);
  });
  globalThis.addEventListener("error", (event) => takeOver(event, event.error));
}

function takeOver(event: Event, reason: unknown): void {
  const id = storage.getStore();
  // The runtime forgets whose a timer is when it throws: of those, the framework knows its own errors.
  const isKnown = isStop(reason) || reason instanceof EndedError;
  if (id === undefined && !isKnown) return;
  event.preventDefault();
  if (isStop(reason)) return;
  const scope = id === undefined ? undefined : open.get(id)?.root;
  if (scope === undefined || scope.answered || scope.failure) {
    reportError(reason, "in work that nobody awaited");
  } else scope.failure = { reason };
}
