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

/** Whether a value prints as itself in a URL. */
export function isPrintable(value: unknown): boolean {
  return ["string", "number", "bigint", "boolean"].includes(typeof value);
}

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
  /** The one path that matches, in lower case, when the pattern consists of literals alone. */
  readonly literalPath: string | undefined;
  /** Whether `*` is its last segment: unless it mounts, a route for everything below is taken for one that passes. */
  readonly endsInStar: boolean;
  /** The indexes of the segments that are values, for patterns as in `matchFound()`; undefined for any other. */
  readonly #valueSegments: readonly number[] | undefined;
  /** The values before any is read. */
  readonly #absent: Values;
  #shape: string | undefined;

  /** Throws `SyntaxError` when the path is malformed, quoting it and the position. */
  constructor(methods: readonly string[], path: string) {
    this.methods = methods;
    this.path = withSlash(path);
    const parser = new Parser(this.path);
    this.choices = parser.parse();
    this.names = parser.names;
    this.#valueSegments = valueSegmentsOf(this.choices);
    this.#absent = this.names.map(() => null);
    this.endsInStar = this.choices.some((each) => each.at(-1)?.isStar);
    this.literalPath = this.#valueSegments?.length === 0
      ? `/${this.choices[0]!.map(({ folded }) => folded).join("/")}`
      : undefined;
  }

  /**
   * The values in a path, or undefined when it does not match. What the stars take is appended to `splats`,
   * where it is given.
   */
  match(path: Path, splats?: string[]): Values | undefined {
    for (const segments of this.choices) {
      const values = this.#absent.slice();
      if (matches(segments, path, values, splats)) return values;
    }
    return undefined;
  }

  /**
   * `match()` for a path that has led a tree to this pattern: when that has only literals and parameters that take any
   * text, the tree has already compared everything.
   */
  matchFound(path: Path): Readonly<Values> | undefined {
    const indexes = this.#valueSegments;
    if (indexes === undefined || path.caseSensitive) return this.match(path);
    if (indexes.length === 0) return this.#absent;
    const values = this.#absent.slice();
    for (let n = 0; n < indexes.length; n++) {
      values[n] = path.segments[indexes[n]!]!;
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

  /** Its expression without the names of its parameters: the same for the same path, in the same case. */
  get shape(): string {
    return this.#shape ??= this.regex(true).source
      .replaceAll(/\(\?<\w+>/g, "(");
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
   * The encoded path with these values and the fewest optional parts. Matching it gives the same
   * values.
   *
   * Throws `TypeError` when a value is missing or does not print as itself, `RangeError` when one does not fit its
   * parameter.
   */
  build(params: UrlParameters): string {
    const texts = new Map<string, string>();
    for (const name of [...this.names, "*"]) {
      const value = Object.hasOwn(params, name) ? params[name] : undefined;
      if (!isPrintable(value ?? "")) {
        const problem = `the value of "${name}" must be text or a number`;
        this.#fail(TypeError, problem);
      }
      const text = `${value ?? ""}`;
      if (value === "" && name !== "*" || !isEncodable(text)) {
        const problem =
          `the value "${text}" of "${name}" cannot be part of a URL`;
        this.#fail(RangeError, problem);
      }
      if (text !== "") texts.set(name, text);
    }
    const segments = this.#choose(texts);
    const url = segments.map((one) => this.#fill(one, texts)).join("") || "/";
    const isStable = this.#readsBack(url, texts, true) &&
      this.#readsBack(url, texts, false);
    if (isStable) return url;
    this.#fail(
      RangeError,
      `"${url}" would not be read back as the same values`,
    );
  }

  /** The segments with exactly the parameters that have values. */
  #choose(texts: Texts): readonly Segment[] {
    const able = this.choices.filter((segments) => {
      const names = namesOf(segments);
      const hasStar = segments.some(({ isStar }) => isStar);
      return [...texts.keys()].every((name) =>
        names.includes(name) || name === "*" && hasStar
      );
    });
    const chosen = able.findLast((segments) =>
      namesOf(segments).every((name) => texts.has(name))
    );
    if (chosen) return chosen;
    const missing = namesOf(able.at(-1) ?? [])
      .find((name) => !texts.has(name));
    const problem = missing === undefined
      ? "it does not have a place for every value"
      : `the value of "${missing}" is missing`;
    this.#fail(TypeError, problem);
  }

  /** A slash and the encoded segment with its values; empty for a star without a value. */
  #fill(segment: Segment, texts: Texts): string {
    const { parts, end, isStar } = segment;
    if (isStar) {
      const splat = encodeURIComponent(texts.get("*") ?? "");
      return (splat && `/${splat.replaceAll("%2F", "/")}`) + end;
    }
    let [text, encoded] = ["", ""];
    for (const part of parts) {
      if (typeof part === "string") {
        text += part;
        encoded += encodeText(part);
      } else if (part.name === "") {
        this.#fail(TypeError, `"${segment}" has an expression without a name`);
      } else {
        text += texts.get(part.name)!;
        encoded += encodeURIComponent(texts.get(part.name)!);
      }
    }
    if (segment.match(text, undefined, [])) return `/${encoded}${end}`;
    this.#fail(RangeError, `"${text}" does not match "${segment}"`);
  }

  /** Whether matching a URL gives these values again. */
  #readsBack(url: string, texts: Texts, caseSensitive: boolean): boolean {
    const splat = texts.get("*") ?? "";
    if (MISREAD.test(url) || PARENT_SEGMENT.test(splat)) return false;
    const path = new Path(url, caseSensitive);
    const values = this.match(path);
    if (values === undefined || this.splat(path) !== splat) return false;
    return this.names.every((name, n) =>
      values[n] === (texts.get(name) ?? null)
    );
  }

  #fail(type: new (message: string) => Error, problem: string): never {
    throw new type(`Cannot make a URL for "${this.path}": ${problem}`);
  }
}

/** Which segments are parameters, among ones that are literals or take any text; undefined for other patterns. */
function valueSegmentsOf(
  [segments = [], ...others]: Pattern["choices"],
): number[] | undefined {
  const isSimple = segments.every(({ isFree, literal }) =>
    isFree || literal !== undefined
  );
  if (!isSimple || others.length > 0) return undefined;
  return segments.flatMap(({ isFree }, index) => isFree ? [index] : []);
}

function matches(
  segments: readonly Segment[],
  path: Path,
  values: Values,
  splats?: string[],
): boolean {
  const { segments: texts } = path;
  for (let n = 0; n < segments.length; n++) {
    const segment = segments[n]!;
    if (segment.isStar) return matchesStars(segments, n, path, values, splats);
    if (n >= texts.length) return false;
    if (!segment.match(texts[n]!, path.compared(n), values)) return false;
  }
  return segments.length === texts.length;
}

/**
 * Whether segments from a star on match a path from the same index on. Each star takes as few segments as it
 * can: when what follows does not match, the last star takes one more, and no earlier one needs to.
 */
function matchesStars(
  segments: readonly Segment[],
  first: number,
  path: Path,
  values: Values,
  splats: string[] = [],
): boolean {
  const { segments: texts } = path;
  const count = texts.length;
  const taken: string[] = [];
  let star = first;
  let start = first; // the star takes the segments from `start` up to `end`
  let end = first;
  for (let n = first, at = first; n < segments.length || at < count;) {
    const segment = segments[n];
    if (segment?.isStar) {
      if (end > start) taken.push(path.text(start, end));
      star = n++;
      start = at;
      at = end = n === segments.length ? count : at;
    } else if (
      segment && at < count &&
      segment.match(texts[at]!, path.compared(at), values)
    ) {
      n++;
      at++;
    } else {
      if (end >= count) return false;
      n = star + 1;
      at = ++end;
    }
  }
  if (end > start) taken.push(path.text(start, end));
  splats.push(...taken);
  return true;
}

function namesOf(segments: readonly Segment[]): string[] {
  return segments.flatMap(({ parameters }) =>
    parameters.map(({ name }) => name)
  );
}

/** Encodes a text of the pattern itself; what a segment may contain stays (RFC 3986, section 3.3). */
function encodeText(text: string): string {
  return encodeURIComponent(text).replace(
    /%(?:3A|40|24|26|2B|2C|3B|3D)/g,
    decodeURIComponent,
  );
}

/** Whether UTF-8 can encode a text, which has no lone surrogate then, and no NUL. */
function isEncodable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}
