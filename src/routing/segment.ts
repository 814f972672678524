/**
 * Owns one segment of a pattern, which stands between two slashes: which texts it matches, and the values of
 * its parameters. The notation is parsed in `notation.ts`, sequences of segments are matched in `pattern.ts`.
 */

import { foldText } from "../path_text.ts";

/** What stands in a segment instead of a text: a parameter, an expression without a name, or a star. */
export interface Parameter {
  /** `*` for a star, "" for an expression without a name. */
  readonly name: string;
  /** What its text must match; undefined for a parameter that takes any text, and for a star. */
  readonly expression?: string;
  /** The index of its value among those of the pattern; -1 for a star, and for an expression without a name. */
  readonly valueIndex: number;
  /** The position in the pattern. */
  readonly at: number;
}

/** One segment of a pattern. None but `*` matches an empty text. */
export class Segment {
  /** Its texts, which stand for themselves, and its parameters, in order. */
  readonly parts: readonly (string | Parameter)[];
  /** The slash that ends the pattern behind this segment, if any. */
  readonly end: "" | "/";
  /** The parameters with values, in order of appearance. */
  readonly parameters: readonly Parameter[];
  /** The text of a segment without parameters and expressions. */
  readonly literal: string | undefined;
  /** `literal` in lower case. */
  readonly folded: string | undefined;
  /** Whether the segment is `*`, which stands for any number of segments. */
  readonly isStar: boolean;
  /** Whether the whole text is the value of the only parameter. */
  readonly #isWhole: boolean;
  readonly #source: string;
  /** The texts around several parameters without expressions. */
  readonly #texts: readonly string[];
  /** `#texts` in lower case. */
  readonly #foldedTexts: readonly string[];
  /** The expression for the text; undefined where comparing texts is enough. */
  readonly #expression: RegExp | undefined;
  /** `#expression`, ignoring case. */
  readonly #foldedExpression: RegExp | undefined;

  /** The expression is not tried on texts that are longer than `longest`: it could take too long. */
  constructor(
    parts: readonly (string | Parameter)[],
    end: "" | "/",
    readonly longest: number,
  ) {
    const holes = parts.filter((part) => typeof part !== "string");
    const hasExpression = holes.some(({ expression }) => expression);
    this.parts = parts;
    this.end = end;
    this.parameters = holes.filter(({ valueIndex }) => valueIndex >= 0);
    this.literal = holes.length === 0 ? parts.join("") : undefined;
    this.folded = this.literal && foldText(this.literal);
    this.isStar = holes[0]?.name === "*";
    this.#isWhole = parts.length === 1 && this.parameters.length === 1;
    this.#source = parts.map(sourceOf).join("");
    this.#texts = hasExpression ? [] : textsOf(parts);
    this.#foldedTexts = this.#texts.map(foldText);
    if (hasExpression) {
      this.#expression = new RegExp(`^${this.#source}$`, "su");
      this.#foldedExpression = new RegExp(`^${this.#source}$`, "isu");
    }
  }

  /** Whether the segment is one parameter that takes any text but an empty one: `Pattern.matchFound()` asks no `match()`. */
  get isFree(): boolean {
    return this.#isWhole && this.#expression === undefined;
  }

  /** What it matches: the same for segments that differ only in names. */
  get shape(): string {
    return this.parts.map((part) =>
      typeof part === "string"
        ? escapeText(part)
        : `(?:${part.expression ?? ".+"})`
    ).join("");
  }

  /** The segment and the slash before it as an expression for whole paths. */
  get source(): string {
    if (this.isStar) return "(?:\\/(.*?))??";
    const start = this.#expression ? "\\/(?=[^/])" : "\\/";
    return start + confined(this.#source);
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
    if (text === "" || text.length > this.longest) return false;
    const isExact = folded === undefined;
    const expression = isExact ? this.#expression : this.#foldedExpression;
    if (this.#isWhole) {
      if (expression && !expression.test(text)) return false;
      values[this.parameters[0]!.valueIndex] = text;
      return true;
    }
    const found = expression
      ? expression.exec(text)?.slice(1)
      : isExact
      ? divide(text, text, this.#texts)
      : divide(text, folded, this.#foldedTexts);
    if (found === undefined) return false;
    this.parameters.forEach(({ valueIndex }, n) =>
      values[valueIndex] = found[n]!
    );
    return true;
  }

  /** The segment as it is written. */
  toString(): string {
    return this.parts.map(textOf).join("");
  }
}

/** A text as an expression that matches nothing else. */
export function escapeText(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** A part as it is written. */
function textOf(part: string | Parameter): string {
  if (typeof part === "string") return part;
  const { name, expression } = part;
  if (name === "*") return name;
  if (name === "") return expression!;
  return expression === undefined ? `@${name}` : `@${name}:${expression}`;
}

/** A part as an expression; a parameter is a group of its name. */
export function sourceOf(part: string | Parameter): string {
  if (typeof part === "string") return escapeText(part);
  const { name, expression = ".+" } = part;
  return name === "" ? expression : `(?<${name}>${expression})`;
}

/** The expression with atoms that never match a slash, for whole paths. */
function confined(source: string): string {
  return source.replace(/\\[\s\S]|\.|\[\^?(?:\\.|[^\]\\])*\]/g, (atom) => {
    if (atom === ".") return "[^/]";
    if (/^\\[DWS]$/.test(atom)) return `(?:(?!\\/)${atom})`;
    return atom.replace(/^\[\^/, "[^/");
  });
}

/** The texts before, between and after parameters. */
function textsOf(parts: readonly (string | Parameter)[]): string[] {
  const texts = [""];
  for (const part of parts) {
    if (typeof part === "string") texts.push(texts.pop() + part);
    else texts.push("");
  }
  return texts;
}

/**
 * Divides a text at the texts around parameters. Each parameter takes as much as it can, from left to
 * right, and at least one character. Placing the separators from the last to the first, each as far
 * right as possible, finds that division without backtracking. `folded` is the text in the case of `texts`.
 */
function divide(
  text: string,
  folded: string,
  texts: readonly string[],
): string[] | undefined {
  const [first = "", last = ""] = [texts[0], texts.at(-1)];
  if (!folded.startsWith(first) || !folded.endsWith(last)) return undefined;
  const values: string[] = [];
  let end = text.length - last.length;
  for (let n = texts.length - 2; n >= 0; n--) {
    const separator = texts[n]!;
    const latest = end - 1 - separator.length;
    const at = n > 0 ? folded.lastIndexOf(separator, latest) : 0;
    if (at < 0 || at > latest) return undefined;
    values.unshift(text.slice(at + separator.length, end));
    end = at;
  }
  return values;
}
