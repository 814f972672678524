/**
 * Owns the routes of one layer, and finding the first that matches a path: a tree of segments finds the same
 * one as trying all routes in the order of declaration.
 */

import { Match } from "./match.ts";
import type { Path } from "./path.ts";
import type { Pattern } from "./pattern.ts";
import { declared, type Route } from "./route.ts";
import type { Segment } from "./segment.ts";
import { TextMap } from "./text_map.ts";

/** The routes whose segments begin alike. A route is in as many nodes as it has choices of optional parts. */
export interface Node {
  /** The nodes for literals, by their text in lower case. */
  readonly literals: TextMap<Node>;
  /** The node for every other segment. */
  other: Node | undefined;
  /** The routes whose last segment leads here, in the order of declaration. */
  readonly ends: Route[];
  /** The routes that have their first star here. */
  readonly stars: Route[];
}

export class Tree {
  /** In the order of declaration. */
  readonly routes: Route[] = [];
  /** The patterns by alias. */
  readonly aliases: Map<string, Pattern> = new Map();
  readonly #root: Node = newNode();

  /** Appends a route; throws when its alias is that of another path. */
  add(route: Route): void {
    const { pattern, alias } = declared(route);
    const known = this.aliases.get(alias)?.path ?? pattern.path;
    if (known !== pattern.path) {
      throw new Error(
        `Cannot make a route: the alias "${alias}" of "${pattern.path}" is taken by "${known}"`,
      );
    }
    if (alias !== "") this.aliases.set(alias, pattern);
    for (const segments of pattern.choices) {
      const routes = routesAt(this.#root, segments);
      if (routes.at(-1) !== route) routes.push(route);
    }
    this.routes.push(route);
  }

  has(route: Route): boolean {
    return this.routes[declared(route).order] === route;
  }

  /** The first route that matches, of those declared after `after`; without a method, one of any method. */
  find(path: Path, method?: string, after?: Route): Match | undefined {
    return firstBelow(this.#root, 0, path, method, after);
  }

  /** The methods of the routes that match a path, `*` for those that take every method. */
  methods(path: Path): string[] {
    const methods: string[] = [];
    let match = this.find(path);
    for (; match; match = this.find(path, undefined, match.route)) {
      methods.push(...match.route.methods);
    }
    return methods;
  }
}

export function newNode(): Node {
  return { literals: new TextMap(), other: undefined, ends: [], stars: [] };
}

/** The list that a route with these segments is in; makes the missing nodes. */
export function routesAt(root: Node, segments: readonly Segment[]): Route[] {
  let node = root;
  for (const { folded, isStar } of segments) {
    if (isStar) return node.stars;
    if (folded === undefined) node = node.other ??= newNode();
    else {
      const known = node.literals.get(folded);
      const child = known ?? newNode();
      if (known === undefined) node.literals.add(folded, child);
      node = child;
    }
  }
  return node.ends;
}

/**
 * The first match below a node for the segments from `from` on, of the routes declared after `after`; or the one that
 * is known, if that is earlier.
 */
function firstBelow(
  start: Node,
  from: number,
  path: Path,
  method?: string,
  after?: Route,
  known?: Match,
): Match | undefined {
  const { folded } = path;
  let first = known;
  let node: Node | undefined = start;
  for (let at = from; node !== undefined; at++) {
    const { stars, ends, literals, other }: Node = node;
    if (stars.length > 0) first = firstOf(stars, path, method, after, first);
    if (at === folded.length) {
      return firstOf(ends, path, method, after, first);
    }
    const segment = folded[at]!;
    if (segment === "") break; // only a star matches an empty segment
    const literal = literals.get(segment);
    if (literal !== undefined && other !== undefined) {
      first = firstBelow(literal, at + 1, path, method, after, first);
    }
    node = other ?? literal;
  }
  return first;
}

/** The first of some routes that matches, or the match that is known, if that is earlier. */
function firstOf(
  routes: readonly Route[],
  path: Path,
  method: string | undefined,
  after: Route | undefined,
  known?: Match,
): Match | undefined {
  const end = known === undefined ? Infinity : declared(known.route).order;
  const start = after === undefined ? 0 : indexAfter(routes, after);
  for (let n = start; n < routes.length; n++) {
    const route = routes[n]!;
    const { order, pattern } = declared(route);
    if (order >= end) return known;
    if (!takesMethod(pattern, method, routes)) continue;
    const values = pattern.matchFound(path);
    if (values !== undefined) return new Match(route, path, method, values);
  }
  return known;
}

/** Where the routes that were declared after another begin in a list. */
function indexAfter(routes: readonly Route[], after: Route): number {
  const { order } = declared(after);
  let [low, high] = [0, routes.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (declared(routes[middle]!).order > order) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Whether a pattern is for a method; without one, every pattern is. A pattern for GET is for HEAD, too, unless another
 * one of the same path names HEAD: the `routes` are at least all those of that path.
 */
export function takesMethod(
  pattern: Pattern,
  method: string | undefined,
  routes: readonly Route[],
): boolean {
  const { methods } = pattern;
  return methods.length === 0 || methods[0] === method ||
    method === undefined || methods.includes(method) ||
    method === "HEAD" && methods.includes("GET") && !isForHead(pattern, routes);
}

/** Whether a route of the same path names HEAD. */
function isForHead(pattern: Pattern, routes: readonly Route[]): boolean {
  return routes.some((route) => {
    const { pattern: other } = declared(route);
    return other.methods.includes("HEAD") && other.shape === pattern.shape;
  });
}
