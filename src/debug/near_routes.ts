/**
 * Owns explaining why no route matched: which declared routes are nearest to a path, and what keeps each
 * of them from matching.
 */

import { OVERRIDES } from "../methods.ts";
import { Path } from "../routing/path.ts";
import { declarationOf, type Route } from "../routing/route.ts";
import type { Segment } from "../routing/segment.ts";
import { suggestions } from "../suggestions.ts";

/** A route that nearly matches, and why it does not. */
export interface NearRoute {
  /** The route as declared. */
  readonly route: Route;
  /** Why it does not match, as a clause: `the path ends before "/edit"`. */
  readonly reason: string;
}

/** How near a route is, in segments, and what keeps it from matching. */
interface Miss {
  readonly nearness: number;
  readonly reason: string;
}

const MAX_ROUTES = 5;

/** The longest path that is compared with every route, in characters: nobody mistypes a longer one. */
const MAX_LENGTH = 300;

/** The nearest routes to a path: those that share its beginning, up to a misspelled segment. */
export function nearRoutes(
  routes: readonly Route[],
  method: string,
  sent: string,
  caseSensitive: boolean,
): NearRoute[] {
  const path = new Path(sent, caseSensitive);
  return routes
    .filter((route) => sent.length <= MAX_LENGTH || isTooLong(path, route))
    .map((route) => ({ route, ...missOf(route, method, path) }))
    .filter(({ nearness }) => nearness > 0)
    .sort((a, b) => b.nearness - a.nearness)
    .slice(0, MAX_ROUTES)
    .map(({ route, reason }) => ({ route, reason }));
}

/** Whether a segment of a path is longer than the expression of a route is tried on. */
function isTooLong({ segments: texts }: Path, route: Route): boolean {
  return declarationOf(route).pattern.choices.some((segments) =>
    segments.some(({ longest }, at) => longest < (texts[at]?.length ?? 0))
  );
}

/** How near a route is to a path, and why it does not match. */
function missOf(route: Route, method: string, path: Path): Miss {
  const { pattern } = declarationOf(route);
  if (pattern.match(path)) {
    return { nearness: Infinity, reason: methodReason(method, route) };
  }
  return pattern.choices.map((segments) => missAmong(segments, path))
    .reduce((a, b) => b.nearness > a.nearness ? b : a);
}

function methodReason(method: string, { methods }: Route): string {
  if (methods.includes(method) || methods[0] === "*") {
    return "it matches, but may pass the request on to a later route";
  }
  const reason = `the method ${method} is not ${methods.join(" or ")}`;
  const isOfForm = method === "POST" &&
    methods.some((each) => OVERRIDES.includes(each));
  const hint =
    "a form can name that method in its _method field if framework.method_override is set";
  return isOfForm ? `${reason} (${hint})` : reason;
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
    const text = texts[at] ?? "";
    const isMatch = !segment.isStar &&
      segment.match(text, path.compared(at), []);
    if (isMatch) nearness += 1;
    else {
      reason ??= reasonFor(segment, texts[at]);
      const [meant] = suggestions(text, [segment.literal ?? ""]);
      if (meant === undefined && text.length <= segment.longest) break;
      nearness += 1 / 2;
    }
  }
  reason ??= `the path continues with "/${path.text(segments.length)}"`;
  return { nearness, reason };
}

/** Why a segment does not match a text, or the end of the path. */
function reasonFor(segment: Segment, text?: string): string {
  if (segment.isStar) return 'what follows "*" does not match';
  if (text === undefined) return `the path ends before "/${segment}"`;
  if (text.length > segment.longest) {
    return `a segment of ${text.length} characters is too long for "${segment}", ` +
      `which matches at most ${segment.longest}`;
  }
  return `the segment "${text}" does not match "${segment}"`;
}
