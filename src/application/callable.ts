/**
 * Owns what is called by its name: a mapped method with its filters, and a registered class with its
 * shared instance. Which names are allowed is decided in `names.ts`.
 */

import type { Class, Method } from "../callback.ts";
import { reportError } from "../errors.ts";
import {
  configure,
  currentOrThrow,
  type Owner,
  type Scope,
} from "../state/scope.ts";
import { run, type Steps } from "../steps.ts";
import type { Autoload } from "./autoload.ts";

/**
 * Runs before or after a method. `params` is the argument array itself and `output` holds the method's
 * result; both may be changed. `false` ends the chain of filters, not the method.
 */
// deno-lint-ignore no-explicit-any -- what a method takes and returns is its own
export type Filter<Params extends unknown[] = any[]> = (
  params: Params,
  // deno-lint-ignore no-explicit-any -- a filter may give it any value
  output: { value: any },
) => unknown;

/** What a mapped method adds to the type of an engine: nothing where the name is just a `string`. */
export type Mapped<Name extends string, Callback> = string extends Name
  ? unknown
  : { [Key in Name]: Callback extends Method ? Callback : Method };

/** The type of a class's instances; of an autoloaded class, the compiler knows no more than `object`. */
export type InstanceOf<Type> = Type extends Class<infer Made> ? Made : object;

/** What a registered class adds to the type of an engine: nothing where the name is just a `string`. */
export type Registered<Name extends string, Type> = string extends Name
  ? unknown
  : { [Key in Name]: (shared?: boolean) => MadeOf<Type> };

/** @internal */
type MadeOf<Type> = Type extends Class ? InstanceOf<Type> : Promise<object>;

/** Runs a method with its filters where its output belongs: `render` in a section, `error` on a page. */
export type Wrapper<In extends Scope = Scope> = (
  method: MappedMethod,
  params: unknown[],
  scope: In,
) => unknown;

type Filters = Readonly<Record<"before" | "after", readonly Filter[]>>;

const NO_FILTERS: Filters = { before: [], after: [] };

/** A method with its filters. Immutable: a further filter makes another object. */
export class MappedMethod {
  constructor(
    readonly method: Method,
    readonly isDefault: boolean,
    readonly wrapper: Wrapper | undefined,
    readonly filters: Filters = NO_FILTERS,
  ) {}

  /** Whether it is the framework's own, without filters. */
  get isUnchanged(): boolean {
    return this.isDefault && this.filters === NO_FILTERS;
  }

  /** Runs the method with its filters; inside a request, by its wrapper. */
  call(params: unknown[], scope?: Scope): unknown {
    return this.wrapper === undefined || scope === undefined
      ? this.run(params)
      : this.wrapper(this, params, scope);
  }

  /** Runs the method with its filters, and `onEntry` in between: before filters may have changed `params`. */
  run(params: unknown[], onEntry?: () => void): unknown {
    return this.filters === NO_FILTERS
      ? this.method(...params)
      : run(this.#steps(params, onEntry));
  }

  /** The same method with one more filter. */
  filtered(moment: "before" | "after", filter: Filter): MappedMethod {
    const { method, isDefault, wrapper, filters } = this;
    const more = { ...filters, [moment]: [...filters[moment], filter] };
    return new MappedMethod(method, isDefault, wrapper, more);
  }

  *#steps(params: unknown[], onEntry?: () => void): Steps<unknown> {
    const output: { value: unknown } = { value: undefined };
    for (const filter of this.filters.before) {
      if ((yield filter(params, output)) === false) break;
    }
    onEntry?.();
    output.value = yield this.method(...params);
    for (const filter of this.filters.after) {
      if ((yield filter(params, output)) === false) break;
    }
    return output.value;
  }
}

/** How the instances of a registered class are made, and how long the shared one lives. */
export interface Registration<Type = Class | string> {
  /** The class, or the name of an autoloaded one. */
  readonly type: Type;
  /** The arguments of the constructor; `"scope"` stands for the scope of the whole request. */
  readonly params: readonly unknown[] | "scope";
  /** Runs at once after each construction, with the new object. */
  readonly callback?: Method | undefined;
  /** The field of the scope that keeps an instance for each request; without it, the application shares one. */
  readonly slot?: "httpRequest" | "httpResponse" | undefined;
}

type Instance = object | Promise<object>;

/** A registered class with its shared instance. */
export class RegisteredClass {
  #shared: Instance | undefined;

  /** `scope` is that of the request that registers the class; undefined when the application does. */
  constructor(
    readonly name: string,
    readonly registration: Registration,
    readonly app: { readonly owner: Owner; readonly autoload: Autoload },
    readonly scope: Scope | undefined,
  ) {}

  /** The shared instance, made on first use; a new one for `false`. */
  call(params: unknown[], scope?: Scope): Instance {
    const isNew = params[0] === false;
    const { slot } = this.registration;
    if (slot === undefined) {
      return isNew ? this.make() : this.#shared ?? this.#share();
    }
    const within = scope ?? currentOrThrow(this.app.owner, `${this.name}()`);
    // The shared one is made even when a new one is asked for: the first response takes over the kept outcome.
    const shared = within[slot] ?? (within.root[slot] ??= this.make(within));
    return isNew ? this.make(within) : shared;
  }

  /** A new instance; a promise when the class is autoloaded. */
  make(scope?: Scope): Instance {
    const { type } = this.registration;
    return typeof type === "string"
      ? this.app.autoload.find(type)
        .then((found) => this.#construct(found, scope))
      : this.#construct(type, scope);
  }

  /** Makes the shared instance; that of the application without a request, so that it cannot keep one. */
  #share(): Instance {
    const make = (): Instance => this.make();
    const made = this.scope ? make() : configure(this.app.owner, make);
    this.#shared = made;
    if (made instanceof Promise) {
      made.catch(() => this.#shared = undefined); // the next call tries again
    }
    return made;
  }

  #construct(type: Class, scope: Scope | undefined): object {
    const { params, callback } = this.registration;
    const values = params === "scope" ? [scope?.root] : params;
    const instance = new type(...values);
    const result = callback?.(instance);
    // Only of a promise: calling `then` of a foreign thenable, such as a query, may begin its work.
    if (result instanceof Promise) {
      result.catch((reason) =>
        reportError(reason, `in the callback of "${this.name}"`)
      );
    }
    return instance;
  }
}
