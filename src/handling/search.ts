/** Owns asking the router about the path of a request, which it sees below the application's base. */

import type { Exchange } from "../application/exchange.ts";
import { withoutBase } from "../response/location.ts";
import type { Match } from "../routing/match.ts";

/** The first route that matches the path of a request by a method. */
export function search(
  exchange: Exchange,
  method: string,
): Match | undefined {
  const { app, context, layer, plan } = exchange;
  const router = plan.router ?? app.router(context);
  const caseSensitive = plan.settings["framework.case_sensitive"];
  return router.match(
    method,
    routedPath(exchange),
    caseSensitive,
    layer,
  );
}

/** The methods for which the path of a request has routes; empty when no route takes it. */
export function allowedMethods(exchange: Exchange): string[] {
  const { app, context, layer, plan } = exchange;
  const caseSensitive = plan.settings["framework.case_sensitive"];
  const path = routedPath(exchange);
  return app.router(context).allowed(path, caseSensitive, layer);
}

function routedPath(
  { plan: { base }, target: { path } }: Exchange,
): string {
  return base === "" ? path : withoutBase(path, base);
}
