/**
 * Owns masking secrets in what pages show: which names are those of secrets, and hiding their values.
 */

/** The names whose values are masked. */
const SECRET =
  /auth|cookie|credential|csrf|key|otp|passw|pwd|secret|session|signature|token/i;

/** The pairs `name=value` in a text, such as a query. The lookbehind lets a long text be read only once. */
const PAIRS = /(?<![\w.[\]%-])([\w.[\]%-]+)=[^&;\s#"]*/g;

const MASK = "••••";

/** The text with the values of secrets in it hidden. */
export function masked(text: string): string {
  return text.replace(
    PAIRS,
    (pair, name) => SECRET.test(name) ? `${name}=${MASK}` : pair,
  );
}

/** The value of a name, hidden when that is a secret's. */
export function maskedIfSecret(name: string, value: string): string {
  return SECRET.test(name) ? MASK : masked(value);
}
