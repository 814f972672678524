/**
 * Owns the decoded form of a path, in which routes are matched: a slash that was sent as `%2F` stays
 * inside its segment, apart from those between segments.
 */

import { HttpError } from "./errors.ts";

/** A slash inside a segment of a decoded path: half a surrogate pair, which no decoded path has. */
export const INNER_SLASH = "\ud800";

/** Decodes a path segment by segment; throws `HttpError` 400 for what is no percent-encoded UTF-8. */
export function decodePath(path: string): string {
  if (!path.includes("%")) return path;
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

/** A part of a decoded path as its reader means it. */
export function withSlashes(text: string): string {
  return text.includes(INNER_SLASH) ? text.replaceAll(INNER_SLASH, "/") : text;
}
