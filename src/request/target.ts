/**
 * Owns the canonical target of a request: the one path that routing, groups, middleware and file
 * serving read; and which hosts are served.
 *
 * `request.url` cannot be trusted: Deno builds it from the unchecked `Host` header, so that a header could
 * choose the route. The path is taken from the request target as it was sent, and encoded as the URL
 * standard does, so that code that parses the URL again sees the same path.
 */

import { foreignScheme, HttpError } from "../errors.ts";
import { decodeEscapes } from "../escapes.ts";
import { headerOf, isFromServer } from "../runtime.ts";

/** What a request asks for. */
export interface Target {
  /** The method in capitals. */
  readonly method: string;
  /** The path, still encoded: it begins with a slash and has no dot segments. */
  readonly path: string;
  /** The query with its question mark, still encoded, or nothing. */
  readonly search: string;
}

/** Stands for the target of a request whose own is malformed. */
export const NO_TARGET: Target = { method: "GET", path: "/", search: "" };

/**
 * A host with its port. RFC 3986 (section 3.2.2) allows more characters than any name has; quotes
 * and the like would only reach applications that build links of the host.
 */
const HOST = /^(?:[\w-]+(?:\.[\w-]+)*\.?|\[[\da-f:.]+\])(?::\d*)?$/i;

const FORWARDED_HOST = "x-forwarded-host";

/** The port of a host; an IPv6 address ends with a bracket. */
const PORT = /:\d*$/;

/** An absolute URL: whether it is that of a Unix socket, the authority, and the rest. */
const ABSOLUTE = /^https?(\+unix)?:\/\/([^/?#\\]*)([^]*)$/i;

/** A character that needs a closer look, such as `%` and `?`, or the start of a possible dot segment. */
const NOT_PLAIN = /[^!$&-;=@-[\]_a-z|~]|\/\./;

const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

/** A path and a query that the URL standard leaves as they are. */
const ENCODED = /^\/[!$-;=@-[\]_a-z|~]*(?:\?[!$-&(-;=?-~]*)?$/;

// deno-lint-ignore no-control-regex -- control characters are what must be found
const MALFORMED = /^[^?]*[\\\x00-\x20\x7f]|[#\x00-\x20\x7f]/;

const MALFORMED_TARGET = "request target is malformed";

/** The last valid Host header, cached with the start of the URLs of that host: most requests name the same. */
let lastHost = { host: "", origin: " " };

/**
 * The target of a request. Of an absolute-form only the path counts, whatever its host: routes do not depend
 * on hosts (RFC 9112, section 3.2.2).
 *
 * Throws {@linkcode HttpError} 400 when the target or a host is malformed, for an escape that is not
 * UTF-8, for a NUL, which would end the path of a file, and for what a proxy may have read differently:
 * a dot segment, and a method with small letters (methods are case-sensitive, RFC 9110, section 9.1).
 */
export function targetOf(request: Request): Target {
  const { url, method } = request;
  if (method !== "GET" && /[a-z]/.test(method)) {
    throw badRequest("method must be in capitals", method);
  }
  const received = originForm(url, headerOf(request, "host") ?? "");
  if (!NOT_PLAIN.test(received)) return { method, path: received, search: "" };
  const [path = ""] = received.split("?", 1);
  checkPath(path);
  const search = received.slice(path.length);
  if (ENCODED.test(received)) return { method, path, search };
  if (MALFORMED.test(received)) throw badRequest(MALFORMED_TARGET, received);
  const encoded = new URL(`http://localhost${received}`);
  return { method, path: encoded.pathname, search: encoded.search };
}

/**
 * Throws {@linkcode HttpError} 400 when a request to a server without TLS names https: in an absolute-form it can
 * (RFC 9112, section 3.2.2), and would pass for secure.
 */
export function checkScheme(request: Request): void {
  if (/^https:/i.test(request.url) && isFromServer(request)) {
    throw foreignScheme();
  }
}

/**
 * Throws {@linkcode HttpError} 421 when a request names a host that is not allowed. An allowed host
 * without a port stands for all its ports. An absolute-form can differ from the `Host` header: both
 * must be allowed, since the application may read either. What a trusted proxy says takes their place.
 */
export function checkHost(
  request: Request,
  allowed: readonly string[],
  trustsProxy = false,
): void {
  const host = hostOf(request, trustsProxy);
  const isForwarded = trustsProxy && lastForwarded(request, FORWARDED_HOST);
  const named = isForwarded ? [host] : [host, authorityOf(request.url)];
  for (const each of new Set(named)) {
    if (allowed.some((name) => isNamed(each, name))) continue;
    throw new HttpError(421, `The host "${each}" is not served here`);
  }
}

/** The host that a request names, unchecked; with `trustsProxy` the one that the proxy passes on, if any. */
export function hostOf(request: Request, trustsProxy = false): string {
  const forwarded = trustsProxy && lastForwarded(request, FORWARDED_HOST);
  // By HTTP/2 there is no header.
  return forwarded || headerOf(request, "host") || authorityOf(request.url);
}

/**
 * The last value in a header, which the nearest proxy has added; undefined when there is none. A header may come
 * in several lines, which only `headers` joins.
 */
export function lastForwarded(
  request: Request,
  name: string,
): string | undefined {
  const list = request.headers.get(name) ?? "";
  return list === "" ? undefined : list.slice(list.lastIndexOf(",") + 1).trim();
}

function authorityOf(url: string): string {
  return ABSOLUTE.exec(url)?.[2] ?? "";
}

/** Whether a value is a host, with or without a port, as a `Host` header may name it. */
export function isHost(value: unknown): boolean {
  return typeof value === "string" && HOST.test(value) &&
    URL.canParse(`http://${value}`);
}

/** The target without its authority. */
function originForm(url: string, host: string): string {
  if (host === lastHost.host && url.startsWith(lastHost.origin)) {
    return url.slice(lastHost.origin.length - 1);
  }
  if (host === "") return withoutAuthority(url);
  if (!isHost(host)) throw badRequest("Host header is malformed", host);
  const origin = `${url.startsWith("https:") ? "https" : "http"}://${host}/`;
  if (!url.startsWith(origin)) return withoutAuthority(url);
  lastHost = { host, origin };
  return url.slice(origin.length - 1);
}

/** Only CONNECT sends an authority without a path. It asks for a proxy, which this is not. */
function withoutAuthority(url: string): string {
  const [, socket, host = "", received = ""] = ABSOLUTE.exec(url) ?? [];
  const isValid = /^[/?]/.test(received) &&
    (socket !== undefined || isHost(host));
  if (!isValid) throw badRequest(MALFORMED_TARGET, url);
  return received;
}

function checkPath(path: string): void {
  if (DOT_SEGMENT.test(path)) throw badRequest("path has a dot segment", path);
  const text = path.includes("%") ? decodeEscapes(path) : path;
  if (text === undefined || text.includes("\0")) {
    throw badRequest(MALFORMED_TARGET, path);
  }
}

/** The error for a malformed request; quotes the beginning of what was sent. */
function badRequest(fault: string, received: string): HttpError {
  const text = received.length > 100 ? `${received.slice(0, 100)}…` : received;
  return new HttpError(400, `The ${fault}: ${JSON.stringify(text)}`);
}

/** Whether a host has that name, apart from case and a dot at the end. A name without a port fits any port. */
function isNamed(host: string, name: string): boolean {
  const bare = PORT.test(name) ? host : host.replace(PORT, "");
  return normalized(bare) === normalized(name);
}

function normalized(host: string): string {
  return host.toLowerCase().replace(/\.(?=:|$)/, "");
}
