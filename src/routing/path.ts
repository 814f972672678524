/**
 * Owns the path of a request as routes see it: decoded, and split into segments in place. A slash that
 * was sent as `%2F` stays inside its segment.
 */

import { HttpError } from "../errors.ts";

/** A slash inside a segment: half a surrogate pair, which no decoded path contains. */
export const INNER_SLASH = "\ud800";

const SLASH = 47;
const PERCENT = 37;

/** The bits of an integer that the engine stores without allocating. */
const SMALL_INTEGER = 0x3fffffff;

/** A path split into segments. One object is read into again and again, so that it costs no garbage. */
export class Path {
  /** The decoded path. */
  text = "/";
  /** The number of segments; a slash at the end begins none. */
  count = 0;
  /** A hash of each segment, the same for upper and lower case. */
  readonly hashes: number[] = [];
  /** Where each segment starts; it ends one character before the next one starts. */
  readonly starts: number[] = [1];
  #sent: string | undefined = "/";
  #hasInnerSlash = false;

  /** Splits a path as it was sent; throws `HttpError` 400 unless it is percent-encoded UTF-8. */
  read(sent: string): this {
    if (sent === this.#sent) return this;
    const path = sent.charCodeAt(0) === SLASH ? sent : `/${sent}`;
    this.#sent = undefined;
    this.#hasInnerSlash = false;
    if (!this.#split(path, false)) {
      const text = decode(path);
      this.#hasInnerSlash = text.includes(INNER_SLASH);
      this.#split(text, true);
    }
    this.#sent = sent;
    return this;
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

  /** Splits a text; returns false at the first percent sign of one that is not decoded. */
  #split(text: string, isDecoded: boolean): boolean {
    const { hashes, starts } = this;
    const { length } = text;
    let count = 0;
    let hash = 0;
    for (let at = 1; at < length; at++) {
      const code = text.charCodeAt(at);
      if (code === SLASH) {
        hashes[count++] = hash & SMALL_INTEGER;
        starts[count] = at + 1;
        hash = 0;
      } else if (code === PERCENT && !isDecoded) return false;
      else {hash =
          Math.imul(hash, 31) + (code < 128 ? code | 32 : lowered(code)) |
          0;}
    }
    if (starts[count]! < length) {
      hashes[count++] = hash & SMALL_INTEGER;
      starts[count] = length + 1;
    }
    this.text = text;
    this.count = count;
    return true;
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

function withSlashes(text: string): string {
  return text.replaceAll(INNER_SLASH, "/");
}

/** The hash of a text as of a segment; given the hash of what is before `from`, that of both. */
export function hashOf(
  text: string,
  from = 0,
  to = text.length,
  hash = 0,
): number {
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at);
    hash = Math.imul(hash, 31) + (code < 128 ? code | 32 : lowered(code)) | 0;
  }
  return hash & SMALL_INTEGER;
}

/** The lower-case form of a code unit beyond ASCII, for hashes. */
function lowered(code: number): number {
  return String.fromCharCode(code).toLowerCase().charCodeAt(0);
}
