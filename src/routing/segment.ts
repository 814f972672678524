/**
 * Owns one segment of a pattern, which stands between two slashes: which texts it matches, and the values of
 * its parameters. The notation is parsed in `notation.ts`, sequences of segments are matched in `pattern.ts`.
 */

import { foldText } from "../paths.ts";

/** What stands in a segment instead of a text: a parameter, an expression without a name, or a star. */
export interface Parameter {
  /** `*` for a star, "" for an expression without a name. */
  readonly name: string;
  /** What its text must match; undefined for a parameter that takes any text, and for a star. */
  readonly expression?: string;
  /** The index of its value among those of the pattern; -1 for a star, and for an expression without a name. */
  readonly valueIndex: number;
  /** As it is written in the pattern. */
  readonly text: string;
}

/** How long a text may be that an expression is tried on. */
const LONGEST = 255;

/** One segment of a pattern. None but `*` matches an empty text. */
export class Segment {
  /** The parameters with values, in order of appearance. */
  readonly parameters: readonly Parameter[];
  /** The text of a segment without parameters and expressions. */
  readonly literal: string | undefined;
  /** `literal` in lower case. */
  readonly folded: string | undefined;
  /** Whether the segment is `*`, which stands for any number of segments. */
  readonly isStar: boolean;
  /** Whether the whole text is the value of the only parameter, whatever it is. */
  readonly isFree: boolean;
  readonly #source: string;
  readonly #exact: RegExp;
  readonly #caseless: RegExp;

  /** `parts` are texts, which stand for themselves, and parameters. */
  constructor(readonly parts: readonly (string | Parameter)[]) {
    const holes = parts.filter((part) => typeof part !== "string");
    this.parameters = holes.filter(({ valueIndex }) => valueIndex >= 0);
    this.literal = holes.length === 0 ? parts.join("") : undefined;
    this.folded = this.literal && foldText(this.literal);
    this.isStar = holes[0]?.name === "*";
    this.isFree = parts.length === 1 && this.parameters.length === 1 &&
      holes[0]!.expression === undefined;
    this.#source = parts.map((part) => sourceOf(part, ".+")).join("");
    const source = this.isStar ? "" : `^${this.#source}$`;
    this.#exact = new RegExp(source, "su");
    this.#caseless = new RegExp(source, "isu");
  }

  /** What it matches: the same for segments that differ only in names. */
  get shape(): string {
    return this.#source.replaceAll(/\(\?<\w+>/g, "(");
  }

  /** The slash and the segment as an expression for whole paths, in which a parameter without one never takes a slash. */
  get source(): string {
    if (this.isStar) return "(?:\\/(.*?))??";
    const sources = this.parts.map((part) => sourceOf(part, "[^/]+"));
    return `\\/${sources.join("")}`;
  }

  /**
   * Whether a decoded text matches; the values of its parameters are written to `values`. `folded` is the
   * text in lower case, or undefined when matching is case-sensitive.
   */
  match(
    text: string,
    folded: string | undefined,
    values: (string | null)[],
  ): boolean {
    if (this.literal !== undefined) {
      return folded === undefined
        ? text === this.literal
        : folded === this.folded;
    }
    if (text === "") return false;
    if (this.isFree) {
      values[this.parameters[0]!.valueIndex] = text;
      return true;
    }
    const expression = folded === undefined ? this.#exact : this.#caseless;
    const found = text.length > LONGEST ? null : expression.exec(text);
    this.parameters.forEach(({ valueIndex }, n) => {
      if (found) values[valueIndex] = found[n + 1]!;
    });
    return found !== null;
  }

  /** The segment as it is written. */
  toString(): string {
    return this.parts
      .map((part) => typeof part === "string" ? part : part.text).join("");
  }
}

/** A text as an expression that matches nothing else. */
export function escapeText(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** A part as an expression; a parameter is a group of its name. */
function sourceOf(part: string | Parameter, anyText: string): string {
  if (typeof part === "string") return escapeText(part);
  const { name, expression = anyText } = part;
  return name === "" ? expression : `(?<${name}>${expression})`;
}
