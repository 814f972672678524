/**
 * Owns explaining why no route matched: which declared routes are nearest to a path, and what keeps each
 * of them from matching.
 */

import type { Path } from "./path.ts";
import type { Declaration, Route } from "./route.ts";
import type { Segment } from "./segment.ts";
import { suggestions } from "../suggestions.ts";

/** A route that nearly matches, and why it does not. */
export interface NearRoute {
  /** The route as declared. */
  readonly route: Route;
  /** Why it does not match, as a clause: `the path ends before "/edit"`. */
  readonly reason: string;
}

const MAX_ROUTES = 5;

/** The longest path that is explained, in characters: nobody has mistyped a longer one. */
const MAX_LENGTH = 300;

/** The nearest routes to a path: those that share its beginning, up to a misspelt segment. */
export function nearRoutes(
  declarations: readonly Declaration[],
  method: string,
  path: Path,
): NearRoute[] {
  if (path.text.length > MAX_LENGTH) return [];
  return declarations
    .map(({ route, pattern }) => {
      const misses = pattern.variants.map((variant) =>
        variant.match(path)
          ? { nearness: Infinity, reason: methodReason(method, route) }
          : missOf(variant.segments, path)
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
    ? "it matches, and may pass on"
    : `the method ${method} is not ${methods.join(" or ")}`;
}

/**
 * How many segments match, up to the first that is not even a misspelling (a misspelling counts half), and
 * why the first mismatch does not match.
 */
function missOf(
  segments: readonly Segment[],
  path: Path,
): { nearness: number; reason: string } {
  const count = path.split();
  let nearness = segments.length === count ? 0 : -1 / 4;
  let reason: string | undefined;
  for (const [index, segment] of segments.entries()) {
    const text = index < count ? path.segment(index) : undefined;
    if (segment.match(text ?? "", path.caseSensitive)) nearness += 1;
    else {
      reason ??= reasonFor(segment, text);
      const [meant] = suggestions(text ?? "", [segment.literal ?? ""]);
      if (meant === undefined) break;
      nearness += 1 / 2;
    }
  }
  reason ??= `the path goes on with "/${path.rest(segments.length)}"`;
  return { nearness, reason };
}

/** Why a segment does not match a text, or the end of the path. */
function reasonFor(segment: Segment, text?: string): string {
  if (segment.isStar) return 'what follows "*" does not match';
  if (text === undefined) return `the path ends before "/${segment}"`;
  return `the segment "${text}" does not match "${segment}"`;
}
