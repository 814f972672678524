/**
 * Owns the path of a request as routes see it: a list of decoded segments. A slash that was sent as `%2F` stays
 * inside its segment. `paths.ts` and `handling/mount.ts` count on a slash for each segment.
 */

import { refusal } from "../errors.ts";
import { decodeEscapes, foldText } from "../paths.ts";

/** A path to be matched. It never changes. */
export class Path {
  /** The decoded segments; a slash at the end of the path begins none. */
  readonly segments: readonly string[];
  /** The segments in lower case. */
  readonly folded: readonly string[];

  /**
   * `received` is the path as it is in the target, below the base: encoded. `isPlain` tells that it has neither
   * capitals nor escapes. Throws `HttpError` 400 unless it is percent-encoded UTF-8.
   */
  constructor(
    readonly received: string,
    readonly isCaseSensitive: boolean,
    isPlain = false,
  ) {
    const segments = this.segments = segmentsOf(received);
    if (!isPlain) segments.forEach(decodeAt);
    this.folded = isPlain ? segments : segments.map(foldText);
  }

  /** A segment in lower case, for comparing it; undefined when matching is case-sensitive. */
  compared(index: number): string | undefined {
    return this.isCaseSensitive ? undefined : this.folded[index];
  }

  /** The text of the segments from `from` up to `to`, with the slash at the end of the path. */
  text(from: number, to: number = this.segments.length): string {
    const { received, segments } = this;
    const text = segments.slice(from, to).join("/");
    const isWhole = to > 0 && to === segments.length;
    return isWhole && received.endsWith("/") ? `${text}/` : text;
  }
}

/** The segments of a path, still encoded. `String.split()` would be slower. */
function segmentsOf(received: string): string[] {
  const segments: string[] = [];
  let start = received[0] === "/" ? 1 : 0;
  while (start < received.length) {
    const slash = received.indexOf("/", start);
    const end = slash < 0 ? received.length : slash;
    segments.push(received.slice(start, end));
    start = end + 1;
  }
  return segments;
}

function decodeAt(segment: string, index: number, segments: string[]): void {
  if (!segment.includes("%")) return;
  const decoded = decodeEscapes(segment);
  if (decoded === undefined) {
    const shown = segment.slice(0, 100);
    throw refusal(400, `The path has a malformed escape in "${shown}"`);
  }
  segments[index] = decoded;
}
