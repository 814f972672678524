/** Owns `Vary`, by which caches keep a response for each value of a request header. */

/** The value of `Vary` with one more name, unless it is there already. */
export function varyBy(name: string, vary: string | null): string {
  if (!vary) return name;
  const names = vary.toLowerCase().split(/[\s,]+/);
  const isKnown = names.includes("*") || names.includes(name.toLowerCase());
  return isKnown ? vary : `${vary}, ${name}`;
}
