/**
 * Owns the path of a request as routes see it: a list of decoded segments. A slash that was sent as `%2F` stays
 * inside its segment. `cors/mod.ts`, which cannot import this, splits paths in the same way.
 */

import { refusal } from "../errors.ts";
import { decodeEscapes, foldText } from "../path_text.ts";

/** Text that is encoded or not in lower case. */
const NEEDS_WORK = /[A-Z%]|[^ -~]/;

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
    if (this.#segments === undefined) this.#read();
    return this.#segments!;
  }

  /** The segments in lower case; throws as `segments` does. */
  get folded(): readonly string[] {
    if (this.#folded === undefined) this.#read();
    return this.#folded!;
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

  #read(): void {
    const { received } = this;
    const segments = split(received);
    const isPlain = !NEEDS_WORK.test(received);
    if (!isPlain) segments.forEach(decodeAt);
    this.#segments = segments;
    this.#folded = isPlain ? segments : segments.map(foldText);
  }
}

/** The segments of a path, still encoded. `String.split()` would be slower. */
function split(received: string): string[] {
  let start = received[0] === "/" ? 1 : 0;
  let end = received.indexOf("/", start);
  if (end < 0) return start < received.length ? [received.slice(start)] : [];
  const segments: string[] = [];
  for (; end >= 0; end = received.indexOf("/", start)) {
    segments.push(received.slice(start, end));
    start = end + 1;
  }
  if (start < received.length) segments.push(received.slice(start));
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
