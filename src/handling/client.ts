/**
 * Owns telling who made a request: the program itself, a client on this machine, or one anywhere; and so, who
 * may read more of an error than its status.
 */

import type { RequestScope } from "../application/application.ts";

/** The headers that proxies add: behind one, the client may be anywhere. */
const OF_PROXIES =
  /^(?:forwarded|via|cdn-loop|x-forwarded-.*|(?:x-|x-cluster-|true-|fastly-)?client-ip|(?:x-real|cf-connecting|x-original-forwarded)-(?:ip|for))$/;

/** An address of this machine, or a name that every client resolves to one. */
const LOOPBACK =
  /^(?:127(?:\.\d+){3}|\[?::1\]?|\[?::ffff:127(?:\.\d+){3}\]?|(?:.+\.)?localhost)$/i;

/** The start of the URLs that programs make for themselves: a server's own URL has its port. */
const OWN_ORIGIN = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])\//;

/**
 * Whether the program made the request itself, as tests do. A copy that a server of the user's own made of its
 * request still has the client's `Host`, or the server's port.
 */
export function isFromProgram(scope: RequestScope): boolean {
  const { request, isServed, nesting } = scope;
  return !isServed && nesting.every(({ remote }) => remote === undefined) &&
    OWN_ORIGIN.test(request.url) && !request.headers.has("host") &&
    !isForwarded(request);
}

/** Whether the one who made the request may see details: under debug, on this machine. */
export function seesDetails(scope: RequestScope): boolean {
  const { settings } = scope.root.plan;
  return settings["framework.debug"] &&
    (isFromProgram(scope) || isLocal(scope));
}

/**
 * Whether the client is on this machine. The host must be a name of this machine, too: another one is DNS
 * rebinding, by which a foreign page reads what this machine shows. Behind a trusted proxy, no client is local.
 */
function isLocal({ request, remote, root }: RequestScope): boolean {
  if (remote === undefined || !("hostname" in remote)) return false;
  const { trustsProxy } = root.plan;
  if (trustsProxy || isForwarded(request)) return false;
  const host = request.headers.get("host");
  const urls = host === null ? [request.url] : [request.url, `http://${host}`];
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
