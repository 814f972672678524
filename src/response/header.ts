/**
 * Owns the rules of a response's head: which headers and cookies can be sent, and which headers are
 * removed together with the body.
 */

import { setCookie } from "@std/http/cookie";

/** The attributes of a cookie (RFC 6265, section 4.1.2). */
export type CookieOptions = {
  /** When it expires: a date, or milliseconds since 1970; at the end of the session when not given. */
  expires?: Date | number;
  /** After how many seconds it expires; 0 removes it. */
  maxAge?: number;
  /** The host that gets it, and its subdomains; this host alone when not given. */
  domain?: string;
  /** The path below which it is sent; `/` when not given. */
  path?: string;
  /** Whether it is sent over TLS only; true on https when not given. */
  secure?: boolean;
  /** Whether scripts cannot read it; true when not given. */
  httpOnly?: boolean;
  /** Whether each site that embeds this one gets a cookie of its own. */
  partitioned?: boolean;
  /** Which requests of other sites carry it; `Lax`, for links only, when not given. */
  sameSite?: "Strict" | "Lax" | "None";
};

/** The value of a header to be set: a list sets several lines, null or an empty list removes it. */
export type HeaderValue = string | number | readonly string[] | null;

/** Removes the headers that describe a body (RFC 9110, section 8). */
export const WITHOUT_CONTENT: Readonly<Record<string, null>> = {
  "content-type": null,
  "content-length": null,
  "content-encoding": null,
  "content-language": null,
  "content-range": null,
};

/** Removes also the headers that let clients store a response. */
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

/** How many bytes of name and value clients accept at least (RFC 6265, section 6.1). */
const MAX_COOKIE_BYTES = 4096;

/** Rules for the parts of a cookie that `setCookie()` does not check, or drops silently. */
const COOKIE_RULES: Readonly<
  Record<string, [isValid: (value: unknown) => boolean, expected: string]>
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

/** The names of the headers that are removed with a page. */
export const PAGE_HEADERS: readonly string[] = Object.keys(WITHOUT_PAGE);

/** The headers of a response by lower-case name; each cookie is a line of `set-cookie`. */
export class HeaderLines {
  readonly #values = new Map<string, string | readonly string[]>();

  /** The value of a header, its lines joined by a comma (RFC 9110, section 5.3), or null. */
  get(name: string): string | null {
    const value = this.#values.get(name);
    return typeof value === "object" ? value.join(", ") : value ?? null;
  }

  /** Sets or removes a header. Throws `TypeError` for one that cannot be sent. */
  set(name: string, value: HeaderValue): void {
    if (typeof value !== "object") {
      const line = String(value);
      checkHeader(name, line);
      this.#values.set(name, line);
    } else if (value === null || value.length === 0) this.#values.delete(name);
    else {
      for (const line of value) checkHeader(name, line);
      this.#values.set(name, [...value]);
    }
  }

  /** Appends a cookie's line in place of an earlier one of that name. */
  setCookie(name: string, line: string): void {
    const lines = this.#values.get("set-cookie") ?? [];
    const others = [lines].flat()
      .filter((other) => !other.startsWith(`${name}=`));
    this.#values.set("set-cookie", [...others, line]);
  }

  /** Removes headers by their names; all of them when not given. */
  clear(names: Iterable<string> = [...this.#values.keys()]): void {
    for (const name of names) this.#values.delete(name);
  }

  /** The headers as a record, but for the exceptions; undefined when one of them has several lines. */
  toRecord(except: readonly string[]): Record<string, string> | undefined {
    const record: Record<string, string> = {};
    for (const [name, value] of this.#values) {
      if (typeof value === "object" || name === "__proto__") return undefined;
      if (!except.includes(name)) record[name] = value;
    }
    return record;
  }

  /** Appends the headers to those of a web response, but for the exceptions; cookies always. */
  appendTo(headers: Headers, except: readonly string[]): void {
    for (const [name, value] of this.#values) {
      if (except.includes(name) && name !== "set-cookie") continue;
      if (typeof value === "string") headers.append(name, value);
      else for (const line of value) headers.append(name, line);
    }
  }
}

/** Throws `TypeError` for a header that cannot be sent, or that clients would read as another. */
export function checkHeader(name: string, value: string): void {
  if (TOKEN.test(name) && !UNSAFE.test(value)) return;
  const found = UNSAFE.exec(value);
  const why = found === null || !TOKEN.test(name)
    ? "the name is not a token"
    : "its value has a character that no header can carry, " +
      `${JSON.stringify(found[0])} at ${found.index}`;
  throw new TypeError(`Cannot set the header "${name}": ${why}`);
}

/** A `Cache-Control` of a number of seconds, or `no-store`. Throws `RangeError` for a negative number. */
export function cacheControl(seconds: number | false): string {
  if (seconds === false) return "no-store";
  if (Number.isFinite(seconds) && seconds >= 0) {
    return `max-age=${Math.floor(seconds)}`;
  }
  throw new RangeError(
    `Cannot set the cache time: seconds must be 0 or more, got "${seconds}"`,
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
  if (name.length + encoded.length > MAX_COOKIE_BYTES) {
    throw new TypeError(
      `${refused}: name and value have more than ${MAX_COOKIE_BYTES} bytes`,
    );
  }
  for (const [part, content] of Object.entries({ ...options, name })) {
    const [isValid, expected] = COOKIE_RULES[part] ?? [() => true];
    if (content === undefined || isValid(content)) continue;
    throw new TypeError(
      `${refused}: ${part} must be ${expected}, got "${content}"`,
    );
  }
  const { expires, sameSite, partitioned } = options;
  const headers = new Headers();
  setCookie(headers, {
    path: "/",
    httpOnly: true,
    sameSite: "Lax",
    ...options,
    ...(expires === undefined ? {} : { expires: new Date(expires) }),
    // Clients drop a cookie for other sites that is not secure.
    ...(sameSite === "None" || partitioned ? { secure: true } : {}),
    name,
    value: encoded,
  });
  return headers.getSetCookie()[0]!;
}
