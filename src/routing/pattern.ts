/**
 * Owns a pattern as a whole: its methods, names and variants, the expression for whole paths, and the
 * URL that has given values. Finding a pattern among many is `table.ts`'s.
 */

import { parse } from "./notation.ts";
import { Path } from "./path.ts";
import type { Segment } from "./segment.ts";
import { hasParentSegment, Variant } from "./variant.ts";

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
  match(path: Path, caseSensitive: boolean): Variant | undefined {
    return this.variants.find((one) => one.matches(path, caseSensitive));
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
    const path = new Path().read(url);
    const found = this.match(path, caseSensitive);
    if (found === undefined) return false;
    const values = found.values(path, caseSensitive);
    return found.splat(path, caseSensitive) === splat &&
      this.names.every((name, n) => values[n] === textOf(params, name));
  }

  #fail(type: new (message: string) => Error, problem: string): never {
    throw new type(`Cannot make a URL for "${this.path}": ${problem}`);
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
