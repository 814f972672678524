/**
 * Owns the routes of one layer, and finding the first that matches a path: a tree finds the same one as trying
 * all routes in the order of declaration.
 */

import { areAlike, Path } from "./path.ts";
import type { RouteParameters } from "./middleware.ts";
import type { Pattern, Variant } from "./pattern.ts";
import { type Declaration, Route } from "./route.ts";
import type { Segment } from "./segment.ts";

/** A declared route with one of its variants. */
interface Entry extends Declaration {
  readonly variant: Variant;
  readonly table: RouteTable;
  /** The position among all variants of the table; the variants of the next route begin at `next`. */
  readonly order: number;
  readonly next: number;
}

/**
 * The entries whose segments begin alike: a tree of literals and other segments, up to the first star of a
 * pattern. Only literals are compared on the way; an entry that is reached checks the other segments.
 */
class Node {
  /** The children for literals, by their hash. */
  readonly literals: Map<number, Node> = new Map();
  /** The child for every other segment. */
  other: Node | undefined = undefined;
  /** The entries whose last segment leads here. */
  readonly ends: Entry[] = [];
  /** The entries that have their first star here. */
  readonly stars: Entry[] = [];

  /** `text` is the literal that leads here, `sibling` another one with the same hash. */
  constructor(readonly text: string, readonly sibling?: Node) {}

  /** The child for a segment, created if there is none. */
  child({ literal }: Segment): Node {
    if (literal === undefined) return this.other ??= new Node("");
    const sent = literal.replace(/[%/]/g, encodeURIComponent);
    const hash = new Path().read(sent, false).hash(0);
    const first = this.literals.get(hash);
    for (let known = first; known; known = known.sibling) {
      if (areAlike(known.text, literal)) return known;
    }
    const child = new Node(literal, first);
    this.literals.set(hash, child);
    return child;
  }
}

/** The routes of the application, or those of one request. */
export class RouteTable {
  /** The declared routes, in order. */
  readonly declarations: Declaration[] = [];
  /** The patterns by alias. */
  readonly aliases: Map<string, Pattern> = new Map();
  /** Whether the last search met routes of other methods. */
  hasOthers = false;
  readonly #root = new Node("");
  #order = 0;

  // The search under way
  #path!: Path;
  #method: string | undefined;
  #from = 0;
  #found: Entry | undefined;

  /** Appends a route; throws when its alias is that of another path. */
  add(declaration: Declaration): void {
    const { pattern, route: { alias } } = declaration;
    const { path, variants } = pattern;
    const known = this.aliases.get(alias)?.path ?? path;
    if (known !== path) {
      throw new Error(
        `Cannot make a route: the alias "${alias}" of "${path}" is taken by "${known}"`,
      );
    }
    if (alias !== "") this.aliases.set(alias, pattern);
    const next = this.#order + variants.length;
    for (const variant of variants) {
      const { head, hasStar } = variant;
      let node = this.#root;
      for (const segment of head) node = node.child(segment);
      const order = this.#order++;
      const entry = { ...declaration, variant, table: this, order, next };
      (hasStar ? node.stars : node.ends).push(entry);
    }
    this.declarations.push(declaration);
  }

  /** The first entry that matches, of those from the order `from` on; without a method, one of any method. */
  find(path: Path, method?: string, from = 0): Entry | undefined {
    this.#path = path;
    this.#method = method;
    this.#from = from;
    this.#found = undefined;
    this.hasOthers = false;
    this.#search(this.#root, 0);
    return this.#found;
  }

  /** The methods of the routes that match a path, `*` for those that take every method. */
  methods(path: Path): string[] {
    const methods: string[] = [];
    let entry = this.find(path);
    for (; entry; entry = this.find(path, undefined, entry.next)) {
      methods.push(...entry.route.methods);
    }
    return methods;
  }

  /** Searches below a node for the segments from `first` on. */
  #search(start: Node, first: number): void {
    const path = this.#path;
    let node: Node | undefined = start;
    for (let index = first; node; index++) {
      if (node.stars.length > 0) this.#accept(node.stars);
      const from = path.starts[index]!;
      if (from > path.end) return this.#accept(node.ends);
      let literal: Node | undefined = node.literals.get(path.hash(index));
      if (path.starts[index + 1]! === from + 1) return; // only a star matches an empty segment
      while (literal && !areAlike(path.segment(index), literal.text)) {
        literal = literal.sibling;
      }
      if (literal && node.other) this.#search(literal, index + 1);
      node = node.other ?? literal;
    }
  }

  /** Keeps the first entry that takes the method, unless an earlier one was found. */
  #accept(entries: readonly Entry[]): void {
    const path = this.#path;
    const method = this.#method;
    for (const entry of entries) {
      const { order, pattern: { methods }, variant } = entry;
      if (this.#found && order >= this.#found.order) return;
      const isSure = variant.isPlain && !path.caseSensitive; // the tree has compared everything
      if (order < this.#from || !isSure && !variant.matches(path)) continue;
      const takes = methods[0] === method || method === undefined ||
        methods.length === 0 || methods.includes(method);
      if (takes) this.#found = entry;
      else this.hasOthers = true;
    }
  }
}

const NO_VALUES: readonly never[] = [];

/** A route that matches a path. */
export class Match {
  readonly caseSensitive: boolean;
  /** The values of the named parameters in order; null where an optional part is absent. */
  readonly values: readonly (string | null)[];

  /** `sent` is the path as it was sent, `method` the one that was looked for: GET for most HEAD requests. */
  constructor(
    readonly entry: Entry,
    path: Path,
    readonly sent: string,
    readonly method: string,
  ) {
    this.caseSensitive = path.caseSensitive;
    const { pattern, variant } = entry;
    this.values = pattern.names.length > 0 ? variant.values(path) : NO_VALUES;
  }

  /** The route as declared. */
  get route(): Route {
    return this.entry.route;
  }

  /** The values by name, in a new object each time. */
  get params(): RouteParameters {
    const params: RouteParameters = Object.create(null);
    const { names } = this.entry.pattern;
    names.forEach((name, place) => params[name] = this.values[place]!);
    return params;
  }

  /** Calls the callback with the values. */
  call(): unknown {
    const { callback, passRoute } = this.entry;
    if (passRoute) return callback(...this.values, this.toRoute());
    return callback(...this.values);
  }

  /** What `*` matches; throws `HttpError` 400 when it has a segment `..`. */
  get splat(): string {
    const path = new Path().read(this.sent, this.caseSensitive);
    return this.entry.variant.splat(path);
  }

  /** A route object of this request's own. */
  toRoute(): Route {
    const { pattern, route: { alias, middleware } } = this.entry;
    return new Route(pattern, alias, middleware, this);
  }
}
