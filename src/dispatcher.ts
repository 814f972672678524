/**
 * Owns the mapped methods and their filters, and the one `run` through which each call of an
 * extensible method goes. Which names may be mapped is the engine's rule.
 */

import { Store } from "./scope.ts";
import { isThenable, run, type Steps } from "./steps.ts";

/** What can be mapped. */
// deno-lint-ignore no-explicit-any -- any function can be a method: its parameters are its own
export type Method = (...params: any[]) => unknown;

/**
 * Runs before or after a method. `params` is the argument array itself and `output` the box of the
 * method's result; both may be changed. `false` ends the chain of filters, not the method.
 */
export type Filter = (params: unknown[], output: { value: unknown }) => unknown;

type Moment = "before" | "after";

/** Mapped methods by name, each with its filters; both in the two layers of the application's state. */
export class Dispatcher {
  readonly #methods: Store<Method>;
  readonly #before: Store<readonly Filter[]>;
  readonly #after: Store<readonly Filter[]>;

  /** The engine is the owner. */
  constructor(owner: object) {
    this.#methods = new Store(owner);
    this.#before = new Store(owner);
    this.#after = new Store(owner);
  }

  /** Maps a method; one of that name is replaced, its filters stay. */
  map(name: string, method: Method): void {
    this.#methods.set(name, method);
  }

  /** The method of that name. */
  get(name: string): Method | undefined {
    return this.#methods.get(name);
  }

  /** The names of all methods. */
  names(): string[] {
    return this.#methods.keys();
  }

  /** Adds a filter behind those that are there. */
  filter(name: string, moment: Moment, filter: Filter): void {
    const filters = moment === "before" ? this.#before : this.#after;
    filters.set(name, [...filters.get(name) ?? [], filter]);
  }

  /** Runs a method with its filters; the answer is a promise only when one of them answered one. */
  run(name: string, method: Method, params: unknown[]): unknown {
    const before = this.#before.get(name);
    const after = this.#after.get(name);
    if (before === undefined && after === undefined) return method(...params);
    return run(filtered(before ?? [], method, after ?? [], params));
  }
}

function* filtered(
  before: readonly Filter[],
  method: Method,
  after: readonly Filter[],
  params: unknown[],
): Steps<unknown> {
  const output: { value: unknown } = { value: undefined };
  yield* chain(before, params, output);
  output.value = yield method(...params);
  yield* chain(after, params, output);
  return output.value;
}

function* chain(
  filters: readonly Filter[],
  params: unknown[],
  output: { value: unknown },
): Steps<void> {
  for (const filter of filters) {
    if ((yield filter(params, output)) === false) return;
  }
}
