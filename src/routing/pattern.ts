/**
 * Owns a pattern: its methods, its names, and its variants, one for each choice of optional parts, which
 * match paths and give values; and the URL for given values. Finding a pattern among many is
 * `table.ts`'s.
 */

import { HttpError } from "../errors.ts";
import { type Choice, Parser, splitMethods, withSlash } from "./notation.ts";
import { Path } from "./path.ts";
import { Segment } from "./segment.ts";

/** The values of a URL by parameter, `*` for what `*` stands for; null and undefined are no values. */
export type UrlParameters = Readonly<
  Record<string, string | number | bigint | boolean | null | undefined>
>;

/** The values that are given for a URL, by name. */
type Texts = ReadonlyMap<string, string>;

/** A segment that would lead out of a folder, also behind a backslash or an escaped slash. */
const PARENT_SEGMENT = /(?:^|[/\\])\.\.(?:[/\\]|$)/;

/** A URL that names another host, or has a dot segment. */
const MISREAD = /^\/\/|\/\.\.?(?:\/|$)/;

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
    const { methods, path } = splitMethods(source);
    const parser = new Parser(source, path);
    const choices = parser.parse();
    this.methods = methods;
    this.path = withSlash(path);
    this.names = parser.names;
    this.variants = choices.map((choice) => new Variant(choice, this.names));
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
      if (value !== null && value !== undefined) texts.set(name, `${value}`);
    }
    const { segments, slash } = this.#choose(texts);
    const path = segments.map((one) => this.#fill(one, texts)).join("");
    const url = (slash ? `${path}/` : path) || "/";
    if (![true, false].every((exact) => this.#isRead(url, texts, exact))) {
      this.#fail(RangeError, `"${url}" would be read back differently`);
    }
    return url;
  }

  /** The variant with exactly the parameters that have values. */
  #choose(texts: Texts): Variant {
    const given = this.names.filter((name) => texts.has(name));
    const able = this.variants.filter(({ names, star }) =>
      (star >= 0 || !texts.get("*")) &&
      given.every((name) => names.includes(name))
    );
    const last = able.findLast(({ names }) => names.length === given.length);
    if (last) return last;
    const missing = able.at(-1)?.names.find((name) => !given.includes(name));
    const problem = missing === undefined
      ? "it has no place for all values"
      : `the value of "${missing}" is missing`;
    this.#fail(TypeError, problem);
  }

  /** A segment, encoded, behind its slash; nothing where a star stands for nothing. */
  #fill(segment: Segment, texts: Texts): string {
    const value = (name: string): string => {
      const text = texts.get(name);
      if (text && text.isWellFormed() && !text.includes("\0")) return text;
      const problem = `no URL can carry the value "${text}" of "${name}"`;
      this.#fail(RangeError, problem);
    };
    const encoded = (name: string): string => encodeURIComponent(value(name));
    if (segment.isStar) {
      const isEmpty = !texts.get("*");
      return isEmpty ? "" : `/${encoded("*").replaceAll("%2F", "/")}`;
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
  #isRead(url: string, texts: Texts, caseSensitive: boolean): boolean {
    const splat = texts.get("*") ?? "";
    if (MISREAD.test(url) || PARENT_SEGMENT.test(splat)) return false;
    const path = new Path().read(url, caseSensitive);
    const found = this.variants.find((variant) => variant.matches(path));
    if (found === undefined || found.splat(path) !== splat) return false;
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
  readonly slash: boolean;
  /** Whether the pattern has no parameters. */
  readonly isStatic: boolean;
  /** The index of the first `*`, or -1. */
  readonly star: number;
  /** The names of its parameters, in order of appearance. */
  readonly names: readonly string[];
  /** For each name of the pattern, its index among `names`, or -1. */
  readonly #places: readonly number[];
  /** For each name, the segment that is its value, or -1; undefined when segments must be matched. */
  readonly #direct: readonly number[] | undefined;
  /** The segment that is the only value, or -1. */
  readonly #only: number;

  constructor(choice: Choice, names: readonly string[]) {
    this.segments = choice.filter((parts) => parts.length > 0)
      .map((parts) => new Segment(parts));
    this.slash = this.segments.length > 0 && choice.at(-1)!.length === 0;
    this.isStatic = names.length === 0;
    this.star = this.segments.findIndex(({ isStar }) => isStar);
    this.names = this.segments.flatMap((segment) => segment.names);
    this.#places = names.map((name) => this.names.indexOf(name));
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

  /** The values of a path that matches, in the order of the pattern's names; null for an absent one. */
  values(path: Path): readonly (string | null)[] {
    if (this.#only >= 0) return [path.segment(this.#only)];
    const direct = this.#direct;
    if (direct === undefined) return this.#read(path);
    if (direct.length === 2) { // a literal, since it is faster
      return [valueAt(path, direct[0]!), valueAt(path, direct[1]!)];
    }
    return direct.map((index) => valueAt(path, index));
  }

  /** The same where segments have several parameters, or come behind a star. */
  #read(path: Path): readonly (string | null)[] {
    const starts = this.#align(path)!;
    const values = this.segments.flatMap((segment, index) => {
      if (segment.names.length === 0) return [];
      return segment.match(path.segment(starts[index]!), path.caseSensitive)!;
    });
    return this.#places.map((place) => values[place] ?? null);
  }

  /**
   * What the stars match in a path that matches, joined by slashes. Throws `HttpError` 400 when it has a
   * segment `..`: code that appends it to a folder would leave that folder.
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
    if (!PARENT_SEGMENT.test(splat)) return splat;
    throw new HttpError(400, 'The path has a segment ".." where "*" matches');
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

function valueAt(path: Path, index: number): string | null {
  return index < 0 ? null : path.segment(index);
}

/** Encodes a text of the pattern itself; what a segment may contain stays (RFC 3986, section 3.3). */
function encodeText(text: string): string {
  return encodeURIComponent(text).replace(
    /%(?:3A|40|24|26|2B|2C|3B|3D)/g,
    decodeURIComponent,
  );
}
