/**
 * Owns the two layers of everything that can be set: what is set while the application is declared is
 * the application's, what is set while a request is handled is that request's. Which request that is,
 * the scope knows, and it keeps the request's layer.
 */

import { begin, current, type Scope } from "./scope.ts";

/** A thing of which the application has one and a request, on its first write, its own. */
export interface Layers<T> {
  /** The application's. */
  readonly application: T;
  /** The current request's, if it has one yet. Whoever knows the scope gives it: looking for it is dear. */
  own(scope?: Scope): T | undefined;
  /** Where a write goes now: the request's inside a request, the application's otherwise. */
  readonly writable: T;
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
    begin(owner);
  }

  own(scope: Scope | undefined = current(this.#owner)): T | undefined {
    return scope?.layer(this) as T | undefined;
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
  /** The application's values as a record, until one changes. */
  #record: Readonly<Record<string, Value>> | undefined;

  /** The engine is the owner. */
  constructor(owner: object) {
    this.#layers = new Layered(owner, () => new Map());
  }

  /** The value, or undefined; in the given scope, or else in the current one. */
  get(key: string, scope?: Scope): Value | undefined {
    const own = this.#layers.own(scope);
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
    this.#record = undefined;
    this.#layers.writable.set(key, value);
  }

  /** Clears a value; inside a request the application's stays, hidden from this request. */
  delete(key: string): void {
    this.#record = undefined;
    const { writable, application } = this.#layers;
    if (writable === application) application.delete(key);
    else writable.set(key, undefined);
  }

  /** Clears every value, with the same rule. */
  clear(): void {
    for (const key of this.all().keys()) this.delete(key);
  }

  /** The same as `all()`, as a record to be read only. */
  record(): Readonly<Record<string, Value>> {
    if (this.#layers.own() !== undefined) return Object.fromEntries(this.all());
    return this.#record ??= Object.fromEntries(this.all());
  }

  /** Everything that has a value, by name. */
  all(): Map<string, Value> {
    const all = new Map(this.#layers.application);
    for (const [key, value] of this.#layers.own() ?? []) all.set(key, value);
    for (const [key, value] of all) if (value === undefined) all.delete(key);
    return all as Map<string, Value>;
  }
}
