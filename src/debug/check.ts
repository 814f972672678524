/**
 * Owns checking declared routes before a request comes: which can never be reached. The router loads this module for
 * `check()` alone.
 */

import { type Declaration, declarationOf, Route } from "../routing/route.ts";
import type { Segment } from "../routing/segment.ts";
import { Node, takesMethod } from "../routing/tree.ts";

/**
 * The warnings for routes whose literals match in the very same case only, or in any; and for the routes of what is
 * mounted among them, unless they were `seen`.
 */
export async function check(
  routes: readonly Route[],
  caseSensitive: boolean,
  seen: Set<Route> = new Set(routes),
): Promise<string[]> {
  const warnings: string[] = [];
  const earlier = new Node();
  const declarations = routes.map(declarationOf);
  for (const declaration of declarations) {
    warnings.push(
      ...reachWarnings(declaration, earlier, declarations, caseSensitive),
      ...await mountedWarnings(declaration, seen),
    );
  }
  return warnings;
}

/** Warns of a route that an `earlier` one hides, and adds it to those. */
function reachWarnings(
  declaration: Declaration,
  earlier: Node,
  declarations: readonly Declaration[],
  caseSensitive: boolean,
): string[] {
  const { choices, methods, text } = declaration.pattern;
  const hides = (one: Declaration): boolean =>
    takesMethods(one, methods, declarations) &&
    coversPaths(one, declaration, caseSensitive);
  const hiding = hidingBelow(earlier, choices[0]!, 0, hides);
  for (const segments of choices) {
    earlier.listOf(segments).push(declaration);
  }
  if (hiding === undefined) return [];
  return [
    `The route "${text}" can never be reached: ` +
    `"${hiding.pattern.text}" is declared earlier and matches all of its paths`,
  ];
}

/**
 * A route below a node that `hides` a later one, whose segments are given. A literal is hidden only by the same
 * literal or by a non-literal, so that routes which begin differently are not compared.
 */
function hidingBelow(
  { literals, other, ends, stars }: Node,
  segments: readonly Segment[],
  at: number,
  hides: (earlier: Declaration) => boolean,
): Declaration | undefined {
  const { folded, isStar } = segments[at] ?? {};
  const literal = folded === undefined ? undefined : literals.get(folded);
  const found = at === segments.length
    ? ends.find(hides)
    : literal && hidingBelow(literal, segments, at + 1, hides) ||
      // only a star hides a star
      !isStar && other && hidingBelow(other, segments, at + 1, hides);
  return found || stars.find(hides);
}

async function mountedWarnings(
  { mounted, pattern }: Declaration,
  seen: Set<Route>,
): Promise<string[]> {
  if (mounted === undefined) return [];
  const routes = mountedRoutes(mounted).filter((one) => !seen.has(one));
  routes.forEach((one) => seen.add(one));
  if (routes.length === 0) return []; // it may be no application of this framework
  const warnings = await check(routes, isCaseSensitive(mounted), seen);
  const prefix = pattern.path.replace(/\/\*$/, "");
  return warnings.map((text) => `Below "${prefix}": ${text}`);
}

/** The routes of a mounted application, if it is one of this framework. */
function mountedRoutes(mounted: object): Route[] {
  const { router }: { router?: unknown } = Object(mounted);
  const found = typeof router === "function" ? router.call(mounted) : {};
  const routes = typeof found?.routes === "function" ? found.routes() : [];
  return Array.isArray(routes) && routes.every((one) => one instanceof Route)
    ? routes
    : [];
}

/** Whether an application of this framework tells upper and lower case apart. */
function isCaseSensitive(mounted: object): boolean {
  const { get }: { get?: unknown } = mounted;
  return typeof get === "function" &&
    get.call(mounted, "framework.case_sensitive") === true;
}

/** Whether a route takes all methods of another; no methods are every method. */
function takesMethods(
  { pattern }: Declaration,
  methods: readonly string[],
  declarations: readonly Declaration[],
): boolean {
  return pattern.methods.length === 0 || methods.length > 0 &&
      methods.every((method) => takesMethod(pattern, method, declarations));
}

/** Whether a route takes every path of a later one. One that ends in `*` is taken for one that passes. */
function coversPaths(
  { mounted, pattern }: Declaration,
  { pattern: hidden }: Declaration,
  caseSensitive: boolean,
): boolean {
  if (pattern.endsInStar && mounted === undefined) return false;
  return hidden.choices.every((segments) =>
    pattern.choices.some((choice) =>
      coversPath(choice, segments, caseSensitive)
    )
  );
}

/**
 * Whether segments match every path that others match: each of the others is covered by one of these, or, together
 * with its neighbors, by a star. As in `pattern.ts`, no star but the last needs to take one more.
 */
function coversPath(
  all: readonly Segment[],
  some: readonly Segment[],
  caseSensitive: boolean,
): boolean {
  let star: number | undefined;
  let end = 0; // the star takes the segments up to here
  for (let n = 0, at = 0; n < all.length || at < some.length;) {
    const segment = all[n];
    if (segment?.isStar) {
      star = n++;
      end = at;
    } else if (
      segment && at < some.length &&
      coversSegment(segment, some[at]!, caseSensitive)
    ) {
      n++;
      at++;
    } else {
      if (star === undefined || end >= some.length) return false;
      n = star + 1;
      at = ++end;
    }
  }
  return true;
}

/** Whether one segment matches every text that another one matches. */
function coversSegment(
  all: Segment,
  some: Segment,
  caseSensitive: boolean,
): boolean {
  if (some.isStar) return false; // it takes any number of segments
  if (all.isFree) return true;
  if (all.shape === some.shape) return true;
  const { literal, folded } = some;
  return literal !== undefined &&
    all.match(literal, caseSensitive ? undefined : folded, []);
}
