/**
 * Owns what may stand in the head of a response: which headers and cookies can be sent at all, and
 * which headers go when the body they describe goes.
 */

import { setCookie } from "@std/http/cookie";

/** The attributes of a cookie (RFC 6265, section 4.1.2). */
export type CookieOptions = {
  /** When it ends: a date, or milliseconds since 1970; with the session when not given. */
  expires?: Date | number;
  /** After how many seconds it ends; 0 removes it. */
  maxAge?: number;
  /** The host it is for, with its subdomains; this host alone when not given. */
  domain?: string;
  /** The path it is for; `/` when not given. */
  path?: string;
  /** Whether it is sent over TLS only; true on https when not given. */
  secure?: boolean;
  /** Whether scripts cannot read it; true when not given. */
  httpOnly?: boolean;
  /** Whether each site that embeds this one has its own. */
  partitioned?: boolean;
  /** Which requests of other sites carry it; `Lax`, for links only, when not given. */
  sameSite?: "Strict" | "Lax" | "None";
};

/** Removes what describes a body, where there is none any more (RFC 9110, section 8). */
export const WITHOUT_CONTENT: Readonly<Record<string, null>> = {
  "content-type": null,
  "content-length": null,
  "content-encoding": null,
  "content-language": null,
  "content-range": null,
};

/** Removes also what would let clients keep an answer in place of the page that they asked for. */
export const WITHOUT_PAGE: Readonly<Record<string, null>> = {
  ...WITHOUT_CONTENT,
  "etag": null,
  "last-modified": null,
  "cache-control": null,
  "expires": null,
};

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const DOMAIN = /^\.?[0-9A-Za-z_-]+(?:\.[0-9A-Za-z_-]+)*$/;
const UNSAFE = /[^\t\x20-\x7e\x80-\xff]/;

/** The largest name and value of a cookie that clients keep, in bytes (RFC 6265, section 6.1). */
const LARGEST_COOKIE = 4096;

/** What parts of a cookie must be, where `setCookie()` lets more through, or drops it in silence. */
const COOKIE_RULES: Readonly<
  Record<string, [isKept: (value: unknown) => boolean, kept: string]>
> = {
  name: [(value) => TOKEN.test(String(value)), "a token"],
  expires: [
    (value) => !Number.isNaN(new Date(Number(value)).getTime()),
    "a date",
  ],
  maxAge: [
    (value) => Number.isSafeInteger(value) && Number(value) >= 0,
    "whole seconds from 0",
  ],
  domain: [(value) => DOMAIN.test(String(value)), "a host name"],
  sameSite: [
    (value) => /^(?:Strict|Lax|None)$/.test(String(value)),
    "Strict, Lax or None",
  ],
};

/** Throws `TypeError` when a header could not be sent, or would be read as something else. */
export function checkHeader(name: string, value: string): void {
  const refused = `Cannot set the header "${name}"`;
  if (!TOKEN.test(name)) {
    throw new TypeError(`${refused}: the name is not a token`);
  }
  const found = UNSAFE.exec(value);
  if (found === null) return;
  throw new TypeError(
    `${refused}: its value has a character that no header carries, ` +
      `${JSON.stringify(found[0])} at ${found.index}`,
  );
}

/** A `Set-Cookie` line. Throws `TypeError` or `SyntaxError` for what clients would drop or misread. */
export function cookieLine(
  name: string,
  value: string,
  options: CookieOptions,
): string {
  const encoded = encodeURIComponent(String(value).toWellFormed());
  const refused = `Cannot set the cookie "${name}"`;
  if (name.length + encoded.length > LARGEST_COOKIE) {
    throw new TypeError(
      `${refused}: name and value have more than ${LARGEST_COOKIE} bytes`,
    );
  }
  for (const [part, content] of Object.entries({ ...options, name })) {
    const [isKept, kept] = COOKIE_RULES[part] ?? [() => true];
    if (content === undefined || isKept(content)) continue;
    throw new TypeError(
      `${refused}: ${part} must be ${kept}, got "${content}"`,
    );
  }
  const { expires, sameSite, partitioned } = options;
  const headers = new Headers();
  setCookie(headers, {
    ...options,
    ...(expires === undefined ? {} : { expires: new Date(expires) }),
    // Clients drop a cookie for other sites that is not secure.
    ...(sameSite === "None" || partitioned ? { secure: true } : {}),
    name,
    value: encoded,
  });
  return headers.getSetCookie()[0]!;
}
