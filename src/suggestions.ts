/**
 * Owns guessing what was meant: the names nearest to one that is not known.
 */

/**
 * The end of an error message: `: did you mean "a" or "b"?`, for at most three names within a third of
 * the length in edits, the nearest first; nothing when no name is near.
 */
export function didYouMean(name: string, names: Iterable<string>): string {
  const limit = Math.max(1, Math.floor(name.length / 3));
  const near = [...new Set(names)]
    .map((other) => ({
      other,
      edits: distance(name.toLowerCase(), other.toLowerCase()),
    }))
    .filter(({ edits }) => edits <= limit)
    .sort((a, b) => a.edits - b.edits)
    .slice(0, 3)
    .map(({ other }) => `"${other}"`);
  return near.length > 0 ? `: did you mean ${near.join(" or ")}?` : "";
}

/** The error for a method that there is not. */
export function noSuchMethod(
  name: string,
  action: string,
  names: Iterable<string>,
): TypeError {
  const hint = didYouMean(name, names);
  return new TypeError(
    `Cannot ${action} "${name}": there is no such method${hint}`,
  );
}

/** The Levenshtein distance, one row at a time. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, substitution));
    }
    row = next;
  }
  return row[b.length]!;
}
