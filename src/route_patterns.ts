/**
 * Owns the whole pattern of a request's route: with mounted applications, that of the innermost behind the prefixes
 * of the mounts.
 */

/**
 * The key of a request's patterns, for extensions: those of the application's route and, where that is a mount, of
 * the route of the application there, and so on. The last one is null where no route matched.
 */
export const ROUTE_PATTERNS: unique symbol = Symbol("the patterns of routes");

/** Joins patterns of mounts and the one of the innermost route, which replaces their `/*`. */
export function wholePattern(patterns: readonly string[]): string {
  return patterns.reduceRight((inner, mount) => {
    const prefix = mount.slice(0, -"/*".length);
    if (inner === "/") return prefix || "/";
    return prefix + (inner === "*" ? "/*" : inner);
  });
}
