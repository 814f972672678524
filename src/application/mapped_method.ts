/** Owns a mapped method with its filters. Which names are allowed is decided in `names.ts`. */

import type { Method } from "../callback.ts";
import { isStop } from "../errors.ts";
import { run, type Steps } from "../steps.ts";
import type { Context } from "./exchange.ts";

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

/** What a wrapper adds between the filters of a method and the method itself; ignored where that has no filters. */
export interface Between {
  /** Checks what a filter before the method returned, unless that is `false`: other values have no meaning. */
  check?(returned: unknown): void;
  /** Runs once the filters before the method have, which may have changed `params`. The method waits for it. */
  beforeMethod?(): unknown;
  /** Whether the filters after the method run even where it ends the request, as `halt` and `stop` do. */
  readonly runsAfterStop?: boolean;
}

/** How a method of the framework runs in a request once it is mapped or filtered. */
export interface Wrapper {
  /** Whether it is to respond: where it fails, a guard lets nobody pass, not even one that catches the error. */
  readonly responds: boolean;
  /** Runs the method where its output belongs: `render` in a section, `error` on a page. */
  run(method: MappedMethod, params: unknown[], context: Context): unknown;
}

type Filters = Readonly<Record<"before" | "after", readonly Filter[]>>;

const NO_FILTERS: Filters = { before: [], after: [] };

/** A method with its filters. Immutable: a further filter makes another object. */
export class MappedMethod {
  /** Whether it is to respond: see `Wrapper`. */
  readonly responds: boolean;
  readonly hasFilters: boolean;
  /** Whether it is the default, without filters. */
  readonly isUnchanged: boolean;

  constructor(
    readonly method: Method,
    readonly isDefault: boolean,
    readonly wrapper: Wrapper | undefined,
    readonly filters: Filters = NO_FILTERS,
  ) {
    this.responds = wrapper?.responds ?? false;
    this.hasFilters = filters !== NO_FILTERS;
    this.isUnchanged = isDefault && !this.hasFilters;
  }

  /** Runs the method with its filters; inside a request, unless it is unchanged, by its wrapper. */
  call(params: unknown[], context?: Context): unknown {
    const { wrapper } = this;
    return wrapper === undefined || context === undefined || this.isUnchanged
      ? this.run(params)
      : wrapper.run(this, params, context);
  }

  /** Runs the method with its filters. */
  run(params: unknown[], between?: Between): unknown {
    return this.hasFilters
      ? run(this.#steps(params, between))
      : this.method(...params);
  }

  /** The same method with one more filter. */
  filtered(moment: "before" | "after", filter: Filter): MappedMethod {
    const { method, isDefault, wrapper, filters } = this;
    const more = { ...filters, [moment]: [...filters[moment], filter] };
    return new MappedMethod(method, isDefault, wrapper, more);
  }

  /** `send` runs its filters by the same rules, but each on its own: `handling/send.ts`. */
  *#steps(params: unknown[], between?: Between): Steps<unknown> {
    const output: { value: unknown } = { value: undefined };
    for (const filter of this.filters.before) {
      const returned = yield filter(params, output);
      // The method is called all the same, without the filters that follow, even those that refuse requests:
      // `guard` asks to be added before such a filter.
      if (returned === false) break;
      between?.check?.(returned);
    }
    yield between?.beforeMethod?.();
    let end: unknown;
    try {
      output.value = yield this.method(...params);
    } catch (thrown) {
      if (!between?.runsAfterStop || !isStop(thrown)) throw thrown;
      end = thrown;
      output.value = undefined; // what filters may set from here on
    }
    for (const filter of this.filters.after) {
      if ((yield filter(params, output)) === false) break;
    }
    if (end !== undefined && output.value === undefined) throw end;
    return output.value;
  }
}
