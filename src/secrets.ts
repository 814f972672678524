/**
 * Owns keeping secrets out of what pages show: which names are those of secrets, and hiding the
 * values that stand behind them.
 */

/** Names of what nobody should read over a shoulder. */
const SECRET =
  /auth|cookie|credential|csrf|key|otp|passw|pwd|secret|session|signature|token/i;

/** The same names in a text of pairs, such as a query, with their values. */
const SECRET_PAIRS = new RegExp(
  `([\\w.\\[\\]%-]{0,50}(?:${SECRET.source})[\\w.\\[\\]%-]{0,50}=)[^&;\\s#"]*`,
  "gi",
);

const MASK = "••••";

/** The text with the values of secrets in it hidden. */
export function masked(text: string): string {
  return text.replace(SECRET_PAIRS, `$1${MASK}`);
}

/** The value of a name, hidden when that is a secret's. */
export function maskedIfSecret(name: string, value: string): string {
  return SECRET.test(name) ? MASK : masked(value);
}
