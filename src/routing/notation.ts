/**
 * Owns the notation of patterns: parsing the text of a pattern into methods and segments, one list of
 * segments for each choice of optional parts. What a segment matches is decided in `segment.ts`.
 *
 * The types in `callback.ts` read the notation, too. The name of a parameter is `\w` alone, since it becomes that of a
 * group in an expression (`segment.ts`), which `Pattern.shape` takes out again.
 */

import { wrongKind } from "../errors.ts";
import { decodeEscapes } from "../paths.ts";
import { escapeText, type Parameter, Segment } from "./segment.ts";
import { suggestions } from "../options.ts";

/** A text, a parameter, an expression without a name, or one of these two. */
type Part = string | Parameter;

const STAR: Parameter = { name: "*", valueIndex: -1, text: "*" };
const SLASH: Parameter = { name: "/", valueIndex: -1, text: "/" };

/** The methods whose misspellings are refused; any other token is a method too. */
const USUAL_METHODS = "GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT"
  .split(" ");

/** A method is a token (RFC 9110, section 5.6.2), in which `|` separates methods here. */
const METHOD = /^[!#$%&'*+.^_`~\w-]+$/;

/** Methods separated by bars, a space, and the path. */
const PREFIXED = /^\s*((?:[^\s|]*\s*\|\s*)*[^\s|]*)\s+(.*)$/s;

/** A character with which a path can begin and a method cannot. */
const PATH_START = /^\s*[/([\\@*]/;

/** A class; an escape; the start of a regular-expression group; a parameter; a count; a word; any other character. */
const TOKENS =
  /\[\^?(?:\\.|[^\]\\])*\]|\\(?:[pPu]\{[^}]*\}|x[\dA-Fa-f]{2}|u[\dA-Fa-f]{4}|c[A-Za-z]|.)|\(\?(?:<\w+>)?|@[A-Za-z_]\w*|\{\d+(?:,\d*)?\}|[A-Za-z\d%]+|./gsu;

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

/** A token that stands for something only in an expression, or together with others. */
const MISPLACED = /^(?:[|@[\\+?]|\{\d.*\})$/;

/** A token that an expression cannot contain: a slash, also in a class, and a parameter. */
const NOT_IN_EXPRESSION = /^(?:\\?\/|\[(?!\^).*\/.*|@.+)$/s;

/** Notations of other frameworks, and what is meant. */
const FOREIGN: readonly (readonly [notation: RegExp, meant: string])[] = [
  [/(?<!\(\?)<(?:\w+:)?([A-Za-z_]\w*)>/, "@$1"],
  [/(?<=^|[/(])\[\.{3}\w+\]/, "*"],
  [/(?<=^|[/(])\[([A-Za-z_]\w*)\](?=[/()]|$)/, "@$1"],
  [/@([A-Za-z_]\w*)\{([^/]*)\}/, "@$1:$2"],
  [/@([A-Za-z_]\w*)\(((?:\\[dswDSW]|\[|\.[*+])[^()/]*)\)/, "@$1:$2"],
  [/(?<![\\.)\]])\*\*+/, "*"],
  [/(?:(?<=^|[/(]):|(?<!\\[pPu]?)\{|@)([A-Za-z_]\w*)\?\}?/, "(/@$1)"],
  [/(?<=^|[/(]):([A-Za-z_]\w*)/, "@$1"],
  [/(?<!\\[pPu]?)\{([A-Za-z_]\w*)[:}]/, "@$1"],
];

/** Separates the methods of a pattern, in upper case, from its path. Throws `SyntaxError` when one is malformed. */
export function splitMethods(
  source: string,
): { methods: string[]; path: string } {
  if (typeof source !== "string") { // a regular expression would be read as a text
    const rule = "the pattern, path or prefix must be a string";
    throw wrongKind("make a route", rule, source);
  }
  const parts = PATH_START.test(source) ? null : PREFIXED.exec(source);
  if (parts?.[2] === "" || USUAL_METHODS.includes(source)) {
    refuse(source, "has no path after its methods", source.length);
  }
  if (parts === null) return { methods: [], path: source.trim() };
  const [, prefix = "", path = ""] = parts;
  const names = prefix.split("|").map((name) => name.trim().toUpperCase());
  for (const name of names) checkMethod(source, name);
  return { methods: [...new Set(names)], path: path.trim() };
}

/** Refuses a malformed method, and an unknown one that is nearly a usual one. */
function checkMethod(source: string, name: string): void {
  if (!METHOD.test(name)) refuse(source, `has the malformed method "${name}"`);
  if (USUAL_METHODS.includes(name)) return;
  const alike = USUAL_METHODS.filter((usual) => usual[0] === name[0]);
  const [meant] = suggestions(name, alike);
  if (meant) refuse(source, `has the unknown method "${name}"`, 0, meant);
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
      const [text] = found;
      const fixed = text.replace(notation, meant);
      this.#fail(`has "${text}"`, found.index, fixed);
    }
    const choices = this.#choices();
    if (this.#token !== "") this.#fail("has an unmatched closing parenthesis");
    return choices.map((parts) => this.#segments(parts));
  }

  #segments(choice: readonly Part[]): Segment[] {
    const segments: Part[][] = [[]];
    for (const part of choice) {
      if (part === SLASH) segments.push([]);
      else segments.at(-1)!.push(part);
    }
    if (segments.some((parts) => parts.length > 1 && parts.includes(STAR))) {
      const at = this.path.lastIndexOf("*");
      this.#fail("has a * that is not a whole segment", at);
    }
    return segments.filter((parts) => parts.length > 0)
      .map((parts) => new Segment(parts));
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
  #choices(): Part[][] {
    let choices: Part[][] = [[]];
    while (this.#token !== "" && this.#token !== ")") {
      const added = this.#token === "(" ? this.#group() : [this.#parts()];
      choices = choices.flatMap((one) =>
        added.map((more) => [...one, ...more])
      );
    }
    return choices;
  }

  #group(): Part[][] {
    const at = this.#at;
    this.#take();
    const choices = this.#choices();
    if (this.#take() === "") this.#fail("has an unclosed parenthesis", at);
    return [...choices, []];
  }

  #parts(): Part[] {
    const at = this.#at;
    const token = this.#token;
    const next = this.#tokens[this.#next + 1]?.[0] ?? "";
    if (ATOM.test(token + next)) return [this.#quantified(this.#atom(), at)];
    if (MISPLACED.test(token)) {
      this.#fail(`has a misplaced "${token}"`, at, `\\${token}`);
    }
    this.#take();
    if (token === "/") return [SLASH];
    if (token === "*") return [STAR];
    return token.startsWith("@")
      ? [this.#parameter(token.slice(1), at)]
      : this.#text(token, at);
  }

  /** A text; a quantifier after it repeats its last character. */
  #text(token: string, at: number): Part[] {
    const text = token.startsWith("\\")
      ? token.slice(1)
      : decodeEscapes(token) ?? token;
    if (!TEXT_QUANTIFIER.test(this.#token)) return [text];
    const last = [...text].at(-1)!;
    const repeated = this.#quantified(escapeText(last), at);
    return [text.slice(0, -last.length), repeated];
  }

  /** An expression without a name: an atom that was read, and the quantifier after it. */
  #quantified(atom: string, at: number): Parameter {
    let expression = atom;
    if (QUANTIFIER.test(this.#token)) {
      expression += this.#take();
      if (this.#token === "?") expression += this.#take();
    }
    this.#checkExpression(expression, at);
    return { name: "", expression, valueIndex: -1, text: expression };
  }

  #parameter(name: string, at: number): Parameter {
    if (this.names.includes(name)) {
      this.#fail(`uses the name "${name}" a second time`, at);
    }
    const valueIndex = this.names.push(name) - 1;
    if (this.#token !== ":") return { name, valueIndex, text: `@${name}` };
    this.#take();
    const start = this.#at;
    let expression = this.#atom();
    const isAtEnd = (end: RegExp) => end.test(this.path.slice(this.#at));
    while (!EXPRESSION_ENDS.some(isAtEnd)) expression += this.#atom();
    this.#checkExpression(expression, start);
    return { name, expression, valueIndex, text: `@${name}:${expression}` };
  }

  /**
   * One part of an expression: a token, or a group with its content. Capturing groups become
   * non-capturing ones.
   */
  #atom(): string {
    const at = this.#at;
    let [atom, depth] = ["", 0];
    do {
      if (NOT_IN_EXPRESSION.test(this.#token)) {
        this.#fail(`has "${this.#token}" inside an expression`);
      }
      const token = this.#take();
      if (token === "") this.#fail("has an unfinished expression", at);
      if (token.startsWith("(")) depth++;
      if (token === ")") depth--;
      atom += /^\((?:\?<.*)?$/.test(token) ? "(?:" : unescaped(token);
    } while (depth > 0);
    return atom;
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

  #fail(problem: string, at: number = this.#at, meant?: string): never {
    refuse(this.path, problem, at, meant);
  }
}

/** A group without groups in it: its content, and a quantifier without an upper bound. */
const INNER_GROUP = /\((?:\?(?:<\w+>|<?[=!]|:))?([^()]*)\)([*+]|\{\d+,\})?/s;

/** A class or an escape that matches letters, digits and underscores only. */
const WORD_CLASS =
  /^(?:\\[dw]|\[(?:[a-z]-[a-z]|[A-Z]-[A-Z]|\d-\d|\w|\\[dw])+\])$/;

const REPETITION = /[*+]|\{\d+,/;

/** A mark, followed by letters and digits only, repeated or not. */
const BEGINS_WITH_MARK = /^[^\w.|](?![*+?{])(?:[\w*+?]|\{[\d,]+\})*$/;

/**
 * Whether a quantifier without an upper bound repeats a group in which a part repeats, as in `(a+)+`: one text can then
 * match in exponentially many ways. A group such as `(?:-[a-z]+)*` is none: a mark tells where each round begins.
 */
function repeatsRepetition(expression: string): boolean {
  let rest = expression.replace(/\\.|\[(?:\\.|[^\]\\])*\]/gs, (atom) => {
    if (WORD_CLASS.test(atom)) return "w";
    return /^\\\W/.test(atom) ? "-" : ".";
  });
  for (;;) {
    const [group, content = "", repeated] = INNER_GROUP.exec(rest) ?? [];
    if (group === undefined) return false;
    const repeats = REPETITION.test(content);
    if (repeats && repeated && !BEGINS_WITH_MARK.test(content)) return true;
    rest = rest.replace(group, repeats || repeated ? ".+" : ".");
  }
}

/** A class or escape as JavaScript reads it, without escapes that only protect punctuation. */
function unescaped(token: string): string {
  if (token.startsWith("[")) return token.replace(/\\([^\w\\\]^-])/g, "$1");
  return token.replace(/^\\([^\w\\^$.*+?()[\]{}|])$/u, "$1");
}

/** Refuses a malformed pattern; `meant` is what its author may have wanted to write. */
function refuse(source: string, problem: string, at = 0, meant = ""): never {
  const hint = meant && `; did you mean ${meant}?`;
  throw new SyntaxError(
    `Cannot make a route: the pattern "${source}" ${problem} at ${at}${hint}`,
  );
}
