/**
 * Owns what can be said of declared routes before a request comes: which can never be reached, and which name a
 * class or a method that does not load. The router loads it when it is asked.
 */

import { declared, Route } from "./route.ts";
import type { Segment } from "./segment.ts";

/** The warnings for routes, and for those of what is mounted among them, unless they were `seen`. */
export async function check(
  routes: readonly Route[],
  seen: Set<Route> = new Set(routes),
): Promise<string[]> {
  const warnings: string[] = [];
  const earlier = new Map<string, Route[]>();
  for (const route of routes) {
    warnings.push(
      ...reachWarnings(route, earlier),
      ...await loadWarnings(route),
      ...await mountedWarnings(route, seen),
    );
  }
  return warnings;
}

/** Warns of a route that an `earlier` one hides, and adds it to those, which are kept by their starts. */
function reachWarnings(route: Route, earlier: Map<string, Route[]>): string[] {
  const { pattern: { choices } } = declared(route);
  const hiding = [startOf(choices[0]!), ""]
    .flatMap((start) => earlier.get(start) ?? [])
    .find((one) => shadows(one, route));
  for (const start of new Set(choices.map(startOf))) {
    const known = earlier.get(start);
    if (known) known.push(route);
    else earlier.set(start, [route]);
  }
  if (hiding === undefined) return [];
  return [
    `The route "${written(route)}" can never be reached: ` +
    `"${written(hiding)}" is declared earlier and matches all of its paths`,
  ];
}

async function loadWarnings(route: Route): Promise<string[]> {
  try {
    await declared(route).load?.();
    return [];
  } catch (error) {
    const { message } = error as Error;
    return [`The route "${written(route)}" cannot be called: ${message}`];
  }
}

async function mountedWarnings(
  route: Route,
  seen: Set<Route>,
): Promise<string[]> {
  const { mounted } = declared(route);
  if (mounted === undefined) return [];
  const routes = routesOf(mounted).filter((one) => !seen.has(one));
  routes.forEach((one) => seen.add(one));
  const warnings = await check(routes, seen);
  const prefix = route.pattern.slice(0, -"/*".length);
  return warnings.map((text) => `Below "${prefix}": ${text}`);
}

/** The literal with which segments begin; "" for none. Only a route that begins alike, or with none, can hide one. */
function startOf(segments: readonly Segment[]): string {
  return segments[0]?.literal ?? "";
}

/** A route as it is written. */
function written({ methods, pattern }: Route): string {
  return methods[0] === "*" ? pattern : `${methods.join("|")} ${pattern}`;
}

/** The routes of what is mounted, if it is an application of this framework. */
function routesOf(mounted: object): Route[] {
  const { router }: { router?: unknown } = Object(mounted);
  const found = typeof router === "function" ? router.call(mounted) : {};
  const routes = typeof found?.routes === "function" ? found.routes() : [];
  return Array.isArray(routes) && routes.every((one) => one instanceof Route)
    ? routes
    : [];
}

/** Whether a route takes every request of a later one. One that ends in `*` is taken for one that passes. */
function shadows(earlier: Route, later: Route): boolean {
  const { pattern, mounted } = declared(earlier);
  const { pattern: hidden } = declared(later);
  const isForAll = pattern.methods.length === 0;
  const isForThese = hidden.methods.length > 0 &&
    hidden.methods.every((method) => pattern.methods.includes(method));
  if (!isForAll && !isForThese) return false;
  const passes = pattern.choices.some((choice) => choice.at(-1)?.isStar);
  if (passes && mounted === undefined) return false;
  return hidden.choices.every((segments) =>
    pattern.choices.some((choice) => takes(choice, segments))
  );
}

/** Whether segments match every path that others match. */
function takes(all: readonly Segment[], some: readonly Segment[]): boolean {
  const isOpen = all.at(-1)?.isStar === true;
  const compared = isOpen ? all.slice(0, -1) : all;
  const isLong = isOpen
    ? some.length >= compared.length
    : some.length === compared.length;
  return isLong && compared.every((segment, n) => covers(segment, some[n]!));
}

/** Whether a segment matches every text that another one matches, whether or not case differs. */
function covers(all: Segment, some: Segment): boolean {
  if (all.isStar || some.isStar) return all.isStar && some.isStar;
  if (all.isFree) return true;
  if (all.shape === some.shape) return all.longest >= some.longest;
  const { literal, folded } = some;
  return literal !== undefined && all.match(literal, undefined, []) &&
    all.match(literal, folded, []);
}
