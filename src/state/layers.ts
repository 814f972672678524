/**
 * Owns the two layers of everything that can be set: what is set inside a request is that request's alone,
 * everything else is the application's.
 */

import { current, Owner, type Scope, writingScope } from "./scope.ts";

/** Copy-on-write state: shared until a request writes to it. */
export class Layered<Layer> {
  /** The application's layer. */
  readonly application: Layer;
  readonly #owner: Owner;
  readonly #create: () => Layer;

  /** `create` makes the application's layer at once, and a request's when that first writes. */
  constructor(create: () => Layer, owner: Owner = new Owner()) {
    this.#create = create;
    this.#owner = owner;
    this.application = create();
  }

  /** The layer of the current request, or undefined before its first write. Pass the scope where it is known. */
  own(scope: Scope | undefined = current(this.#owner)): Layer | undefined {
    return scope?.root.own?.get(this) as Layer | undefined;
  }

  /** The layer to write to: the request's inside a request, else the application's. */
  get writable(): Layer {
    const scope = writingScope(this.#owner);
    if (scope === undefined) return this.application;
    const own = this.own(scope) ?? this.#create();
    scope.setOwn(this, own);
    return own;
  }
}

/** Named values in two layers: reads fall through from the request's to the application's. */
export class Store<Value> extends Layered<Map<string, Value | undefined>> {
  constructor(owner: Owner) {
    super(() => new Map(), owner);
  }

  /** The value in the given scope, or else in the current one; undefined when there is none. */
  get(key: string, scope?: Scope): Value | undefined {
    const own = this.own(scope);
    return own?.has(key) ? own.get(key) : this.application.get(key);
  }

  /** Whether there is a value that is neither undefined nor null. */
  has(key: string): boolean {
    return (this.get(key) ?? null) !== null;
  }

  /** Sets a value. */
  set(key: string, value: Value): void {
    this.writable.set(key, value);
  }

  /** Clears a value; inside a request the application's stays, hidden from this request. */
  delete(key: string): void {
    const { writable, application } = this;
    if (writable === application) application.delete(key);
    else writable.set(key, undefined);
  }

  /** Clears every value, with the same rule. */
  clear(): void {
    for (const key of this.all().keys()) this.delete(key);
  }

  /** The values that are not undefined, by name. */
  all(): Map<string, Value> {
    const all = new Map([...this.application, ...this.own() ?? []]);
    for (const [key, value] of all) if (value === undefined) all.delete(key);
    return all as Map<string, Value>;
  }
}
