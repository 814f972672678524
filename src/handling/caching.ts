/**
 * Owns conditional requests (RFC 9110, section 13): the default `etag` and `lastModified`, which set a
 * validator and end the request when the client's condition says so.
 *
 * The comparisons are made here and not by `@std/http/etag`, which splits a list at every comma,
 * also at one inside a tag.
 */

import type { Context } from "../application/exchange.ts";
import { throwStop, wrongKind } from "../errors.ts";
import { messagePage } from "./pages.ts";
import { CONTENT_HEADERS, PAGE_HEADERS } from "../response/header.ts";
import { headerOf } from "../request/runtime.ts";

/** The last second that a date in a header can name: a larger number is most likely milliseconds. */
const LAST_SECOND = 253_402_300_799;

/** A date in one of its three forms (section 5.6.7), of which the last has no zone. */
const DATE = /^\w{3,9},? [\w -]+ \d\d:\d\d:\d\d (?:GMT|\d{4})$/;

/** Sets the ETag and checks `If-Match` and `If-None-Match` (sections 13.1.1 and 13.1.2). */
export function etag(context: Context, id: string, type = "string"): void {
  if (!["string", "strong", "weak"].includes(type)) {
    const rule = 'the type must be "strong", "string" or "weak"';
    throw wrongKind("set the ETag", rule, type);
  }
  if (typeof id !== "string" || !/^[\x21\x23-\x7e]*$/.test(id)) {
    const rule =
      "the id must consist of visible ASCII characters except quotes";
    throw wrongKind("set the ETag", rule, id);
  }
  const [strong, weak] = [`"${id}"`, `W/"${id}"`];
  const isWeak = type === "weak";
  context.reply.setHeader("etag", isWeak ? weak : strong);
  if (heldBefore(context, "etag")) return;
  const match = condition(context, "if-match");
  // What is weak on either side is not the same (section 8.8.3.2).
  if (match !== null && !includesTag(match, isWeak ? [] : [strong])) {
    endWith(context, "etag()", 412);
  }
  const noneMatch = condition(context, "if-none-match");
  if (noneMatch === null || !includesTag(noneMatch, [strong, weak])) return;
  endWith(context, "etag()", isReading(context) ? 304 : 412);
}

/**
 * Sets Last-Modified and checks `If-Unmodified-Since` and `If-Modified-Since`, each unless the client sent the
 * condition on tags in its place, which is the more exact (sections 13.1.3 and 13.1.4).
 */
export function lastModified(context: Context, time: number): void {
  if (!Number.isFinite(time) || Math.abs(time) > LAST_SECOND) {
    throw new RangeError(
      `Cannot set Last-Modified: it must be a UNIX timestamp in seconds, got "${time}"`,
    );
  }
  const modified = Math.floor(Math.min(time, Date.now() / 1000)) * 1000;
  const date = new Date(modified).toUTCString();
  context.reply.setHeader("last-modified", date);
  if (heldBefore(context, "last-modified")) return;
  if (condition(context, "if-match") === null) {
    const until = dateOf(condition(context, "if-unmodified-since"));
    if (modified > until) endWith(context, "lastModified()", 412);
  }
  if (condition(context, "if-none-match") !== null || !isReading(context)) {
    return;
  }
  const since = dateOf(condition(context, "if-modified-since"));
  if (modified <= since) endWith(context, "lastModified()", 304);
}

/**
 * Notes that the conditions on a validator are checked. Returns whether they have held before in this request: a
 * handler that has changed something since then sets the new validator, which the client cannot know. A method that
 * only reads changes nothing.
 */
function heldBefore(context: Context, validator: string): boolean {
  const held = context.exchange.held ??= new Set();
  const isLater = held.has(validator);
  held.add(validator); // where they do not hold, the request ends
  return isLater && !isReading(context);
}

/** The milliseconds of a date; NaN, with which every comparison is false, for anything else. */
function dateOf(text: string | null): number {
  if (text === null || !DATE.test(text)) return NaN;
  return Date.parse(text.endsWith("GMT") ? text : `${text} GMT`);
}

/** The header of a condition, or null; conditions count only for responses of status 2xx (section 13.2.1). */
function condition({ exchange, reply }: Context, name: string): string | null {
  if (reply.isSealed || reply.status < 200 || reply.status > 299) return null;
  return headerOf(exchange.raw, name);
}

/** Whether a list is `*` or includes one of the tags; a comma inside the quotes belongs to its tag. */
function includesTag(list: string, tags: readonly string[]): boolean {
  const tagsOfList: string[] = list.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return list.trim() === "*" || tags.some((tag) => tagsOfList.includes(tag));
}

function isReading({ exchange }: Context): boolean {
  const { method } = exchange;
  return method === "GET" || method === "HEAD";
}

/** Ends the request: the client's copy is current (section 15.4.5), or outdated (section 15.5.13). */
function endWith(
  { exchange, reply }: Context,
  by: string,
  status: 304 | 412,
): never {
  const without = status === 304 ? CONTENT_HEADERS : PAGE_HEADERS;
  for (const name of without) reply.setHeader(name, null);
  reply.replace(
    status === 304 ? { status } : messagePage(exchange, status, ""),
  );
  reply.seal(by);
  throwStop();
}
