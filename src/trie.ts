/**
 * Owns finding, among any number of entries, the first one declared whose segments match a path. It
 * answers exactly as trying one entry after another would; reading values is the pattern's.
 *
 * Each node stands for what has been matched so far and knows the lowest and highest order below it,
 * so that a branch which cannot hold an earlier entry than the best one found is never entered. The
 * path is walked where it stands: no segment of it is cut out unless an expression asks for it.
 */

import { INNER_SLASH } from "./path.ts";
import { fold, foldCode, type Segment } from "./segment.ts";

/** What can be found. */
export interface Entry {
  /** The place in the order of declaration. */
  readonly order: number;
  /** The methods that it takes; empty for every method. */
  readonly methods: readonly string[];
}

/** What is looked for. */
export interface Query {
  /** The decoded path. */
  readonly path: string;
  /** The method; none for entries of any. */
  readonly method?: string;
  /** Whether only entries that name the method count. */
  readonly named?: boolean;
  readonly caseSensitive: boolean;
  /** The lowest order that counts. */
  readonly from: number;
}

const slashCode = 47;

/** Higher than any order, and still a small integer to the engine. */
const noOrder = 0x3fffffff;

interface Attempt<Found extends Entry> {
  readonly segment: Segment;
  readonly node: Node<Found>;
}
type Tried<Found extends Entry> = Map<number, Map<string, Attempt<Found>[]>>;

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
  /** Children for segments that must be tried, by the folded text they begin with, by its length. */
  tried: Tried<Found> | undefined;
  /** The last search that came here behind a star, and from where. */
  search = 0;
  start = 0;

  /** The lowest and the highest order here and below. */
  readonly lowest: number;
  highest: number;
  /** The text of a literal segment. */
  readonly literal: string;

  constructor(order: number, literal = "") {
    this.lowest = order;
    this.highest = order;
    this.literal = literal;
  }
}

/** An index of entries by the segments that lead to them. */
export class Trie<Found extends Entry> {
  readonly #root = new Node<Found>(0);
  #searches = 0;
  #path = "";
  #length = 0;
  #method: string | undefined;
  #named = false;
  #caseSensitive = false;
  #from = 0;
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

  /** The first entry that matches. */
  find(
    { path, method, named = false, caseSensitive, from }: Query,
  ): Found | undefined {
    this.#searches++;
    this.#path = path;
    this.#length = path.charCodeAt(path.length - 1) === slashCode
      ? path.length - 1
      : path.length;
    this.#method = method;
    this.#named = named;
    this.#caseSensitive = caseSensitive;
    this.#from = from;
    this.#best = noOrder;
    this.#found = undefined;
    this.#visit(this.#root, 1);
    return this.#found;
  }

  /** Looks below a node from the segment that begins at `start`. */
  #visit(node: Node<Found> | undefined, start: number): void {
    while (node && node.lowest < this.#best && node.highest >= this.#from) {
      if (node.star) this.#behindStar(node.star, start);
      if (start > this.#length) return this.#accept(node.entries);
      const path = this.#path;
      const length = this.#length;
      let hash = 0;
      let end = start;
      for (; end < length; end++) {
        const code = path.charCodeAt(end);
        if (code === slashCode) break;
        hash = mix(hash, code);
      }
      if (end === start) return;
      if (node.tried) this.#try(node.tried, start, end);
      let next = node.free;
      let literal = node.literals?.get(hash);
      for (; literal; literal = literal.sibling) {
        if (!this.#reads(literal.literal, start, end)) continue;
        if (next) this.#visit(next, end + 1);
        next = literal;
      }
      node = next;
      start = end + 1;
    }
  }

  #reads(literal: string, start: number, end: number): boolean {
    const path = this.#path;
    if (end - start !== literal.length) return false;
    if (path.startsWith(literal, start)) return true;
    if (this.#caseSensitive) return false;
    for (let at = start; at < end; at++) {
      const wanted = literal.charCodeAt(at - start);
      if (foldCode(path.charCodeAt(at)) !== foldCode(wanted)) return false;
    }
    return true;
  }

  #try(tried: Tried<Found>, start: number, end: number): void {
    const text = this.#path.slice(start, end).replaceAll(INNER_SLASH, "/");
    const folded = fold(text);
    for (const [length, attempts] of tried) {
      for (
        const { segment, node } of attempts.get(folded.slice(0, length)) ?? []
      ) {
        if (node.lowest >= this.#best || node.highest < this.#from) continue;
        if (segment.matches(text, this.#caseSensitive)) {
          this.#visit(node, end + 1);
        }
      }
    }
  }

  /**
   * A star ends anywhere, so what is behind it is looked for from every segment on. Whoever came here
   * before from an earlier segment has looked from all of these: so the work stays linear.
   */
  #behindStar(node: Node<Found>, start: number): void {
    if (node.search === this.#searches && node.start <= start) return;
    node.search = this.#searches;
    node.start = start;
    this.#accept(node.entries);
    if (!node.literals && !node.free && !node.tried && !node.star) return;
    for (let at = start; at > 0;) {
      this.#visit(node, at);
      if (at > this.#length) return;
      const slash = this.#path.indexOf("/", at);
      at = slash < 0 || slash >= this.#length ? this.#length + 1 : slash + 1;
    }
  }

  #accept(entries: readonly Found[]): void {
    for (let place = 0; place < entries.length; place++) {
      const entry = entries[place]!;
      if (entry.order >= this.#best) return;
      if (entry.order < this.#from || !this.#takes(entry.methods)) continue;
      this.#best = entry.order;
      this.#found = entry;
      return;
    }
  }

  #takes(methods: readonly string[]): boolean {
    if (this.#method === undefined) return true;
    if (methods.length === 0) return !this.#named;
    return methods[0] === this.#method || methods.includes(this.#method);
  }
}

/** The child for a segment, made when there is none. */
function child<Found extends Entry>(
  node: Node<Found>,
  segment: Segment,
  order: number,
): Node<Found> {
  if (segment.star) return node.star ??= new Node(order);
  if (segment.free) return node.free ??= new Node(order);
  if (segment.literal !== undefined) {
    return literalChild(node, segment.literal, order);
  }
  const prefix = fold(segment.prefix);
  const byPrefix = entryOf(
    node.tried ??= new Map(),
    prefix.length,
    () => new Map(),
  );
  const attempts = entryOf(byPrefix, prefix, (): Attempt<Found>[] => []);
  const known = attempts.find((attempt) => attempt.segment.key === segment.key);
  if (known) return known.node;
  const made = new Node<Found>(order);
  attempts.push({ segment, node: made });
  return made;
}

function literalChild<Found extends Entry>(
  node: Node<Found>,
  text: string,
  order: number,
): Node<Found> {
  const literal = text.replaceAll("/", INNER_SLASH);
  let hash = 0;
  for (let at = 0; at < literal.length; at++) {
    hash = mix(hash, literal.charCodeAt(at));
  }
  const literals = node.literals ??= new Map();
  const first = literals.get(hash);
  for (let known = first; known; known = known.sibling) {
    if (known.literal === literal) return known;
  }
  const made = new Node<Found>(order, literal);
  made.sibling = first;
  literals.set(hash, made);
  return made;
}

function entryOf<Key, Value>(
  map: Map<Key, Value>,
  key: Key,
  make: () => Value,
): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/** Takes one more code unit into a hash, which stays a small integer and the same for either case. */
function mix(hash: number, code: number): number {
  const folded = code < 128 ? code | 32 : foldCode(code);
  return (Math.imul(hash, 31) + folded) & 0x3fffffff;
}
