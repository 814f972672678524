/**
 * Owns one segment of a pattern, the part between two slashes: what it accepts and which values it
 * reads. The notation is the grammar's, putting segments in a row the pattern's.
 */

import { foldCode } from "./path.ts";

/**
 * What a segment is made of. A parameter without an expression is free: it takes any text. A star
 * tells where in the pattern it stands.
 */
export type Part =
  | { readonly kind: "text"; readonly text: string }
  | {
    readonly kind: "parameter";
    readonly name: string;
    readonly expression: string;
  }
  | { readonly kind: "expression"; readonly expression: string }
  | { readonly kind: "star"; readonly at: number };

/**
 * In how many ways, about, a text may be divided between parts of open length where an expression is
 * among them: a longer text is not tried. Two such parts take 4,472 characters, three 271.
 */
const mostDivisions = 20_000_000;

/** What takes slashes too, and what takes all but them. */
const beyond: Readonly<Record<string, string>> = {
  ".": "[^/]",
  "\\D": "[^\\d/]",
  "\\W": "[^\\w/]",
  "\\S": "[^\\s/]",
};

/** One segment of a pattern. No segment but `*` accepts empty text. */
export class Segment {
  /** The segment's share in an expression for whole paths. */
  readonly source: string;
  /** The names of the parameters, in order of appearance. */
  readonly names: readonly string[];
  /** The text that everything accepted begins with. */
  readonly prefix: string;
  /** The text, when the segment is nothing else. */
  readonly literal: string | undefined;
  /** Whether the segment is one free parameter. */
  readonly free: boolean;
  /** Whether the segment is `*`, which stands for any number of segments. */
  readonly star: boolean;
  readonly #parts: readonly Part[];
  /** The texts around free parameters, where there is nothing else. */
  readonly #texts: readonly string[] | undefined;
  readonly #limit: number;
  #exact: RegExp | undefined;
  #folded: RegExp | undefined;

  constructor(parts: readonly Part[]) {
    const regular = parts.findIndex((part) => !isPlain(part));
    const texts = textsOf(regular < 0 ? parts : parts.slice(0, regular));
    this.#parts = parts;
    this.#texts = regular < 0 ? texts : undefined;
    this.#limit = mostDivisions ** (1 / parts.filter(isOpen).length);
    this.names = parts.flatMap((part) =>
      part.kind === "parameter" ? [part.name] : []
    );
    this.prefix = texts[0]!;
    this.literal = this.#texts?.length === 1 ? this.prefix : undefined;
    this.free = this.names.length === 1 && this.#texts?.join("") === "";
    this.star = parts[0]?.kind === "star";
    const source = parts.map((part) => confined(sourceOf(part))).join("");
    this.source = this.#texts ? source : `(?=[^/])${source}`;
  }

  /** Whether the decoded text of one segment is accepted. */
  matches(text: string, caseSensitive: boolean): boolean {
    if (text === "") return false;
    if (this.free) return true;
    if (this.#texts) return split(text, this.#texts, caseSensitive) !== null;
    return text.length <= this.#limit &&
      this.#expression(caseSensitive).test(text);
  }

  /** The values of the parameters, in order, of a text that is accepted. */
  read(text: string, caseSensitive: boolean): readonly string[] {
    if (this.names.length === 0) return [];
    if (this.#texts) return split(text, this.#texts, caseSensitive)!;
    const { groups } = this.#expression(caseSensitive).exec(text)!;
    return this.names.map((name) => groups![name]!);
  }

  /** The segment with values in place of its parameters; none when it has a nameless expression. */
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

  #expression(caseSensitive: boolean): RegExp {
    const make = (flags: string): RegExp =>
      new RegExp(`^${this.#parts.map(sourceOf).join("")}$`, flags);
    return caseSensitive
      ? this.#exact ??= make("su")
      : this.#folded ??= make("isu");
  }
}

/** A text with each code unit folded. */
export function fold(text: string): string {
  if (/^[ -~]*$/.test(text)) return text.toLowerCase();
  let folded = "";
  for (let at = 0; at < text.length; at++) {
    folded += String.fromCharCode(foldCode(text.charCodeAt(at)));
  }
  return folded;
}

/** Whether a part is a text or free. */
function isPlain(part: Part): boolean {
  return part.kind === "text" ||
    part.kind === "parameter" && part.expression === "";
}

/** Whether there is no bound to the length that a part takes. */
function isOpen(part: Part): boolean {
  return part.kind === "parameter" && part.expression === "" ||
    "expression" in part && /[*+]|,\}/.test(part.expression);
}

/** The texts before, between and behind free parameters. */
function textsOf(parts: readonly Part[]): string[] {
  const texts = [""];
  for (const part of parts) {
    if (part.kind === "text") texts.push(texts.pop() + part.text);
    else texts.push("");
  }
  return texts;
}

function show(part: Part): string {
  if (part.kind === "text") return part.text;
  if (part.kind === "star") return "*";
  if (part.kind === "expression") return part.expression;
  return `@${part.name}${part.expression && `:${part.expression}`}`;
}

function sourceOf(part: Part): string {
  if (part.kind === "text") {
    return part.text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  }
  if (part.kind === "star") return "";
  if (part.kind === "expression") return part.expression;
  return `(?<${part.name}>${part.expression || ".+"})`;
}

/** An expression in which what would take any character takes no slash. */
function confined(source: string): string {
  return source.replace(
    /\\[\s\S]|\.|\[\^?(?:\\.|[^\]\\])*\]/g,
    (atom) => beyond[atom] ?? atom.replace(/^\[\^/, "[^/"),
  );
}

/**
 * Splits a text at the texts around free parameters. Each parameter takes as much as it can, from
 * left to right, and at least one character: putting the last separator as far right as it goes,
 * then the one before it, finds that split without ever trying another.
 */
function split(
  text: string,
  texts: readonly string[],
  caseSensitive: boolean,
): string[] | null {
  const subject = caseSensitive ? text : fold(text);
  const wanted = caseSensitive ? texts : texts.map(fold);
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
