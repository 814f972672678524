/**
 * Owns the conditions of conditional requests (RFC 9110, section 13): whether what the client has is
 * still current. What follows from it is for `etag` and `lastModified` to say.
 */

/** Makes an entity tag; throws `TypeError` when the id has characters that no tag carries. */
export function entityTag(id: string, type: string): string {
  if (type !== "string" && type !== "strong" && type !== "weak") {
    throw new TypeError(
      `Cannot set the ETag: the type must be "strong", "string" or "weak", got "${type}"`,
    );
  }
  if (typeof id !== "string" || !/^[\x21\x23-\x7e]*$/.test(id)) {
    throw new TypeError(
      `Cannot set the ETag "${id}": only visible ASCII characters other than quotes make a tag`,
    );
  }
  return `${type === "weak" ? "W/" : ""}"${id}"`;
}

/** Whether a list of `If-None-Match` names the tag; the comparison is weak. */
export function namesTag(list: string, tag: string): boolean {
  return list.trim() === "*" ||
    opaqueTags(list).some((other) => other === strip(tag));
}

/** Whether a list of `If-Match` names the tag; the comparison is strong. */
export function matchesStrongly(list: string, tag: string): boolean {
  if (list.trim() === "*") return true;
  return !tag.startsWith("W/") && tags(list).includes(tag);
}

/** Whether nothing was modified since the date; a malformed date says nothing. Times are in seconds. */
export function unmodifiedSince(date: string, modified: number): boolean {
  const since = Date.parse(date);
  return !Number.isNaN(since) && modified <= Math.floor(since / 1000);
}

/** The tags of a list; a comma inside the quotes belongs to its tag. */
function tags(list: string): string[] {
  return list.match(/(?:W\/)?"[^"]*"/g) ?? [];
}

function opaqueTags(list: string): string[] {
  return tags(list).map(strip);
}

function strip(tag: string): string {
  return tag.replace(/^W\//, "");
}
