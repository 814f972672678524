/** Owns a mapped method with its filters. Which names are allowed is decided in `names.ts`. */

import { wrongKind } from "../errors.ts";
import { isFrameworkObject } from "../extension_keys.ts";
import type { Method } from "../routing/callback.ts";
import { enter, noRequest, track } from "../state/current.ts";
import { run, type Steps } from "../waiting.ts";
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

/** How a method of the framework runs in a request, mapped or not: `json` seals the response, for one. */
export type Rule = (
  context: Context,
  method: MappedMethod,
  params: unknown[],
) => unknown;

type Filters = Readonly<Record<"before" | "after", readonly Filter[]>>;

const NO_FILTERS: Filters = { before: [], after: [] };

/** A method with its filters. Immutable: a further filter makes another object. */
export class MappedMethod {
  /** Whether its code runs without a request. */
  #isRunning = false;

  constructor(
    readonly name: string,
    readonly method: Method,
    readonly isDefault: boolean,
    /** Whether the context of a request is the first argument of `method`. */
    readonly takesContext: boolean,
    readonly rule: Rule | undefined,
    /** The default that it stands for, mapped or filtered: inside of itself, its name means that. */
    readonly original?: MappedMethod,
    readonly filters: Filters = NO_FILTERS,
  ) {}

  /** Whether it is the default, without filters. */
  get isUnchanged(): boolean {
    return this.isDefault && this.filters === NO_FILTERS;
  }

  /** Calls it by the rule of its name. The response waits for a promise that it returns. */
  call(params: unknown[], context: Context | undefined): unknown {
    const { original, name, rule } = this;
    if (original && (context ? context.isInside(name) : this.#isRunning)) {
      return original.call(params, context);
    }
    if (context === undefined) return this.#callWithoutRequest(params);
    const result = rule !== undefined
      ? rule(context, this, params)
      : original === undefined
      ? this.run(params, context)
      : enter(context.inside(name), (own) => this.run(params, own));
    // Not any thenable: calling `then` of one, such as a query, may begin its work.
    return result instanceof Promise ? track(name, result) : result;
  }

  #callWithoutRequest(params: unknown[]): unknown {
    if (this.takesContext) throw noRequest(`${this.name}()`);
    this.#isRunning = true;
    try {
      return this.run(params, undefined);
    } finally {
      this.#isRunning = false;
    }
  }

  /** Runs it with its filters. It stays synchronous as long as these are. */
  run(params: unknown[], context: Context | undefined): unknown {
    return this.filters === NO_FILTERS
      ? this.#invoke(params, context)
      : run(this.#filtered(params, context));
  }

  /** The same method with one more filter. */
  filtered(moment: "before" | "after", filter: Filter): MappedMethod {
    const { name, method, isDefault, takesContext, rule, filters } = this;
    const more = { ...filters, [moment]: [...filters[moment], filter] };
    const original = this.original ?? (isDefault ? this : undefined);
    return new MappedMethod(
      name,
      method,
      isDefault,
      takesContext,
      rule,
      original,
      more,
    );
  }

  *#filtered(
    params: unknown[],
    context: Context | undefined,
  ): Steps<unknown> {
    const output: { value: unknown } = { value: undefined };
    for (const filter of this.filters.before) {
      const returned: unknown = yield filter(params, output);
      if (this.name === "start") checkGuard(returned);
      if (returned === false) break;
    }
    output.value = yield this.#invoke(params, context);
    for (const filter of this.filters.after) {
      if ((yield filter(params, output)) === false) break;
    }
    return output.value;
  }

  #invoke(params: unknown[], context: Context | undefined): unknown {
    return this.takesContext
      ? this.method(context, ...params)
      : this.method(...params);
  }
}

/** Refuses what looks like a response of a filter before `start`: ignored, it would let everybody in. */
function checkGuard(returned: unknown): void {
  const isResponse = typeof returned === "string" ||
    typeof returned === "object" && returned !== null &&
      !isFrameworkObject(returned);
  if (!isResponse) return;
  const rule =
    "it must return nothing or a boolean (call halt() or redirect() to respond)";
  throw wrongKind('continue after a filter before "start"', rule, returned);
}
