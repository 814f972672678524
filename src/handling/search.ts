/** Owns asking the router about the path of a request, which it sees below the application's base. */

import type { RequestScope } from "../application/application.ts";
import { withoutBase } from "../response/location.ts";
import type { Match } from "../routing/router.ts";

/** The first route that matches the path of a request by a method. */
export function search(
  scope: RequestScope,
  method: string,
): Match | undefined {
  const { app, plan } = scope;
  const router = plan.router ?? app.router(scope);
  const caseSensitive = plan.settings["framework.case_sensitive"];
  return router.match(method, routedPath(scope), caseSensitive, scope);
}

/** The methods for which the path of a request has routes; empty when no route takes it. */
export function allowedMethods(scope: RequestScope): string[] {
  const { app, plan } = scope;
  const caseSensitive = plan.settings["framework.case_sensitive"];
  return app.router(scope).allowed(routedPath(scope), caseSensitive);
}

function routedPath(
  { plan: { base }, target: { path } }: RequestScope,
): string {
  return base === "" ? path : withoutBase(path, base);
}
