/**
 * Owns masking secrets in what pages and logs show: which names are those of secrets, and hiding their values.
 */

/** The names whose values are masked, of headers, fields and parameters; `code` is that of OAuth. */
export const SECRETS: RegExp =
  /auth|^code$|cookie|credential|csrf|key|otp|passw|pwd|secret|session|sig|token/i;

/** The pairs `name=value` in a text, such as a query. The lookbehind lets a long text be read only once. */
const PAIRS = /(?<![\w.[\]%-])([\w.[\]%-]+)=[^&;\s#"]*/g;

/** What replaces a secret. */
export const MASK = "••••";

/** The text with the values of secrets in it hidden. */
export function masked(text: string, mask: string = MASK): string {
  return text.replace(
    PAIRS,
    (pair, name) => SECRETS.test(name) ? `${name}=${mask}` : pair,
  );
}

/** The value of a name, hidden when that is a secret's. */
export function maskedIfSecret(
  name: string,
  value: string,
  mask: string = MASK,
): string {
  return SECRETS.test(name) ? mask : masked(value, mask);
}
