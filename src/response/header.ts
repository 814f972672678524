/** Owns the rules for the headers of a response, and its cookies. */

import { setCookie } from "@std/http/cookie";
import { wrongKind } from "../errors.ts";
import { isHeaderText } from "../http.ts";
import { isWithinBase } from "../paths.ts";

/** The attributes of a cookie (RFC 6265, section 4.1.2). */
export type CookieOptions = {
  /** When it expires: a date, or milliseconds since 1970; at the end of the session by default. */
  expires?: Date | number;
  /** After how many seconds it expires; 0 removes it. */
  maxAge?: number;
  /** The host that gets it, and its subdomains; this host alone by default. */
  domain?: string;
  /** The path below which it is sent; `/` by default. */
  path?: string;
  /** Whether it is sent over TLS only; true on https by default. */
  secure?: boolean;
  /** Whether scripts cannot read it; true by default. */
  httpOnly?: boolean;
  /** Whether each site that embeds this one gets a separate cookie. */
  partitioned?: boolean;
  /** Which requests from other sites carry it; `Lax`, for links only, by default. */
  sameSite?: "Strict" | "Lax" | "None";
};

/** The value of a header to be set: a list sets several lines, null or an empty list removes it. */
export type HeaderValue = string | number | readonly string[] | null;

/** The lines of each header, by its name in lower case. */
export type HeaderLines = Map<string, readonly string[]>;

/** The headers that are true of exactly these bytes: they go with whatever replaces a body (RFC 9110, 8; RFC 9530). */
export const BYTE_HEADERS: readonly string[] =
  "content-length content-encoding content-digest repr-digest".split(" ");

/** The headers that describe a body. */
export const CONTENT_HEADERS: readonly string[] = BYTE_HEADERS.concat(
  "content-type content-language content-range".split(" "),
);

/** Those, and the headers that let caches store a response, save it as a file or go elsewhere. */
export const PAGE_HEADERS: readonly string[] = CONTENT_HEADERS.concat(
  ("etag last-modified cache-control cdn-cache-control cloudflare-cdn-cache-control netlify-cdn-cache-control " +
    "vercel-cdn-cache-control surrogate-control expires x-accel-expires content-disposition content-location " +
    "location refresh x-accel-redirect x-sendfile").split(" "),
);

/** Whether the seal protects a header, as it describes the body or leads elsewhere; a policy does neither. */
export function isSealedWithBody(name: string): boolean {
  return name === "location" ||
    name.startsWith("content-") && !name.startsWith("content-security-policy");
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** How many bytes of name and value every client accepts (RFC 6265, section 6.1). */
const MAX_COOKIE_BYTES = 4096;

/** What `setCookie()` does not check, or drops silently. */
const COOKIE_RULES = [
  ["name", TOKEN, "a token"],
  ["expires", /^(?!Invalid Date$)/, "a date"],
  ["maxAge", /^\d{1,15}$/, "a whole number of seconds, at least 0"],
  ["domain", /^\.?[\w-]+(?:\.[\w-]+)*$/, "a host name"],
  ["sameSite", /^(?:Strict|Lax|None)$/, "Strict, Lax or None"],
] as const;

/** Throws `TypeError` when the name of a header is not a token, or its value cannot be sent. */
export function checkHeader(name: string, value: string): void {
  if (TOKEN.test(name) && isHeaderText(value)) return;
  throw new TypeError(
    `Cannot set the header "${name}" to ${JSON.stringify(value)}: not a header`,
  );
}

/** A `Set-Cookie` line; `secure` is that of the connection. Throws `TypeError` or `SyntaxError` for what clients would misread. */
export function cookieLine(
  name: string,
  text: string,
  options: CookieOptions,
  secure: boolean,
): string {
  const action = `set the cookie "${name}"`;
  const given = Object.entries(options).filter(([, value]) => value != null);
  const cookie = {
    ...{ path: "/", httpOnly: true, sameSite: "Lax" as const, secure },
    ...Object.fromEntries(given) as CookieOptions,
    name,
    value: encodeURIComponent(text.toWellFormed()),
  };
  if (cookie.expires !== undefined) cookie.expires = new Date(cookie.expires);
  for (const [part, pattern, expected] of COOKIE_RULES) {
    const value = cookie[part];
    if (value === undefined || pattern.test(String(value))) continue;
    throw wrongKind(action, `its ${part} must be ${expected}`, value);
  }
  if (name.length + cookie.value.length > MAX_COOKIE_BYTES) {
    throw new TypeError(
      `Cannot ${action}: more than ${MAX_COOKIE_BYTES} bytes`,
    );
  }
  // Clients drop a cookie for other sites that is not secure.
  if (cookie.sameSite === "None" || cookie.partitioned) cookie.secure = true;
  const headers = new Headers();
  setCookie(headers, cookie);
  return headers.getSetCookie()[0]!;
}

/** What identifies the cookie of a `Set-Cookie` line: name, domain and path (RFC 6265, section 5.3). */
export function cookieKey(line: string): string {
  const [name] = line.split("=", 1);
  const [, domain = ""] = /;\s*domain=\.?([^;]*)/i.exec(line) ?? [];
  const [, path = ""] = /;\s*path=([^;]*)/i.exec(line) ?? [];
  return [name, domain.toLowerCase(), path].join(";");
}

/**
 * A `Content-Disposition` that has clients save the response: with the name in a form that old clients read, and in the
 * extended one (RFC 6266, section 4.3). Throws `TypeError` for a name with control characters.
 */
export function dispositionOf(name?: string): string {
  if (name === undefined) return "attachment";
  const file = name.toWellFormed().split("/").at(-1)!;
  // deno-lint-ignore no-control-regex -- control characters are what must be found
  if (file === "" || /[\x00-\x1f\x7f-\x9f\u2028\u2029]/.test(name)) {
    const rule = "the name must not be empty or contain control characters";
    throw wrongKind("send an attachment", rule, name);
  }
  const plain = file.replace(/[^\x20-\x7e]+/g, "_").replace(/["\\]/g, "\\$&");
  const extended = encodeURIComponent(file).replace(
    /['()*]/g,
    (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${extended}`;
}

// deno-lint-ignore no-control-regex -- control characters are what must be found
const CONTROLS = /[\x00-\x1f\x7f]/;

/** The schemes that make a client run the code in a target. */
const CODE = /^(?:javascript|data|vbscript):$/;

/**
 * The target of a redirect for the header `Location`, encoded. A target without a scheme stays on this site: it
 * gets the origin and the base in front, unless it begins with the base, as the URLs of `getUrl` do.
 *
 * Throws `TypeError` for control characters, schemes that run code, and malformed URLs.
 */
export function locationOf(url: string, base: string, origin: string): string {
  const target = url.trim();
  const hasScheme = /^[a-z][a-z0-9+.-]*:/i.test(target);
  const parsed = hasScheme ? URL.parse(target) : undefined;
  const isSafe = !CONTROLS.test(target) && parsed !== null &&
    !CODE.test(parsed?.protocol ?? "");
  if (isSafe) return parsed?.href ?? onThisSite(target, base, origin);
  throw new TypeError(
    `Cannot redirect to ${
      JSON.stringify(url)
    }: not a URL, or one that runs code`,
  );
}

function onThisSite(target: string, base: string, origin: string): string {
  const site = "http://localhost";
  if (/^[?#]/.test(target)) {
    const { search, hash } = new URL(target, site);
    return search + hash || target;
  }
  const { pathname, search, hash } = new URL(`${site}/${target}`);
  // Clients read a second slash as the beginning of another host.
  const path = pathname.replace(/^\/+/, "/");
  const isRooted = /^[/\\]/.test(target);
  const prefix = isRooted && isWithinBase(path, base) ? "" : base;
  return origin + prefix + path + search + hash;
}
