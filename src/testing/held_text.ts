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
  if (type === "date") return dayOf(text) === undefined ? "" : text;
  if (!TEXTS.includes(type)) return text;
  const line = text.replace(/[\r\n]+/g, "");
  if (type === "url") return withoutSpaces(line);
  if (type !== "email") return line;
  return line.split(",").map(withoutSpaces).join(","); // it may be `multiple`
}

function withoutSpaces(text: string): string {
  return text.replace(/^[\t\f ]+|[\t\f ]+$/g, "");
}

/** The days from 1970 to a date; undefined for what is none, such as the 31st of February. */
export function dayOf(text: string): number | undefined {
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(time)) return;
  const isReal = new Date(time).toISOString().startsWith(text);
  return isReal ? time / 86_400_000 : undefined;
}
