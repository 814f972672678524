/**
 * Owns the routes in the order of their declaration, and finding the first that matches a path: a tree of segments
 * finds the same one as trying all of them.
 */

import type { RouteParameters } from "./middleware.ts";
import type { Path } from "./path.ts";
import type { Pattern, Values } from "./pattern.ts";
import { type Declaration, declarationOf, Route } from "./route.ts";
import type { Segment } from "./segment.ts";

/** Up to this many texts are compared faster than a map is asked, which has to hash the text first. */
const FEW = 8;

/** Nodes by text. */
class Literals {
  readonly #list: { readonly text: string; readonly node: Node }[] = [];
  readonly #map = new Map<string, Node>();

  get(text: string): Node | undefined {
    if (this.#list.length > FEW) return this.#map.get(text);
    for (const each of this.#list) if (each.text === text) return each.node;
    return undefined;
  }

  set(text: string, node: Node): void {
    this.#list.push({ text, node });
    this.#map.set(text, node);
  }
}

/** The routes whose segments begin alike. A route is in as many nodes as it has choices of optional parts. */
export class Node {
  /** By the text of a literal in lower case. */
  readonly literals: Literals = new Literals();
  /** For every other segment. */
  other: Node | undefined = undefined;
  /** The routes whose last segment leads here. */
  readonly ends: Declaration[] = [];
  /** The routes that have their first star here. */
  readonly stars: Declaration[] = [];

  /** The list that a route with these segments belongs to. */
  listOf([first, ...others]: readonly Segment[]): Declaration[] {
    if (first === undefined) return this.ends;
    if (first.isStar) return this.stars;
    const { folded } = first;
    let child = folded === undefined ? this.other : this.literals.get(folded);
    if (child === undefined) {
      child = new Node();
      if (folded === undefined) this.other = child;
      else this.literals.set(folded, child);
    }
    return child.listOf(others);
  }
}

/** A route that matches a path, with its values. */
export class Match {
  constructor(
    readonly route: Declaration,
    readonly path: Path,
    readonly values: Readonly<Values>,
  ) {}

  /** The values by name, in a new object each time. */
  get params(): RouteParameters {
    const params: RouteParameters = Object.create(null);
    const { names } = this.route.pattern;
    names.forEach((name, index) => params[name] = this.values[index]!);
    return params;
  }

  call(): unknown {
    const { callback, passRoute } = this.route;
    if (passRoute) return callback(...this.values, this.toRoute());
    return callback(...this.values);
  }

  /** A new route object, with the values of this request. */
  toRoute(): Route {
    return new Route(this.route, this);
  }
}

/** Names a route in messages. */
export function routeName({ route: { pattern } }: Match): string {
  return `the route "${pattern.text}"`;
}

export class Tree {
  readonly routes: Route[] = [];
  /** The patterns by alias. */
  readonly aliases: Map<string, Pattern> = new Map();
  readonly #root = new Node();

  /** Appends a route; throws when its alias is that of another path. */
  add(route: Route): void {
    const declaration = declarationOf(route);
    const { pattern, alias } = declaration;
    const known = this.aliases.get(alias)?.path ?? pattern.path;
    if (known !== pattern.path) {
      throw new Error(
        `Cannot make a route: the alias "${alias}" of "${pattern.path}" is taken by "${known}"`,
      );
    }
    if (alias !== "") this.aliases.set(alias, pattern);
    for (const segments of pattern.choices) {
      const list = this.#root.listOf(segments);
      if (list.at(-1) !== declaration) list.push(declaration);
    }
    this.routes.push(route);
  }

  /** A tree with the same routes, to which a request can add. */
  copy(): Tree {
    const copy = new Tree();
    for (const route of this.routes) copy.add(route);
    return copy;
  }

  /** The first route that matches, of those after another one; without a method, one of any method. */
  find(path: Path, method?: string, after?: Declaration): Match | undefined {
    return firstBelow(this.#root, 0, path, method, after?.order ?? -1);
  }

  /** All routes that match, in their order. */
  all(path: Path, method?: string): Match[] {
    const all: Match[] = [];
    let match = this.find(path, method);
    for (; match; match = this.find(path, method, match.route)) all.push(match);
    return all;
  }
}

/**
 * The first match below a node, of the routes whose order is above `after`; or the one that is known, if that is
 * earlier.
 */
function firstBelow(
  start: Node,
  from: number,
  path: Path,
  method: string | undefined,
  after: number,
  known?: Match,
): Match | undefined {
  const { folded } = path;
  let first = known;
  let node: Node | undefined = start;
  for (let at = from; node !== undefined; at++) {
    const { stars, ends, literals, other }: Node = node;
    if (stars.length > 0) first = firstOf(stars, path, method, after, first);
    if (at === folded.length) return firstOf(ends, path, method, after, first);
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

function firstOf(
  routes: readonly Declaration[],
  path: Path,
  method: string | undefined,
  after: number,
  known?: Match,
): Match | undefined {
  const end = known?.route.order ?? Infinity;
  for (const route of routes) {
    const { order, pattern } = route;
    if (order <= after) continue;
    if (order >= end) return known;
    if (!takesMethod(pattern, method, routes)) continue;
    const values = pattern.matchFound(path);
    if (values) return new Match(route, path, values);
  }
  return known;
}

/** Whether a pattern is for a method. One for GET is for HEAD, too, unless another one of the same path names HEAD. */
export function takesMethod(
  pattern: Pattern,
  method: string | undefined,
  alike: readonly Declaration[],
): boolean {
  const { methods } = pattern;
  if (method === undefined || methods.length === 0) return true;
  if (methods.includes(method)) return true;
  return method === "HEAD" && methods.includes("GET") &&
    !alike.some((other) =>
      other.pattern.methods.includes("HEAD") &&
      other.pattern.shape === pattern.shape
    );
}
