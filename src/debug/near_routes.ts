/**
 * Owns explaining why no route matched: which declared routes are nearest to a path, and what keeps each
 * of them from matching.
 */

import { suggestions } from "../options.ts";
import type { Path } from "../routing/path.ts";
import { declarationOf, type Route } from "../routing/route.ts";
import type { Segment } from "../routing/segment.ts";

/** Why a route does not match. */
interface Miss {
  /** How near it is, in segments. */
  readonly nearness: number;
  /** What keeps it from matching, as a clause: `the path ends before "/edit"`. */
  readonly reason: string;
}

const MAX_ROUTES = 5;

/** The nearest routes to a path: those that share its beginning, up to a misspelled segment. */
export function nearRoutes(
  routes: readonly Route[],
  method: string,
  path: Path,
): (Miss & { readonly route: Route })[] {
  return routes
    .map((route) => ({ route, ...missOf(route, method, path) }))
    .filter(({ nearness }) => nearness > 0)
    .sort((a, b) => b.nearness - a.nearness)
    .slice(0, MAX_ROUTES);
}

function missOf(route: Route, method: string, path: Path): Miss {
  const { pattern } = declarationOf(route);
  if (pattern.match(path)) {
    return { nearness: Infinity, reason: methodReason(method, route) };
  }
  return pattern.choices.map((segments) => missAmong(segments, path))
    .reduce((a, b) => b.nearness > a.nearness ? b : a);
}

function methodReason(method: string, { methods }: Route): string {
  return methods.includes(method) || methods[0] === "*"
    ? "it matches, but may pass the request on to a later route"
    : `the method ${method} is not ${methods.join(" or ")}`;
}

/**
 * How many segments match, up to the first that is not even a misspelling (a misspelling counts half), and
 * why the first mismatch does not match.
 */
function missAmong(segments: readonly Segment[], path: Path): Miss {
  const { segments: texts } = path;
  let nearness = segments.length === texts.length ? 0 : -1 / 4;
  let reason: string | undefined;
  for (const [at, segment] of segments.entries()) {
    const text = texts[at];
    if (text && segment.match(text, path.compared(at), [])) {
      nearness += 1;
      continue;
    }
    reason ??= reasonFor(segment, text);
    const [meant] = suggestions(text ?? "", [segment.literal ?? ""]);
    if (meant === undefined) break;
    nearness += 1 / 2;
  }
  reason ??= `the path continues with "/${path.text(segments.length)}"`;
  return { nearness, reason };
}

/** Why a segment does not match a text, or the end of the path. */
function reasonFor(segment: Segment, text?: string): string {
  if (segment.isStar) return 'what follows "*" does not match';
  if (text === undefined) return `the path ends before "/${segment}"`;
  return `the segment "${text}" does not match "${segment}"`;
}
