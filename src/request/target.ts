/**
 * Owns the canonical target of a request: the one path that routing, groups, middleware and file
 * serving read. Hosts are read in `host.ts`.
 *
 * `request.url` cannot be trusted: Deno builds it from the unchecked `Host` header, so that a header could
 * choose the route. The path is taken from the request target as it was sent, and encoded as the URL
 * standard does, so that code that parses the URL again sees the same path.
 */

import { type HttpError, refusal } from "../errors.ts";
import { decodeEscapes } from "../path_text.ts";
import { headerOf, isFromServer } from "../runtime.ts";
import { ABSOLUTE, isHost } from "./host.ts";

/** What a request asks for, besides its method. */
export interface Target {
  /** The path, still encoded: it begins with a slash and has no dot segments. */
  readonly path: string;
  /** The query with its question mark, still encoded, or nothing. */
  readonly search: string;
}

/** A character that needs a closer look, such as `%` and `?`, or the start of a possible dot segment. */
const NOT_PLAIN = /[^!$&-;=@-[\]_a-z|~]|\/\./;

export const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

/** A path and a query that the URL standard leaves as they are. */
const ENCODED = /^\/[!$-;=@-[\]_a-z|~]*(?:\?[!$-&(-;=?-~]*)?$/;

// deno-lint-ignore no-control-regex -- control characters are what must be found
const MALFORMED = /^[^?]*[\\\x00-\x20\x7f]|[#\x00-\x20\x7f]/;

const MALFORMED_TARGET = "request target is malformed";

/** The last valid Host header, cached with the start of the URLs of that host: most requests name the same. */
let lastHost: { readonly host: string; readonly prefix: string } | undefined;

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
  let received = originForm(url, headerOf(request, "host") ?? "");
  if (!NOT_PLAIN.test(received)) return { path: received, search: "" };
  // Clients keep the fragment of a URL for themselves.
  if (!isFromServer(request)) received = received.split("#", 1)[0]!;
  const [path = ""] = received.split("?", 1);
  checkPath(path);
  const search = received.slice(path.length);
  if (ENCODED.test(received)) return { path, search };
  if (MALFORMED.test(received)) throw badRequest(MALFORMED_TARGET, received);
  const encoded = new URL(`http://localhost${received}`);
  return { path: encoded.pathname, search: encoded.search };
}

/**
 * Throws {@linkcode HttpError} 400 when a target names the scheme that its server does not have: in an absolute-form it
 * can (RFC 9112, section 3.2.2), and would pass for secure.
 */
export function checkScheme(request: Request, isSecure: boolean): void {
  if (/^https:/i.test(request.url) === isSecure || !isFromServer(request)) {
    return;
  }
  throw refusal(400, "The request target has the wrong scheme");
}

/** The target without its authority. */
function originForm(url: string, host: string): string {
  if (lastHost !== undefined && host === lastHost.host) {
    const { prefix } = lastHost;
    // Comparing a slice is faster than `startsWith()`.
    if (url.slice(0, prefix.length) === prefix) {
      return url.slice(prefix.length - 1);
    }
  }
  if (host === "") return withoutAuthority(url);
  if (!isHost(host)) throw badRequest("Host header is malformed", host);
  const prefix = `${url.startsWith("https:") ? "https" : "http"}://${host}/`;
  if (!url.startsWith(prefix)) return withoutAuthority(url);
  lastHost = { host, prefix };
  return url.slice(prefix.length - 1);
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
  const text = received.length > 100
    ? `${received.slice(0, 100)}\u2026`
    : received;
  return refusal(400, `The ${fault}: ${JSON.stringify(text)}`);
}
