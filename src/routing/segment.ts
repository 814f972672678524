/**
 * Owns one segment of a pattern, which stands between two slashes: its parts, which texts it matches, and
 * the values of its parameters. Reading the notation is `notation.ts`'s, a sequence of segments is
 * `pattern.ts`'s.
 */

import { longestText } from "./backtracking.ts";
import { foldText } from "./path.ts";

/** A part of a segment. A parameter without an expression takes any text but an empty one. */
export type Part =
  | { readonly kind: "text"; readonly text: string }
  | {
    readonly kind: "parameter";
    readonly name: string;
    readonly expression: string;
  }
  | { readonly kind: "expression"; readonly expression: string }
  | { readonly kind: "star"; readonly at: number };

/** Atoms that match a slash too, and the same without it. */
const WITHOUT_SLASH: Readonly<Record<string, string>> = {
  ".": "[^/]",
  "\\D": "[^\\d/]",
  "\\W": "[^\\w/]",
  "\\S": "[^\\s/]",
};

/** One segment of a pattern. None but `*` matches an empty text. */
export class Segment {
  /** The segment's share of an expression for whole paths. */
  readonly source: string;
  /** The names of the parameters, in order of appearance. */
  readonly names: readonly string[];
  /** The text with which every match begins. */
  readonly prefix: string;
  /** The text of a segment without parameters and expressions. */
  readonly literal: string | undefined;
  /** Whether the whole text is the value of the only parameter. */
  readonly isWhole: boolean;
  /** Whether the segment is one parameter that takes any text. */
  readonly isFree: boolean;
  /** Whether the segment is `*`, which stands for any number of segments. */
  readonly isStar: boolean;
  readonly #parts: readonly Part[];
  /** The texts around the parameters, when none of them has an expression. */
  readonly #texts: readonly string[] | undefined;
  /** The expression that ignores case and the one that does not; none when only texts are compared. */
  readonly #expressions: readonly RegExp[];
  /** A longer text is not tried, as the expression could take too long. */
  readonly #limit: number;

  constructor(parts: readonly Part[]) {
    const complex = parts.findIndex((part) => !isSimple(part));
    const texts = textsOf(complex < 0 ? parts : parts.slice(0, complex));
    const source = parts.map(sourceOf).join("");
    this.#parts = parts;
    this.#texts = complex < 0 ? texts : undefined;
    this.#expressions = complex < 0
      ? []
      : ["isu", "su"].map((flags) => new RegExp(`^${source}$`, flags));
    this.#limit = complex < 0 ? Infinity : longestText(source);
    this.names = parts.flatMap((part) =>
      part.kind === "parameter" ? [part.name] : []
    );
    this.prefix = texts[0]!;
    this.literal = this.#texts?.length === 1 ? this.prefix : undefined;
    this.isWhole = parts.length === 1 && this.names.length === 1;
    this.isFree = this.isWhole && complex < 0;
    this.isStar = parts[0]?.kind === "star";
    this.source = (complex < 0 ? "" : "(?=[^/])") + confined(source);
  }

  /** The values of the parameters in order, or null when a decoded text does not match. */
  match(text: string, caseSensitive: boolean): readonly string[] | null {
    if (text === "") return null;
    if (this.isFree) return [text];
    if (text === this.literal) return [];
    if (this.#texts) return divide(text, this.#texts, caseSensitive);
    if (text.length > this.#limit) return null;
    const expression = this.#expressions[caseSensitive ? 1 : 0]!;
    if (this.isWhole) return expression.test(text) ? [text] : null;
    const found = expression.exec(text);
    return found && found.slice(1);
  }

  /** The segment with values for its parameters; undefined when an expression has no name. */
  fill(
    value: (name: string) => string,
    text: (text: string) => string = (text) => text,
  ): string | undefined {
    const filled = this.#parts.map((part) => {
      if (part.kind === "text") return text(part.text);
      return part.kind === "parameter" ? value(part.name) : undefined;
    });
    return filled.includes(undefined) ? undefined : filled.join("");
  }

  /** The segment as it is written. */
  toString(): string {
    return this.#parts.map(show).join("");
  }
}

/** Whether a part is a text, or a parameter that takes any. */
function isSimple(part: Part): boolean {
  return part.kind === "text" ||
    part.kind === "parameter" && part.expression === "";
}

/** The texts before, between and behind parameters. */
function textsOf(parts: readonly Part[]): string[] {
  const texts = [""];
  for (const part of parts) {
    if (part.kind === "text") texts.push(texts.pop() + part.text);
    else texts.push("");
  }
  return texts;
}

/** A part as an expression; a parameter is a group of its name. */
function sourceOf(part: Part): string {
  if (part.kind === "text") return escapeText(part.text);
  if (part.kind === "star") return "";
  if (part.kind === "expression") return part.expression;
  return `(?<${part.name}>${part.expression || ".+"})`;
}

/** A part as it is written in a pattern. */
function show(part: Part): string {
  if (part.kind === "text") return part.text;
  if (part.kind === "star") return "*";
  if (part.kind === "expression") return part.expression;
  return `@${part.name}${part.expression && `:${part.expression}`}`;
}

/** A text as an expression that matches nothing else. */
export function escapeText(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** An expression whose atoms never match a slash, for whole paths. */
function confined(source: string): string {
  return source.replace(
    /\\[\s\S]|\.|\[\^?(?:\\.|[^\]\\])*\]/g,
    (atom) => WITHOUT_SLASH[atom] ?? atom.replace(/^\[\^/, "[^/"),
  );
}

/**
 * Divides a text at the texts around parameters. Each parameter takes as much as it can, from left to
 * right, and at least one character. Placing the separators from the last to the first, each as far
 * right as possible, finds that division without backtracking.
 */
function divide(
  text: string,
  texts: readonly string[],
  caseSensitive: boolean,
): string[] | null {
  const subject = caseSensitive ? text : foldText(text);
  const wanted = caseSensitive ? texts : texts.map(foldText);
  const [first, last] = [wanted[0]!, wanted.at(-1)!];
  if (wanted.length === 1) return subject === first ? [] : null;
  if (!subject.startsWith(first) || !subject.endsWith(last)) return null;
  const values: string[] = [];
  let end = text.length - last.length;
  for (let place = wanted.length - 2; place > 0; place--) {
    const { length } = wanted[place]!;
    const latest = end - 1 - length;
    const at = latest < 0 ? -1 : subject.lastIndexOf(wanted[place]!, latest);
    if (at < 0) return null;
    values.push(text.slice(at + length, end));
    end = at;
  }
  if (end <= first.length) return null;
  values.push(text.slice(first.length, end));
  return values.reverse();
}
