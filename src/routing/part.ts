/**
 * Owns the parts of a segment: texts, parameters, expressions and the star, and how each is written as a
 * regular expression.
 */

/** A part of a segment. A parameter without an expression takes any text but an empty one. */
export type Part =
  | { readonly kind: "text"; readonly text: string }
  | {
    readonly kind: "parameter";
    readonly name: string;
    readonly expression: string;
  }
  | { readonly kind: "expression"; readonly expression: string }
  | { readonly kind: "star"; readonly at: number };

/** A part as an expression; a parameter is a group of its name. */
export function sourceOf(part: Part): string {
  if (part.kind === "text") return escapeText(part.text);
  if (part.kind === "star") return "";
  if (part.kind === "expression") return part.expression;
  return `(?<${part.name}>${part.expression || ".+"})`;
}

/** A part as it is written in a pattern. */
export function show(part: Part): string {
  if (part.kind === "text") return part.text;
  if (part.kind === "star") return "*";
  if (part.kind === "expression") return part.expression;
  return `@${part.name}${part.expression && `:${part.expression}`}`;
}

/** A text as an expression that matches nothing else. */
export function escapeText(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** A text in lower case, one UTF-16 code unit at a time so that it keeps its length. */
export function foldText(text: string): string {
  if (/^[ -~]*$/.test(text)) return text.toLowerCase();
  return text.replace(/[^]/g, (unit) => {
    const lower = unit.toLowerCase();
    return lower.length === 1 ? lower : unit;
  });
}
