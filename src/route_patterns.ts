/** Owns what extensions know of the text of patterns, whose notation is in `routing/notation.ts`. */

/**
 * What the notation does not take for text, unless a backslash stands before it, and what a backslash makes of text. It
 * refuses the parameters of other frameworks, such as `:id` and `{id}`.
 */
const NO_TEXT = /(?<!\\)(?:[@(*+?[{]|\/:\w)|\\\w/;

/** Whether a pattern has no parameters, optional parts and expressions, so that it matches one path. */
export function isPlainPattern(pattern: string): boolean {
  return !NO_TEXT.test(pattern);
}

/** Joins patterns of mounts and the one of the innermost route, which replaces their `/*`. */
export function wholePattern(patterns: readonly string[]): string {
  return patterns.reduceRight((inner, mount) => {
    const prefix = mount.slice(0, -"/*".length);
    if (inner === "/") return prefix || "/";
    return prefix + inner;
  });
}
