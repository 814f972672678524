/**
 * Owns the host of a request: which one it names, whether a host is valid, and refusing one that is not
 * served.
 */

import { refusal } from "../errors.ts";
import { headerOf } from "../runtime.ts";

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
  trustsProxy: boolean,
): void {
  const host = hostOf(request, trustsProxy);
  const isForwarded = trustsProxy && lastForwarded(request, FORWARDED_HOST);
  const named = isForwarded ? [host] : [host, authorityOf(request.url)];
  for (const each of new Set(named)) {
    if (allowed.some((name) => isNamed(each, name))) continue;
    throw refusal(421, `The host "${each}" is not served here`);
  }
}

/** The host that a request names, unchecked; with `trustsProxy` the one that the proxy passes on, if any. */
export function hostOf(request: Request, trustsProxy: boolean): string {
  const forwarded = trustsProxy && lastForwarded(request, FORWARDED_HOST);
  // By HTTP/2 there is no header.
  return forwarded || headerOf(request, "host") || authorityOf(request.url);
}

/** The last value in a header, also of several lines, which the nearest proxy has added; undefined without it. */
export function lastForwarded(
  request: Request,
  name: string,
): string | undefined {
  const list = request.headers.get(name);
  return list?.slice(list.lastIndexOf(",") + 1).trim();
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
