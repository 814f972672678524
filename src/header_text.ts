/** Owns which texts a header can contain (RFC 9110, section 5.5). */

const UNSAFE = /[^\t\x20-\x7e\x80-\xff]/;

/** Whether a header can contain a text. */
export function isHeaderText(text: string): boolean {
  return !UNSAFE.test(text);
}
