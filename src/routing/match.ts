/** Owns a match: a route that matches the path of a request, with the values of its parameters. */

import type { RouteParameters } from "./middleware.ts";
import type { Path } from "./path.ts";
import type { Values } from "./pattern.ts";
import { type Declaration, Route } from "./route.ts";

export class Match {
  constructor(
    readonly declaration: Declaration,
    readonly path: Path,
    /** The one that was searched for. */
    readonly method: string | undefined,
    readonly values: Readonly<Values>,
  ) {}

  /** The values by name, in a new object each time. */
  get params(): RouteParameters {
    const params: RouteParameters = Object.create(null);
    const { names } = this.declaration.pattern;
    names.forEach((name, index) => params[name] = this.values[index]!);
    return params;
  }

  /** What `*` matches; throws `HttpError` 400 when it has a segment `..`. */
  get splat(): string {
    return this.declaration.pattern.splat(this.path);
  }

  /** Calls the callback with the values. */
  call(): unknown {
    const { callback, passRoute } = this.declaration;
    if (passRoute) return callback(...this.values, this.toRoute());
    return callback(...this.values);
  }

  /** A new route object, with the values of this request. */
  toRoute(): Route {
    return new Route(this.declaration, this);
  }
}

/** Names a route in messages. */
export function routeName({ declaration: { pattern } }: Match): string {
  return `the route "${pattern.text}"`;
}
