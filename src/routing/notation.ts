/**
 * Owns the notation of patterns: it turns the text of a pattern into methods and rows of segments,
 * one row for every choice of optional parts. What a segment accepts is the segment's; nothing here
 * knows paths.
 */

import { type Piece, type Row, rowsOf } from "./row.ts";
import type { Part } from "./segment.ts";

/** What a pattern says. */
export interface Grammar {
  /** The methods in upper case; empty when the pattern takes every method. */
  readonly methods: readonly string[];
  /** The pattern without its methods, beginning with a slash or an optional part. */
  readonly path: string;
  /** The names of the parameters, in order of appearance. */
  readonly names: readonly string[];
  /** Every choice of optional parts; one that can take part comes before its absence. */
  readonly rows: readonly Row[];
}

/** A method is a token (RFC 9110, section 5.6.2); `|` separates methods here. */
const method = /^[!#$%&'*+.^_`~\w-]+$/;

/** Methods with bars between them, the space behind them, and the path. */
const prefixed = /^\s*((?:[^\s|]*\s*\|\s*)*[^\s|]*)\s+(.*)$/s;

/** What a path can begin with and a method cannot. */
const pathStart = /^\s*[/([\\@*]/;

/** A class, an escape, a parenthesis, a name, a count, a word, any other character. */
const tokens =
  /\[\^?(?:\\.|[^\]\\])*\]|\\(?:[pPu]\{[^}]*\}|.)|\(\?|@[A-Za-z_]\w*|\{\d+(?:,\d*)?\}|[A-Za-z\d%]+|./gsu;

/** What can be counted when it stands outside a parameter's expression. */
const countable = /^(?:\[.|\\\w|\(\?)/;
const count = /^(?:[*+?]|\{\d.*\})$/;

/** Punctuation that, at the end of an expression, is text between it and what follows. */
const separator = /^(?:\\?[-,;:~_=!&']|\\\.)$/;

/** Tokens that mean nothing where they stand. */
const misplaced: Readonly<Record<string, string>> = {
  "|": 'has a "|" outside an expression, where (?:a|b) is meant,',
  "@": "has an @ without a name, where \\@ is meant,",
  "[": "has an unclosed class",
  "\\": "ends in a lone backslash",
};

/** Reads a pattern; throws a `SyntaxError` that quotes it and points at the place. */
export function parse(source: string): Grammar {
  const { methods, path } = splitMethods(source);
  const reader = new Reader(source, path);
  const pieces = reader.read();
  const written = slashed(path);
  if (written !== path) pieces.unshift({ kind: "slash" });
  const rows = rowsOf(pieces, (problem, at) => fail(source, problem, at));
  return { methods, path: written, names: reader.names, rows };
}

/** Separates the methods of a pattern from its path; throws `SyntaxError` when they are malformed. */
export function splitMethods(
  source: string,
): { methods: string[]; path: string } {
  const [, prefix, rest = ""] = prefixed.exec(source) ?? [];
  if (prefix === undefined || pathStart.test(source)) {
    if (/^\s/.test(source)) fail(source, "has no method before the space");
    return { methods: [], path: source.trim() };
  }
  const names = prefix.split("|").map((name) => name.trim().toUpperCase());
  for (const name of names) {
    if (!method.test(name)) fail(source, `has the malformed method "${name}"`);
  }
  if (rest === "") fail(source, "has no path after its methods", source.length);
  return { methods: [...new Set(names)], path: rest.trim() };
}

/** The path with a slash in front, unless an optional part brings its own. */
function slashed(path: string): string {
  return /^\(*\//.test(path) ? path : `/${path}`;
}

/** A prefix and a path with one slash between them; no path, or a slash, is the prefix itself. */
export function joinPaths(prefix: string, path: string): string {
  const start = prefix.replace(/\/+$/, "");
  return path === "" || path === "/" ? start : start + slashed(path);
}

/** A path that names no methods; throws `SyntaxError` when it does. */
export function pathOnly(source: string): string {
  const { methods, path } = splitMethods(source);
  if (methods.length > 0) {
    fail(source, "names a method, which is known already,");
  }
  return path;
}

/** Reads the path of one pattern, token by token. */
class Reader {
  /** The names of the parameters that were read. */
  readonly names: string[] = [];
  readonly #source: string;
  readonly #path: string;
  readonly #tokens: readonly RegExpExecArray[];
  #next = 0;

  constructor(source: string, path: string) {
    this.#source = source;
    this.#path = path;
    this.#tokens = [...path.matchAll(tokens)];
  }

  /** Reads to the end. */
  read(): Piece[] {
    const pieces = this.#sequence();
    if (this.#token !== "") this.#fail("has an unopened parenthesis");
    return pieces;
  }

  /** The next token; empty at the end. */
  get #token(): string {
    return this.#tokens[this.#next]?.[0] ?? "";
  }

  /** Where it stands in the pattern. */
  get #at(): number {
    const at = this.#tokens[this.#next]?.index ?? this.#path.length;
    return this.#source.lastIndexOf(this.#path) + at;
  }

  #take(): string {
    const token = this.#token;
    this.#next++;
    return token;
  }

  #sequence(): Piece[] {
    const pieces: Piece[] = [];
    while (this.#token !== "" && this.#token !== ")") {
      pieces.push(this.#piece(this.#token));
    }
    return pieces;
  }

  #piece(token: string): Piece {
    if (token === "(") {
      const pieces = this.#enclosed(() => this.#sequence());
      return { kind: "group", pieces };
    }
    const isAny = token === "." &&
      count.test(this.#tokens[this.#next + 1]?.[0] ?? "");
    if (isAny || countable.test(token)) return this.#expression();
    if (misplaced[token] !== undefined) this.#fail(misplaced[token]);
    if (token.startsWith("@")) return this.#parameter(token.slice(1));
    this.#take();
    if (token === "/") return { kind: "slash" };
    if (token === "*") return { kind: "star", at: this.#at - 1 };
    const text = token.startsWith("\\") ? token.slice(1) : decoded(token);
    return { kind: "text", text };
  }

  /** Reads what stands between the parenthesis that is next and the one that closes it. */
  #enclosed<Content>(read: () => Content): Content {
    const at = this.#at;
    this.#take();
    const content = read();
    if (this.#token === "") this.#fail("has an unclosed parenthesis", at);
    this.#take();
    return content;
  }

  /** An expression without a name, with what counts it. */
  #expression(): Part {
    const at = this.#at;
    let expression = this.#atom();
    if (count.test(this.#token)) {
      expression += this.#take();
      if (this.#token === "?") expression += this.#take();
    }
    return { kind: "expression", expression: this.#checked(expression, at) };
  }

  #parameter(name: string): Part {
    if (this.names.includes(name)) {
      this.#fail(`has the name "${name}" twice, again`);
    }
    this.names.push(name);
    this.#take();
    if (this.#token !== ":") return { kind: "parameter", name, expression: "" };
    this.#take();
    return { kind: "parameter", name, expression: this.#constraint(name) };
  }

  /** The expression behind a name: up to the slash, parameter or optional part that follows. */
  #constraint(name: string): string {
    const [at, first] = [this.#at, this.#next];
    const atoms: { text: string; start: number }[] = [];
    while (
      !/^(?:[/)]?|@.+)$/.test(this.#token) &&
      (this.#token !== "(" || this.#next === first)
    ) {
      const start = this.#next;
      atoms.push({ text: this.#atom(), start });
    }
    if (atoms.length === 0) this.#fail(`has no expression for "${name}"`);
    const dot = this.#token.startsWith("@") ? "." : undefined;
    const own = 1 +
      atoms.findLastIndex(({ text }, place) =>
        place === 0 || text !== dot && !separator.test(text)
      );
    this.#next = atoms[own]?.start ?? this.#next;
    const texts = atoms.slice(0, own).map(({ text }) => text);
    return this.#checked(texts.join(""), at);
  }

  /** One part of an expression. A group that would capture is written so that it does not. */
  #atom(): string {
    const token = this.#token;
    if (/^(?:\\?\/|\[(?!\^).*\/)/s.test(token)) {
      const at = this.#at + token.indexOf("/");
      this.#fail("has a slash inside an expression", at);
    }
    if (/^@./.test(token)) this.#fail("has a parameter inside an expression");
    if (token.startsWith("(")) {
      const content = this.#enclosed(() => {
        let text = "";
        while (this.#token !== "" && this.#token !== ")") text += this.#atom();
        return text;
      });
      return token === "(" ? `(?:${content})` : `(?${content})`;
    }
    if (/^\\[1-9]/.test(token)) {
      this.#fail("has a back-reference inside an expression");
    }
    return meaning(this.#take());
  }

  #checked(expression: string, at: number): string {
    try {
      new RegExp(`^(?:${expression})$`, "su");
    } catch (error) {
      const reason = (error as Error).message.split(": ").at(-1);
      this.#fail(`has a wrong expression (${reason}),`, at);
    }
    return expression;
  }

  #fail(problem: string, at: number = this.#at): never {
    return fail(this.#source, problem, at);
  }
}

/** A class or escape as JavaScript reads it: escapes that only protect punctuation are undone. */
function meaning(token: string): string {
  if (token.startsWith("[")) return token.replace(/\\([^\w\\\]^-])/g, "$1");
  return token.replace(/^\\([^\w\\^$.*+?()[\]{}|])$/u, "$1");
}

/** A pattern may be written percent-encoded: it is decoded where it can be. */
function decoded(text: string): string {
  return text.replace(/(?:%[\da-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes; // percent signs that are meant as such
    }
  });
}

function fail(source: string, problem: string, at = 0): never {
  throw new SyntaxError(
    `Cannot make a route: the pattern "${source}" ${problem} at ${at}`,
  );
}
