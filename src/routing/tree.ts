/**
 * Owns the routes of one layer, and finding the first that matches a path: a tree of segments finds the same
 * one as trying all routes in the order of declaration.
 */

import { Match } from "./match.ts";
import type { Path } from "./path.ts";
import type { Pattern } from "./pattern.ts";
import { type Declaration, declarationOf, type Route } from "./route.ts";
import type { Segment } from "./segment.ts";
import { TextMap } from "./text_map.ts";

/** The routes whose segments begin alike. A route is in as many nodes as it has choices of optional parts. */
export interface Node {
  /** The nodes for literals, by their text in lower case. */
  readonly literals: TextMap<Node>;
  /** The node for every other segment. */
  other: Node | undefined;
  /** The routes whose last segment leads here, in the order of declaration. */
  readonly ends: Declaration[];
  /** The routes that have their first star here. */
  readonly stars: Declaration[];
}

export class Tree {
  /** In the order of declaration. */
  readonly routes: Route[] = [];
  /** The patterns by alias. */
  readonly aliases: Map<string, Pattern> = new Map();
  readonly #root: Node = newNode();
  /** The routes that match a path which is itself a pattern, such as `/about`: most requests are for one. */
  #matchingByPath = new TextMap<readonly Declaration[]>();

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
      const declarations = declarationsAt(this.#root, segments);
      if (declarations.at(-1) !== declaration) declarations.push(declaration);
    }
    this.routes.push(route);
    this.#matchingByPath = new TextMap();
  }

  has(declaration: Declaration): boolean {
    const route = this.routes[declaration.order];
    return route !== undefined && declarationOf(route) === declaration;
  }

  /** The first route that matches, of those declared after `after`; without a method, one of any method. */
  find(path: Path, method?: string, after?: Declaration): Match | undefined {
    const root = this.#root;
    if (path.caseSensitive) return firstBelow(root, 0, path, method, after);
    const known = this.#matchingByPath.get(path.received);
    if (known !== undefined) return firstOf(known, path, method, after);
    const match = firstBelow(root, 0, path, method, after);
    // There are no more paths than patterns to remember.
    if (match?.declaration.pattern.literalPath === path.received) {
      this.#matchingByPath.add(path.received, this.#matching(path));
    }
    return match;
  }

  /** The methods that the routes which match a path name; those that take every method name none. */
  methods(path: Path): string[] {
    return this.#matching(path).flatMap(({ pattern }) => pattern.methods);
  }

  /** All that match a path, in the order of declaration. */
  #matching(path: Path): Declaration[] {
    const matching: Declaration[] = [];
    let last: Declaration | undefined;
    for (;;) {
      last = firstBelow(this.#root, 0, path, undefined, last)?.declaration;
      if (last === undefined) return matching;
      matching.push(last);
    }
  }
}

export function newNode(): Node {
  return { literals: new TextMap(), other: undefined, ends: [], stars: [] };
}

/** The list that a route with these segments is in; makes the missing nodes. */
export function declarationsAt(
  root: Node,
  segments: readonly Segment[],
): Declaration[] {
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
  after?: Declaration,
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
  declarations: readonly Declaration[],
  path: Path,
  method: string | undefined,
  after: Declaration | undefined,
  known?: Match,
): Match | undefined {
  const end = known?.declaration.order ?? Infinity;
  const start = after === undefined ? 0 : indexAfter(declarations, after);
  for (let n = start; n < declarations.length; n++) {
    const declaration = declarations[n]!;
    const { order, pattern } = declaration;
    if (order >= end) return known;
    if (!takesMethod(pattern, method, declarations)) continue;
    const values = pattern.matchFound(path);
    if (values) return new Match(declaration, path, method, values);
  }
  return known;
}

/** Where those that were declared after another one begin in a list. */
function indexAfter(
  declarations: readonly Declaration[],
  { order }: Declaration,
): number {
  let [low, high] = [0, declarations.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (declarations[middle]!.order > order) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Whether a pattern is for a method; without one, every pattern is. A pattern for GET is for HEAD, too, unless another
 * one of the same path names HEAD: the `declarations` are at least all those of that path.
 */
export function takesMethod(
  pattern: Pattern,
  method: string | undefined,
  declarations: readonly Declaration[],
): boolean {
  const { methods } = pattern;
  return methods.length === 0 || methods[0] === method ||
    method === undefined || methods.includes(method) ||
    method === "HEAD" && methods.includes("GET") &&
      !isForHead(pattern, declarations);
}

/** Whether a route of the same path names HEAD. */
function isForHead(
  { shape }: Pattern,
  declarations: readonly Declaration[],
): boolean {
  return declarations.some(({ pattern }) =>
    pattern.methods.includes("HEAD") && pattern.shape === shape
  );
}
