/**
 * Owns computing the longest text that an expression may be tried on. JavaScript's expressions backtrack: where a
 * character can be matched in more than one way, the steps grow with a power of the length of the text, or
 * exponentially.
 *
 * A step takes one character of the text at one position of the expression. How many steps the worst text of a
 * length needs is counted from above: as many as there are ways to read its beginnings, by the automaton of the
 * expression (Glushkov's construction).
 */

/** About how many steps one attempt may take: a few milliseconds. */
const MAX_STEPS = 1_500_000;

/** The length up to which steps are counted; for longer texts they are estimated. */
const COUNTED = 256;

/** How many copies of its positions a count such as `{4}` makes at most; beyond, it counts as an open one. */
const MAX_COPIES = 64;

/** How many sets of positions are told apart; beyond, they count as one. */
const MAX_SETS = 256;

/** How much work counting them may be: some tenths of a second. */
const MAX_WORK = 5_000_000;

/** An escape, a class, the start of a group, a quantifier, any other character. */
const TOKENS =
  /\\(?:[pPu]\{[^}]*\}|x[\da-f]{2}|u[\da-f]{4}|c[a-z]|.)|\[(?:\\.|[^\]\\])*\]|\(\?(?:<?[=!]|<\w+>|[a-z-]*:)|[*+?]\??|\{\d+(?:,\d*)?\}\??|./gisu;

/** The start of a lookaround: it reads characters which another part reads too. */
const LOOKAROUND = /\(\?<?[=!]/;

/** The start of one that reads backwards. */
const LOOKBEHIND = /\(\?<[=!]/;

/** An atom that may match characters beyond ASCII. */
const BEYOND_ASCII = /^\.$|^\[\^|\\[DWSpPuxc]|[\u{80}-\u{10ffff}]/u;

const ASCII = String.fromCharCode(...Array(128).keys());

/** The characters of ASCII, and one that stands for all others. */
const SYMBOLS = [...ASCII, "beyond"];

/** A position in the expression at which one character is matched. */
interface Position {
  readonly symbols: ReadonlySet<string>;
  /** Stands for the position in a set of positions. */
  readonly bit: bigint;
  /** The positions that can follow; one that can be reached in two ways is listed twice. */
  readonly next: Position[];
}

/** A part of the expression. */
interface Fragment {
  /** The positions at which it can begin. */
  readonly first: readonly Position[];
  /** The positions at which it can end. */
  readonly last: readonly Position[];
  /** Whether it can match no character. */
  readonly isOptional: boolean;
}

/** Matches the empty text only. */
const EMPTY: Fragment = { first: [], last: [], isOptional: true };

/** A part that may repeat: where it begins, where its quantifier begins, and where that ends. */
interface Repeat {
  readonly from: number;
  readonly atom: number;
  readonly to: number;
}

/** In how many ways a text can be read so far, by the position that was reached last. */
type Ways = Map<Position, number>;

/** Counts the work of counting steps, which itself can be exponentially much. */
export class Work {
  done = 0;

  /** Throws {@linkcode TooComplex} when it becomes too much, before it is done. */
  add(amount: number): void {
    this.done += amount;
    if (this.done > MAX_WORK) throw new TooComplex();
  }
}

/** Thrown for an expression that cannot be analyzed within {@linkcode MAX_WORK}. */
export class TooComplex extends Error {}

/**
 * The length of the longest text on which an expression is tried: `Infinity` for most expressions. Throws
 * {@linkcode TooComplex}.
 */
export function longestText(expression: string, work = new Work()): number {
  const { start, positions } = new Automaton(expression, work);
  if ([start, ...positions].every((position) => isSure(position, work))) {
    return Infinity;
  }
  const symbols = distinctSymbols(positions, work);
  let ways: Ways[] = [new Map([[start, 1]])];
  let [steps, half] = [0, 0];
  for (let length = 1; length <= COUNTED; length++) {
    ways = merged(
      ways.flatMap((one) => symbols.map((to) => read(one, to, work))),
    );
    steps += Math.max(0, ...ways.map(total));
    if (steps > MAX_STEPS) return length - 1;
    if (length === COUNTED / 2) half = steps;
  }
  const power = Math.ceil(Math.log2(steps / half) - 0.05);
  return Math.floor(COUNTED * (MAX_STEPS / steps) ** (1 / Math.max(1, power)));
}

/**
 * The repeated parts for which an expression is tried on short texts only: one that is slow by itself, or several
 * that are slow together.
 */
export function slowParts(expression: string, length: number): string[] {
  const work = new Work();
  const { repeats } = new Automaton(expression, work);
  const isSlow = (text: string): boolean => {
    try {
      return longestText(text, work) < length;
    } catch (error) {
      if (error instanceof TooComplex) return false; // then the message names more parts than it needs to
      throw error;
    }
  };
  const slow = repeats.filter(({ from, to }) =>
    isSlow(expression.slice(from, to))
  );
  const [shortest] = slow.sort((a, b) => a.to - a.from - (b.to - b.from));
  if (shortest) return [written(expression, shortest)];
  const outer = repeats.filter(({ from, to }) =>
    !repeats.some((other) => other.from < from && to <= other.to)
  );
  const needed = outer.filter(({ atom, to }) =>
    !isSlow(expression.slice(0, atom) + expression.slice(to))
  );
  const parts = needed.length > 0 ? needed : outer;
  return parts.map((part) => written(expression, part));
}

/** A repeated part as it is written in a pattern. */
function written(expression: string, { from, to }: Repeat): string {
  const text = expression.slice(from, to);
  const [, name] = /\(\?<(\w+)>$/.exec(expression.slice(0, from)) ?? [];
  return text === ".+" && name !== undefined ? `@${name}` : text;
}

/** Whether each character that can follow a position leads to one position only. */
function isSure({ next }: Position, work: Work): boolean {
  work.add(next.length ** 2);
  return next.every(({ symbols }, n) =>
    next.slice(n + 1).every((other) => symbols.isDisjointFrom(other.symbols))
  );
}

/** One of the symbols for each set of positions that take the same ones. */
function distinctSymbols(positions: readonly Position[], work: Work): string[] {
  const known = new Map(SYMBOLS.map((symbol) => {
    work.add(positions.length);
    const taking = positions.map(({ symbols }) => symbols.has(symbol) ? 1 : 0);
    return [taking.join(""), symbol];
  }));
  return [...known.values()];
}

/** The ways to read one symbol more. */
function read(ways: Ways, symbol: string, work: Work): Ways {
  const more: Ways = new Map();
  for (const [{ next }, count] of ways) {
    work.add(1 + next.length);
    for (const position of next) {
      if (!position.symbols.has(symbol)) continue;
      more.set(position, (more.get(position) ?? 0) + count);
    }
  }
  return more;
}

/** The most ways to each position, for each set of positions that can be reached by the same text. */
function merged(all: readonly Ways[]): Ways[] {
  const known = new Map<bigint, Ways>();
  for (const ways of all) {
    if (ways.size === 0) continue;
    const set = known.size < MAX_SETS
      ? ways.keys().reduce((bits, { bit }) => bits | bit, 0n)
      : 0n;
    const most = known.get(set) ?? ways;
    for (const [position, count] of ways) {
      most.set(position, Math.max(count, most.get(position) ?? 0));
    }
    known.set(set, most);
  }
  return [...known.values()];
}

function total(ways: Ways): number {
  return ways.values().reduce((sum, count) => sum + count, 0);
}

/** The positions of an expression that JavaScript accepts, and its quantifiers. */
class Automaton {
  /** Stands before the first character. */
  readonly start: Position;
  readonly positions: Position[] = [];
  readonly repeats: Repeat[] = [];
  readonly #tokens: readonly RegExpExecArray[];
  readonly #length: number;
  readonly #work: Work;
  #next = 0;
  /** How many quantifiers were read that may repeat without end, or so often that they count as such. */
  #openRepeats = 0;

  constructor(expression: string, work: Work) {
    this.#work = work;
    this.#tokens = [...expression.matchAll(TOKENS)];
    this.#length = expression.length;
    const next = [...this.#alternatives().first];
    this.start = { symbols: new Set(), bit: 0n, next };
  }

  get #token(): string {
    return this.#tokens[this.#next]?.[0] ?? "";
  }

  get #at(): number {
    return this.#tokens[this.#next]?.index ?? this.#length;
  }

  /** Reads up to the end, or to the parenthesis that closes a group. */
  #alternatives(): Fragment {
    let sequence = EMPTY;
    for (;;) {
      const token = this.#token;
      if (token === "" || token === ")") return sequence;
      if (token === "|") {
        this.#next++;
        return either(sequence, this.#alternatives());
      }
      sequence = this.#joined(sequence, this.#repeated());
    }
  }

  /** An atom with its quantifier: as many copies as it repeats, those that may be absent nested. */
  #repeated(): Fragment {
    const [from, first, positions] = [
      this.#at,
      this.#next,
      this.positions.length,
    ];
    let atom = this.#atom();
    const [after, end, limits] = [this.#next, this.#at, limitsOf(this.#token)];
    if (limits === undefined) return atom;
    const [min, max] = limits;
    const size = Math.max(1, this.positions.length - positions);
    const isOpen = max * size > MAX_COPIES;
    const least = min * size > MAX_COPIES ? 1 : Math.max(1, min);
    const copies = isOpen ? least : max;
    if (isOpen) {
      this.#joined(atom, atom);
      this.#openRepeats++;
    }
    // Copies that are not made may each be empty: there are many ways to leave some out.
    if (copies < min && atom.isOptional) this.#joined(atom, atom);
    let repeated = EMPTY;
    for (let copy = copies; copy > 0; copy--) {
      repeated = this.#joined(atom, repeated);
      if (copy > min) repeated = { ...repeated, isOptional: true };
      this.#next = first;
      if (copy > 1) atom = this.#atom();
    }
    this.#next = after + 1;
    if (max > 1) this.repeats.push({ from, atom: end, to: this.#at });
    return repeated;
  }

  #atom(): Fragment {
    this.#work.add(1);
    const token = this.#token;
    this.#next++;
    if (/^(?:[$^]|\\b)$/i.test(token)) return EMPTY;
    if (token.startsWith("(")) {
      const before = this.#openRepeats;
      const content = this.#alternatives();
      this.#next++;
      if (!LOOKAROUND.test(token)) return content;
      const first = [...content.first];
      // Each time, it may read back as many characters as are still to come in the worst text.
      const readsBack = LOOKBEHIND.test(token) && this.#openRepeats > before;
      if (readsBack) first.push(this.#anyText());
      return { first, last: [], isOptional: true };
    }
    const position = this.#position(token);
    return { first: [position], last: [position], isOptional: false };
  }

  /** The position of an atom that matches one character. */
  #position(atom: string): Position {
    this.#work.add(ASCII.length); // each of which is tried
    const bit = 1n << BigInt(this.positions.length);
    const position = { symbols: symbolsOf(atom), bit, next: [] };
    this.positions.push(position);
    return position;
  }

  /** A position that takes any number of characters. */
  #anyText(): Position {
    const position = this.#position("[^]");
    position.next.push(position);
    return position;
  }

  /** Two fragments in sequence: the positions that end the first now lead to those that begin the second. */
  #joined(before: Fragment, after: Fragment): Fragment {
    const [first, last] = [[...before.first], [...after.last]];
    if (before.isOptional) first.push(...after.first);
    if (after.isOptional) last.push(...before.last);
    this.#work.add(
      first.length + last.length + before.last.length * after.first.length,
    );
    for (const { next } of before.last) next.push(...after.first);
    const isOptional = before.isOptional && after.isOptional;
    return { first, last, isOptional };
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

/** Which symbols an atom matches, with and without regard to case: only with it, `[A-Z]` and `[^a-z]` share some. */
function symbolsOf(atom: string): Set<string> {
  const matching = ["gsu", "gisu"]
    .flatMap((flags) => ASCII.match(new RegExp(atom, flags)) ?? []);
  return new Set(BEYOND_ASCII.test(atom) ? [...matching, "beyond"] : matching);
}
