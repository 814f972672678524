/**
 * Owns the routes of one layer, and finding the first of them that matches a path, exactly as trying one
 * route after another would. The tree that it searches is built by `node.ts`.
 */

import { Node } from "./node.ts";
import { Path } from "./path.ts";
import type { RouteParameters } from "./middleware.ts";
import type { Pattern, Variant } from "./pattern.ts";
import type { Declaration, Route } from "./route.ts";

/** One variant of a declared route, as it stands in the tree. */
class Entry {
  /** The methods; without one, every method matches. */
  readonly methods: readonly string[];
  /** The first of them. */
  readonly method: string | undefined;
  /** The next entry at the same node. */
  more: Entry | undefined = undefined;

  /** `order` is the place among all variants; those of the next route begin at `next`. */
  constructor(
    readonly declaration: Declaration,
    readonly variant: Variant,
    readonly table: RouteTable,
    readonly order: number,
    readonly next: number,
  ) {
    this.methods = declaration.pattern.methods;
    this.method = this.methods[0];
  }
}

/** Higher than any order, and still a small integer to the engine. */
const NO_ORDER = 0x3fffffff;

/** The routes of the application, or those of one request. */
export class RouteTable {
  /** The declared routes, in order. */
  readonly declarations: Declaration[] = [];
  /** The patterns with an alias. */
  readonly aliases: Map<string, Pattern> = new Map();
  /** Whether the last search came to routes of other methods. */
  hasOthers = false;
  readonly #root: Node<Entry> = new Node(0);
  #order = 0;

  // The search under way
  #path!: Path;
  #method: string | undefined;
  #from = 0;
  #best = 0;
  #found: Entry | undefined;
  #searches = 0;

  /** Appends a route; throws when its alias is that of another path. */
  add(declaration: Declaration): void {
    const { pattern, route: { alias } } = declaration;
    const known = this.aliases.get(alias)?.path ?? pattern.path;
    if (known !== pattern.path) {
      throw new Error(
        `Cannot make a route: the alias "${alias}" of "${pattern.path}" is taken by "${known}"`,
      );
    }
    if (alias !== "") this.aliases.set(alias, pattern);
    const next = this.#order + pattern.variants.length;
    for (const variant of pattern.variants) {
      const order = this.#order++;
      this.#insert(new Entry(declaration, variant, this, order, next));
    }
    this.declarations.push(declaration);
  }

  /** The first entry from an order on that matches; without a method, of any method. */
  find(path: Path, method?: string, from = 0): Entry | undefined {
    this.#path = path;
    this.#method = method;
    this.#from = from;
    this.#best = NO_ORDER;
    this.#found = undefined;
    this.hasOthers = false;
    this.#searches++;
    this.#walk(this.#root, 0);
    return this.#found;
  }

  /** The methods of the routes that match a path, `*` for those that take every method. */
  methods(path: Path): string[] {
    const methods: string[] = [];
    let entry = this.find(path);
    while (entry) {
      methods.push(...entry.declaration.route.methods);
      entry = this.find(path, undefined, entry.next);
    }
    return methods;
  }

  /** Searches below a node for the segments from `first` on. */
  #walk(start: Node<Entry>, first: number): void {
    const path = this.#path;
    const { text, end, starts } = path;
    let node: Node<Entry> | undefined = start;
    for (
      let index = first;
      node && node.lowest < this.#best && node.highest >= this.#from;
      index++
    ) {
      if (node.star) this.#walkStar(node.star, index);
      const from = starts[index]!;
      if (from > end) return this.#accept(node.entry);
      let child: Node<Entry> | undefined = node.children
        ? node.children.get(path.hash(from))
        : node.literal;
      let to = node.children ? path.hashed : text.indexOf("/", from);
      if (to < 0) to = end;
      if (from === to) return; // only a star matches an empty segment
      starts[index + 1] = to + 1;
      if (node.prefixes) this.#walkExpressions(node, index);
      let next: Node<Entry> | undefined = node.free;
      for (; child; child = child.sibling) {
        if (!path.has(child.text, from, to)) continue;
        if (next) this.#walk(next, index + 1);
        next = child;
      }
      node = next;
    }
  }

  /** Searches below the children for expressions whose prefix the segment has. */
  #walkExpressions({ children, prefixes }: Node<Entry>, index: number): void {
    const path = this.#path;
    const text = path.segment(index);
    const start = path.starts[index]!;
    let [at, hash] = [start, 0];
    for (const length of prefixes!) {
      if (length > text.length) return;
      hash = path.hash(at, start + length, hash);
      at = path.hashed;
      let child = children!.get(~hash);
      for (; child; child = child.sibling) {
        if (child.lowest >= this.#best || child.highest < this.#from) continue;
        if (!child.segment!.match(text, path.caseSensitive)) continue;
        this.#walk(child, index + 1);
      }
    }
  }

  /**
   * A star can end at any segment, so the search goes on from each of them. If it was here before, from an
   * earlier segment, it has done that already: the work stays proportional to the path.
   */
  #walkStar(node: Node<Entry>, index: number): void {
    if (node.search === this.#searches && node.index <= index) return;
    node.search = this.#searches;
    node.index = index;
    this.#accept(node.entry);
    if (node.isLeaf) return;
    const count = this.#path.split();
    for (let next = index; next <= count; next++) {
      this.#walk(node, next);
    }
  }

  /** Keeps the first entry that takes the method, unless an earlier one was found. */
  #accept(first: Entry | undefined): void {
    const method = this.#method;
    for (
      let entry = first;
      entry && entry.order < this.#best;
      entry = entry.more
    ) {
      if (
        entry.order >= this.#from &&
        (entry.method === method || entry.method === undefined ||
          method === undefined || entry.methods.includes(method))
      ) {
        this.#best = entry.order;
        this.#found = entry;
      } else this.hasOthers = true;
    }
  }

  #insert(entry: Entry): void {
    let node = this.#root;
    node.highest = entry.order;
    for (const segment of entry.variant.segments) {
      node = node.child(segment, entry.order);
      node.highest = entry.order;
    }
    let last = node.entry;
    while (last?.more) last = last.more;
    if (last) last.more = entry;
    else node.entry = entry;
  }
}

const NO_VALUES: readonly never[] = [];

/** A route that matches a path. */
export class Match {
  /** The entry that was found. */
  readonly entry: Entry;
  /** The path as it was sent. */
  readonly sent: string;
  readonly caseSensitive: boolean;
  /** The method by which it was found: GET for most HEAD requests. */
  readonly method: string;
  /** The values of the named parameters in order; null where an optional part is absent. */
  readonly values: readonly (string | null)[];

  constructor(entry: Entry, path: Path, sent: string, method: string) {
    this.entry = entry;
    this.sent = sent;
    this.caseSensitive = path.caseSensitive;
    this.method = method;
    this.values = entry.variant.isStatic
      ? NO_VALUES
      : entry.variant.values(path);
  }

  /** The route as declared. */
  get route(): Route {
    return this.entry.declaration.route;
  }

  /** The values by name, in a new object each time. */
  get params(): RouteParameters {
    const params: RouteParameters = Object.create(null);
    const { names } = this.entry.declaration.pattern;
    names.forEach((name, place) => params[name] = this.values[place]!);
    return params;
  }

  /** Calls the callback with the values. */
  call(): unknown {
    const { callback, passRoute } = this.entry.declaration;
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
    return this.route.matched(this);
  }
}
