/** Owns undoing percent-escapes of texts that others have sent: some of them are malformed. */

/** Undoes percent-escapes; undefined where one is malformed, or not of UTF-8. */
export function decodeEscapes(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
