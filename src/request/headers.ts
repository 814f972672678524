/** Owns reading the headers of a request: host, addresses and cookies. */

import { decodeEscapes } from "../paths.ts";
import { refusal } from "../errors.ts";
import { headerOf } from "./runtime.ts";

/** An address, perhaps in brackets, with a port, or IPv4 mapped to IPv6. */
const ADDRESS =
  /^(?:::ffff:)?(?<ip4>\d+(?:\.\d+){3})(?::\d+)?$|^\[?(?<ip6>[\da-f:.]+)(?:\](?::\d+)?)?$/i;

/**
 * The first address of a list such as `192.0.2.1:80, [2001:db8::1]:80`, also of a mapped one
 * (`::ffff:192.0.2.1`) or `for="[2001:db8::1]";proto=https` (RFC 7239, section 4); "" when it is not valid.
 */
export function addressOf(list: string): string {
  const first = list.split(",", 1)[0]!;
  const node = /(?:^|;)\s*for="?([^;"]*)/i.exec(first)?.[1] ?? first;
  const { ip4, ip6 } = ADDRESS.exec(node.trim())?.groups ?? {};
  const address = ip4 ?? ip6 ?? "";
  const host = ip6 === undefined ? address : `[${ip6}]`;
  return URL.canParse(`http://${host}`) ? address : "";
}

/**
 * A text without spaces and tabs around it; it is read in one pass. Other white space is part of a cookie's name:
 * `\xa0__Host-session`, which any subdomain may set, is not `__Host-session`.
 */
const TRIMMED = /^[ \t]*(.*[^ \t])?[ \t]*$/s;

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

function trimmed(text: string): string {
  return TRIMMED.exec(text)![1] ?? "";
}

/**
 * A host with its port. RFC 3986 (section 3.2.2) allows more characters than any name has; quotes
 * and the like would only reach applications that build links of the host.
 */
const HOST = /^(?:[\w-]+(?:\.[\w-]+)*\.?|\[[\da-f:.]+\])(?::\d*)?$/i;

const FORWARDED_HOST = "x-forwarded-host";

/** The port of a host; an IPv6 address ends with a bracket. */
const PORT = /:\d*$/;

/** An absolute URL: whether it is that of a Unix socket, the authority, and the rest. */
export const ABSOLUTE = /^https?(\+unix)?:\/\/([^/?#\\]*)([^]*)$/i;

/**
 * Throws {@linkcode HttpError} 421 when a request names a host that is not allowed. An allowed host
 * without a port stands for all its ports. An absolute-form can differ from the `Host` header: both
 * must be allowed, since the application may read either. The host of a trusted proxy replaces both.
 */
export function checkHost(
  request: Request,
  allowed: readonly string[],
  proxies: number,
): void {
  const named = [hostOf(request, proxies)];
  if (!forwarded(request, FORWARDED_HOST, proxies)) {
    named.push(authorityOf(request.url));
  }
  for (const host of named) {
    if (allowed.some((name) => isNamed(host, name))) continue;
    throw refusal(421, `The host "${host}" is not served here`);
  }
}

/** The host that a request names, unchecked; with trusted proxies the one that they pass on, if any. */
export function hostOf(request: Request, proxies: number): string {
  // By HTTP/2 there is no header.
  return forwarded(request, FORWARDED_HOST, proxies) ||
    headerOf(request, "host") || authorityOf(request.url);
}

/**
 * The value in a header, also of several lines, that the outermost of so many trusted proxies wrote: each of them adds
 * one at the end, or replaces all. Undefined without the header, and without proxies.
 */
export function forwarded(
  request: Request,
  name: string,
  proxies: number,
): string | undefined {
  if (proxies === 0) return undefined;
  const values = request.headers.get(name)?.split(",");
  return (values?.at(-proxies) ?? values?.[0])?.trim();
}

function authorityOf(url: string): string {
  return ABSOLUTE.exec(url)?.[2] ?? "";
}

/** Whether a value is a host, with or without a port, as a `Host` header may name it. */
export function isHost(value: unknown): boolean {
  return typeof value === "string" && HOST.test(value) &&
    URL.canParse(`http://${value}`);
}

/** Whether a host has that name, apart from case and a dot at the end. A name without a port fits any port. */
function isNamed(host: string, name: string): boolean {
  const bare = PORT.test(name) ? host : host.replace(PORT, "");
  return normalized(bare) === normalized(name);
}

function normalized(host: string): string {
  return host.toLowerCase().replace(/\.(?=:|$)/, "");
}
