/** Stands in for `@std/http/cookie`: writing `Set-Cookie` (RFC 6265). */

/** A cookie and its attributes. */
interface Cookie {
  /** Its name. */
  name: string;
  /** Its value, already encoded. */
  value: string;
  /** When it ends: a date, or milliseconds since 1970. */
  expires?: Date | number;
  /** How many seconds it lasts. */
  maxAge?: number;
  /** The host it is for, with its subdomains. */
  domain?: string;
  /** The path it is for. */
  path?: string;
  /** Whether it is sent over TLS only. */
  secure?: boolean;
  /** Whether scripts cannot see it. */
  httpOnly?: boolean;
  /** Whether its storage is partitioned by the top-level site. */
  partitioned?: boolean;
  /** Which requests of other sites carry it. */
  sameSite?: "Strict" | "Lax" | "None";
  /** Further attributes as they are. */
  unparsed?: string[];
}

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/;
const PATH = /^[\x20-\x3a\x3c-\x7e]*$/;
const DOMAIN = /^(?!-).*[^.-]$/;

/**
 * Appends the cookie to the headers; one without a name is left out. Throws `SyntaxError` for a
 * character that cannot be sent and `RangeError` for a negative age.
 */
export function setCookie(headers: Headers, cookie: Cookie): void {
  if (cookie.name === "") return;
  const { name, value, maxAge } = cookie;
  refuse("name", name, NAME);
  refuse("value", value, VALUE);
  refuse("path", cookie.path || "/", PATH);
  refuse("domain", cookie.domain || "x", DOMAIN);
  if (Number.isInteger(maxAge) && maxAge! < 0) {
    throw new RangeError(
      `Cannot set the cookie "${name}": the age ${maxAge} is negative`,
    );
  }
  const host = name.startsWith("__Host");
  const attributes = [
    cookie.secure || host || name.startsWith("__Secure") ? "Secure" : "",
    cookie.httpOnly ? "HttpOnly" : "",
    cookie.partitioned ? "Partitioned" : "",
    Number.isInteger(maxAge) ? `Max-Age=${maxAge}` : "",
    cookie.domain && !host ? `Domain=${cookie.domain}` : "",
    cookie.sameSite ? `SameSite=${cookie.sameSite}` : "",
    host ? "Path=/" : cookie.path ? `Path=${cookie.path}` : "",
    cookie.expires ? `Expires=${new Date(cookie.expires).toUTCString()}` : "",
    ...cookie.unparsed ?? [],
  ];
  headers.append(
    "Set-Cookie",
    [`${name}=${value}`, ...attributes.filter(Boolean)].join("; "),
  );
}

function refuse(what: string, text: string, allowed: RegExp): void {
  if (allowed.test(text)) return;
  throw new SyntaxError(
    `Cannot set a cookie: the ${what} "${text}" cannot be sent`,
  );
}
