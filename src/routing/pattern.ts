/**
 * Owns a pattern: its methods, its names, and its variants, one for each choice of optional parts, which
 * match paths and give values; and the URL that has given values. Finding a pattern among many is
 * `table.ts`'s.
 */

import { HttpError } from "../errors.ts";
import { type Choice, parse } from "./notation.ts";
import { Path } from "./path.ts";
import { Segment } from "./segment.ts";

/** The values of a URL by parameter, `*` for what `*` stands for; null and undefined are no values. */
export type UrlParameters = Readonly<
  Record<string, string | number | bigint | boolean | null | undefined>
>;

/** A pattern such as `GET|POST /post/@slug`. */
export class Pattern {
  /** The methods in upper case; empty when every method matches. */
  readonly methods: readonly string[];
  /** The pattern without its methods. */
  readonly path: string;
  /** The names of the parameters, in order of appearance. */
  readonly names: readonly string[];
  /** A variant for every choice of optional parts, in the order in which they are tried. */
  readonly variants: readonly Variant[];

  /** Throws a `SyntaxError` that quotes the pattern and gives the position. */
  constructor(source: string) {
    const { methods, path, names, choices } = parse(source);
    this.methods = methods;
    this.path = path;
    this.names = names;
    this.variants = choices.map((choice) => new Variant(choice, names));
  }

  /**
   * The pattern as one expression for whole decoded paths. Routes are not matched by it but segment by
   * segment, so that an author's expression never sees more than one segment.
   */
  regex(caseSensitive: boolean): RegExp {
    const sources = this.variants.map(({ source }) => source);
    const source = sources.length > 1 ? `(?:${sources.join("|")})` : sources[0];
    return new RegExp(`^${source}$`, caseSensitive ? "su" : "isu");
  }

  /** The first variant that matches a path. */
  match(path: Path): Variant | undefined {
    return this.variants.find((one) => one.matches(path));
  }

  /**
   * The encoded path that has these values, with the fewest optional parts. Matching it returns the same
   * values.
   *
   * Throws `TypeError` when a value is missing, `RangeError` when one does not fit its place.
   */
  build(params: UrlParameters): string {
    const { segments, slash } = this.#choose(params);
    const path = segments.map((one) => this.#fill(one, params)).join("");
    const url = (slash ? `${path}/` : path) || "/";
    if (![true, false].every((exact) => this.#isRead(url, params, exact))) {
      this.#fail(RangeError, `"${url}" would be read back differently`);
    }
    return url;
  }

  /** The variant with exactly the parameters that have values. */
  #choose(params: UrlParameters): Variant {
    const given = [...this.names.keys()].filter((place) =>
      textOf(params, this.names[place]!) !== null
    );
    const able = this.variants.filter(({ star, places }) =>
      (star >= 0 || !textOf(params, "*")) &&
      given.every((place) => places.includes(place))
    );
    const last = able.findLast(({ places }) => places.length === given.length);
    if (last) return last;
    const missing = able.at(-1)?.places.find((place) => !given.includes(place));
    const problem = missing === undefined
      ? "it has no place for all values"
      : `the value of "${this.names[missing]}" is missing`;
    this.#fail(TypeError, problem);
  }

  /** A segment, encoded, behind its slash; nothing where a star stands for nothing. */
  #fill(segment: Segment, params: UrlParameters): string {
    const value = (name: string): string => {
      const text = textOf(params, name);
      if (text && text.isWellFormed() && !text.includes("\0")) return text;
      const problem = `no URL can carry the value "${text}" of "${name}"`;
      this.#fail(RangeError, problem);
    };
    const encoded = (name: string): string => encodeURIComponent(value(name));
    if (segment.isStar) {
      if (!textOf(params, "*")) return "";
      return `/${encoded("*").replaceAll("%2F", "/")}`;
    }
    const text = segment.fill(value);
    if (text === undefined) {
      this.#fail(TypeError, `"${segment}" has an expression without a name`);
    }
    if (segment.match(text, true) === null) {
      this.#fail(RangeError, `"${text}" does not match "${segment}"`);
    }
    return `/${segment.fill(encoded, encodeText)}`;
  }

  /** Whether a URL has these values when it is matched. */
  #isRead(url: string, params: UrlParameters, caseSensitive: boolean): boolean {
    if (/^\/\/|\/\.\.?(?:\/|$)/.test(url)) return false; // another host, or a dot segment
    const splat = textOf(params, "*") ?? "";
    if (hasParentSegment(splat)) return false;
    const path = new Path().read(url, caseSensitive);
    const found = this.match(path);
    if (found === undefined) return false;
    const values = found.values(path);
    return found.splat(path) === splat &&
      this.names.every((name, n) => values[n] === textOf(params, name));
  }

  #fail(type: new (message: string) => Error, problem: string): never {
    throw new type(`Cannot make a URL for "${this.path}": ${problem}`);
  }
}

/** A segment that would lead out of a folder, also behind a backslash or an escaped slash. */
const PARENT_SEGMENT = /(?:^|[/\\])\.\.(?:[/\\]|$)/;

/** Whether a decoded text has a segment `..`. */
function hasParentSegment(text: string): boolean {
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
  readonly #only: number;

  constructor(choice: Choice, names: readonly string[]) {
    this.segments = choice.filter((parts) => parts.length > 0)
      .map((parts) => new Segment(parts));
    this.slash = this.segments.length > 0 && choice.at(-1)!.length === 0;
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
    this.#only = this.#direct?.length === 1 ? this.#direct[0]! : -1;
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
  matches(path: Path): boolean {
    return this.#align(path) !== undefined;
  }

  /** The values of a path that matches, in the order of the names; null for each name that is absent. */
  values(path: Path): readonly (string | null)[] {
    if (this.#only >= 0) return [path.segment(this.#only)];
    const direct = this.#direct;
    if (direct?.length === 2 && direct[0]! >= 0 && direct[1]! >= 0) {
      return [path.segment(direct[0]!), path.segment(direct[1]!)];
    }
    // Copied, since the engine guesses the kind of the elements of an array that is made empty.
    const values: (string | null)[] = this.#absent.slice();
    if (direct === undefined) return this.#fill(values, path);
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
  splat(path: Path): string {
    if (this.star < 0) return "";
    const starts = this.#align(path)!;
    const count = path.split();
    const splats = this.segments.flatMap(({ isStar }, index) => {
      const [from, to] = [starts[index]!, starts[index + 1]];
      if (!isStar || from === (to ?? count)) return [];
      return to === undefined ? path.rest(from) : path.segment(from, to);
    });
    const splat = splats.join("/");
    if (!hasParentSegment(splat)) return splat;
    throw new HttpError(400, 'The path has a segment ".." where "*" matches');
  }

  #fill(values: (string | null)[], path: Path): (string | null)[] {
    const starts = this.#align(path)!;
    let place = 0;
    for (const [index, segment] of this.segments.entries()) {
      if (segment.names.length === 0) continue;
      const text = path.segment(starts[index]!);
      for (const value of segment.match(text, path.caseSensitive)!) {
        values[this.places[place++]!] = value;
      }
    }
    return values;
  }

  /**
   * The segment of the path at which each segment begins, or undefined when the path does not match.
   * What stands between two stars is placed where it first fits: no other place leaves more room.
   */
  #align(path: Path): number[] | undefined {
    const { segments } = this;
    const count = path.split();
    const fits = (segment: Segment, at: number): boolean =>
      at < count &&
      segment.match(path.segment(at), path.caseSensitive) !== null;
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
      const latest = count - rest.length;
      if (next < 0) at = Math.max(at, latest);
      while (at <= latest && !rest.every((one, n) => fits(one, at + n))) at++;
      if (at > latest) return undefined;
    }
    return at === count ? starts : undefined;
  }
}

/** The value of a parameter as text, or null. */
function textOf(params: UrlParameters, name: string): string | null {
  const value = Object.hasOwn(params, name) ? params[name] : undefined;
  return value === null || value === undefined ? null : String(value);
}

/** Encodes a text of the pattern itself; what a segment may contain stays (RFC 3986, section 3.3). */
function encodeText(text: string): string {
  return encodeURIComponent(text).replace(
    /%(?:3A|40|24|26|2B|2C|3B|3D)/g,
    decodeURIComponent,
  );
}
