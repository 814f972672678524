/**
 * Owns a pattern: its methods, its names, the values that it reads from a path, and making a URL of values.
 * Patterns are searched in `tree.ts`.
 */

import { refusal } from "../errors.ts";
import { Parser, withSlash } from "./notation.ts";
import { Path } from "./path.ts";
import type { Segment } from "./segment.ts";

/** The values of a URL by parameter, `*` included; null and undefined are no values. */
export type UrlParameters = Readonly<
  Record<string, string | number | bigint | boolean | null | undefined>
>;

/** The values of the named parameters in order; null where an optional part is absent. */
export type Values = (string | null)[];

/** The given values for a URL, by name. */
type Texts = ReadonlyMap<string, string>;

/** A segment `..`, which leads out of a folder; a backslash or an escaped slash separates it, too. */
const PARENT_SEGMENT = /(?:^|[/\\])\.\.(?:[/\\]|$)/;

/** A URL that clients would read as one of another host, or change: it begins with `//` or has a dot segment. */
const MISREAD = /^\/\/|\/\.\.?(?:\/|$)/;

/** A pattern such as `GET|POST /post/@slug`. */
export class Pattern {
  /** In upper case; none when every method matches. */
  readonly methods: readonly string[];
  /** The pattern without its methods. */
  readonly path: string;
  /** The names of the parameters, in order of appearance. */
  readonly names: readonly string[];
  /** The segments with each choice of optional parts, in the order in which they are tried. */
  readonly choices: readonly (readonly Segment[])[];
  /** Whether `*` is its last segment: unless it mounts, a route for everything below is taken for one that passes. */
  readonly endsInStar: boolean;
  /** The values before any is read. */
  readonly #absent: Values;
  /** The indexes of the segments that are values, where all others are literals and nothing is optional. */
  readonly #places: readonly number[] | undefined;

  /** Throws `SyntaxError` when the path is malformed, quoting it and the position. */
  constructor(methods: readonly string[], path: string) {
    this.methods = methods;
    this.path = withSlash(path);
    const parser = new Parser(this.path);
    this.choices = parser.parse();
    this.names = parser.names;
    this.#absent = this.names.map(() => null);
    const [segments = [], ...others] = this.choices;
    const isSimple = others.length === 0 &&
      segments.every(({ isFree, literal }) => isFree || literal !== undefined);
    const places = segments.flatMap(({ isFree }, n) => isFree ? [n] : []);
    this.#places = isSimple ? places : undefined;
    this.endsInStar = this.choices.some((each) => each.at(-1)?.isStar);
  }

  /**
   * The values in a path, or undefined when it does not match. What the stars take is appended to `splats`,
   * where it is given.
   */
  match(path: Path, splats: string[] = []): Values | undefined {
    for (const segments of this.choices) {
      const values = this.#absent.slice();
      if (matches(segments, path, values, splats)) return values;
    }
    return undefined;
  }

  /** `match()` for a path that has led a tree to this pattern: the tree has already compared the literals. */
  matchFound(path: Path): Readonly<Values> | undefined {
    const places = this.#places;
    if (places === undefined || path.isCaseSensitive) return this.match(path);
    const values = this.#absent.slice();
    for (let n = 0; n < places.length; n++) {
      values[n] = path.segments[places[n]!]!;
    }
    return values;
  }

  /**
   * What the stars take in a path that matches, joined by slashes. Throws `HttpError` 400 when it has a
   * segment `..`: code that appends it to a folder would leave that folder.
   */
  splat(path: Path): string {
    const splats: string[] = [];
    this.match(path, splats);
    const splat = splats.join("/");
    if (!PARENT_SEGMENT.test(splat)) return splat;
    throw refusal(400, 'The path has a segment ".." where "*" matches');
  }

  /** The pattern with its methods, unless every method matches. */
  get text(): string {
    const { methods, path } = this;
    return methods.length === 0 ? path : `${methods.join("|")} ${path}`;
  }

  /** What it matches: the same for patterns that differ only in names and methods. */
  get shape(): string {
    return this.choices.map((segments) =>
      segments.map(({ shape }) => `/${shape}`).join("")
    ).join("|");
  }

  /**
   * The pattern as one expression for whole decoded paths. It is for display: routes are matched segment by
   * segment, so that an author's expression never sees more than one segment.
   */
  regex(caseSensitive: boolean): RegExp {
    const sources = this.choices.map((segments) =>
      segments.map(({ source }) => source).join("")
    );
    const source = `^(?:${sources.join("|")})\\/?$`;
    return new RegExp(source, caseSensitive ? "su" : "isu");
  }

  /**
   * The encoded path with these values and the fewest optional parts. Matching it gives the same values.
   *
   * Throws `TypeError` when a value is missing, `RangeError` when one does not fit its parameter.
   */
  build(params: UrlParameters): string {
    const texts = new Map<string, string>();
    for (const name of namesOf(this.choices[0]!)) { // the first choice has every optional part
      const value = Object.hasOwn(params, name) ? params[name] : undefined;
      if (value !== undefined && value !== null) texts.set(name, `${value}`);
    }
    const segments = this.#choose(texts).map((one) => this.#fill(one, texts));
    const url = segments.join("") + (this.path.endsWith("/") ? "/" : "") || "/";
    if (this.#readsBack(url, texts)) return url;
    const problem = `"${url}" would not be read back as the same values`;
    this.#fail(RangeError, problem);
  }

  /** The segments with exactly the parameters that have values. */
  #choose(texts: Texts): readonly Segment[] {
    const given = [...texts.keys()];
    const chosen = this.choices.findLast((segments) => {
      const names = namesOf(segments);
      return given.every((name) => names.includes(name)) &&
        names.every((name) => name === "*" || texts.has(name));
    });
    if (chosen !== undefined) return chosen;
    const missing = this.names.find((name) => !texts.has(name));
    this.#fail(TypeError, `the value of "${missing}" is missing`);
  }

  /** A slash and the encoded segment with its values; empty for a star without a value. */
  #fill({ parts, isStar }: Segment, texts: Texts): string {
    const encoded = (name: string): string =>
      encodeURIComponent((texts.get(name) ?? "").toWellFormed());
    if (isStar) {
      const splat = encoded("*").replaceAll("%2F", "/");
      return splat && `/${splat}`;
    }
    const filled = parts.map((part) => {
      if (typeof part === "string") return encodeText(part);
      if (part.name !== "") return encoded(part.name);
      this.#fail(TypeError, `"${part.expression}" has no name`);
    });
    return `/${filled.join("")}`;
  }

  /** Whether matching a URL gives these values again, in whatever case. */
  #readsBack(url: string, texts: Texts): boolean {
    const splat = texts.get("*") ?? "";
    if (MISREAD.test(url) || PARENT_SEGMENT.test(splat)) return false;
    return [true, false].every((isCaseSensitive) => {
      const splats: string[] = [];
      const values = this.match(new Path(url, isCaseSensitive), splats);
      return values !== undefined && splats.join("/") === splat &&
        this.names.every((name, n) => values[n] === (texts.get(name) ?? null));
    });
  }

  #fail(type: new (message: string) => Error, problem: string): never {
    throw new type(`Cannot make a URL for "${this.path}": ${problem}`);
  }
}

/**
 * Whether segments match a path; the values, and what the stars take, are collected. A star takes as few segments as it
 * can: when what follows does not match, the last star takes one more, and no earlier one needs to.
 */
function matches(
  segments: readonly Segment[],
  path: Path,
  values: Values,
  splats: string[],
): boolean {
  const { segments: texts } = path;
  const taken: string[] = [];
  let star = -1;
  let begin = 0; // the last star takes the segments from `begin` up to `end`
  let end = 0;
  for (let n = 0, at = 0; n < segments.length || at < texts.length;) {
    const segment = segments[n];
    if (segment?.isStar) {
      if (end > begin) taken.push(path.text(begin, end));
      star = n++;
      begin = at;
      at = end = n === segments.length ? texts.length : at;
    } else if (
      segment && at < texts.length &&
      segment.match(texts[at]!, path.compared(at), values)
    ) {
      n++;
      at++;
    } else {
      if (star < 0 || end >= texts.length) return false;
      n = star + 1;
      at = ++end;
    }
  }
  if (end > begin) taken.push(path.text(begin, end));
  splats.push(...taken);
  return true;
}

function namesOf(segments: readonly Segment[]): string[] {
  return segments.flatMap(({ isStar, parameters }) =>
    isStar ? ["*"] : parameters.map(({ name }) => name)
  );
}

/** Encodes a text of the pattern itself; what a segment may contain stays (RFC 3986, section 3.3). */
function encodeText(text: string): string {
  return encodeURI(text).replace(/[/?#]/g, encodeURIComponent);
}

/** The values of a query by name. A list repeats the name; null and undefined are left out. */
export type UrlQuery = Readonly<
  Record<string, UrlParameters[string] | readonly UrlParameters[string][]>
>;

/** The encoded query with its question mark, or nothing. */
export function queryText(query: UrlQuery): string {
  const fields = new URLSearchParams();
  for (const [name, values] of Object.entries(query)) {
    for (const value of [values].flat()) {
      if ((value ?? null) !== null) fields.append(name, `${value}`);
    }
  }
  return fields.size > 0 ? `?${fields}` : "";
}
