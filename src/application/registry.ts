/**
 * Owns the mapped methods and their filters, and the way from a name to what is called: a mapped
 * method, or else a registered class. Which names may be mapped is the rule of `names.ts`.
 */

import { Store } from "../state/layers.ts";
import type { Method } from "../callback.ts";
import { type Finder, type Kept, Loader, type Registration } from "./loader.ts";
import { checkName } from "./names.ts";
import { noSuchMethod } from "../suggestions.ts";
import { current, type Scope } from "../state/scope.ts";
import { run, type Steps } from "../steps.ts";

/**
 * Runs before or after a method. `params` is the argument array itself and `output` the box of the
 * method's result; both may be changed. `false` ends the chain of filters, not the method.
 */
// deno-lint-ignore no-explicit-any -- what a method takes and answers is the method's own
export type Filter = (params: any[], output: { value: any }) => unknown;

/** What an engine gains by a mapped method: nothing that the compiler knows when the name is any string. */
export type Mapped<Name extends string, Callback> = string extends Name
  ? unknown
  : {
    [Key in Name]: Callback extends (...params: infer Params) => infer Result
      ? (...params: Params) => Result
      : Method;
  };

/** A method with its filters; another one takes its place when it changes. */
interface Mapping {
  readonly method: Method;
  readonly before: readonly Filter[];
  readonly after: readonly Filter[];
}

/** What can be called by its name, in the two layers of the state; a mapped method hides a class. */
export class Dispatcher {
  readonly #owner: object;
  readonly #loader: Loader;
  readonly #entries: Store<Mapping | Kept>;

  /** The engine is the owner; `classes` finds those that are autoloaded. */
  constructor(owner: object, classes: Finder) {
    this.#owner = owner;
    this.#loader = new Loader(owner, classes);
    this.#entries = new Store(owner);
  }

  /** Maps a method; one of that name is replaced, its filters stay. */
  map(name: string, method: Method): void {
    const { before, after } = this.#mapping(name) ?? UNFILTERED;
    this.#entries.set(name, { method, before, after });
  }

  /**
   * Registers a class; one of that name is replaced, and with it the shared instance. Throws
   * `TypeError` when it is none.
   */
  register(name: string, registration: Registration): void {
    const kept = this.#loader.kept(name, registration);
    if (!this.#mapping(name)) this.#entries.set(name, kept);
  }

  /**
   * Adds a filter behind those that are there. Throws `TypeError` when it is none, or when there is
   * no such method.
   */
  filter(name: string, moment: "before" | "after", filter: Filter): void {
    const action = `add a filter ${moment}`;
    checkName(name, action);
    if (typeof filter !== "function") {
      throw new TypeError(
        `Cannot ${action} "${name}": the filter is no function`,
      );
    }
    const mapping = this.#mapping(name);
    if (mapping === undefined) throw this.#unknown(name, action);
    const filters = [...mapping[moment], filter];
    this.#entries.set(name, { ...mapping, [moment]: filters });
  }

  /** Whether something is mapped or registered under the name. */
  has(name: string): boolean {
    return this.#entries.has(name);
  }

  /**
   * Calls a method with its filters, or answers an instance of a class: a new one for `false`. What
   * is called is looked up in the given scope, or else in the current one.
   */
  run(name: string, params: unknown[], scope?: Scope): unknown {
    const entry = this.#entries.get(name, scope);
    if (entry === undefined) throw this.#unknown(name, "call");
    if (!isMapping(entry)) {
      return params[0] === false
        ? this.#loader.make(name, entry)
        : this.#loader.shared(name, entry, scope);
    }
    const { method, before, after } = entry;
    return before.length === 0 && after.length === 0
      ? method(...params)
      : run(filtered(entry, params));
  }

  /**
   * The same for whoever need not await it: a promise of it counts as the request's work until it
   * settles. What is answered is a promise of its own, so that a rejection which nobody takes shows.
   */
  runTracked(
    name: string,
    params: unknown[],
    scope: Scope | undefined = current(this.#owner),
  ): unknown {
    const outcome = this.run(name, params, scope);
    if (!(outcome instanceof Promise)) return outcome;
    if (scope === undefined) return outcome;
    scope.track(name, outcome);
    return outcome.then((value) => value);
  }

  #mapping(name: string): Mapping | undefined {
    const entry = this.#entries.get(name);
    return entry && isMapping(entry) ? entry : undefined;
  }

  #unknown(name: string, action: string): TypeError {
    if (this.has(name)) {
      return new TypeError(
        `Cannot ${action} "${name}": it is a registered class, not a method`,
      );
    }
    return noSuchMethod(name, action, this.#entries.all().keys());
  }
}

function isMapping(entry: Mapping | Kept): entry is Mapping {
  return "method" in entry;
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
