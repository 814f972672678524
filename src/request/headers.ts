/** Owns reading the headers of a request: host, addresses, cookies and languages. */

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

/** How many ranges are read: each is compared with each offered language. */
const MAX_RANGES = 100;

/** One range, such as `de-AT;q=0.8` (RFC 9110, section 12.4.2). */
const RANGE =
  /^\s*([a-z]{1,8}(?:-[a-z\d]{1,8}){0,9}|\*)\s*(?:;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?$/i;

/**
 * The tag that fits the header best, by the lookup of RFC 4647 (section 3.4): each range, the heaviest first, is
 * shortened from its end until it is an offered tag. A range also fits a longer tag. `*` takes the first tag that the
 * client does not refuse by a weight of 0. Without a header the first tag; undefined when none fits.
 */
export function bestLanguage<Tag extends string>(
  header: string,
  tags: readonly Tag[],
): Tag | undefined {
  if (header.trim() === "") return tags[0];
  const ranges = header.split(",", MAX_RANGES).map((text) => RANGE.exec(text))
    .filter((match) => match !== null)
    .map(([, range, q = "1"]) => ({
      range: range!.toLowerCase(),
      q: Number(q),
    }))
    .sort((one, other) => other.q - one.q);
  const covers = (range: string, tag: string): boolean =>
    `${tag.toLowerCase()}-`.startsWith(`${range}-`);
  /** Whether the longest range that covers a tag has the weight 0. */
  const isRefused = (tag: string): boolean =>
    ranges.filter(({ range }) => covers(range, tag))
      .sort((one, other) => other.range.length - one.range.length)[0]?.q === 0;
  const offered = tags.filter((tag) => !isRefused(tag));
  for (const { range, q } of ranges) {
    if (q === 0) return undefined; // the last ones
    if (range === "*" && offered.length > 0) return offered[0];
    // Without its last subtag, and without a single letter that would then be the last.
    for (let part = range; part !== "";) {
      const found = offered.find((tag) => tag.toLowerCase() === part);
      if (found !== undefined) return found;
      part = part.replace(/(?:^|-)[^-]+$/, "").replace(/-[^-]$/, "");
    }
    const longer = offered.find((tag) => covers(range, tag));
    if (longer !== undefined) return longer;
  }
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
  const host = hostOf(request, proxies);
  const isForwarded = forwarded(request, FORWARDED_HOST, proxies);
  const named = isForwarded ? [host] : [host, authorityOf(request.url)];
  for (const each of new Set(named)) {
    if (allowed.some((name) => isNamed(each, name))) continue;
    throw refusal(421, `The host "${each}" is not served here`);
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
