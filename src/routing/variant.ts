/**
 * Owns one variant of a pattern, with some of its optional parts and without the others: a sequence of
 * segments. It tells whether a path matches, and which values the path gives.
 */

import { HttpError } from "../errors.ts";
import type { Choice } from "./notation.ts";
import type { Path } from "./path.ts";
import { Segment } from "./segment.ts";

/** A segment that would lead out of a folder, also behind a backslash or an escaped slash. */
const PARENT_SEGMENT = /(?:^|[/\\])\.\.(?:[/\\]|$)/;

/** Whether a decoded text has a segment `..`. */
export function hasParentSegment(text: string): boolean {
  return text.includes("..") && PARENT_SEGMENT.test(text);
}

/** A sequence of segments. */
export class Variant {
  readonly segments: readonly Segment[];
  /** Whether it ends with a slash. */
  readonly slash: boolean;
  /** The index of the first `*`, or -1. */
  readonly star: number;
  /** For each value in a path, the index of its name among the pattern's names. */
  readonly places: readonly number[];
  /** Null for each name of the pattern. */
  readonly #absent: readonly null[];
  /** By name, the segment that is its value, or -1; undefined when segments must be matched for it. */
  readonly #direct: readonly number[] | undefined;

  constructor({ segments, slash }: Choice, names: readonly string[]) {
    this.segments = segments.map((parts) => new Segment(parts));
    this.slash = slash;
    this.star = this.segments.findIndex(({ isStar }) => isStar);
    this.places = this.segments.flatMap((segment) =>
      segment.names.map((name) => names.indexOf(name))
    );
    this.#absent = names.map(() => null);
    const isDirect = this.segments.every((segment, index) =>
      segment.names.length === 0 ||
      segment.isWhole && (this.star < 0 || index < this.star)
    );
    this.#direct = isDirect
      ? names.map((name) =>
        this.segments.findIndex((segment) => segment.names.includes(name))
      )
      : undefined;
  }

  /** The variant as an expression. A star takes as little as it can, unless it is the last segment. */
  get source(): string {
    const last = this.segments.at(-1);
    const sources = this.segments.map((segment) => {
      if (!segment.isStar) return `\\/${segment.source}`;
      return segment === last ? "(?:\\/(.*))?" : "(?:\\/(.*?))??";
    });
    return sources.join("") + (last?.isStar ? "" : "\\/?");
  }

  /** Whether a path matches. */
  matches(path: Path, caseSensitive: boolean): boolean {
    return this.#align(path, caseSensitive) !== undefined;
  }

  /** The values of a path that matches, in the order of the names; null for each name that is absent. */
  values(path: Path, caseSensitive: boolean): readonly (string | null)[] {
    const direct = this.#direct;
    if (direct?.length === 1 && direct[0]! >= 0) {
      return [path.segment(direct[0]!)];
    }
    // Copied, since the engine guesses the kind of the elements of an array that is made empty.
    const values: (string | null)[] = this.#absent.slice();
    if (direct === undefined) return this.#fill(values, path, caseSensitive);
    for (let place = 0; place < direct.length; place++) {
      const index = direct[place]!;
      if (index >= 0) values[place] = path.segment(index);
    }
    return values;
  }

  /**
   * What the stars match in a path that matches, joined by slashes. Throws `HttpError` 400 when it has a
   * segment `..`: whoever appends it to a folder would leave that folder.
   */
  splat(path: Path, caseSensitive: boolean): string {
    if (this.star < 0) return "";
    const starts = this.#align(path, caseSensitive)!;
    const splats = this.segments.flatMap(({ isStar }, index) => {
      const [from, to] = [starts[index]!, starts[index + 1]];
      if (!isStar || from === (to ?? path.count)) return [];
      return to === undefined ? path.rest(from) : path.segment(from, to);
    });
    const splat = splats.join("/");
    if (!hasParentSegment(splat)) return splat;
    throw new HttpError(400, 'The path has a segment ".." where "*" matches');
  }

  #fill(
    values: (string | null)[],
    path: Path,
    caseSensitive: boolean,
  ): (string | null)[] {
    const starts = this.#align(path, caseSensitive)!;
    let place = 0;
    for (const [index, segment] of this.segments.entries()) {
      if (segment.names.length === 0) continue;
      const text = path.segment(starts[index]!);
      for (const value of segment.match(text, caseSensitive)!) {
        values[this.places[place++]!] = value;
      }
    }
    return values;
  }

  /**
   * The segment of the path at which each segment begins, or undefined when the path does not match.
   * What stands between two stars is placed where it first fits: no other place leaves more room.
   */
  #align(path: Path, caseSensitive: boolean): number[] | undefined {
    const { segments } = this;
    const fits = (segment: Segment, at: number): boolean =>
      at < path.count &&
      segment.match(path.segment(at), caseSensitive) !== null;
    const starts: number[] = [];
    let at = 0;
    for (const [index, segment] of segments.entries()) {
      starts.push(at);
      if (!segment.isStar) {
        if (!fits(segment, at++)) return undefined;
        continue;
      }
      const next = segments.findIndex(({ isStar }, n) => isStar && n > index);
      const rest = segments.slice(index + 1, next < 0 ? undefined : next);
      const latest = path.count - rest.length;
      if (next < 0) at = Math.max(at, latest);
      while (at <= latest && !rest.every((one, n) => fits(one, at + n))) at++;
      if (at > latest) return undefined;
    }
    return at === path.count ? starts : undefined;
  }
}
