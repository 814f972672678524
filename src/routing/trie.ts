/**
 * Owns finding, among any number of entries, the first one declared whose segments match a path. It
 * answers exactly as trying one entry after another would; reading values is the pattern's.
 *
 * Each node stands for what has been matched so far and knows the lowest and highest order below it,
 * so that a branch which cannot hold an earlier entry than the best one found is never entered. The
 * path is walked where it stands: no segment of it is cut out unless an expression asks for it.
 */

import { foldCode, hashOf, INNER_SLASH, type Path } from "./path.ts";
import { fold, type Segment } from "./segment.ts";

/** What can be found. */
export interface Entry {
  /** The place in the order of declaration. */
  readonly order: number;
  /** The methods that it takes; empty for every method. */
  readonly methods: readonly string[];
}

/** What is looked for. */
export interface Query {
  /** The method; none for entries of any. */
  readonly method?: string;
  /** Whether only entries that name the method count. */
  readonly named?: boolean;
  readonly caseSensitive: boolean;
  /** The lowest order that counts. */
  readonly from: number;
}

/** Higher than any order, and still a small integer to the engine. */
const noOrder = 0x3fffffff;

/** Nodes for segments that must be tried, by the folded text they begin with, by its length. */
type Tried<Found extends Entry> = Map<number, Map<string, Node<Found>[]>>;

class Node<Found extends Entry> {
  /** The entries that end here, in order. */
  readonly entries: Found[] = [];
  /** Children for literal segments, by the hash of the folded text; those that share one in a chain. */
  literals: Map<number, Node<Found>> | undefined;
  sibling: Node<Found> | undefined;
  /** The child for a free parameter. */
  free: Node<Found> | undefined;
  /** The child behind a star. */
  star: Node<Found> | undefined;
  /** Children for all other segments. */
  tried: Tried<Found> | undefined;
  /** Whether there can be more than one way on from here. */
  forks = false;
  /** The last search that came here behind a star, and from where. */
  search = 0;
  index = 0;

  /** The lowest and the highest order here and below. */
  readonly lowest: number;
  highest: number;
  /** The last segment of the way here; none at the root. */
  readonly segment: Segment | undefined;
  /** Its text, if it is literal, as it stands in a path. */
  readonly text: string;

  constructor(order: number, segment?: Segment) {
    this.lowest = order;
    this.highest = order;
    this.segment = segment;
    this.text = segment?.literal?.replaceAll("/", INNER_SLASH) ?? "";
  }
}

/** An index of entries by the segments that lead to them. */
export class Trie<Found extends Entry> {
  readonly #root = new Node<Found>(0);
  #searches = 0;
  #path!: Path;
  #query!: Query;
  #best = 0;
  #found: Found | undefined;

  /** Adds an entry; its order is higher than that of all before. */
  add(segments: readonly Segment[], entry: Found): void {
    let node = this.#root;
    node.highest = entry.order;
    for (const segment of segments) {
      node = child(node, segment, entry.order);
      node.highest = entry.order;
    }
    node.entries.push(entry);
  }

  /** The first entry that matches. On most paths there is but one way down, and no search. */
  find(path: Path, query: Query): Found | undefined {
    const { caseSensitive } = query;
    let node: Node<Found> | undefined = this.#root;
    let index = 0;
    for (; node && !node.forks; index++) {
      if (index === path.count) return firstOf(node.entries, query, noOrder);
      const start = path.starts[index]!;
      const end = path.starts[index + 1]! - 1;
      if (end === start) return undefined;
      const literal = node.literals?.get(path.hashes[index]!);
      if (!literal) node = node.free;
      else if (reads(literal.text, path.text, start, end, caseSensitive)) {
        node = literal;
      } else return undefined;
    }
    if (!node) return undefined;
    this.#searches++;
    this.#path = path;
    this.#query = query;
    this.#best = noOrder;
    this.#found = undefined;
    this.#visit(node, index);
    return this.#found;
  }

  /** Looks below a node for the segments from `index` on. */
  #visit(node: Node<Found> | undefined, index: number): void {
    const { text, count, starts, hashes } = this.#path;
    const { from, caseSensitive } = this.#query;
    while (node && node.lowest < this.#best && node.highest >= from) {
      if (node.star) this.#behindStar(node.star, index);
      if (index === count) return this.#accept(node.entries);
      const start = starts[index]!;
      const end = starts[index + 1]! - 1;
      if (end === start) return;
      if (node.tried) this.#try(node.tried, index);
      let next = node.free;
      let literal = node.literals?.get(hashes[index]!);
      for (; literal; literal = literal.sibling) {
        if (!reads(literal.text, text, start, end, caseSensitive)) continue;
        if (next) this.#visit(next, index + 1);
        next = literal;
      }
      node = next;
      index++;
    }
  }

  #try(tried: Tried<Found>, index: number): void {
    const { from, caseSensitive } = this.#query;
    const text = this.#path.segment(index);
    const folded = fold(text);
    for (const [length, nodes] of tried) {
      for (const node of nodes.get(folded.slice(0, length)) ?? []) {
        if (node.lowest >= this.#best || node.highest < from) continue;
        if (!node.segment!.matches(text, caseSensitive)) continue;
        this.#visit(node, index + 1);
      }
    }
  }

  /**
   * A star ends anywhere, so what is behind it is looked for from every segment on. Whoever came here
   * before from an earlier segment has looked from all of these: so the work stays linear.
   */
  #behindStar(node: Node<Found>, index: number): void {
    if (node.search === this.#searches && node.index <= index) return;
    node.search = this.#searches;
    node.index = index;
    this.#accept(node.entries);
    if (!node.literals && !node.free && !node.tried && !node.star) return;
    for (let next = index; next <= this.#path.count; next++) {
      this.#visit(node, next);
    }
  }

  #accept(entries: readonly Found[]): void {
    const entry = firstOf(entries, this.#query, this.#best);
    if (!entry) return;
    this.#best = entry.order;
    this.#found = entry;
  }
}

/** The first entry that is asked for, of an order below a limit. */
function firstOf<Found extends Entry>(
  entries: readonly Found[],
  query: Query,
  limit: number,
): Found | undefined {
  for (let place = 0; place < entries.length; place++) {
    const entry = entries[place]!;
    if (entry.order >= limit) return undefined;
    if (entry.order >= query.from && takes(entry.methods, query)) return entry;
  }
  return undefined;
}

function takes(methods: readonly string[], { method, named }: Query): boolean {
  if (methods.length === 0) return named !== true;
  return method === undefined || methods[0] === method ||
    methods.includes(method);
}

/** Whether the text of a literal stands in a path. */
function reads(
  literal: string,
  text: string,
  start: number,
  end: number,
  caseSensitive: boolean,
): boolean {
  if (end - start !== literal.length) return false;
  if (text.slice(start, end) === literal) return true; // twice as fast as startsWith()
  if (caseSensitive) return false;
  for (let at = start; at < end; at++) {
    const wanted = literal.charCodeAt(at - start);
    if (foldCode(text.charCodeAt(at)) !== foldCode(wanted)) return false;
  }
  return true;
}

/** The child for a segment, made when there is none. */
function child<Found extends Entry>(
  node: Node<Found>,
  segment: Segment,
  order: number,
): Node<Found> {
  const make = (): Node<Found> => new Node(order, segment);
  if (segment.free) {
    node.forks ||= node.literals !== undefined;
    return node.free ??= make();
  }
  if (segment.literal !== undefined) {
    node.forks ||= node.free !== undefined;
    return literalChild(node, make());
  }
  node.forks = true;
  if (segment.star) return node.star ??= make();
  const prefix = fold(segment.prefix);
  const tried: Tried<Found> = node.tried ??= new Map();
  const byPrefix = tried.get(prefix.length) ?? new Map<string, Node<Found>[]>();
  const nodes = byPrefix.get(prefix) ?? [];
  tried.set(prefix.length, byPrefix.set(prefix, nodes));
  let found = nodes.find((one) => one.segment?.source === segment.source);
  if (!found) nodes.push(found = make());
  return found;
}

/** The child that a literal segment leads to: the one made for it, unless there is one already. */
function literalChild<Found extends Entry>(
  node: Node<Found>,
  made: Node<Found>,
): Node<Found> {
  node.literals ??= new Map();
  const hash = hashOf(made.text);
  const first = node.literals.get(hash);
  for (let known = first; known; known = known.sibling) {
    if (known.text === made.text) return known;
  }
  made.sibling = first;
  node.forks ||= first !== undefined;
  node.literals.set(hash, made);
  return made;
}
