/**
 * Owns masking secrets in what pages and logs show: which names are those of secrets, and hiding their values.
 */

/**
 * The names whose values are masked, of headers, fields and parameters; `code` is that of OAuth. `pass`, `pin` and `sid`
 * count as words only, with no letter before or behind them.
 */
export const SECRETS: RegExp =
  /auth|card.?num|^code$|cookie|credential|csrf|cvc|cvv|jwt|key|otp|passphrase|passw|(?<![a-z])(?:pass|pin|sid)(?![a-z])|pwd|secret|session|sig|token/i;

/** The pairs `name=value` in a text, such as a query. The lookbehind lets a long text be read only once. */
const PAIRS = /(?<![\w.[\]%-])([\w.[\]%-]+)=[^&;\s#"]*/g;

/** What separates a name from its value; encoded more than once where one address leads to another. */
const EQUALS = /=|%(?:25)*3d/i;

/** The encoded separators of pairs in a value, such as an address: `?`, `&`, `#` and `;`. */
const SEPARATORS = /%(?:25)*(?:3f|26|23|3b)/i;

/** What replaces a secret. */
export const MASK = "\u2022\u2022\u2022\u2022"; // four bullets

/** The text with the values of secrets in it hidden. */
export function masked(text: string, mask: string = MASK): string {
  const isSecret = (name: string): boolean => SECRETS.test(name);
  return text.replace(PAIRS, (pair) => maskedPair(pair, isSecret, mask));
}

/**
 * A pair with its value hidden when that is a secret's, as is what follows a secret's name in an address in it; an
 * encoded address is hidden whole.
 */
export function maskedPair(
  pair: string,
  isSecret: (name: string) => boolean,
  mask: string = MASK,
): string {
  const parts = pair.split("?");
  for (const [index, part] of parts.entries()) {
    if (!namesIn(part).some(isSecret)) continue;
    const [name] = part.split(EQUALS, 1);
    return [...parts.slice(0, index), `${name}=${mask}`].join("?");
  }
  return pair;
}

/** The names in a part of a pair: the one in front of its value, and those in an encoded value. */
function namesIn(part: string): string[] {
  const [first, value] = part.split("=", 2);
  const names = value === undefined ? [] : [first!];
  if (!part.includes("%")) return names;
  const all = part.split(SEPARATORS)
    .flatMap((pair) => pair.split(EQUALS).slice(0, -1));
  return names[0] === all[0] ? all : [...names, ...all]; // the first one counts once
}

/** The value of a name, hidden when that is a secret's. */
export function maskedIfSecret(
  name: string,
  value: string,
  mask: string = MASK,
): string {
  return SECRETS.test(name) ? mask : masked(value, mask);
}
