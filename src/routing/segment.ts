/**
 * Owns one segment of a pattern, which stands between two slashes: its parts, which texts it matches, and
 * the values of its parameters. The notation is parsed in `notation.ts`, sequences of segments are matched in
 * `pattern.ts`.
 */

import { longestText } from "./backtracking.ts";
import { areAlike, foldText } from "./path.ts";

/** A part of a segment: a text, a parameter that takes any text, an expression with or without a name. */
export interface Part {
  readonly kind: "text" | "any" | "expression" | "star";
  /** The part as it is written in a pattern. */
  readonly text: string;
  /** The part as an expression; a parameter is a group of its name. */
  readonly source: string;
  readonly name?: string;
  /** The position of a star in the pattern. */
  readonly at?: number;
}

/** One segment of a pattern. None but `*` matches an empty text. */
export class Segment {
  /** The names of the parameters, in order of appearance. */
  readonly names: readonly string[];
  /** The text of a segment without parameters and expressions. */
  readonly literal: string | undefined;
  /** Whether the whole text is the value of the only parameter. */
  readonly isWhole: boolean;
  /** Whether the segment is one parameter that takes any text. */
  readonly isFree: boolean;
  /** Whether the segment is `*`, which stands for any number of segments. */
  readonly isStar: boolean;
  readonly #source: string;
  /** The texts around several parameters without expressions, in lower case and as they are. */
  readonly #texts: readonly (readonly string[])[];
  /** The expression that ignores case, and the one that does not. */
  readonly #expressions: readonly RegExp[];
  /** The longest text on which the expression is tried: on a longer one it could take too long. */
  readonly #limit: number;

  constructor(readonly parts: readonly Part[]) {
    const kinds = parts.map(({ kind }) => kind);
    const isText = kinds.every((kind) => kind === "text");
    const isSimple = !kinds.includes("expression");
    const source = parts.map((part) => part.source).join("");
    this.names = parts.flatMap(({ name }) => name ?? []);
    this.isStar = kinds.includes("star");
    this.isWhole = parts.length === 1 && this.names.length === 1;
    this.isFree = this.isWhole && isSimple;
    this.literal = isText ? this.toString() : undefined;
    this.#source = source;
    const isDivided = isSimple && !isText && !this.isFree;
    const texts = isDivided ? textsOf(parts) : [];
    this.#texts = [texts.map(foldText), texts];
    this.#expressions = isSimple
      ? []
      : ["isu", "su"].map((flags) => new RegExp(`^${source}$`, flags));
    this.#limit = isSimple ? Infinity : longestText(source);
  }

  /** The segment and the slash before it as an expression for whole paths. */
  get source(): string {
    if (this.isStar) return "(?:\\/(.*?))??";
    const start = this.#expressions.length > 0 ? "\\/(?=[^/])" : "\\/";
    return start + confined(this.#source);
  }

  /** The values of the parameters in order, or null when a decoded text does not match. */
  match(text: string, caseSensitive: boolean): readonly string[] | null {
    if (text === "" || text.length > this.#limit) return null;
    if (this.isFree) return [text];
    if (this.literal !== undefined) {
      const isSame = text === this.literal ||
        !caseSensitive && areAlike(text, this.literal);
      return isSame ? [] : null;
    }
    const exact = caseSensitive ? 1 : 0;
    const expression = this.#expressions[exact];
    if (expression === undefined) {
      const folded = caseSensitive ? text : foldText(text);
      return divide(text, folded, this.#texts[exact]!);
    }
    if (this.isWhole) return expression.test(text) ? [text] : null;
    const found = expression.exec(text);
    return found && found.slice(1);
  }

  /** The segment as it is written. */
  toString(): string {
    return this.parts.map(({ text }) => text).join("");
  }
}

/** A text as an expression that matches nothing else. */
export function escapeText(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
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
function textsOf(parts: readonly Part[]): string[] {
  const texts = [""];
  for (const { name, text } of parts) {
    if (name === undefined) texts.push(texts.pop() + text);
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
): string[] | null {
  const [first = "", last = ""] = [texts[0], texts.at(-1)];
  if (!folded.startsWith(first) || !folded.endsWith(last)) return null;
  const values: string[] = [];
  let end = text.length - last.length;
  for (let n = texts.length - 2; n >= 0; n--) {
    const separator = texts[n]!;
    const latest = end - 1 - separator.length;
    const at = n > 0 ? folded.lastIndexOf(separator, latest) : 0;
    if (at < 0 || at > latest) return null;
    values.unshift(text.slice(at + separator.length, end));
    end = at;
  }
  return values;
}
