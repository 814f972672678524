/**
 * Owns the longest text on which an expression is tried. JavaScript's expressions backtrack: where a
 * character can be matched in more than one way, the steps grow with a power of the length of the text, or
 * exponentially. No path may cost that, whatever expression an author has written.
 *
 * An expression in which each character leads to one place at most (a deterministic one, by Glushkov's
 * construction) takes steps in proportion to the length, and is tried on every text.
 */

/** About how many steps one attempt may take: a few milliseconds. */
const MAX_STEPS = 1_000_000;

/** The same where the steps grow exponentially: each of them takes longer. */
const MAX_NESTED_STEPS = 65_536;

/** An escape, a class, the start of a group, a quantifier, any other character. */
const TOKENS =
  /\\(?:[pPu]\{[^}]*\}|x[\da-f]{2}|u[\da-f]{4}|.)|\[(?:\\.|[^\]\\])*\]|\(\?(?:<?[=!]|<\w+>|[a-z-]*:)|[*+?]\??|\{\d+(?:,\d*)?\}\??|./gisu;

/** The start of a lookaround: it reads characters which another part matches too. */
const LOOKAROUND = /\(\?<?[=!]/;

/** An atom that may match characters beyond ASCII. */
const BEYOND_ASCII = /^\.$|^\[\^|\\[DWSpPux]|[\u{80}-\u{10ffff}]/u;

const ASCII = String.fromCharCode(...Array(128).keys());

/** A place in the expression at which one character is matched. */
interface Place {
  /** The characters that match, all those beyond ASCII as one. */
  readonly characters: ReadonlySet<string>;
  /** The places that can follow; one that can be reached in two ways is listed twice. */
  readonly next: Place[];
}

/** A part of the expression. */
interface Fragment {
  /** The places at which it can begin. */
  readonly first: readonly Place[];
  /** The places at which it can end. */
  readonly last: readonly Place[];
  /** Whether it can match no character. */
  readonly isOptional: boolean;
}

/** Matches the empty text only. */
const EMPTY: Fragment = { first: [], last: [], isOptional: true };

/** The length of the longest text on which an expression is tried: `Infinity` for most expressions. */
export function longestText(expression: string): number {
  const { ways, nestedWays, repetitions } = new Analysis(expression);
  if (nestedWays > 1) {
    return Math.floor(Math.log(MAX_NESTED_STEPS) / Math.log(nestedWays));
  }
  return ways > 1 ? Math.floor(MAX_STEPS ** (1 / repetitions)) : Infinity;
}

/** Counts the ways in which an expression that JavaScript accepts can match a text. */
class Analysis {
  /** In how many ways one character can be matched, at most. */
  readonly ways: number;
  /** The same inside a repetition, where the ways multiply with each character. */
  nestedWays = 1;
  /** How many quantifiers leave open how often they repeat. */
  repetitions = 0;
  /** How many quantifiers leave any choice, `?` included. */
  #choices = 0;
  readonly #tokens: string[];
  readonly #places: Place[] = [];

  constructor(expression: string) {
    this.#tokens = expression.match(TOKENS) ?? [];
    const least = LOOKAROUND.test(expression) ? 2 : 1;
    this.ways = Math.max(least, waysAmong(this.#alternatives(), this.#places));
  }

  /** Reads up to the end, or to the parenthesis that closes a group. */
  #alternatives(): Fragment {
    let sequence = EMPTY;
    for (;;) {
      const token = this.#tokens.shift();
      if (token === undefined || token === ")") return sequence;
      if (token === "|") return either(sequence, this.#alternatives());
      sequence = joined(sequence, this.#repeated(token));
    }
  }

  #repeated(token: string): Fragment {
    const start = this.#places.length;
    const choices = this.#choices;
    const atom = this.#atom(token);
    const limits = limitsOf(this.#tokens[0] ?? "");
    if (limits === undefined) return atom;
    this.#tokens.shift();
    const [min, max] = limits;
    if (max > min) this.#choices++;
    if (max > 1) {
      if (max > min) this.repetitions++;
      if (this.#choices > choices) joined(atom, atom);
      const ways = waysAmong(atom, this.#places.slice(start));
      const least = atom.isOptional ? min + 1 : 1; // each repetition may be empty
      this.nestedWays = Math.max(this.nestedWays, ways, least);
    }
    return { ...atom, isOptional: atom.isOptional || min === 0 };
  }

  #atom(token: string): Fragment {
    if (/^(?:[$^]|\\b)$/i.test(token)) return EMPTY;
    if (token.startsWith("(")) {
      const content = this.#alternatives();
      return LOOKAROUND.test(token) ? EMPTY : content;
    }
    const place = { characters: charactersOf(token), next: [] };
    this.#places.push(place);
    return { first: [place], last: [place], isOptional: false };
  }
}

/** How often a quantifier repeats, at least and at most; undefined for any other token. */
function limitsOf(token: string): [min: number, max: number] | undefined {
  if (token.startsWith("?")) return [0, 1];
  if (token.startsWith("*")) return [0, Infinity];
  if (token.startsWith("+")) return [1, Infinity];
  const [, min, comma, max] = /^\{(\d+)(,?)(\d*)\}/.exec(token) ?? [];
  if (min === undefined) return undefined;
  return [Number(min), comma ? Number(max || Infinity) : Number(min)];
}

/** One of two fragments. */
function either(one: Fragment, other: Fragment): Fragment {
  return {
    first: [...one.first, ...other.first],
    last: [...one.last, ...other.last],
    isOptional: one.isOptional || other.isOptional,
  };
}

/** Two fragments in sequence: the places that end the first now lead to those that begin the second. */
function joined(before: Fragment, after: Fragment): Fragment {
  for (const { next } of before.last) next.push(...after.first);
  return {
    first: before.isOptional ? [...before.first, ...after.first] : before.first,
    last: after.isOptional ? [...before.last, ...after.last] : after.last,
    isOptional: before.isOptional && after.isOptional,
  };
}

/** Which characters an atom matches, in either case. */
function charactersOf(atom: string): Set<string> {
  const matching = ASCII.match(new RegExp(atom, "gisu")) ?? [];
  return new Set(BEYOND_ASCII.test(atom) ? [...matching, "beyond"] : matching);
}

/** To how many places one character can lead, at most: at the start of a fragment, or from its places. */
function waysAmong({ first }: Fragment, places: readonly Place[]): number {
  const nexts = [first, ...places.map(({ next }) => next)];
  const ways = nexts.flatMap((next) => {
    const known = next.filter((one) => places.includes(one));
    return known.map(({ characters }) =>
      known.filter((one) => !one.characters.isDisjointFrom(characters)).length
    );
  });
  return Math.max(1, ...ways);
}
