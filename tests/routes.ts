/** Looks up routes of a router without an application. */

import type { Router } from "@framework/core";
import type { Match } from "../src/routing/match.ts";
import { Path } from "../src/routing/path.ts";
import { routesOf } from "../src/routing/router.ts";

/** The first match of a path that was sent. */
export function firstMatch(
  router: Router,
  path: string,
  method = "GET",
  caseSensitive = false,
): Match | undefined {
  return routesOf(router).first(new Path(path, caseSensitive), method);
}
