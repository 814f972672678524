/**
 * Owns what a field makes of the text that is typed into it or stands in the page (value sanitization, HTML standard,
 * section 4.10.5.1). Only for tests.
 */

/** The types of an input of one line, which may have a `pattern` and a `minlength`. */
export const TEXTS: readonly string[] = [
  "text",
  "search",
  "tel",
  "password",
  "url",
  "email",
];

/** The text that a field of that type holds. */
export function heldText(text: string, type: string): string {
  if (type === "textarea") return text.replace(/\r\n?/g, "\n");
  if (!TEXTS.includes(type)) return text;
  const line = text.replace(/[\r\n]+/g, "");
  if (type === "url") return withoutSpaces(line);
  if (type !== "email") return line;
  return line.split(",").map(withoutSpaces).join(","); // it may be `multiple`
}

function withoutSpaces(text: string): string {
  return text.replace(/^[\t\f ]+|[\t\f ]+$/g, "");
}
