/** Owns how the texts of paths are compared: decoded, and in lower case, both by routes and by extensions. */

/** The texts that change in lower case, beyond ASCII one UTF-16 code unit each; U+0130 would become two. */
const CASED = /[A-Z]+|[^ -~\u0130]/g;

/** Undoes percent-escapes; undefined where one is malformed, or not of UTF-8. */
export function decodeEscapes(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** A text in lower case, of the same length. */
export function foldText(text: string): string {
  return text.replace(CASED, (part) => part.toLowerCase());
}
