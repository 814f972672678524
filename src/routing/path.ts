/**
 * Owns the path of a request as routes see it: decoded, and split into segments in place. A slash that
 * was sent as `%2F` stays inside its segment.
 */

import { HttpError } from "../errors.ts";

/** A slash inside a segment: half a surrogate pair, which no decoded path contains. */
export const INNER_SLASH = "\ud800";

const SLASH = 47;

/** The bits of an integer that the engine stores without allocating. */
const SMALL_INTEGER = 0x3fffffff;

/** A path to be matched. The router reuses one object for all paths, so that none is allocated. */
export class Path {
  /** Whether upper and lower case differ. */
  caseSensitive = false;
  /** The decoded path. */
  text = "/";
  /** Where the last segment ends, before a slash at the end; 0 without segments. */
  end = 0;
  /** Where each segment starts, as far as the path is split; it ends one character before the next. */
  readonly starts: number[] = [1];
  /** Where the last hash stopped. */
  hashed = 0;
  #hasInnerSlash = false;

  /** Decodes a path; throws `HttpError` 400 unless it is percent-encoded UTF-8. */
  read(sent: string, caseSensitive: boolean): this {
    const path = sent.charCodeAt(0) === SLASH ? sent : `/${sent}`;
    const isEncoded = path.includes("%");
    const text = isEncoded ? decode(path) : path;
    const { length } = text;
    const last = text.charCodeAt(length - 1) === SLASH ? length - 1 : length;
    this.caseSensitive = caseSensitive;
    this.text = text;
    this.end = length > 1 ? last : 0;
    this.#hasInnerSlash = isEncoded && text.includes(INNER_SLASH);
    return this;
  }

  /**
   * The hash of a text up to its next slash, the same for upper and lower case. It continues the given
   * hash of the text before `start`.
   */
  hash(start: number, end = this.end, hash = 0, text = this.text): number {
    let at = start;
    for (; at < end; at++) {
      const code = text.charCodeAt(at);
      if (code === SLASH) break;
      hash = Math.imul(hash, 31) + (code < 128 ? code | 32 : lowered(code)) | 0;
    }
    this.hashed = at;
    return hash & SMALL_INTEGER;
  }

  /** Whether a text stands between two positions. */
  has(wanted: string, from: number, to: number): boolean {
    if (to - from !== wanted.length) return false;
    const text = this.text.slice(from, to); // faster than startsWith()
    return text === wanted ||
      !this.caseSensitive && foldText(text) === foldText(wanted);
  }

  /** Splits the whole path, and returns the number of its segments; a slash at the end begins none. */
  split(): number {
    let count = 0;
    for (let at = 1; at <= this.end;) {
      const slash = this.text.indexOf("/", at);
      at = (slash < 0 ? this.end : slash) + 1;
      this.starts[++count] = at;
    }
    return count;
  }

  /** The text of a segment, or of several up to another one. */
  segment(from: number, to = from + 1): string {
    const text = this.text.slice(this.starts[from], this.starts[to]! - 1);
    return this.#hasInnerSlash ? withSlashes(text) : text;
  }

  /** The text from a segment to the end, a slash there included. */
  rest(from: number): string {
    return withSlashes(this.text.slice(this.starts[from]));
  }
}

/** Decodes a path segment by segment. */
function decode(path: string): string {
  return path.split("/").map((segment) => {
    try {
      return decodeURIComponent(segment).replaceAll("/", INNER_SLASH);
    } catch (cause) {
      const shown = segment.slice(0, 100);
      const problem = `The path has a malformed escape in "${shown}"`;
      throw new HttpError(400, problem, { cause });
    }
  }).join("/");
}

/** A text in lower case, one UTF-16 code unit at a time so that it keeps its length. */
export function foldText(text: string): string {
  if (/^[ -~]*$/.test(text)) return text.toLowerCase();
  return text.replace(/[^]/g, (unit) => {
    const lower = unit.toLowerCase();
    return lower.length === 1 ? lower : unit;
  });
}

/** A code unit beyond ASCII in lower case, for hashes. */
function lowered(code: number): number {
  return String.fromCharCode(code).toLowerCase().charCodeAt(0);
}

function withSlashes(text: string): string {
  return text.replaceAll(INNER_SLASH, "/");
}
