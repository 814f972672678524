/**
 * Owns a pattern: its methods, its names, its variants, which match paths and read values from them, and
 * making a URL of values. A variant is the pattern with one choice of its optional parts. Patterns are searched
 * in `table.ts`.
 */

import { HttpError } from "../errors.ts";
import { type Choice, Parser, withSlash } from "./notation.ts";
import { Path } from "./path.ts";
import { Segment } from "./segment.ts";

/** The values of a URL by parameter, `*` included; null and undefined are no values. */
export type UrlParameters = Readonly<
  Record<string, string | number | bigint | boolean | null | undefined>
>;

/** The values that are given for a URL, by name. */
type Texts = ReadonlyMap<string, string>;

/** A segment `..`, which leads out of a folder; a backslash or an escaped slash separates it, too. */
const PARENT_SEGMENT = /(?:^|[/\\])\.\.(?:[/\\]|$)/;

/** A URL that clients would read as one of another host, or change: it begins with `//` or has a dot segment. */
const MISREAD = /^\/\/|\/\.\.?(?:\/|$)/;

/** A lone surrogate, which UTF-8 cannot encode, or NUL. */
const UNENCODABLE = /[\p{Surrogate}\0]/u;

/** A pattern such as `GET|POST /post/@slug`. */
export class Pattern {
  /** The pattern without its methods. */
  readonly path: string;
  /** The names of the parameters, in order of appearance. */
  readonly names: readonly string[];
  /** A variant for every choice of optional parts, in the order in which they are tried. */
  readonly variants: readonly Variant[];

  /**
   * The methods are in upper case; without any, every method matches. Throws `SyntaxError` when the path is
   * malformed, quoting it and the position.
   */
  constructor(readonly methods: readonly string[], path: string) {
    this.path = withSlash(path);
    const parser = new Parser(this.path);
    const choices = parser.parse();
    this.names = parser.names;
    this.variants = choices.map((choice) => new Variant(choice, this.names));
  }

  /**
   * The pattern as one expression for whole decoded paths. It is for display: routes are matched segment by
   * segment, so that an author's expression never sees more than one segment.
   */
  regex(caseSensitive: boolean): RegExp {
    const sources = this.variants.map(({ segments }) =>
      segments.map(({ source }) => source).join("")
    );
    const source = `^(?:${sources.join("|")})\\/?$`;
    return new RegExp(source, caseSensitive ? "su" : "isu");
  }

  /**
   * The encoded path with these values and the fewest optional parts. Matching it gives the same
   * values.
   *
   * Throws `TypeError` when a value is missing, `RangeError` when one does not fit its place.
   */
  build(params: UrlParameters): string {
    const texts = new Map<string, string>();
    for (const name of [...this.names, "*"]) {
      const value = Object.hasOwn(params, name) ? params[name] : undefined;
      const text = `${value ?? ""}`;
      if (value === "" && name !== "*" || UNENCODABLE.test(text)) {
        const problem = `no URL can carry the value "${text}" of "${name}"`;
        this.#fail(RangeError, problem);
      }
      if (text !== "") texts.set(name, text);
    }
    const { segments, hasSlash } = this.#choose(texts);
    const path = segments.map((one) => this.#fill(one, texts)).join("");
    const url = (hasSlash ? `${path}/` : path) || "/";
    const isStable = this.#readsBack(url, texts, true) &&
      this.#readsBack(url, texts, false);
    if (isStable) return url;
    this.#fail(RangeError, `"${url}" would be read back differently`);
  }

  /** The variant with exactly the parameters that have values. */
  #choose(texts: Texts): Variant {
    const able = this.variants.filter(({ names, hasStar }) =>
      [...texts.keys()].every((name) =>
        names.includes(name) || name === "*" && hasStar
      )
    );
    const isFull = ({ names }: Variant) =>
      names.every((name) => texts.has(name));
    const chosen = able.findLast(isFull);
    if (chosen) return chosen;
    const missing = able.at(-1)?.names.find((name) => !texts.has(name));
    const problem = missing === undefined
      ? "it has no place for all values"
      : `the value of "${missing}" is missing`;
    this.#fail(TypeError, problem);
  }

  /** A slash and the encoded segment with its values; empty for a star without a value. */
  #fill(segment: Segment, texts: Texts): string {
    if (segment.isStar) {
      const splat = encodeURIComponent(texts.get("*") ?? "");
      return splat && `/${splat.replaceAll("%2F", "/")}`;
    }
    const { parts } = segment;
    if (parts.some(({ kind, name }) => kind === "expression" && !name)) {
      this.#fail(TypeError, `"${segment}" has an expression without a name`);
    }
    const filled = parts.map(({ name = "", text }) => texts.get(name) ?? text);
    const text = filled.join("");
    if (segment.match(text, true) === null) {
      this.#fail(RangeError, `"${text}" does not match "${segment}"`);
    }
    const encoded = filled.map((text, n) =>
      parts[n]!.name ? encodeURIComponent(text) : encodeText(text)
    );
    return `/${encoded.join("")}`;
  }

  /** Whether matching a URL gives these values again. */
  #readsBack(url: string, texts: Texts, caseSensitive: boolean): boolean {
    const splat = texts.get("*") ?? "";
    if (MISREAD.test(url) || PARENT_SEGMENT.test(splat)) return false;
    const path = new Path().read(url, caseSensitive);
    const found = this.variants.find((variant) => variant.match(path));
    if (found?.splat(path) !== splat) return false;
    const values = found.values(path);
    return this.names.every((name, n) =>
      values[n] === (texts.get(name) ?? null)
    );
  }

  #fail(type: new (message: string) => Error, problem: string): never {
    throw new type(`Cannot make a URL for "${this.path}": ${problem}`);
  }
}

/** The segments of a pattern with some of its optional parts and without the others. */
export class Variant {
  readonly segments: readonly Segment[];
  /** Whether it ends with a slash. */
  readonly hasSlash: boolean;
  /** The names of its parameters, in order of appearance. */
  readonly names: readonly string[];
  /** The segments before the first star. */
  readonly head: readonly Segment[];
  /** Whether it has a star. */
  readonly hasStar: boolean;
  /** Whether it has only literals and parameters that take any text, and perhaps a star at the end. */
  readonly isPlain: boolean;
  /** The segments before, between and after the stars. */
  readonly #runs: readonly (readonly Segment[])[];
  /** Whether each value is a whole segment before the first star. */
  readonly #isDirect: boolean;
  /** For each name of the pattern, its segment if values are direct, or else its place among `names`; or -1. */
  readonly #places: readonly number[];

  constructor(choice: Choice, names: readonly string[]) {
    const segments = choice.filter((parts) => parts.length > 0)
      .map((parts) => new Segment(parts));
    this.segments = segments;
    this.hasSlash = segments.length > 0 && choice.at(-1)!.length === 0;
    this.names = segments.flatMap((segment) => segment.names);
    this.#runs = runsOf(segments);
    this.head = this.#runs[0]!;
    this.hasStar = this.#runs.length > 1;
    this.isPlain = this.head.every((one) => one.isFree || one.literal) &&
      segments.length <= this.head.length + 1;
    const whole = this.head.filter(({ isWhole }) => isWhole);
    this.#isDirect = whole.length === this.names.length;
    this.#places = names.map((name) =>
      this.#isDirect
        ? segments.findIndex((one) => one.names.includes(name))
        : this.names.indexOf(name)
    );
  }

  /** Whether a path matches; the tree of a table must have checked how many segments the path has. */
  matches(path: Path): boolean {
    const hasTail = this.segments.length > this.head.length + 1;
    return hasTail ? this.match(path) !== undefined : fits(this.head, path, 0);
  }

  /** The values in a path that matches, in the order of the pattern's names; null for an absent one. */
  values(path: Path): readonly (string | null)[] {
    const places = this.#places;
    if (!this.#isDirect) {
      const { values } = this.match(path)!;
      return places.map((place) => values[place] ?? null);
    }
    const valueAt = (place: number): string | null =>
      place < 0 ? null : path.segment(place);
    // One value is the most frequent, and far cheaper without a callback.
    return places.length === 1 ? [valueAt(places[0]!)] : places.map(valueAt);
  }

  /**
   * The values in the order of `names` and the texts of the stars, or undefined when a path does not
   * match. A run between two stars is placed where it first fits: no other place leaves more room.
   */
  match(
    path: Path,
  ): { values: readonly string[]; splats: readonly string[] } | undefined {
    const count = path.split();
    const values: string[] = [];
    const splats: string[] = [];
    let end = 0;
    if (count < this.head.length) return undefined;
    for (const [n, run] of this.#runs.entries()) {
      const isLast = n === this.#runs.length - 1;
      const latest = n === 0 ? 0 : count - run.length;
      let at = isLast ? Math.max(end, latest) : end;
      while (at <= latest && !fits(run, path, at)) at++;
      if (at > latest) return undefined;
      if (at > end) {
        splats.push(at === count ? path.rest(end) : path.segment(end, at));
      }
      for (const segment of run) {
        values.push(...segment.match(path.segment(at++), path.caseSensitive)!);
      }
      end = at;
    }
    return end === count ? { values, splats } : undefined;
  }

  /**
   * What the stars match in a path that matches, joined by slashes. Throws `HttpError` 400 when it has a
   * segment `..`: code that appends it to a folder would leave that folder.
   */
  splat(path: Path): string {
    const splat = this.match(path)!.splats.join("/");
    if (!PARENT_SEGMENT.test(splat)) return splat;
    throw new HttpError(400, 'The path has a segment ".." where "*" matches');
  }
}

/** The segments before, between and after the stars. */
function runsOf(segments: readonly Segment[]): Segment[][] {
  const runs: Segment[][] = [[]];
  for (const segment of segments) {
    if (segment.isStar) runs.push([]);
    else runs.at(-1)!.push(segment);
  }
  return runs;
}

/** Whether a run of segments matches the path from the segment `at` on; the path must be long enough. */
function fits(run: readonly Segment[], path: Path, at: number): boolean {
  for (let index = 0; index < run.length; index++) {
    const text = path.segment(at + index);
    if (run[index]!.match(text, path.caseSensitive) === null) return false;
  }
  return true;
}

/** Encodes a text of the pattern itself; what a segment may contain stays (RFC 3986, section 3.3). */
function encodeText(text: string): string {
  return encodeURIComponent(text).replace(
    /%(?:3A|40|24|26|2B|2C|3B|3D)/g,
    decodeURIComponent,
  );
}
