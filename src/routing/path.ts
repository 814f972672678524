/**
 * Owns the path of a request as routes see it: decoded, and split into segments in place. A slash that
 * was sent as `%2F` stays inside its segment.
 */

import { HttpError } from "../errors.ts";

/** Stands for a slash inside a segment: half a surrogate pair, which no decoded path contains. */
const INNER_SLASH = "\ud800";

const SLASH = 47;

/** How many characters of a segment are hashed: a longer one is compared by its text, if at all. */
const HASHED = 64;

/** A path to be matched. The router reuses one object for all paths, so that none is allocated. */
export class Path {
  /** Whether upper and lower case differ. */
  caseSensitive = false;
  /** The decoded path. */
  text = "/";
  /** Where the last segment ends, before a slash at the end. */
  end = 0;
  /** Where each segment starts, as far as the path is split; each ends one character before the next starts. */
  readonly starts: number[] = [1];
  /** The number of segments, or -1 until the whole path is split. */
  #count = -1;
  #hasInnerSlash = false;

  /** Decodes a path; throws `HttpError` 400 unless it is percent-encoded UTF-8. */
  read(sent: string, caseSensitive: boolean): this {
    const path = sent.charCodeAt(0) === SLASH ? sent : `/${sent}`;
    const isEncoded = path.includes("%");
    const text = isEncoded ? decodeSegments(path) : path;
    const last = text.length - 1;
    this.text = text;
    this.caseSensitive = caseSensitive;
    this.end = text.charCodeAt(last) === SLASH ? last : last + 1;
    this.#count = -1;
    this.#hasInnerSlash = isEncoded && text.includes(INNER_SLASH);
    return this;
  }

  /** Finds the end of a segment, whose start must be known; returns its hash, which ignores case. */
  hash(index: number): number {
    const { text, end } = this;
    let hash = 0;
    let at = this.starts[index]!;
    const limit = Math.min(end, at + HASHED);
    for (; at < limit; at++) {
      const code = text.charCodeAt(at);
      if (code === SLASH) break;
      hash = Math.imul(hash, 31) + (code < 128 ? code | 32 : lowered(code)) | 0;
    }
    const isWhole = at < limit || at === end;
    const slash = isWhole ? at : text.indexOf("/", at);
    this.starts[index + 1] = (slash < 0 ? end : slash) + 1;
    return hash;
  }

  /** Splits the whole path, and returns the number of its segments; a slash at the end begins none. */
  split(): number {
    if (this.#count >= 0) return this.#count;
    let count = 0;
    for (let at = 1; at <= this.end; at = this.starts[count]!) {
      const slash = this.text.indexOf("/", at);
      this.starts[++count] = (slash < 0 ? this.end : slash) + 1;
    }
    return this.#count = count;
  }

  /** The text of a segment, or of the segments up to `to`, without that one. */
  segment(from: number, to = from + 1): string {
    const text = this.text.slice(this.starts[from], this.starts[to]! - 1);
    return this.#hasInnerSlash ? withSlashes(text) : text;
  }

  /** The text from a segment on, with the slash at the end of the path, if any. */
  rest(from: number): string {
    return withSlashes(this.text.slice(this.starts[from]));
  }
}

/** Decodes a path segment by segment. */
function decodeSegments(path: string): string {
  return path.split("/").map((segment) => {
    try {
      return decodeURIComponent(segment).replaceAll("/", INNER_SLASH);
    } catch {
      const shown = segment.slice(0, 100);
      throw new HttpError(400, `The path has a malformed escape in "${shown}"`);
    }
  }).join("/");
}

/** Whether two texts are the same, apart from case. */
export function areAlike(a: string, b: string): boolean {
  return a === b || a.length === b.length && foldText(a) === foldText(b);
}

/** The last text in lower case: a segment of a path is compared with those of many patterns. */
let last = { text: "", folded: "" };

/** What changes in lower case, beyond ASCII one UTF-16 code unit at a time; U+0130 would become two. */
const CASED = /[A-Z]+|[^ -~\u0130]/g;

/** A text in lower case, of the same length. */
export function foldText(text: string): string {
  if (text === last.text) return last.folded;
  const folded = text.replace(CASED, (part) => part.toLowerCase());
  last = { text, folded };
  return folded;
}

/** A code unit beyond ASCII in lower case, for hashes. */
function lowered(code: number): number {
  return String.fromCharCode(code).toLowerCase().charCodeAt(0);
}

function withSlashes(text: string): string {
  return text.replaceAll(INNER_SLASH, "/");
}
