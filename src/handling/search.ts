/**
 * Owns asking the router about the path of a request, which it sees below the application's base. Nothing else
 * calls `routing/lookup.ts`.
 */

import type { Exchange } from "../application/exchange.ts";
import { allowedMethods, firstMatch, nextMatch } from "../routing/lookup.ts";
import type { Match } from "../routing/match.ts";
import { Path } from "../routing/path.ts";

/** The first route that matches the path of a request by a method. */
export function search(
  exchange: Exchange,
  method: string,
): Match | undefined {
  const { app, context, layer } = exchange;
  return firstMatch(app.router(context), method, pathOf(exchange), layer);
}

/** The next route that matches what a match was searched for. */
export function searchNext(
  exchange: Exchange,
  match: Match,
): Match | undefined {
  const { app, context, layer } = exchange;
  return nextMatch(app.router(context), match, layer);
}

/** The methods for which the path of a request has routes; empty when no route takes it. */
export function methodsOfPath(exchange: Exchange): string[] {
  const { app, context, layer } = exchange;
  return allowedMethods(app.router(context), pathOf(exchange), layer);
}

/** The path below the base, decoded once. */
function pathOf(exchange: Exchange): Path {
  const { path, plan } = exchange;
  if (path !== undefined) return path;
  const caseSensitive = plan.settings["framework.case_sensitive"];
  return exchange.path = new Path(exchange.pathBelowBase, caseSensitive);
}
