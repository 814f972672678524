/**
 * Owns deciding who made a request: the program itself, a client on this machine, or one elsewhere, and so who may read
 * more of an error than its status.
 */

import type { Exchange } from "../application/exchange.ts";

/** The headers that proxies add, `PROXY_HEADERS` of the request among them: behind one, the client may be anywhere. */
const OF_PROXIES =
  /^(?:forwarded|via|cdn-loop|x-forwarded-.*|(?:x-|x-cluster-|true-|fastly-)?client-ip|(?:x-real|cf-connecting|x-original-forwarded)-(?:ip|for))$/;

/** An address of this machine, or a name that every client resolves to one. */
const LOOPBACK =
  /^(?:127(?:\.\d+){3}|\[?::1\]?|\[?::ffff:127(?:\.\d+){3}\]?|(?:.+\.)?localhost)$/i;

/** The start of the URLs that programs make for themselves: a server's own URL has its port. */
const OWN_ORIGIN = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])\//;

/**
 * Whether the program made the request itself, as tests do. A copy that the user's own server made of its
 * request has the signal of the original and, unless the client names `localhost` by other means, its `Host` or the
 * server's port.
 */
export function isFromProgram(exchange: Exchange): boolean {
  const { raw, isServed, nesting } = exchange;
  // The outermost request may be a copy: those inside of it are made for a mount, or by the program itself.
  return !isServed && nesting.every(({ remote }) => remote === undefined) &&
    !nesting.at(-1)!.mayBeCopy && OWN_ORIGIN.test(raw.url) &&
    !raw.headers.has("host") &&
    !isForwarded(raw);
}

/** Whether the one who made the request may see details: under debug, on this machine. */
export function seesDetails(exchange: Exchange): boolean {
  return exchange.plan.isDebugging &&
    (isFromProgram(exchange) || isLocal(exchange));
}

/**
 * Whether the client is on this machine. The host must be a name of this machine, too: any other name is DNS
 * rebinding, which lets a foreign page read what this machine shows. Behind a trusted proxy, no client is local, also
 * where an application around this one trusts it.
 */
function isLocal({ nesting, raw, remote }: Exchange): boolean {
  if (remote === undefined || !("hostname" in remote)) return false;
  if (isForwarded(raw) || nesting.some((each) => each.trustsProxy)) {
    return false;
  }
  const host = raw.headers.get("host");
  const urls = host === null ? [raw.url] : [raw.url, `http://${host}`];
  return LOOPBACK.test(remote.hostname) &&
    urls.every((url) => LOOPBACK.test(URL.parse(url)?.hostname ?? ""));
}

function isForwarded(request: Request): boolean {
  try {
    return [...request.headers.keys()].some((name) => OF_PROXIES.test(name));
  } catch {
    return true; // the request became a WebSocket, which has no headers
  }
}
