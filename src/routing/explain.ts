/**
 * Owns explaining a miss: which declared routes are nearest to a path, and what keeps each of them
 * from matching.
 */

import { segmentsOf } from "./path.ts";
import type { Segment } from "./segment.ts";
import type { Route } from "./route.ts";
import type { Declaration } from "./table.ts";

/** A route that does not match, and why. */
export interface NearRoute {
  /** The route as declared. */
  readonly route: Route;
  /** The segment or method at which it fails, as a clause. */
  readonly reason: string;
}

/** How near a row of segments comes, in segments that match. */
interface Miss {
  readonly nearness: number;
  readonly reason: string;
}

const mostRoutes = 5;

/** The nearest routes to a decoded path: those that share its beginning. */
export function nearRoutes(
  declarations: readonly Declaration[],
  method: string,
  path: string,
  caseSensitive: boolean,
): NearRoute[] {
  return declarations
    .map(({ route, pattern }) => {
      const misses = pattern.alternatives.map((alternative) =>
        alternative.matches(path, caseSensitive)
          ? { nearness: Infinity, reason: methodReason(method, route) }
          : missOf(alternative.segments, segmentsOf(path), caseSensitive)
      );
      const nearest = misses.reduce((a, b) => b.nearness > a.nearness ? b : a);
      return { route, ...nearest };
    })
    .filter(({ nearness }) => nearness > 0)
    .sort((a, b) => b.nearness - a.nearness)
    .slice(0, mostRoutes)
    .map(({ route, reason }) => ({ route, reason }));
}

function methodReason(method: string, { methods }: Route): string {
  return methods.includes(method) || methods[0] === "*"
    ? "it was passed"
    : `the method ${method} is not ${methods.join(" or ")}`;
}

/** Where a row of segments and a path part; half a segment nearer when one of them just ends. */
function missOf(
  segments: readonly Segment[],
  texts: readonly string[],
  caseSensitive: boolean,
): Miss {
  const index = segments.findIndex((segment, place) =>
    segment.star || !segment.matches(texts[place] ?? "", caseSensitive)
  );
  const [segment, text] = [segments[index], texts[index]];
  if (segment === undefined) {
    const rest = texts.slice(segments.length).join("/");
    const reason = `the path goes on with "/${rest}"`;
    return { nearness: segments.length - 1 / 2, reason };
  }
  if (segment.star) {
    return { nearness: index, reason: 'what follows "*" does not match' };
  }
  if (text === undefined) {
    const reason = `the path ends before "/${segment}"`;
    return { nearness: index - 1 / 2, reason };
  }
  const reason = `the segment "${text}" does not match "${segment}"`;
  return { nearness: index, reason };
}
