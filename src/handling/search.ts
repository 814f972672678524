/** Owns asking the router about the path of a request, which it sees below the application's base. */

import type { Exchange } from "../application/exchange.ts";
import { withoutBase } from "../base.ts";
import { allowedMethods, firstMatch } from "../routing/lookup.ts";
import type { Match } from "../routing/match.ts";
import { Path } from "../routing/path.ts";

/** The first route that matches the path of a request by a method. */
export function search(
  exchange: Exchange,
  method: string,
): Match | undefined {
  const { app, context, layer, plan } = exchange;
  const router = plan.router ?? app.router(context);
  return firstMatch(router, method, pathOf(exchange), layer);
}

/** The methods for which the path of a request has routes; empty when no route takes it. */
export function methodsOfPath(exchange: Exchange): string[] {
  const { app, context, layer } = exchange;
  return allowedMethods(app.router(context), pathOf(exchange), layer);
}

/** The path below the base, decoded once. */
function pathOf(exchange: Exchange): Path {
  const { path, plan, target } = exchange;
  if (path !== undefined) return path;
  const caseSensitive = plan.settings["framework.case_sensitive"];
  const below = plan.base === ""
    ? target.path
    : withoutBase(target.path, plan.base);
  return exchange.path = new Path(below, caseSensitive);
}
