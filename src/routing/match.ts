/**
 * Owns the match of a route and a path: the values that the path gives, and the call with them.
 */

import type { RouteParameters } from "./middleware.ts";
import { Path } from "./path.ts";
import type { Route } from "./route.ts";
import type { Entry } from "./table.ts";

/** A route that matches a path. */
export class Match {
  /** The route as declared. */
  readonly route: Route;
  /** The entry of the index that was found. */
  readonly entry: Entry;
  /** The path as it was sent. */
  readonly sent: string;
  /** The method by which it was found: GET for most HEAD requests. */
  readonly method: string;
  readonly caseSensitive: boolean;
  /** The values of the named parameters in order; null where an optional part is absent. */
  readonly values: readonly (string | null)[];
  #params: RouteParameters | undefined;

  /** The path has been split from what was sent. */
  constructor(
    entry: Entry,
    path: Path,
    sent: string,
    method: string,
    caseSensitive: boolean,
  ) {
    this.route = entry.declaration.route;
    this.entry = entry;
    this.sent = sent;
    this.method = method;
    this.caseSensitive = caseSensitive;
    this.values = entry.variant.values(path, caseSensitive);
  }

  /** The values by name. */
  get params(): RouteParameters {
    return this.#params ??= this.#named();
  }

  /** Calls the callback with the values. */
  call(): unknown {
    const { callback, passRoute } = this.entry.declaration;
    if (passRoute) return callback(...this.values, this.toRoute());
    return callback(...this.values);
  }

  /** A route object of this request's own. Throws `HttpError` 400 when the splat has a segment `..`. */
  toRoute(): Route {
    const { variant } = this.entry;
    const splat = variant.star < 0
      ? ""
      : variant.splat(new Path().read(this.sent), this.caseSensitive);
    return this.route.matched(this.#named(), splat, this.caseSensitive);
  }

  #named(): RouteParameters {
    const params: RouteParameters = Object.create(null);
    const { names } = this.entry.declaration.pattern;
    for (const [place, name] of names.entries()) {
      params[name] = this.values[place]!;
    }
    return params;
  }
}
