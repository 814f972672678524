/**
 * Owns searching the routes for the path of a request, which they see below the application's base, and the match that
 * the exchange keeps. Nothing else searches `routing/routes.ts`, and nothing else sets `Exchange.match`.
 */

import type { Exchange } from "../application/exchange.ts";
import type { Match } from "../routing/match.ts";
import { Path } from "../routing/path.ts";

/**
 * The match of the route to call first. The known match is kept until the request has a layer of its own: that may
 * have a route, or a setting that changes how its path is read.
 */
export function firstRoute(exchange: Exchange): Match | undefined {
  const { layer, match, method } = exchange;
  const isKnown = match !== undefined && layer === null;
  return isKnown ? match : exchange.match = search(exchange, method);
}

/** Has `firstRoute` search again. */
export function forgetMatch(exchange: Exchange): void {
  exchange.match = undefined;
}

/** Takes another method in place of the one that was received, and returns the match of the route for that. */
export function takeMethod(
  exchange: Exchange,
  method: string,
): Match | undefined {
  exchange.method = method;
  return exchange.match = search(exchange, method);
}

/** The match of the route to call after one that has passed; undefined after the last. */
export function nextRoute(
  exchange: Exchange,
  match: Match,
): Match | undefined {
  return exchange.match = searchNext(exchange, match);
}

/** The first route that matches the path of a request by a method. */
export function search(
  exchange: Exchange,
  method: string,
): Match | undefined {
  const { app, context, layer } = exchange;
  return app.routes(context).first(pathOf(exchange), method, layer);
}

/** The next route that matches what a match was searched for. */
export function searchNext(
  exchange: Exchange,
  match: Match,
): Match | undefined {
  const { app, context, layer } = exchange;
  return app.routes(context).next(match, layer);
}

/** Whether a route takes the path of a request, by any method. */
export function hasRoute(exchange: Exchange): boolean {
  const { app, context, layer } = exchange;
  return app.routes(context).isTaken(pathOf(exchange), layer);
}

/** The methods that routes for the path of a request name. */
export function methodsOfPath(exchange: Exchange): string[] {
  const { app, context, layer } = exchange;
  return app.routes(context).methods(pathOf(exchange), layer);
}

/** The path below the base, decoded once. */
function pathOf(exchange: Exchange): Path {
  const { path, plan } = exchange;
  if (path !== undefined) return path;
  const caseSensitive = plan.settings["framework.case_sensitive"];
  return exchange.path = new Path(exchange.pathBelowBase, caseSensitive);
}
