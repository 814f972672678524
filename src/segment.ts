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

/** Free parameters with the texts between them: it is matched as one stretch and then split. */
interface Run {
  readonly kind: "run";
  readonly names: string[];
  /** What stands before each parameter; before the first, nothing. */
  readonly texts: string[];
}
type Item = Exclude<Part, { kind: "star" }> | Run;

/**
 * The longest text, in characters, tried where an expression stands beside other variable parts:
 * only there can the cost grow faster than the length.
 */
const mixedLimit = 2_000;

/** What takes slashes too, and what takes all but them. */
const beyond: Readonly<Record<string, string>> = {
  ".": "[^/]",
  "\\D": "[^\\d/]",
  "\\W": "[^\\w/]",
  "\\S": "[^\\s/]",
};

/** One segment of a pattern. No segment but `*` accepts empty text. */
export class Segment {
  /** What two segments that accept the same share, whatever their parameters are called. */
  readonly key: string;
  /** The names of the parameters, in order of appearance. */
  readonly names: readonly string[];
  /** The text, when the segment is nothing else. */
  readonly literal: string | undefined;
  /** Whether the segment is one free parameter. */
  readonly free: boolean;
  /** Whether the segment is `*`, which stands for any number of segments. */
  readonly star: boolean;
  readonly #parts: readonly Part[];
  readonly #items: readonly Item[];
  /** The texts around free parameters, where there is nothing else. */
  readonly #texts: readonly string[] | undefined;
  readonly #limit: number;
  #exact: RegExp | undefined;
  #folded: RegExp | undefined;

  constructor(parts: readonly Part[]) {
    const items = itemsOf(parts);
    const [first] = items;
    this.#parts = parts;
    this.names = items.flatMap(namesOf);
    this.#items = items;
    this.#texts = textsOf(items);
    this.#limit = items.filter(isVariable).length < 2 ? Infinity : mixedLimit;
    this.star = parts[0]?.kind === "star";
    this.free = items.length === 1 && this.names.length === 1 &&
      this.#texts?.join("") === "";
    this.literal = items.length === 1 && first?.kind === "text"
      ? first.text
      : undefined;
    this.key = parts.map((part) =>
      part.kind === "text" ? sourceOf(part, "") : show(part, "")
    ).join("/");
  }

  /** Whether the decoded text of one segment is accepted. */
  matches(text: string, caseSensitive: boolean): boolean {
    if (text === "") return false;
    if (this.free) return true;
    if (this.literal !== undefined) {
      return isSame(text, this.literal, caseSensitive);
    }
    if (this.#texts) return split(text, this.#texts, caseSensitive) !== null;
    return text.length <= this.#limit &&
      this.#expression(caseSensitive).test(text);
  }

  /** The values of the parameters, in order, of a text that is accepted. */
  read(text: string, caseSensitive: boolean): readonly string[] {
    if (this.free) return [text];
    if (this.#texts) return split(text, this.#texts, caseSensitive) ?? [];
    if (this.names.length === 0) return [];
    const groups = this.#expression(caseSensitive).exec(text)?.groups ?? {};
    return this.#items.flatMap((item, place) => {
      if (item.kind === "parameter") return [groups[item.name]!];
      if (item.kind !== "run") return [];
      return split(groups[`$${place}`]!, [...item.texts, ""], caseSensitive)!;
    });
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
    return this.#parts.map((part) => show(part)).join("");
  }

  /** The segment's share in an expression for whole paths. */
  get source(): string {
    const plain = this.literal !== undefined || this.#texts !== undefined;
    const sources = this.#parts.map((part) => sourceOf(part, ".+"));
    return (plain ? "" : "(?=[^/])") + sources.map(confined).join("");
  }

  /** The text that everything accepted begins with. */
  get prefix(): string {
    const [first] = this.#items;
    return first?.kind === "text" ? first.text : "";
  }

  #expression(caseSensitive: boolean): RegExp {
    const make = (flags: string): RegExp =>
      new RegExp(`^${this.#items.map(itemSource).join("")}$`, flags);
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

function isSame(a: string, b: string, caseSensitive: boolean): boolean {
  if (a === b || caseSensitive) return a === b;
  return a.length === b.length && fold(a) === fold(b);
}

/** The parts, with free parameters that only texts keep apart gathered into runs. */
function itemsOf(parts: readonly Part[]): Item[] {
  const items: Item[] = [];
  for (const part of parts) {
    if (part.kind === "star") continue;
    if (part.kind !== "parameter" || part.expression !== "") {
      items.push(part);
      continue;
    }
    const [before, last] = items.slice(-2);
    const run = last?.kind === "text" ? before : items.at(-1);
    if (run?.kind !== "run") {
      items.push({ kind: "run", names: [part.name], texts: [""] });
      continue;
    }
    run.names.push(part.name);
    run.texts.push(last?.kind === "text" ? last.text : "");
    if (last?.kind === "text") items.pop();
  }
  return items;
}

/** The texts around the parameters of a run that fills its segment but for texts. */
function textsOf(items: readonly Item[]): string[] | undefined {
  const run = items.find((item) => item.kind === "run");
  if (!run || items.some((item) => item !== run && item.kind !== "text")) {
    return undefined;
  }
  const [first, last] = [items[0], items.at(-1)];
  const texts = [...run.texts, last?.kind === "text" ? last.text : ""];
  if (first?.kind === "text") texts[0] = first.text;
  return texts;
}

function namesOf(item: Item): string[] {
  if (item.kind === "run") return item.names;
  return item.kind === "parameter" ? [item.name] : [];
}

/** Whether the length of what an item takes is open; look-arounds take nothing. */
function isVariable(item: Item): boolean {
  return item.kind !== "text" &&
    !(item.kind === "expression" && /^\(\?<?[=!]/.test(item.expression));
}

function show(part: Part, name?: string): string {
  switch (part.kind) {
    case "text":
      return part.text;
    case "star":
      return "*";
    case "expression":
      return part.expression;
    case "parameter":
      return `@${name ?? part.name}${part.expression && `:${part.expression}`}`;
  }
}

function sourceOf(part: Part | Item, free: string): string {
  switch (part.kind) {
    case "text":
      return part.text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
    case "expression":
      return part.expression;
    case "parameter":
      return `(?<${part.name}>${part.expression || free})`;
  }
  return "";
}

/** An expression in which what would take any character takes no slash. */
function confined(source: string): string {
  return source.replace(
    /\\[\s\S]|\.|\[\^?(?:\\.|[^\]\\])*\]/g,
    (atom) => beyond[atom] ?? atom.replace(/^\[\^/, "[^/"),
  );
}

/**
 * A run gives back from its last parameter only: the way to it is looked up once and then repeated
 * by its name, so that no input makes the expression try every split.
 */
function itemSource(item: Item, place: number): string {
  if (item.kind !== "run") return sourceOf(item, "");
  const way = item.texts.slice(1).map((text, step) => {
    const name = `$${place}_${step}`;
    const end = sourceOf({ kind: "text", text }, "");
    return `(?=(?<${name}>.+?${end}))\\k<${name}>`;
  });
  return `(?<$${place}>${way.join("")}.+)`;
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
  const start = wanted[0]!.length;
  let end = text.length - wanted.at(-1)!.length;
  if (!subject.startsWith(wanted[0]!) || !subject.endsWith(wanted.at(-1)!)) {
    return null;
  }
  const values: string[] = [];
  for (let place = wanted.length - 2; place > 0; place--) {
    const { length } = wanted[place]!;
    const latest = end - 1 - length;
    const at = latest < 0 ? -1 : subject.lastIndexOf(wanted[place]!, latest);
    if (at < 0) return null;
    values.push(text.slice(at + length, end));
    end = at;
  }
  if (end <= start) return null;
  values.push(text.slice(start, end));
  return values.reverse();
}
