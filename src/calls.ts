/**
 * Owns the way from a name to what is called: a mapped method, or else a registered class. The names
 * themselves are checked where they are given.
 */

import { Dispatcher, type Filter, type Method } from "./dispatcher.ts";
import { type Class, Loader, type Registration } from "./loader.ts";
import { checkName } from "./names.ts";
import { noSuchMethod } from "./near.ts";
import { current } from "./scope.ts";

/** What can be called by its name on one application. */
export class Calls {
  readonly #owner: object;
  readonly #dispatcher: Dispatcher;
  readonly #loader: Loader;

  /** The engine is the owner; `find` finds a class by its name. */
  constructor(owner: object, find: (name: string) => Promise<Class>) {
    this.#owner = owner;
    this.#dispatcher = new Dispatcher(owner);
    this.#loader = new Loader(owner, find);
  }

  /** Maps a method; one of that name is replaced, its filters stay. */
  map(name: string, method: Method): void {
    this.#dispatcher.map(name, method);
  }

  /** Registers a class; one of that name is replaced, and with it the shared instance. */
  register(name: string, registration: Registration): void {
    this.#loader.register(name, registration);
  }

  /** Adds a filter; throws `TypeError` when it is none, or when there is no such method. */
  filter(name: string, moment: "before" | "after", filter: Filter): void {
    const action = `add a filter ${moment}`;
    checkName(name, action);
    if (typeof filter !== "function") {
      throw new TypeError(
        `Cannot ${action} "${name}": the filter is no function`,
      );
    }
    if (!this.#dispatcher.filter(name, moment, filter)) {
      throw this.#unknown(name, action);
    }
  }

  /** Whether something is mapped or registered under the name. */
  has(name: string): boolean {
    return (this.#dispatcher.get(name) ?? this.#loader.get(name)) !== undefined;
  }

  /** Calls a method with its filters, or answers an instance of a class: a new one for `false`. */
  run(name: string, params: unknown[]): unknown {
    const mapping = this.#dispatcher.get(name);
    if (mapping !== undefined) return this.#dispatcher.run(mapping, params);
    const registration = this.#loader.get(name);
    if (registration === undefined) throw this.#unknown(name, "call");
    return params[0] === false
      ? this.#loader.make(name, registration)
      : this.#loader.shared(name, registration);
  }

  /**
   * The same for whoever need not await it: a promise of it counts as the request's work until it
   * settles. What is answered is a promise of its own, so that a rejection which nobody takes shows.
   */
  runTracked(name: string, params: unknown[]): unknown {
    const outcome = this.run(name, params);
    if (!(outcome instanceof Promise)) return outcome;
    const scope = current(this.#owner);
    if (scope === undefined) return outcome;
    scope.track(name, outcome);
    return outcome.then((value) => value);
  }

  #unknown(name: string, action: string): TypeError {
    if (this.#loader.get(name)) {
      return new TypeError(
        `Cannot ${action} "${name}": it is a registered class, not a method`,
      );
    }
    const names = [...this.#dispatcher.names(), ...this.#loader.names()];
    return noSuchMethod(name, action, names);
  }
}
