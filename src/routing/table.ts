/**
 * Owns the routes of one layer and the index that finds the first one declared that matches a path. It
 * finds exactly what trying one route after another would.
 *
 * The index is a tree of segments. Each node knows the lowest and highest order of the routes below it,
 * so that a branch that cannot hold an earlier route than the best one found is never entered.
 */

import { foldText } from "./part.ts";
import { hashOf, INNER_SLASH, Path } from "./path.ts";
import type { Pattern, Variant } from "./pattern.ts";
import type { Declaration, Route } from "./route.ts";
import type { Segment } from "./segment.ts";

/** One variant of a declared route, as it stands in the index. */
export interface Entry {
  readonly declaration: Declaration;
  readonly variant: Variant;
  /** The methods; empty for every method. */
  readonly methods: readonly string[];
  readonly table: RouteTable;
  /** The place in the order of declaration. */
  readonly order: number;
  /** The order of the next route's first variant. */
  readonly next: number;
}

/** Higher than any order, and still a small integer to the engine. */
const NO_ORDER = 0x3fffffff;

/** What has been matched so far, and what can follow. */
class Node {
  /** The entries that end here, in order. */
  readonly entries: Entry[] = [];
  /** Children by the hash of their text; those for expressions by the inverted hash of their prefix. */
  children: Map<number, Node> | undefined = undefined;
  /** The next child with the same key. */
  sibling: Node | undefined = undefined;
  /** The lengths of the prefixes of children for expressions, the shortest first. */
  prefixes: number[] | undefined = undefined;
  /** The child for a parameter that takes any text. */
  free: Node | undefined = undefined;
  /** The child for a star. */
  star: Node | undefined = undefined;
  /** The search that came last to this child for a star, and the segment it came from. */
  search = 0;
  index = 0;
  /** The lowest and the highest order here and below. */
  readonly lowest: number;
  highest: number;
  /** The segment that leads here. */
  readonly segment: Segment | undefined;
  /** Its text, if it is nothing else, as it stands in a path. */
  readonly text: string;

  constructor(order: number, segment?: Segment) {
    this.lowest = order;
    this.highest = order;
    this.segment = segment;
    this.text = segment?.literal?.replaceAll("/", INNER_SLASH) ?? "";
  }
}

/** The routes of the application, or those of one request. */
export class RouteTable {
  /** The declared routes, in order. */
  readonly declarations: Declaration[] = [];
  /** The patterns with an alias. */
  readonly aliases: Map<string, Pattern> = new Map();
  readonly #root = new Node(0);
  #order = 0;

  // The search under way
  #path!: Path;
  #method = "";
  #caseSensitive = false;
  #from = 0;
  #best = 0;
  #found: Entry | undefined;
  #all: Set<Entry> | undefined;
  #searches = 0;

  /** Adds a route behind the others; throws when its alias is that of another path. */
  add(declaration: Declaration): void {
    const { pattern, route: { alias } } = declaration;
    const known = this.aliases.get(alias)?.path ?? pattern.path;
    if (known !== pattern.path) {
      throw new Error(
        `Cannot make a route: the alias "${alias}" of "${pattern.path}" is taken by "${known}"`,
      );
    }
    if (alias !== "") this.aliases.set(alias, pattern);
    const { methods, variants } = pattern;
    const next = this.#order + variants.length;
    for (const variant of variants) {
      const order = this.#order++;
      this.#insert({ declaration, variant, methods, table: this, order, next });
    }
    this.declarations.push(declaration);
  }

  /** The first entry of at least that order that matches. */
  find(
    path: Path,
    method: string,
    caseSensitive: boolean,
    from = 0,
  ): Entry | undefined {
    this.#path = path;
    this.#method = method;
    this.#caseSensitive = caseSensitive;
    this.#from = from;
    this.#best = NO_ORDER;
    this.#found = undefined;
    this.#searches++;
    this.#walk(this.#root, 0);
    return this.#found;
  }

  /** The routes that match a path, whatever their methods, in order. */
  findAll(path: Path, caseSensitive: boolean): Route[] {
    const all = this.#all = new Set<Entry>();
    this.find(path, "", caseSensitive);
    this.#all = undefined;
    return [...all].sort((a, b) => a.order - b.order)
      .map(({ declaration }) => declaration.route);
  }

  /** Searches below a node for the segments from `first` on. */
  #walk(start: Node, first: number): void {
    const { text, count, starts, hashes } = this.#path;
    let node: Node | undefined = start;
    for (
      let index = first;
      node && node.lowest < this.#best && node.highest >= this.#from;
      index++
    ) {
      if (node.star) this.#walkStar(node.star, index);
      if (index === count) return this.#accept(node.entries);
      const from = starts[index]!;
      const to = starts[index + 1]! - 1;
      if (from === to) return; // no segment but a star matches an empty text
      if (node.prefixes) this.#walkExpressions(node, index);
      let next: Node | undefined = node.free;
      let child = node.children?.get(hashes[index]!);
      for (; child; child = child.sibling) {
        if (!isAt(child.text, text, from, to, this.#caseSensitive)) continue;
        if (next) this.#walk(next, index + 1);
        next = child;
      }
      node = next;
    }
  }

  #walkExpressions(node: Node, index: number): void {
    const text = this.#path.segment(index);
    let at = 0;
    let hash = 0;
    for (const length of node.prefixes!) {
      if (length > text.length) return;
      hash = hashOf(text, at, length, hash);
      at = length;
      let child = node.children!.get(~hash);
      for (; child; child = child.sibling) {
        if (child.lowest >= this.#best || child.highest < this.#from) continue;
        if (!child.segment!.match(text, this.#caseSensitive)) continue;
        this.#walk(child, index + 1);
      }
    }
  }

  /**
   * A star ends at any segment, so that the search goes on from each of them. One that came here before
   * from an earlier segment has done so already: the work stays proportional to the path.
   */
  #walkStar(node: Node, index: number): void {
    if (node.search === this.#searches && node.index <= index) return;
    node.search = this.#searches;
    node.index = index;
    this.#accept(node.entries);
    if (!node.children && !node.free && !node.star) return;
    for (let next = index; next <= this.#path.count; next++) {
      this.#walk(node, next);
    }
  }

  /** Keeps the first of the entries that is looked for, unless an earlier one was found. */
  #accept(entries: readonly Entry[]): void {
    const method = this.#method;
    for (let place = 0; place < entries.length; place++) {
      const entry = entries[place]!;
      const { order, methods } = entry;
      if (order >= this.#best) return;
      if (this.#all) this.#all.add(entry);
      else if (
        order >= this.#from &&
        (methods.length === 0 || methods[0] === method ||
          methods.includes(method))
      ) {
        this.#best = order;
        this.#found = entry;
      }
    }
  }

  #insert(entry: Entry): void {
    let node = this.#root;
    node.highest = entry.order;
    for (const segment of entry.variant.segments) {
      node = childFor(node, segment, entry.order);
      node.highest = entry.order;
    }
    node.entries.push(entry);
  }
}

/** A route that matches a path. */
export class Match {
  /** The route as declared. */
  readonly route: Route;
  /** The entry of the index that was found. */
  readonly entry: Entry;
  /** The path as it was sent. */
  readonly sent: string;
  /** The method by which it was found: GET for most HEAD requests. */
  readonly method: string;
  readonly caseSensitive: boolean;
  /** The values of the named parameters in order; null where an optional part is absent. */
  readonly values: readonly (string | null)[];
  #params: Route["params"] | undefined;

  /** The path has been split from what was sent. */
  constructor(
    entry: Entry,
    path: Path,
    sent: string,
    method: string,
    caseSensitive: boolean,
  ) {
    this.route = entry.declaration.route;
    this.entry = entry;
    this.sent = sent;
    this.method = method;
    this.caseSensitive = caseSensitive;
    this.values = entry.variant.values(path, caseSensitive);
  }

  /** The values by name. */
  get params(): Route["params"] {
    return this.#params ??= this.#named();
  }

  /** Calls the callback with the values. */
  call(): unknown {
    const { callback, passRoute } = this.entry.declaration;
    if (passRoute) return callback(...this.values, this.toRoute());
    return callback(...this.values);
  }

  /** A route object of this request's own. */
  toRoute(): Route {
    const { entry: { variant }, sent, caseSensitive } = this;
    return this.route.matched({
      params: this.#named(),
      caseSensitive,
      splat: () => variant.splat(new Path().read(sent), caseSensitive),
    });
  }

  #named(): Route["params"] {
    const params: Route["params"] = Object.create(null);
    const { names } = this.entry.declaration.pattern;
    for (const [place, name] of names.entries()) {
      params[name] = this.values[place]!;
    }
    return params;
  }
}

/** Whether a text stands in a path. */
function isAt(
  wanted: string,
  text: string,
  from: number,
  to: number,
  caseSensitive: boolean,
): boolean {
  if (to - from !== wanted.length) return false;
  const found = text.slice(from, to); // twice as fast as startsWith()
  return found === wanted ||
    !caseSensitive && foldText(found) === foldText(wanted);
}

/** The child of a node for a segment, created if there is none. */
function childFor(node: Node, segment: Segment, order: number): Node {
  if (segment.isFree) return node.free ??= new Node(order, segment);
  if (segment.isStar) return node.star ??= new Node(order, segment);
  const made = new Node(order, segment);
  const { literal, prefix } = segment;
  if (literal === undefined) {
    node.prefixes ??= [];
    if (!node.prefixes.includes(prefix.length)) {
      node.prefixes.push(prefix.length);
      node.prefixes.sort((a, b) => a - b);
    }
  }
  const hash = literal === undefined ? ~hashOf(prefix) : hashOf(made.text);
  const children: Map<number, Node> = node.children ??= new Map();
  const first = children.get(hash);
  for (let known = first; known; known = known.sibling) {
    if (known.segment!.source === segment.source) return known;
  }
  made.sibling = first;
  children.set(hash, made);
  return made;
}
