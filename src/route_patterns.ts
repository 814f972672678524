/** Owns what extensions know of the text of patterns, whose notation is in `routing/notation.ts`. */

/**
 * What the notation does not take for text, unless a backslash stands before it, such as the parameters of other
 * frameworks (`:id`, `{id}`); what a backslash makes of text; and segments that no path has.
 */
const NO_TEXT =
  /(?<!\\)(?:[@()*+?[|]|\{(?:\d|[A-Za-z_]\w*\??[:}])|\/:\w)|\\(?:\w|$)|\/\.\.?(?:\/|$)/;

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
