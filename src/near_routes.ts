/**
 * Owns explaining a miss: which declared routes are nearest to a path, and what keeps each of them
 * from matching.
 */

import type { Alternative } from "./alternative.ts";
import { segmentsOf } from "./path.ts";
import type { Route } from "./route.ts";
import type { Declaration } from "./table.ts";

/** A route that does not match, and why. */
export interface NearRoute {
  readonly route: Route;
  /** The segment or method at which it fails, as a clause. */
  readonly reason: string;
}

/** How near an alternative comes: the higher, the nearer. */
interface Miss {
  readonly nearness: number;
  readonly reason: string | undefined;
}

const mostRoutes = 5;

/** The nearest routes to a decoded path: those that share its beginning. */
export function nearRoutes(
  declarations: readonly Declaration[],
  method: string,
  path: string,
  caseSensitive: boolean,
): NearRoute[] {
  const texts = segmentsOf(path);
  return declarations.map(({ route, pattern }) => {
    const misses = pattern.alternatives.map((one) =>
      missOf(one, texts, caseSensitive)
    );
    const { nearness, reason } = misses.reduce((a, b) =>
      b.nearness > a.nearness ? b : a
    );
    const wrongMethod = `the method ${method} is not ${
      route.methods.join(" or ")
    }`;
    return { route, nearness, reason: reason ?? wrongMethod };
  })
    .filter(({ nearness }) => nearness > 0)
    .sort((a, b) => b.nearness - a.nearness)
    .slice(0, mostRoutes)
    .map(({ route, reason }) => ({ route, reason }));
}

function missOf(
  { segments }: Alternative,
  texts: readonly string[],
  caseSensitive: boolean,
): Miss {
  for (const [index, segment] of segments.entries()) {
    const text = texts[index];
    if (segment.star) {
      return { nearness: index, reason: `nothing behind "*" fits the rest` };
    }
    if (text === undefined) {
      return {
        nearness: index - 1 / 2,
        reason: `the path ends before "/${segment}"`,
      };
    }
    if (!segment.matches(text, caseSensitive)) {
      return {
        nearness: index,
        reason: `the segment "${text}" does not match "${segment}"`,
      };
    }
  }
  const rest = texts.slice(segments.length).join("/");
  if (rest === "") return { nearness: Infinity, reason: undefined };
  return {
    nearness: segments.length - 1 / 2,
    reason: `the path goes on with "/${rest}"`,
  };
}
