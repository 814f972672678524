/** Owns a match: a route that matches the path of a request, with the values of its parameters. */

import type { RouteParameters } from "./middleware.ts";
import type { Path } from "./path.ts";
import type { Values } from "./pattern.ts";
import { declared, Route, routeText } from "./route.ts";

export class Match {
  constructor(
    readonly route: Route,
    readonly path: Path,
    /** The one that was searched for. */
    readonly method: string | undefined,
    readonly values: Readonly<Values>,
  ) {}

  /** The values by name, in a new object each time. */
  get params(): RouteParameters {
    const params: RouteParameters = Object.create(null);
    const { names } = declared(this.route).pattern;
    names.forEach((name, index) => params[name] = this.values[index]!);
    return params;
  }

  /** What `*` matches; throws `HttpError` 400 when it has a segment `..`. */
  get splat(): string {
    return declared(this.route).pattern.splat(this.path);
  }

  /** Calls the callback with the values. */
  call(): unknown {
    const { callback, passRoute } = declared(this.route);
    if (passRoute) return callback(...this.values, this.toRoute());
    return callback(...this.values);
  }

  /** A new route object, with the values of this request. */
  toRoute(): Route {
    return new Route(declared(this.route), this);
  }
}

/** Names a route in messages. */
export function routeName({ route }: Match): string {
  return `the route "${routeText(route)}"`;
}
