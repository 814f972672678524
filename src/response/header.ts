/**
 * Owns the rules for the headers of a response: which headers and cookies can be sent, and which headers are
 * removed together with the body.
 */

import { setCookie } from "@std/http/cookie";
import { wrongKind } from "../errors.ts";
import { isHeaderText } from "../header_text.ts";
import { checkOptions } from "../options.ts";

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
  "content-type",
  "content-language",
  "content-range",
);

/**
 * Those, and the headers that let clients or proxies store a response, save it as a file or go elsewhere: they go with a
 * body that a page replaces. A 304 keeps the ones beyond `CONTENT_HEADERS`, since the client's copy is what they describe; where
 * `send` fails, all that is sealable goes.
 */
export const PAGE_HEADERS: readonly string[] = CONTENT_HEADERS.concat(
  "etag",
  "last-modified",
  "cache-control",
  "cdn-cache-control",
  "cloudflare-cdn-cache-control",
  "netlify-cdn-cache-control",
  "vercel-cdn-cache-control",
  "surrogate-control",
  "expires",
  "x-accel-expires",
  "content-disposition",
  "content-location",
  "location",
  "refresh",
  "x-accel-redirect",
  "x-sendfile",
);

/** Whether the seal protects a header, as it describes the body or leads elsewhere; a policy does neither. */
export function isSealedWithBody(name: string): boolean {
  return name === "location" ||
    name.startsWith("content-") && !name.startsWith("content-security-policy");
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** How many bytes of name and value every client accepts (RFC 6265, section 6.1). */
const MAX_COOKIE_BYTES = 4096;

/** Rules for the parts of a cookie that `setCookie()` does not check, or drops silently. */
const COOKIE_RULES: Record<string, [pattern: RegExp, expected: string]> = {
  name: [TOKEN, "a token"],
  expires: [/^(?!Invalid Date$)/, "a date"],
  maxAge: [/^\d{1,15}$/, "a whole number of seconds, at least 0"],
  domain: [/^\.?[\w-]+(?:\.[\w-]+)*$/, "a host name"],
  sameSite: [/^(?:Strict|Lax|None)$/, "Strict, Lax or None"],
};

/** The attributes of a cookie that are set or not. */
const COOKIE_FLAGS = ["secure", "httpOnly", "partitioned"] as const;

const COOKIE_ATTRIBUTES: readonly (keyof CookieOptions)[] = [
  ...COOKIE_FLAGS,
  "expires",
  "maxAge",
  "domain",
  "path",
  "sameSite",
];

/** Throws `TypeError` when the name of a header is not a token, or its value cannot be sent. */
export function checkHeader(name: string, value: string): void {
  const isToken = TOKEN.test(name);
  if (isToken && isHeaderText(value)) return;
  const why = isToken
    ? `a header cannot contain ${JSON.stringify(value)}`
    : "it is not a valid header name";
  throw new TypeError(`Cannot set the header "${name}": ${why}`);
}

/**
 * A `Set-Cookie` line; `isSecure` is the default of `secure`. Throws `TypeError` or `SyntaxError` for what clients
 * would drop or misread.
 */
export function cookieLine(
  name: string,
  text: string,
  options: CookieOptions,
  isSecure: boolean,
): string {
  const action = `set the cookie "${name}"`;
  checkOptions(action, options, COOKIE_ATTRIBUTES);
  const { expires, maxAge, sameSite, partitioned } = options;
  for (const flag of COOKIE_FLAGS) {
    const value: unknown = options[flag] ?? false;
    if (typeof value === "boolean") continue;
    throw wrongKind(action, `${flag} must be true or false`, value);
  }
  const cookie = {
    path: "/",
    httpOnly: true,
    sameSite: "Lax" as const,
    secure: isSecure,
    ...definedOf(options),
    name,
    value: encodeURIComponent(String(text).toWellFormed()),
  };
  if (expires !== undefined) cookie.expires = new Date(expires);
  // Clients drop a cookie for other sites that is not secure.
  if (sameSite === "None" || partitioned) cookie.secure = true;
  const refused = `Cannot ${action}`;
  if (name.length + cookie.value.length > MAX_COOKIE_BYTES) {
    throw new TypeError(`${refused}: more than ${MAX_COOKIE_BYTES} bytes`);
  }
  const parts: Record<string, unknown> = cookie;
  for (const [part, [pattern, expected]] of Object.entries(COOKIE_RULES)) {
    const got = parts[part];
    if (got === undefined || pattern.test(String(got))) continue;
    throw new TypeError(
      `${refused}: ${part} must be ${expected}, got "${got}"`,
    );
  }
  if (maxAge !== undefined) cookie.maxAge = Number(maxAge); // `setCookie()` drops a text
  const headers = new Headers();
  setCookie(headers, cookie);
  return headers.getSetCookie()[0]!;
}

/** What is given in a record of options: an undefined one stands for its default, which spreading it would hide. */
function definedOf<Options extends object>(options: Options): Options {
  const given = Object.entries(options).filter(([, value]) =>
    value !== undefined
  );
  return Object.fromEntries(given) as Options;
}

/**
 * A `Content-Disposition` that has clients save the response: with the name in a form that old clients read, in
 * which what is not ASCII is `_`, and in the extended one (RFC 6266, section 4.3). Throws `TypeError` for a name
 * with control characters.
 */
export function dispositionOf(name?: string): string {
  if (name === undefined) return "attachment";
  const file = String(name).toWellFormed().split("/").at(-1)!;
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
