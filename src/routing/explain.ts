/**
 * Owns explaining why no route matched: which declared routes are nearest to a path, and what keeps each
 * of them from matching.
 */

import type { Path } from "./path.ts";
import type { Declaration, Route } from "./route.ts";
import type { Segment } from "./segment.ts";
import { suggestions } from "../suggestions.ts";

/** A route that does not match, and why. */
export interface NearRoute {
  /** The route as declared. */
  readonly route: Route;
  /** The segment or method at which it fails, as a clause. */
  readonly reason: string;
}

/** How near a route comes, in segments that match. */
interface Miss {
  readonly nearness: number;
  readonly reason: string;
}

const MAX_ROUTES = 5;

/** A path with more characters or segments has no near routes: nobody has mistyped it. */
const MAX_LENGTH = 1_000;
const MAX_SEGMENTS = 50;

/** How many variants of routes are compared with a path, at most. */
const MAX_VARIANTS = 2_000;

/** The nearest routes to a path: those that share its beginning, up to a misspelt segment. */
export function nearRoutes(
  declarations: readonly Declaration[],
  method: string,
  path: Path,
): NearRoute[] {
  const count = path.split();
  if (path.text.length > MAX_LENGTH || count > MAX_SEGMENTS) return [];
  let compared = 0;
  return declarations
    .filter(({ pattern }) =>
      (compared += pattern.variants.length) <= MAX_VARIANTS
    )
    .map(({ route, pattern }) => {
      const misses = pattern.variants.map((variant) =>
        variant.matches(path)
          ? { nearness: Infinity, reason: methodReason(method, route) }
          : missOf(variant.segments, path, count)
      );
      const nearest = misses.reduce((a, b) => b.nearness > a.nearness ? b : a);
      return { route, ...nearest };
    })
    .filter(({ nearness }) => nearness > 0)
    .sort((a, b) => b.nearness - a.nearness)
    .slice(0, MAX_ROUTES)
    .map(({ route, reason }) => ({ route, reason }));
}

function methodReason(method: string, { methods }: Route): string {
  return methods.includes(method) || methods[0] === "*"
    ? "it was passed"
    : `the method ${method} is not ${methods.join(" or ")}`;
}

/** Where segments and a path part: half a segment nearer when one of them just ends. */
function missOf(
  segments: readonly Segment[],
  path: Path,
  count: number,
): Miss {
  const fits = (segment: Segment, place: number): boolean =>
    place < count && !segment.isStar &&
    segment.match(path.segment(place), path.caseSensitive) !== null;
  const index = segments.findIndex((segment, place) => !fits(segment, place));
  const segment = segments[index];
  if (segment === undefined) {
    const reason = `the path goes on with "/${path.rest(segments.length)}"`;
    return { nearness: segments.length - 1 / 2, reason };
  }
  if (segment.isStar) {
    return { nearness: index, reason: 'what follows "*" does not match' };
  }
  if (index >= count) {
    const reason = `the path ends before "/${segment}"`;
    return { nearness: index - 1 / 2, reason };
  }
  const text = path.segment(index);
  const reason = `the segment "${text}" does not match "${segment}"`;
  const { literal = "" } = segment;
  if (literal === "" || suggestions(text, [literal]).length === 0) {
    return { nearness: index, reason };
  }
  const restFits = segments.length === count &&
    segments.every((one, place) => place <= index || fits(one, place));
  return { nearness: index + (restFits ? 3 / 4 : 1 / 4), reason };
}
