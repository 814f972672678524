/**
 * Owns the mapped methods and their filters, and the one `run` through which each call of an
 * extensible method goes. Which names may be mapped is the engine's rule.
 */

import { Store } from "./layers.ts";
import { run, type Steps } from "./steps.ts";

/** What can be mapped. */
// deno-lint-ignore no-explicit-any -- any function can be a method: its parameters are its own
export type Method = (...params: any[]) => unknown;

/**
 * Runs before or after a method. `params` is the argument array itself and `output` the box of the
 * method's result; both may be changed. `false` ends the chain of filters, not the method.
 */
export type Filter = (params: unknown[], output: { value: unknown }) => unknown;

/** What an engine gains by a mapped method: nothing that the compiler knows when the name is any string. */
export type Mapped<Name extends string, Callback> = string extends Name
  ? unknown
  : {
    [Key in Name]: Callback extends (...params: infer Params) => infer Result
      ? (...params: Params) => Result
      : Method;
  };

/** A method with its filters; another one takes its place when it changes. */
export interface Mapping {
  readonly method: Method;
  readonly before: readonly Filter[];
  readonly after: readonly Filter[];
}

/** Mapped methods by name, in the two layers of the application's state. */
export class Dispatcher {
  readonly #mappings: Store<Mapping>;

  /** The engine is the owner. */
  constructor(owner: object) {
    this.#mappings = new Store(owner);
  }

  /** Maps a method; one of that name is replaced, its filters stay. */
  map(name: string, method: Method): void {
    const { before, after } = this.#mappings.get(name) ?? UNFILTERED;
    this.#mappings.set(name, { method, before, after });
  }

  /** The method of that name. */
  get(name: string): Mapping | undefined {
    return this.#mappings.get(name);
  }

  /** The names of all methods. */
  names(): string[] {
    return this.#mappings.keys();
  }

  /** Adds a filter behind those that are there; false when there is no such method. */
  filter(name: string, moment: "before" | "after", filter: Filter): boolean {
    const mapping = this.#mappings.get(name);
    if (mapping === undefined) return false;
    const filters = [...mapping[moment], filter];
    this.#mappings.set(name, { ...mapping, [moment]: filters });
    return true;
  }

  /** Runs a method with its filters; the answer is a promise only when one of them answered one. */
  run(mapping: Mapping, params: unknown[]): unknown {
    const { method, before, after } = mapping;
    return before.length === 0 && after.length === 0
      ? method(...params)
      : run(filtered(mapping, params));
  }
}

const UNFILTERED = { before: [], after: [] } as const;

function* filtered(
  { method, before, after }: Mapping,
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
