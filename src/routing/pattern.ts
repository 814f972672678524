/**
 * Owns a pattern as a whole: which paths it matches, with which values, and the way back, from values
 * to a path. The notation is the grammar's; finding a pattern among many is the trie's.
 */

import { Alternative } from "./alternative.ts";
import { parse } from "./notation.ts";
import { Path } from "./path.ts";
import type { Segment } from "./segment.ts";

/** The values for a URL by parameter, `*` for what `*` stands for; null and undefined are none. */
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
  /** Every choice of optional parts, in the order in which they are tried. */
  readonly alternatives: readonly Alternative[];

  /** Throws a `SyntaxError` that quotes the pattern and points at the place. */
  constructor(source: string) {
    const { methods, path, names, rows } = parse(source);
    this.methods = methods;
    this.path = path;
    this.names = names;
    this.alternatives = rows.map((row) => new Alternative(row, names));
  }

  /**
   * The pattern as one expression for whole decoded paths. A route is matched segment by segment,
   * so that an expression of the pattern's own never sees more than its segment.
   */
  regex(caseSensitive: boolean): RegExp {
    const sources = this.alternatives.map((alternative) => alternative.source);
    const source = sources.length > 1 ? `(?:${sources.join("|")})` : sources[0];
    return new RegExp(`^${source}$`, caseSensitive ? "su" : "isu");
  }

  /** The first alternative that matches a decoded path. */
  match(path: string, caseSensitive: boolean): Alternative | undefined {
    return this.alternatives.find((one) => one.matches(path, caseSensitive));
  }

  /**
   * The encoded path that has these values, with the fewest optional parts. Matching it gives the
   * same values back.
   *
   * Throws `TypeError` when a value is missing, `RangeError` when one does not fit its place.
   */
  build(params: UrlParameters): string {
    const { segments, slash } = this.#choose(params);
    const path = segments.map((one) => this.#fill(one, params)).join("");
    const url = (slash ? `${path}/` : path) || "/";
    if (![true, false].every((exact) => this.#holds(url, params, exact))) {
      this.#fail(RangeError, `"${url}" would be read back differently`);
    }
    return url;
  }

  /** The alternative with exactly the parameters that have values. */
  #choose(params: UrlParameters): Alternative {
    const given = [...this.names.keys()].filter((place) =>
      textOf(params, this.names[place]!) !== null
    );
    const able = this.alternatives.filter(({ star, places }) =>
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
    if (segment.star) {
      if (!textOf(params, "*")) return "";
      return `/${encoded("*").replaceAll("%2F", "/")}`;
    }
    const text = segment.fill(value);
    if (text === undefined) {
      this.#fail(TypeError, `"${segment}" has an expression without a name`);
    }
    if (!segment.matches(text, true)) {
      this.#fail(RangeError, `"${text}" does not match "${segment}"`);
    }
    return `/${segment.fill(encoded, encodeText)}`;
  }

  #holds(url: string, params: UrlParameters, caseSensitive: boolean): boolean {
    if (/^\/\/|\/\.\.?(?:\/|$)/.test(url)) return false; // another host, or a dot segment
    const path = new Path().read(url);
    const found = this.match(path.text, caseSensitive);
    if (found === undefined) return false;
    const values = found.values(path, caseSensitive);
    const splat = found.splat(path.text, caseSensitive);
    return splat === (textOf(params, "*") ?? "") &&
      this.names.every((name, n) => values[n] === textOf(params, name));
  }

  #fail(type: new (message: string) => Error, problem: string): never {
    throw new type(`Cannot make a URL for "${this.path}": ${problem}`);
  }
}

function textOf(params: UrlParameters, name: string): string | null {
  const value = Object.hasOwn(params, name) ? params[name] : undefined;
  return value === null || value === undefined ? null : String(value);
}

/** Encodes a text of the pattern's own; what may stand in a segment stays (RFC 3986, section 3.3). */
function encodeText(text: string): string {
  return encodeURIComponent(text).replace(
    /%(?:3A|40|24|26|2B|2C|3B|3D)/g,
    decodeURIComponent,
  );
}
