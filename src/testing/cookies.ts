/**
 * Owns the cookies of a visitor, kept and sent as a browser does (RFC 6265, section 5; what a browser drops for its name
 * or its length is from RFC 6265bis). Only for tests.
 */

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly domain: string;
  /** Whether only the host that set the cookie gets it, and not those below it. */
  readonly isHostOnly: boolean;
  readonly path: string;
  readonly isSecure: boolean;
  /** In milliseconds; `Infinity` for a cookie of the session. */
  readonly expires: number;
}

/** The cookies of one browser. */
export class CookieJar {
  /** By domain, path and name, in the order in which they were first set. */
  readonly #cookies = new Map<string, Cookie>();

  /** Keeps the cookies of a response from that URL, and drops those that it expires. */
  keep(headers: Headers, url: URL): void {
    for (const text of headers.getSetCookie()) {
      const cookie = parseCookie(text, url);
      if (cookie === undefined) continue;
      const key = [cookie.domain, cookie.path, cookie.name].join("\n");
      if (cookie.expires > Date.now()) this.#cookies.set(key, cookie);
      else this.#cookies.delete(key);
    }
  }

  /** The value of the `Cookie` header for a URL; empty without a cookie (section 5.4). */
  header(url: URL): string {
    return this.#inOrder()
      .filter((cookie) =>
        (cookie.isHostOnly
          ? cookie.domain === url.hostname
          : domainMatches(url.hostname, cookie.domain)) &&
        pathMatches(url.pathname, cookie.path) &&
        (!cookie.isSecure || url.protocol === "https:")
      )
      .map(({ name, value }) => `${name}=${value}`)
      .join("; ");
  }

  /** The values by name; of several cookies with one name, that of the longest path. */
  values(): Record<string, string> {
    const entries = this.#inOrder().map(({ name, value }) => [name, value]);
    return Object.fromEntries(entries.reverse());
  }

  /** The cookies that have not expired: longer paths first, then in the order in which they were set. */
  #inOrder(): Cookie[] {
    const now = Date.now();
    return [...this.#cookies.values()]
      .filter(({ expires }) => expires > now)
      .sort((one, other) => other.path.length - one.path.length);
  }
}

/** How many bytes of name and value a cookie may have (RFC 6265bis, section 5.6). */
const MAX_BYTES = 4_096;

/** The names that promise attributes (RFC 6265bis, section 5.7). */
const [HOST_PREFIX, SECURE_PREFIX] = [/^__Host-/i, /^__Secure-/i];

/** Reads one `Set-Cookie` header (sections 5.2 and 5.3); undefined when a browser ignores it. */
function parseCookie(text: string, url: URL): Cookie | undefined {
  const [pair = "", ...parts] = text.split(";");
  const equals = pair.indexOf("=");
  const name = trimmed(pair.slice(0, Math.max(0, equals)));
  const content = trimmed(pair.slice(equals + 1));
  const length = name.length + content.length;
  if (name === "" || length > MAX_BYTES) return undefined;
  let maxAge: number | undefined;
  let [expires, domain, path, isSecure] = [Infinity, "", "", false];
  for (const part of parts) {
    const [key = "", ...rest] = part.split("=");
    const value = trimmed(rest.join("="));
    switch (trimmed(key).toLowerCase()) {
      case "expires":
        expires = parseDate(value) ?? expires;
        break;
      case "max-age":
        if (/^-?\d+$/.test(value)) maxAge = Number(value);
        break;
      case "domain":
        domain = value === "" ? domain : value.replace(/^\./, "").toLowerCase();
        break;
      case "path":
        path = value;
        break;
      case "secure":
        isSecure = true;
    }
  }
  const isHost = isSecure && domain === "" && path === "/";
  if (HOST_PREFIX.test(name) && !isHost) return undefined;
  if (SECURE_PREFIX.test(name) && !isSecure) return undefined;
  // Without the list of public suffixes, a name without a dot counts as one.
  const isSuffix = !domain.includes(".");
  if (domain === url.hostname && isSuffix) domain = "";
  if (domain !== "" && (isSuffix || !domainMatches(url.hostname, domain))) {
    return undefined;
  }
  return {
    name,
    value: content,
    domain: domain || url.hostname,
    isHostOnly: domain === "",
    path: path.startsWith("/") ? path : defaultPath(url.pathname),
    isSecure,
    expires: maxAge === undefined
      ? expires
      : maxAge > 0
      ? Date.now() + maxAge * 1_000
      : -Infinity,
  };
}

/** Trims spaces and tabs only: other white space belongs to the cookie. */
function trimmed(text: string): string {
  return text.replace(/^[ \t]+|[ \t]+$/g, "");
}

/** Whether a host is the domain or below it; an IP address has nothing below it (section 5.1.3). */
function domainMatches(host: string, domain: string): boolean {
  const isAddress = /^[\d.]+$|^\[/.test(host);
  return host === domain || (!isAddress && host.endsWith(`.${domain}`));
}

/** Whether a path is that of a cookie or below it (section 5.1.4). */
function pathMatches(path: string, cookiePath: string): boolean {
  return path === cookiePath ||
    path.startsWith(cookiePath.replace(/\/?$/, "/"));
}

/** The path of a cookie that names none: the folder of the request's (section 5.1.4). */
function defaultPath(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");

/** Reads a date as browsers do, its parts in any order (section 5.1.1); undefined when it is none. */
function parseDate(text: string): number | undefined {
  let time: number[] | undefined;
  let [day, month, year]: (number | undefined)[] = [];
  for (const token of text.split(/[\t\x20-/;-@[-`{-~]+/)) {
    const clock = /^(\d\d?):(\d\d?):(\d\d?)(?!\d)/.exec(token);
    const number = Number(/^\d*/.exec(token));
    const named = MONTHS.indexOf(token.slice(0, 3).toLowerCase());
    if (time === undefined && clock) time = clock.slice(1).map(Number);
    else if (day === undefined && /^\d\d?(?!\d)/.test(token)) day = number;
    else if (month === undefined && named >= 0) month = named;
    else if (year === undefined && /^\d{2,4}(?!\d)/.test(token)) {
      year = number + (number < 70 ? 2000 : number < 100 ? 1900 : 0);
    }
  }
  const [hours = 99, minutes = 99, seconds = 99] = time ?? [];
  if (year === undefined || year < 1601) return undefined;
  if (month === undefined || day === undefined) return undefined;
  if (hours > 23 || minutes > 59 || seconds > 59) return undefined;
  const date = new Date(Date.UTC(year, month, day, hours, minutes, seconds));
  return date.getUTCDate() === day ? date.getTime() : undefined;
}
