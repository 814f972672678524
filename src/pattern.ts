/**
 * Owns a pattern as a whole: which paths it matches, with which values, and the way back, from values
 * to a path. The notation is the grammar's; finding a pattern among many is the trie's.
 *
 * Paths are read here in their decoded form, in which {@linkcode INNER_SLASH} keeps a slash that was
 * sent as `%2F` apart from those between segments.
 */

import { HttpError } from "./errors.ts";
import { parse, type Row } from "./grammar.ts";
import { Segment } from "./segment.ts";

/** A slash inside a segment of a decoded path: half a surrogate pair, which no decoded path has. */
export const INNER_SLASH = "\ud800";

/** The values for a URL by parameter, `*` for what `*` stands for; null and undefined are none. */
export type UrlParameters = Readonly<
  Record<string, string | number | bigint | boolean | null | undefined>
>;

/** What a path gives to a pattern. */
export interface Reading {
  /** A value for each name; null where an optional part took no part. */
  readonly values: (string | null)[];
  /** What the stars matched, joined by slashes. */
  readonly splat: string;
}

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

  /** Matches a decoded path with the first alternative that does. */
  match(path: string, caseSensitive: boolean): Reading | undefined {
    const texts = cut(path);
    return this.alternatives
      .find(({ segments }) => align(segments, texts, caseSensitive))
      ?.read(path, caseSensitive);
  }

  /**
   * The encoded path that has these values, with the fewest optional parts. Matching it gives the
   * same values back.
   *
   * Throws `TypeError` when a value is missing, `RangeError` when one does not fit its place.
   */
  build(params: UrlParameters): string {
    const { segments, slash } = this.#choose(params);
    const path = segments
      .map((segment) => this.#fill(segment, params))
      .map((text) => text === undefined ? "" : `/${text}`).join("");
    const url = (slash ? `${path}/` : path) || "/";
    for (const caseSensitive of [true, false]) {
      if (!this.#holds(url, params, caseSensitive)) {
        this.#fail(RangeError, `"${url}" would be read back differently`);
      }
    }
    return url;
  }

  /** The alternative with exactly the parameters that have values. */
  #choose(params: UrlParameters): Alternative {
    const given = this.names.flatMap((name, place) =>
      textOf(params, name) === null ? [] : [place]
    );
    const able = this.alternatives.filter(({ open, places }) =>
      (open || textOf(params, "*") === null) &&
      given.every((place) => places.includes(place))
    );
    const chosen = able.findLast(({ places }) =>
      places.length === given.length
    );
    if (chosen) return chosen;
    if (able.length === 0) {
      this.#fail(TypeError, "it has no place for all values");
    }
    const missing = able.at(-1)!.places.find((place) =>
      !given.includes(place)
    )!;
    this.#fail(TypeError, `the value of "${this.names[missing]}" is missing`);
  }

  #fill(segment: Segment, params: UrlParameters): string | undefined {
    const value = (name: string): string => {
      const text = textOf(params, name);
      if (text && text.isWellFormed()) return text;
      this.#fail(
        RangeError,
        `no URL can carry the value "${text}" of "${name}"`,
      );
    };
    if (segment.star) {
      if (textOf(params, "*") === null) return undefined;
      if (textOf(params, "*") === "") return "";
      return value("*").split("/").map(encodeURIComponent).join("/");
    }
    const text = segment.fill(value);
    if (text === undefined) {
      this.#fail(TypeError, `"${segment}" has an expression without a name`);
    }
    if (!segment.matches(text, true)) {
      this.#fail(RangeError, `"${text}" does not match "${segment}"`);
    }
    return segment.fill((name) => encodeURIComponent(value(name)), encodeText);
  }

  #holds(url: string, params: UrlParameters, caseSensitive: boolean): boolean {
    if (/\/\.\.?(?:\/|$)/.test(url)) return false;
    const reading = this.match(decodePath(url), caseSensitive);
    return reading !== undefined &&
      reading.splat === (textOf(params, "*") ?? "") &&
      this.names.every((name, place) =>
        reading.values[place] === textOf(params, name)
      );
  }

  #fail(type: new (message: string) => Error, problem: string): never {
    throw new type(`Cannot make a URL for "${this.path}": ${problem}`);
  }
}

/** One choice of a pattern's optional parts: a plain row of segments. */
export class Alternative {
  readonly segments: readonly Segment[];
  /** Whether a slash was written at the end. */
  readonly slash: boolean;
  /** Whether there is a star. */
  readonly open: boolean;
  /** For each value that is read, its place among the pattern's names. */
  readonly places: readonly number[];
  readonly #count: number;

  constructor(row: Row, names: readonly string[]) {
    this.segments = row.segments.map((parts) => new Segment(parts));
    this.slash = row.slash;
    this.open = this.segments.some((segment) => segment.star);
    this.places = this.segments.flatMap((segment) =>
      segment.names.map((name) => names.indexOf(name))
    );
    this.#count = names.length;
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

  /** Reads a decoded path that matches. */
  read(path: string, caseSensitive: boolean): Reading {
    const values = new Array<string | null>(this.#count).fill(null);
    if (this.open) return this.#readOpen(path, caseSensitive, values);
    let start = 1;
    let next = 0;
    for (const segment of this.segments) {
      if (segment.literal !== undefined) {
        start += segment.literal.length + 1;
        continue;
      }
      const slash = path.indexOf("/", start);
      const end = slash < 0 ? path.length : slash;
      const text = withSlashes(path.slice(start, end));
      if (segment.free) values[this.places[next++]!] = text;
      else {for (const value of segment.read(text, caseSensitive)) {
          values[this.places[next++]!] = value;
        }}
      start = end + 1;
    }
    return { values, splat: "" };
  }

  #readOpen(
    path: string,
    caseSensitive: boolean,
    values: (string | null)[],
  ): Reading {
    const texts = cut(path);
    const starts = align(this.segments, texts, caseSensitive)!;
    const splats: string[] = [];
    let next = 0;
    for (const [index, segment] of this.segments.entries()) {
      const start = starts[index]!;
      const end = starts[index + 1] ?? texts.length;
      if (segment.star && end > start) {
        splats.push(texts.slice(start, end).join("/"));
      }
      if (segment.star) continue;
      for (const value of segment.read(texts[start]!, caseSensitive)) {
        values[this.places[next++]!] = value;
      }
    }
    const tail = this.segments.at(-1)!.star && starts.at(-1)! < texts.length;
    const slash = tail && path.endsWith("/") ? "/" : "";
    return { values, splat: splats.join("/") + slash };
  }
}

/** Decodes a path segment by segment; throws a 400 for what is no percent-encoded UTF-8. */
export function decodePath(path: string): string {
  if (!path.includes("%")) return path;
  return path.split("/").map((segment) => {
    try {
      return decodeURIComponent(segment).replaceAll("/", INNER_SLASH);
    } catch (cause) {
      throw new HttpError(
        400,
        `The path has a malformed escape in "${segment}"`,
        { cause },
      );
    }
  }).join("/");
}

/** The segments of a decoded path; one slash at its end does not count. */
export function cut(path: string): string[] {
  const inner = path.endsWith("/") ? path.slice(0, -1) : path;
  return inner === "" ? [] : inner.slice(1).split("/").map(withSlashes);
}

function withSlashes(text: string): string {
  return text.includes(INNER_SLASH) ? text.replaceAll(INNER_SLASH, "/") : text;
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
  const starts: number[] = [];
  let at = 0;
  for (const [index, segment] of segments.entries()) {
    starts.push(at);
    if (segment.star) {
      at = follow(segments, index + 1, texts, at, caseSensitive);
      if (at < 0) return undefined;
    } else if (!fits(segment, texts[at++], caseSensitive)) return undefined;
  }
  return at === texts.length ? starts : undefined;
}

/** Where what follows a star first fits; behind the last star, what follows ends the path. */
function follow(
  segments: readonly Segment[],
  first: number,
  texts: readonly string[],
  from: number,
  caseSensitive: boolean,
): number {
  const star = segments.findIndex((segment, index) =>
    index >= first && segment.star
  );
  const rest = segments.slice(first, star < 0 ? undefined : star);
  const latest = texts.length - rest.length;
  for (let at = star < 0 ? Math.max(from, latest) : from; at <= latest; at++) {
    if (
      rest.every((segment, index) =>
        fits(segment, texts[at + index], caseSensitive)
      )
    ) return at;
  }
  return -1;
}

function fits(
  segment: Segment,
  text: string | undefined,
  caseSensitive: boolean,
): boolean {
  return text !== undefined && segment.matches(text, caseSensitive);
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
