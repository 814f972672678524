/**
 * Owns the path of a request as routes see it: a list of decoded segments. A slash that was sent as `%2F` stays
 * inside its segment. `cors/mod.ts`, which cannot import this, splits paths in the same way; `base.ts` and
 * `handling/mount.ts` count on a slash for each segment.
 */

import { refusal } from "../errors.ts";
import { decodeEscapes, foldText } from "../path_text.ts";

/** A path that may not be in lower case once it is decoded. */
const NEEDS_FOLDING = /[A-Z%]|[^ -~]/;

/** A path to be matched. It never changes, but is only split and decoded when something reads its segments. */
export class Path {
  /** The path as it is in the target, below the base: encoded. */
  readonly received: string;
  readonly caseSensitive: boolean;
  #segments: readonly string[] | undefined = undefined;
  #folded: readonly string[] | undefined = undefined;

  constructor(received: string, caseSensitive: boolean) {
    this.received = received;
    this.caseSensitive = caseSensitive;
  }

  /**
   * The decoded segments; a slash at the end of the path begins none. Throws `HttpError` 400 unless the path is
   * percent-encoded UTF-8.
   */
  get segments(): readonly string[] {
    return this.#segments ??= segmentsOf(this.received);
  }

  /** The segments in lower case; throws as `segments` does. */
  get folded(): readonly string[] {
    const { received, segments } = this;
    return this.#folded ??= NEEDS_FOLDING.test(received)
      ? segments.map(foldText)
      : segments;
  }

  /** A segment in lower case, for comparing it; undefined when matching is case-sensitive. */
  compared(index: number): string | undefined {
    return this.caseSensitive ? undefined : this.folded[index];
  }

  /** The text of the segments from `from` up to `to`, with the slash at the end of the path. */
  text(from: number, to: number = this.segments.length): string {
    const { received, segments } = this;
    const text = segments.slice(from, to).join("/");
    const isWhole = to > 0 && to === segments.length;
    return isWhole && received.endsWith("/") ? `${text}/` : text;
  }
}

/** The decoded segments of a path. `String.split()` would be slower. */
function segmentsOf(received: string): string[] {
  const segments: string[] = [];
  let start = received[0] === "/" ? 1 : 0;
  while (start < received.length) {
    const slash = received.indexOf("/", start);
    const end = slash < 0 ? received.length : slash;
    segments.push(received.slice(start, end));
    start = end + 1;
  }
  if (received.includes("%")) segments.forEach(decodeAt);
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
