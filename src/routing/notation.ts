/**
 * Owns the notation of patterns: parsing the text of a pattern into methods and segments, one list of
 * segments for each choice of optional parts. What a segment matches is decided in `segment.ts`.
 *
 * The types in `arguments.ts` read the notation, too. The name of a parameter is `\w` alone, since it becomes that of a
 * group in an expression (`segment.ts`), which `Pattern.shape` takes out again.
 */

import { decodeEscapes } from "../paths.ts";
import { escapeText, type Parameter, Segment } from "./segment.ts";
import { suggestions } from "../options.ts";

/** The texts and parameters of each segment: none before the first slash, behind a last one, and between two. */
type Parts = readonly (readonly (string | Parameter)[])[];

/** The most choices that a pattern may have: those of ten independent optional parts. */
const MAX_CHOICES = 1_024;

/** The methods whose misspellings are refused; any other token is a method too. */
const USUAL_METHODS = "GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT"
  .split(" ");

/** What other frameworks call every method: as methods, no client sends them. */
const EVERY_METHOD = ["ANY", "ALL"];

const NO_PATH = "has no path after its methods";

/** A method is a token (RFC 9110, section 5.6.2), in which `|` separates methods here. */
const METHOD = /^[!#$%&'*+.^_`~\w-]+$/;

/** Methods separated by bars, a space, and the path. */
const PREFIXED = /^\s*((?:[^\s|]*\s*\|\s*)*[^\s|]*)\s+(.*)$/s;

/** A segment that clients resolve before they send a path (RFC 3986, section 5.2.4); a target with one is refused. */
const DOT_TEXT = /^\.\.?$/;

/** A character with which a path can begin and a method cannot. */
const PATH_START = /^\s*[/([\\@*]/;

/**
 * A class; an escape; the start of a regular-expression group; a parameter, also in the notation of
 * other frameworks; a count; a word; any other character.
 */
const TOKENS =
  /\[\^?(?:\\.|[^\]\\])*\]|\\(?:[pPu]\{[^}]*\}|x[\dA-Fa-f]{2}|u[\dA-Fa-f]{4}|c[A-Za-z]|.)|\(\?(?:<\w+>)?|@[A-Za-z_]\w*|\{[A-Za-z_]\w*\??[:}]|(?<![^/(]):[A-Za-z_]\w*\??|\{\d+(?:,\d*)?\}|[A-Za-z\d%]+|./gsu;

/** The tokens with which an expression without a name begins; a dot is one before a quantifier. */
const ATOM = /^(?:\[.*\]|\\\w|\(\?|\.(?:[*+?]|\{\d))/s;

const QUANTIFIER = /^(?:[*+?]|\{\d.*\})$/;

/** A quantifier after a text: not `*`, which matches segments. */
const TEXT_QUANTIFIER = /^(?:[+?]|\{\d.*\})$/;

/** What ends the expression of a parameter. Punctuation in front of it is text, not expression. */
const EXPRESSION_ENDS = [
  // a slash, an optional part, or the end of either; parentheses with a bar are none
  /^(?:\\?[-,;:~_=!&']|\\\.)*(?:[/)]|\((?!\?|(?:\\.|[^()[@/|\\])*\|(?:\\.|[^()[@/\\])*\))|$)/s,
  /^(?:\\?[-,;:~_=!&'.])*@[A-Za-z_]/, // a parameter; a bare dot in front of it is text, too
];

/** Tokens that are mistakes, each with the problem that the message names, and perhaps what is meant. */
type Mistakes =
  readonly (readonly [token: RegExp, problem: string, meant?: string])[];

const MISTAKES: Mistakes = [
  [/^\|$/, 'has a "|" outside an expression', "(?:a|b)"],
  [/^@$/, "has an @ without a name", "\\@"],
  [/^\[$/, "has an unclosed character class"],
  [/^\\$/, "ends in a lone backslash"],
  [/^[:{](\w+)\?.*$/, 'has "$&"', "(/@$1)"],
  [/^[:{]([A-Za-z_]\w*).*$/, 'has "$&"', "@$1"],
  [TEXT_QUANTIFIER, 'has "$&" with nothing to repeat', "\\$&"],
];

/** Notations of other frameworks that tokens do not show, and what is meant. */
const FOREIGN: readonly (readonly [notation: RegExp, meant: string])[] = [
  [/(?<!\(\?)<(?:\w+:)?([A-Za-z_]\w*)>/, "@$1"],
  [/(?<=^|[/(])\[\.{3}\w+\]/, "*"],
  [/(?<=^|[/(])\[([A-Za-z_]\w*)\](?=[/()]|$)/, "@$1"],
  [/@([A-Za-z_]\w*)\{([^/]*)\}/, "@$1:$2"],
  [/@([A-Za-z_]\w*)\(((?:\\[dswDSW]|\[|\.[*+])[^()/]*)\)/, "@$1:$2"],
  [/(?<![\\.)\]])\*\*+/, "*"],
];

const EXPRESSION_MISTAKES: Mistakes = [
  [/^(?:\\?\/|\[(?!\^).*\/.*)$/s, "has a slash inside an expression"],
  [/^@.+$/, "has a parameter inside an expression"],
  [/^\\[1-9]$/, "has a back-reference inside an expression"],
];

/**
 * Separates the methods of a pattern, in upper case, from its path. Throws `SyntaxError` when one is
 * malformed.
 */
export function splitMethods(
  source: string,
): { methods: string[]; path: string } {
  const [, prefix, rest = ""] = PREFIXED.exec(source) ?? [];
  if (prefix === undefined || PATH_START.test(source)) {
    if (/^\s/.test(source)) refuse(source, "has no method before the space");
    if (USUAL_METHODS.includes(source)) refuse(source, NO_PATH, source.length);
    return { methods: [], path: source.trim() };
  }
  const names = prefix.split("|").map((name) => name.trim().toUpperCase());
  for (const name of names) checkMethod(source, name);
  const end = source.length;
  if (rest === "") refuse(source, NO_PATH, end);
  return { methods: [...new Set(names)], path: rest.trim() };
}

/** Refuses a malformed method, and an unknown one that is nearly a usual one, or what others call all of them. */
function checkMethod(source: string, name: string): void {
  if (!METHOD.test(name)) refuse(source, `has the malformed method "${name}"`);
  if (USUAL_METHODS.includes(name)) return;
  const alike = USUAL_METHODS.filter((usual) => usual[0] === name[0]);
  const [meant] = suggestions(name, alike);
  const hint = EVERY_METHOD.includes(name)
    ? ': leave it out, as in "/path", to handle every method'
    : meant && suggesting(meant);
  if (hint) refuse(source, `has the unknown method "${name}"`, 0, hint);
}

/** Puts a slash in front of a path, unless it begins with one, perhaps in an optional part. */
export function withSlash(path: string): string {
  return /^\(*\//.test(path) ? path : `/${path}`;
}

/** Parses the path of a pattern; throws a `SyntaxError` that quotes it and gives the position. */
export class Parser {
  /** The names of the parameters, in order of appearance. */
  readonly names: string[] = [];
  readonly #tokens: readonly RegExpExecArray[];
  #next = 0;

  constructor(readonly path: string) {
    this.#tokens = [...path.matchAll(TOKENS)];
  }

  /** The segments with each choice of optional parts, in the order in which they are tried. */
  parse(): Segment[][] {
    for (const [notation, meant] of FOREIGN) {
      const found = notation.exec(this.path);
      if (found === null) continue;
      const hint = suggesting(found[0].replace(notation, meant));
      this.#fail(`has "${found[0]}"`, found.index, hint);
    }
    const choices = this.#sequence();
    if (this.#token !== "") this.#fail("has an unmatched closing parenthesis");
    const mixed = choices.flat().filter((parts) => parts.length > 1).flat();
    const star = mixed.find((part) => Object(part).name === "*");
    if (star !== undefined) {
      const { at } = star as Parameter;
      this.#fail("has a * that is not a whole segment", at);
    }
    const all = choices.map((one) => this.#segments(one));
    const dots = all.map((segments) =>
      segments.find(({ literal = "" }) => DOT_TEXT.test(literal))
    );
    if (dots.every((segment) => segment !== undefined)) {
      const at = this.path.search(/(?<=[/(])(?:\\?\.|%2e){1,2}(?=[/()]|$)/i);
      this.#fail(`has the segment "${dots[0]}", which no path has,`, at);
    }
    return all;
  }

  /** The segments of a choice, with the slash at its end. */
  #segments(choice: Parts): Segment[] {
    const all = choice.filter((parts) => parts.length > 0);
    const end = choice.at(-1)!.length === 0 ? "/" : "";
    return all.map((parts, n) =>
      new Segment(parts, n === all.length - 1 ? end : "")
    );
  }

  /** The next token; empty at the end. */
  get #token(): string {
    return this.#tokens[this.#next]?.[0] ?? "";
  }

  /** The position of the next token in the path. */
  get #at(): number {
    return this.#tokens[this.#next]?.index ?? this.path.length;
  }

  #take(): string {
    return this.#tokens[this.#next++]?.[0] ?? "";
  }

  /** The choices up to the end or to a closing parenthesis; those with an optional part come first. */
  #sequence(): Parts[] {
    let choices: Parts[] = [[[]]];
    while (this.#token !== "" && this.#token !== ")") {
      const added = this.#piece(this.#token);
      choices = choices.flatMap((one) =>
        added.map((more) => joined(one, more))
      );
      if (choices.length > MAX_CHOICES) {
        this.#fail(
          `has more than ${MAX_CHOICES} combinations of optional parts`,
          0,
        );
      }
    }
    return choices;
  }

  #piece(token: string): Parts[] {
    const at = this.#at;
    if (token === "(") return this.#group();
    const next = this.#tokens[this.#next + 1]?.[0] ?? "";
    const isAtom = ATOM.test(token + next);
    if (isAtom) return [[[this.#quantified(this.#atom(), at)]]];
    this.#checkToken(MISTAKES);
    this.#take();
    if (token === "/") return [[[], []]];
    if (token === "*") return [[[{ name: "*", valueIndex: -1, at }]]];
    return token.startsWith("@")
      ? [[[this.#parameter(token.slice(1), at)]]]
      : [[this.#text(token, at)]];
  }

  #group(): Parts[] {
    const at = this.#at;
    this.#take();
    const choices = this.#sequence();
    if (this.#take() === "") this.#fail("has an unclosed parenthesis", at);
    if (this.#token === "?") {
      this.#fail("has a ? after parentheses, which are already optional,");
    }
    return [...choices, [[]]];
  }

  /** A text; a quantifier after it repeats its last character. */
  #text(token: string, at: number): (string | Parameter)[] {
    const text = token.startsWith("\\") ? token.slice(1) : decoded(token);
    if (!TEXT_QUANTIFIER.test(this.#token)) return [text];
    const last = [...text].at(-1)!;
    const repeated = this.#quantified(escapeText(last), at);
    const before = text.slice(0, -last.length);
    return before === "" ? [repeated] : [before, repeated];
  }

  /** An expression without a name: an atom that was read, and the quantifier after it. */
  #quantified(atom: string, at: number): Parameter {
    let expression = atom;
    if (QUANTIFIER.test(this.#token)) {
      expression += this.#take();
      if (this.#token === "?") expression += this.#take();
    }
    this.#checkExpression(expression, at);
    return { name: "", expression, valueIndex: -1, at };
  }

  #parameter(name: string, at: number): Parameter {
    if (this.names.includes(name)) {
      this.#fail(`uses the name "${name}" a second time`, at);
    }
    if (this.#token === "?") {
      this.#fail(`has "@${name}?"`, at, suggesting(`(/@${name})`));
    }
    const valueIndex = this.names.push(name) - 1;
    if (this.#token !== ":") return { name, valueIndex, at };
    this.#take();
    return { name, expression: this.#constraint(name), valueIndex, at };
  }

  /** The expression of a parameter. */
  #constraint(name: string): string {
    const at = this.#at;
    if (/^(?:[/)]?|@.+)$/.test(this.#token)) {
      this.#fail(`has no expression for "${name}"`);
    }
    let expression = this.#atom();
    const isAtEnd = (end: RegExp) => end.test(this.path.slice(this.#at));
    while (!EXPRESSION_ENDS.some(isAtEnd)) expression += this.#atom();
    this.#checkExpression(expression, at);
    return expression;
  }

  /**
   * One part of an expression: a token, or a group with its content. Capturing groups become
   * non-capturing ones.
   */
  #atom(): string {
    const at = this.#at;
    let [atom, depth] = ["", 0];
    do {
      this.#checkToken(EXPRESSION_MISTAKES);
      const token = this.#take();
      if (token === "") this.#fail("has an unclosed parenthesis", at);
      if (token.startsWith("(")) depth++;
      if (token === ")") depth--;
      atom += /^\((?:\?<.*)?$/.test(token) ? "(?:" : unescaped(token);
    } while (depth > 0);
    return atom;
  }

  /** Throws when the next token is one of these mistakes. */
  #checkToken(mistakes: Mistakes): void {
    const token = this.#token;
    const mistake = mistakes.find(([mistaken]) => mistaken.test(token));
    if (mistake === undefined) return;
    const at = this.#at + Math.max(0, token.indexOf("/")); // a slash in a class is what is wrong
    const [pattern, problem, meant] = mistake;
    const filled = (text: string) => token.replace(pattern, text);
    this.#fail(filled(problem), at, meant && suggesting(filled(meant)));
  }

  #checkExpression(expression: string, at: number): void {
    if (repeatsRepetition(expression)) {
      const problem = "repeats a part that repeats, which can take for ever,";
      this.#fail(problem, at);
    }
    try {
      new RegExp(`^(?:${expression})$`, "su");
    } catch (error) {
      const reason = (error as Error).message.split(": ").at(-1);
      this.#fail(`has an invalid expression (${reason}),`, at);
    }
  }

  #fail(problem: string, at: number = this.#at, rest?: string): never {
    refuse(this.path, problem, at, rest);
  }
}

/** An escape or a class; the start of a group, or its end; a quantifier; any other character. */
const EXPRESSION_TOKENS =
  /\\(?:[pPu]\{[^}]*\}|.)|\[(?:\\.|[^\]\\])*\]|\((?:\?(?:<\w+>|<?[=!]|:))?|\)|(?:[*+]|\{\d+(?:,\d*)?\})\??|./gsu;

/**
 * Whether a quantifier without an upper bound repeats a group in which a part repeats, as in `(a+)+`: one text can then
 * match in exponentially many ways. A group such as `(?:-[a-z]+)*` is none: it begins with a text that does not repeat.
 */
function repeatsRepetition(expression: string): boolean {
  const tokens = expression.match(EXPRESSION_TOKENS) ?? [];
  const groups: { first: string; repeated: string[] }[] = [];
  let closed: (typeof groups)[number] | undefined;
  for (const [n, token] of tokens.entries()) {
    const group = groups.at(-1);
    const before = tokens[n - 1] ?? "";
    const isRepetition = /^(?:[*+]|\{\d+,)/.test(token) && n > 0;
    if (isRepetition && closed && /^(?:[*+]|\{\d+,\})/.test(token)) {
      const { first, repeated } = closed;
      const isSeparated = /^(?:\\[^\w]|[^\\.[(])$/.test(first) &&
        !repeated.some((part) =>
          new RegExp(`^${part}$`, "su").test(first.at(-1)!)
        );
      if (repeated.length > 0 && !isSeparated) return true;
    }
    if (isRepetition) group?.repeated.push(closed ? "[^]" : before);
    closed = undefined;
    if (token.startsWith("(")) {
      groups.push({ first: tokens[n + 1] ?? "", repeated: [] });
    } else if (token === ")") {
      closed = groups.pop();
      groups.at(-1)?.repeated.push(...closed?.repeated ?? []);
    }
  }
  return false;
}

/** Joins two lists: the last segment of one and the first of the other become one. */
function joined(before: Parts, after: Parts): Parts {
  const middle = [...before.at(-1)!, ...after[0]!];
  return [...before.slice(0, -1), middle, ...after.slice(1)];
}

/** A class or escape as JavaScript reads it, without escapes that only protect punctuation. */
function unescaped(token: string): string {
  if (token.startsWith("[")) return token.replace(/\\([^\w\\\]^-])/g, "$1");
  return token.replace(/^\\([^\w\\^$.*+?()[\]{}|])$/u, "$1");
}

/** A text without percent-encoding; anything but an escape stands for itself. */
function decoded(text: string): string {
  return text.replace(
    /(?:%[\da-f]{2})+/gi,
    (escapes) => decodeEscapes(escapes) ?? escapes,
  );
}

/** Refuses a malformed pattern; the position stands between the problem and the rest of the message. */
function refuse(source: string, problem: string, at = 0, rest = ""): never {
  throw new SyntaxError(
    `Cannot make a route: the pattern "${source}" ${problem} at ${at}${rest}`,
  );
}

function suggesting(meant: string): string {
  return `; did you mean ${meant}?`;
}
