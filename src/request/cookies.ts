/** Owns reading the cookies of a request. */

import { decodeEscapes } from "../path_text.ts";

/** Cookies by name. */
export type Cookies = Record<string, string | undefined>;

/** Parses a Cookie header, skipping what is not `name=value` (RFC 6265, section 5.2). */
export function parseCookies(header: string): Cookies {
  const cookies: Cookies = Object.create(null);
  for (const pair of header.split(";")) {
    const [sent, value] = pair.split(/=(.*)/s);
    const name = trimmed(sent!);
    if (value === undefined || name === "" || name in cookies) continue;
    const text = trimmed(value).replace(/^"(.*)"$/, "$1");
    cookies[name] = decodeEscapes(text) ?? text; // a bare "%" is common in cookies of scripts
  }
  return cookies;
}

/**
 * A text without spaces and tabs around it. Other white space is part of a cookie's name: `\xa0__Host-session`,
 * which any subdomain may set, is not `__Host-session`. An expression would take the square of the length.
 */
function trimmed(text: string): string {
  const isSpace = (at: number) => text[at] === " " || text[at] === "\t";
  let [start, end] = [0, text.length];
  while (start < end && isSpace(start)) start++;
  while (end > start && isSpace(end - 1)) end--;
  return text.slice(start, end);
}
