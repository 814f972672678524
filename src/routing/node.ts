/**
 * Owns the tree of segments in which routes are found. Each node knows the lowest and the highest order of
 * the routes below it, so that a branch that cannot hold an earlier route than the best one found is
 * never entered. The search itself is `table.ts`'s.
 */

import { INNER_SLASH, Path } from "./path.ts";
import type { Segment } from "./segment.ts";

/** What has been matched so far, and what can follow. The fields that every search reads come first. */
export class Node<Entry> {
  /** The lowest and the highest order here and below. */
  readonly lowest: number;
  highest: number;
  /** The child for a star. */
  star: Node<Entry> | undefined = undefined;
  /** The child for a text, as long as there is only one. */
  literal: Node<Entry> | undefined = undefined;
  /** Children by the hash of their text; those for expressions by the inverted hash of their prefix. */
  children: Map<number, Node<Entry>> | undefined = undefined;
  /** The lengths of the prefixes of children for expressions, the shortest first. */
  prefixes: number[] | undefined = undefined;
  /** The child for a parameter that takes any text. */
  free: Node<Entry> | undefined = undefined;
  /** The first entry that ends here. */
  entry: Entry | undefined = undefined;
  /** The text that leads here, or the prefix of an expression, as it stands in a path. */
  readonly text: string;
  /** The next child with the same key. */
  sibling: Node<Entry> | undefined = undefined;
  /** The segment that leads here. */
  readonly segment: Segment | undefined;
  /** The last search that came to this star, and the segment from which it came. */
  search = 0;
  index = 0;

  constructor(order: number, segment?: Segment) {
    this.lowest = order;
    this.highest = order;
    this.text = segment ? textOf(segment) : "";
    this.segment = segment;
  }

  /** Whether no segment can follow. */
  get isLeaf(): boolean {
    return !this.literal && !this.children && !this.free && !this.star;
  }

  /** The child for a segment, created if there is none. */
  child(segment: Segment, order: number): Node<Entry> {
    const make = (): Node<Entry> => new Node(order, segment);
    if (segment.isFree) return this.free ??= make();
    if (segment.isStar) return this.star ??= make();
    if (segment.literal === undefined) return this.#keyed(segment, make);
    const only = this.literal?.segment ?? segment;
    const isOnly = !this.children && only.literal === segment.literal;
    return isOnly ? this.literal ??= make() : this.#keyed(segment, make);
  }

  #keyed(segment: Segment, make: () => Node<Entry>): Node<Entry> {
    this.children ??= new Map(
      this.literal && [[keyOf(this.literal.segment!), this.literal]],
    );
    this.literal = undefined;
    const key = keyOf(segment);
    const first = this.children.get(key);
    for (let known = first; known; known = known.sibling) {
      if (known.segment!.source === segment.source) return known;
    }
    const child = make();
    child.sibling = first;
    this.children.set(key, child);
    if (segment.literal === undefined) {
      const lengths = new Set(this.prefixes).add(child.text.length);
      this.prefixes = [...lengths].sort((a, b) => a - b);
    }
    return child;
  }
}

/** The text of a segment, or the prefix of its expression, as it stands in a path. */
function textOf({ prefix }: Segment): string {
  return prefix.replaceAll("/", INNER_SLASH);
}

/** Hashes texts as the segments of paths are hashed. */
const hasher = new Path();

function keyOf(segment: Segment): number {
  const text = textOf(segment);
  const hash = hasher.hash(0, text.length, 0, text);
  return segment.literal === undefined ? ~hash : hash;
}
