/** Owns HTML as text: escaping it, and marking what is HTML already. */

/** Text that is HTML already: it prints unescaped, and is a string in every other respect. */
export class Markup extends String {}

/** Marks text as HTML, so that templates print it unescaped. Only for text that is safe to send. */
export function markup(html: string): Markup {
  return new Markup(html);
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for HTML content and quoted attributes. */
export function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character]!);
}
