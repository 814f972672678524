/** Stands in for `@std/http/cookie`: writing `Set-Cookie` (RFC 6265). */

interface Cookie {
  name: string;
  value: string;
  expires?: Date | number;
  maxAge?: number;
  domain?: string;
  path?: string;
  secure?: boolean;
  httpOnly?: boolean;
  partitioned?: boolean;
  sameSite?: "Strict" | "Lax" | "None";
}

const PATH = /^[\x20-\x3a\x3c-\x7e]*$/;
const DOMAIN = /^(?!-).*[^.-]$/;

/** Appends the cookie to the headers. Throws `SyntaxError` for a path or domain that cannot be sent. */
export function setCookie(headers: Headers, cookie: Cookie): void {
  const { name, value, maxAge, domain, path = "", expires } = cookie;
  if (!PATH.test(path) || domain && !DOMAIN.test(domain)) {
    throw new SyntaxError(`Cannot set the cookie "${name}": invalid attribute`);
  }
  const isHost = name.startsWith("__Host");
  const isSecure = cookie.secure || isHost || name.startsWith("__Secure");
  const line = [
    `${name}=${value}`,
    isSecure && "Secure",
    cookie.httpOnly && "HttpOnly",
    cookie.partitioned && "Partitioned",
    maxAge !== undefined && `Max-Age=${maxAge}`,
    domain && !isHost && `Domain=${domain}`,
    cookie.sameSite && `SameSite=${cookie.sameSite}`,
    (isHost || path) && `Path=${isHost ? "/" : path}`,
    expires !== undefined && `Expires=${new Date(expires).toUTCString()}`,
  ];
  headers.append("Set-Cookie", line.filter(Boolean).join("; "));
}
