/**
 * Owns suggestions in error messages: the names that are nearest to an unknown one.
 */

/** The longest name that is compared: the time of a comparison grows with the product of both lengths. */
const MAX_LENGTH = 50;

/** How many names are compared at most. */
const MAX_NAMES = 1_000;

const MAX_SUGGESTIONS = 3;

/**
 * The names nearest to an unknown one, the nearest first: at most three, within a third of its length in
 * edits. An edit adds, drops or replaces a letter, or swaps two neighbors.
 */
export function suggestions(name: string, names: Iterable<string>): string[] {
  if (name.length > MAX_LENGTH) return [];
  const limit = Math.max(1, Math.floor(name.length / 3));
  return [...new Set(names)]
    .filter((other) => Math.abs(other.length - name.length) <= limit)
    .slice(0, MAX_NAMES)
    .map((other) => ({ other, edits: editDistance(name, other) }))
    .filter(({ edits }) => edits <= limit && edits < name.length)
    .sort((one, other) => one.edits - other.edits)
    .slice(0, MAX_SUGGESTIONS)
    .map(({ other }) => other);
}

/** The end of an error message: `: did you mean "a" or "b"?`, or nothing when no name is near. */
export function didYouMean(name: string, names: Iterable<string>): string {
  const near = suggestions(name, names).map((other) => `"${other}"`);
  return near.length > 0 ? `: did you mean ${near.join(" or ")}?` : "";
}

/** What to use instead of methods that other frameworks have. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  [
    "use",
    'filter every request with before("start", …); guard routes with addMiddleware() or group()',
  ],
  ["all", 'route("/path", …) handles every method'],
  ["on", 'write the methods before the path: route("PUT|PATCH /path", …)'],
  ["listen", "use start()"],
  ["serve", "use start()"],
  ["static", "files() from @framework/core/files serves a folder"],
]);

/** The error for an unknown method. */
export function noSuchMethod(
  name: string,
  action: string,
  names: Iterable<string>,
): TypeError {
  const elsewhere = ELSEWHERE.get(name);
  const hint = elsewhere ? `: ${elsewhere}` : didYouMean(name, names);
  const problem = `there is no such method${hint}`;
  return new TypeError(`Cannot ${action} "${name}": ${problem}`);
}

/** The optimal string alignment distance without case, one row at a time. */
function editDistance(name: string, other: string): number {
  const [a, b] = [name.toLowerCase(), other.toLowerCase()];
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const replaced = row[j - 1]! + (isSame ? 0 : 1);
      const swapped = isSwapped ? before[j - 2]! + 1 : Infinity;
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, replaced, swapped));
    }
    [before, row] = [row, next];
  }
  return row[b.length]!;
}
