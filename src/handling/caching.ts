/**
 * Owns conditional requests (RFC 9110, section 13): `etag` and `lastModified`, which set a validator
 * and end the request at once when the client's condition asks for it.
 *
 * The comparisons are made here and not by `@std/http/etag`, which splits a list at every comma,
 * also at one inside a tag.
 */

import type { Application } from "../application/application.ts";
import { throwStop } from "../errors.ts";
import { WITHOUT_CONTENT, WITHOUT_PAGE } from "../response/header.ts";

/** The last second that a date in a header can name; what is above was given in milliseconds. */
const LAST_SECOND = 253_402_300_799;

const DATES: readonly [pattern: RegExp, zone: string][] = [
  [/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/, ""],
  [/^\w{6,9}, \d\d-\w{3}-\d\d \d\d:\d\d:\d\d GMT$/, ""],
  [/^\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$/, " GMT"],
];

/** Sets the ETag and checks `If-Match` and `If-None-Match` (sections 13.1.1 and 13.1.2). */
export function etag(app: Application, id: string, type = "string"): void {
  const tag = entityTag(id, type);
  app.response().header("etag", tag);
  const match = condition(app, "if-match");
  if (match !== null && !namesStrongly(match, tag)) end(app, "etag()", 412);
  const noneMatch = condition(app, "if-none-match");
  if (noneMatch === null || !namesWeakly(noneMatch, tag)) return;
  end(app, "etag()", isReading(app) ? 304 : 412);
}

/**
 * Sets Last-Modified and checks `If-Modified-Since`, unless the client sent a condition on tags,
 * which is the more exact (section 13.1.3).
 */
export function lastModified(app: Application, time: number): void {
  if (!Number.isFinite(time) || Math.abs(time) > LAST_SECOND) {
    throw new RangeError(
      `Cannot set Last-Modified: it must be a UNIX timestamp in seconds, got "${time}"`,
    );
  }
  const modified = Math.floor(Math.min(time, Date.now() / 1000));
  const date = new Date(modified * 1000).toUTCString();
  app.response().header("last-modified", date);
  if (condition(app, "if-none-match") !== null || !isReading(app)) return;
  const since = seconds(condition(app, "if-modified-since"));
  if (modified <= since) end(app, "lastModified()", 304);
}

/** A condition of the client; it counts only for what would succeed (section 13.2.1). */
function condition(app: Application, name: string): string | null {
  const status = app.response().status();
  if (status < 200 || status > 299) return null;
  return app.request().raw.headers.get(name);
}

function isReading(app: Application): boolean {
  const { method } = app.request();
  return method === "GET" || method === "HEAD";
}

/** Ends the request: the client's copy is current (section 15.4.5), or outdated (section 15.5.13). */
function end(app: Application, by: string, status: 304 | 412): never {
  const without = status === 304 ? WITHOUT_CONTENT : WITHOUT_PAGE;
  app.response().respond(by, { status, headers: without });
  throwStop();
}

function entityTag(id: string, type: string): string {
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

/** Whether a list names the tag; what both share is weak then (section 8.8.3.2). */
function namesWeakly(list: string, tag: string): boolean {
  const opaque = tag.replace(/^W\//, "");
  return list.trim() === "*" ||
    tagsOf(list).some((other) => other.replace(/^W\//, "") === opaque);
}

/** Whether a list names the tag and neither is weak. */
function namesStrongly(list: string, tag: string): boolean {
  return list.trim() === "*" ||
    !tag.startsWith("W/") && tagsOf(list).includes(tag);
}

/** The tags of a list; a comma inside the quotes belongs to its tag. */
function tagsOf(list: string): string[] {
  return list.match(/(?:W\/)?"[^"]*"/g) ?? [];
}

/** A date in one of its three forms (section 5.6.7) as a UNIX timestamp; NaN for any other text. */
function seconds(date: string | null): number {
  const [, zone] = DATES.find(([pattern]) => pattern.test(date ?? "")) ?? [];
  return zone === undefined ? NaN : Date.parse(date + zone) / 1000;
}
