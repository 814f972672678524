/**
 * Owns one choice of a pattern's optional parts, a plain row of segments: whether a path matches it,
 * and what the path gives to it.
 */

import type { Row } from "./row.ts";
import { type Path, segmentsOf } from "./path.ts";
import { Segment } from "./segment.ts";

/** A row of segments. */
export class Alternative {
  readonly segments: readonly Segment[];
  /** Whether a slash was written at the end. */
  readonly slash: boolean;
  /** Where the first star is, or -1. */
  readonly star: number;
  /** For each value that is read, its place among the pattern's names. */
  readonly places: readonly number[];
  /** The values where none is read. */
  readonly #absent: readonly null[];
  /** Where the one free parameter of the pattern is, when it has no other and no star; or -1. */
  readonly #only: number;
  /** Whether a segment can stand elsewhere in the path than in the pattern: behind a star. */
  readonly #shifts: boolean;

  constructor(row: Row, names: readonly string[]) {
    this.segments = row.segments.map((parts) => new Segment(parts));
    this.slash = row.slash;
    this.star = this.segments.findIndex((segment) => segment.star);
    this.places = this.segments.flatMap((segment) =>
      segment.names.map((name) => names.indexOf(name))
    );
    this.#absent = names.map(() => null);
    this.#only = names.length === 1 && this.star < 0
      ? this.segments.findIndex((segment) => segment.free)
      : -1;
    this.#shifts = this.star >= 0 && this.star < this.segments.length - 1;
  }

  /** The alternative as an expression. A star takes as little as it can, unless it is the last. */
  get source(): string {
    const last = this.segments.at(-1);
    const sources = this.segments.map((segment) => {
      if (!segment.star) return `\\/${segment.source}`;
      return segment === last ? "(?:\\/(.*))?" : "(?:\\/(.*?))??";
    });
    return sources.join("") + (last?.star ? "" : "\\/?");
  }

  /** Whether a decoded path matches. */
  matches(path: string, caseSensitive: boolean): boolean {
    const texts = segmentsOf(path);
    return align(this.segments, texts, caseSensitive) !== undefined;
  }

  /** The values of a path that matches: null for each name that is not in this choice. */
  values(path: Path, caseSensitive: boolean): (string | null)[] {
    if (this.#only >= 0) return [path.segment(this.#only)];
    // A copy: of an array that is made empty, the engine guesses the kind of its elements, and errs.
    const values: (string | null)[] = this.#absent.slice();
    const starts = this.#shifts
      ? align(this.segments, segmentsOf(path.text), caseSensitive)!
      : undefined;
    let place = 0;
    for (let index = 0; place < this.places.length; index++) {
      const segment = this.segments[index]!;
      if (segment.names.length === 0) continue;
      const text = path.segment(starts ? starts[index]! : index);
      if (segment.free) values[this.places[place++]!] = text;
      else {
        for (const value of segment.read(text, caseSensitive)) {
          values[this.places[place++]!] = value;
        }
      }
    }
    return values;
  }

  /** What the stars match in a decoded path, joined by slashes. */
  splat(path: string, caseSensitive: boolean): string {
    if (this.star < 0) return "";
    const texts = segmentsOf(path);
    const starts = align(this.segments, texts, caseSensitive) ?? [];
    const splats = this.segments.flatMap(({ star }, index) =>
      star ? texts.slice(starts[index], starts[index + 1] ?? texts.length) : []
    );
    const last = this.segments.at(-1)!.star && starts.at(-1)! < texts.length;
    return splats.join("/") + (last && path.endsWith("/") ? "/" : "");
  }
}

/**
 * Where in the path each segment begins, or undefined when they do not match. What stands between
 * two stars is put where it first fits: no later place could leave more room for the rest.
 */
function align(
  segments: readonly Segment[],
  texts: readonly string[],
  caseSensitive: boolean,
): number[] | undefined {
  const fits = (segment: Segment, at: number): boolean =>
    at < texts.length && segment.matches(texts[at]!, caseSensitive);
  const starts: number[] = [];
  let at = 0;
  for (const [index, segment] of segments.entries()) {
    starts.push(at);
    if (!segment.star) {
      if (!fits(segment, at++)) return undefined;
      continue;
    }
    const next = segments.findIndex(({ star }, n) => star && n > index);
    const rest = segments.slice(index + 1, next < 0 ? undefined : next);
    const latest = texts.length - rest.length;
    if (next < 0) at = Math.max(at, latest);
    while (at <= latest && !rest.every((one, n) => fits(one, at + n))) at++;
    if (at > latest) return undefined;
  }
  return at === texts.length ? starts : undefined;
}
