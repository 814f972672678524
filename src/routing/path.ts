/**
 * Owns the path of a request as routes see it: decoded, and cut into segments where it stands. A slash
 * that was sent as `%2F` stays inside its segment.
 */

import { HttpError } from "../errors.ts";

/** A slash inside a segment of a decoded path: half a surrogate pair, which no decoded path has. */
export const INNER_SLASH = "\ud800";

const slash = 47;
const percent = 37;

/** The bits of a number that the engine keeps without an object of its own. */
const smallInteger = 0x3fffffff;

/**
 * A path that is being matched. One object serves one path after another, so that matching makes
 * nothing but its result.
 */
export class Path {
  /** The decoded path. */
  text = "/";
  /** How many segments it has; one slash at the end begins none. */
  count = 0;
  /** A hash of each segment, the same for upper and lower case. */
  readonly hashes: number[] = [];
  /** Where each segment starts; the one before ends in front of the slash before that. */
  readonly starts: number[] = [1];

  #hasInner = false;

  /** Takes a path as it was sent; throws `HttpError` 400 for what is no percent-encoded UTF-8. */
  read(path: string): this {
    if (path.charCodeAt(0) !== slash) return this.read(`/${path}`);
    this.#hasInner = false;
    return this.#cut(path) ? this : this.reuse(decodePath(path));
  }

  /** Takes a path that is decoded already. */
  reuse(text: string): this {
    this.#hasInner = text.includes(INNER_SLASH);
    if (text !== this.text) this.#cut(text, true);
    return this;
  }

  /** The text of a segment. */
  segment(index: number): string {
    const end = this.starts[index + 1]! - 1;
    const text = this.text.slice(this.starts[index], end);
    return this.#hasInner ? withSlashes(text) : text;
  }

  /** Cuts a text; gives up at the first escape of one that may not be decoded yet. */
  #cut(text: string, isDecoded = false): boolean {
    const { hashes, starts } = this;
    const { length } = text;
    this.text = ""; // until it is cut
    let count = 0;
    let hash = 0;
    for (let at = 1; at < length; at++) {
      const code = text.charCodeAt(at);
      if (code === slash) {
        hashes[count++] = hash & smallInteger;
        starts[count] = at + 1;
        hash = 0;
      } else if (code === percent && !isDecoded) return false;
      else hash = mix(hash, code);
    }
    if (starts[count]! < length) {
      hashes[count++] = hash & smallInteger;
      starts[count] = length + 1;
    }
    this.text = text;
    this.count = count;
    return true;
  }
}

/** Decodes a path segment by segment; throws `HttpError` 400 for what is no percent-encoded UTF-8. */
function decodePath(path: string): string {
  return path.split("/").map((segment) => {
    try {
      return decodeURIComponent(segment).replaceAll("/", INNER_SLASH);
    } catch (cause) {
      const problem = `The path has a malformed escape in "${segment}"`;
      throw new HttpError(400, problem, { cause });
    }
  }).join("/");
}

/** The segments of a decoded path; one slash at its end does not count. */
export function segmentsOf(path: string): string[] {
  const inner = path.endsWith("/") ? path.slice(0, -1) : path;
  return inner === "" ? [] : inner.slice(1).split("/").map(withSlashes);
}

/** The hash of a segment of a decoded path, the same for upper and lower case. */
export function hashOf(text: string): number {
  let hash = 0;
  for (let at = 0; at < text.length; at++) {
    hash = mix(hash, text.charCodeAt(at));
  }
  return hash & smallInteger;
}

/** The lower-case form of one UTF-16 code unit: by folding, no text changes its length. */
export function foldCode(code: number): number {
  if (code < 128) return code >= 65 && code <= 90 ? code + 32 : code;
  const lower = String.fromCharCode(code).toLowerCase();
  return lower.length === 1 ? lower.charCodeAt(0) : code;
}

function mix(hash: number, code: number): number {
  return Math.imul(hash, 31) + (code < 128 ? code | 32 : foldCode(code)) | 0;
}

function withSlashes(text: string): string {
  return text.replaceAll(INNER_SLASH, "/");
}
