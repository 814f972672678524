/** Owns telling whether the client of a request is on this machine. */

import type { Scope } from "../state/scope.ts";

/** The headers that proxies add: behind one, the client may be anywhere. */
const OF_PROXIES =
  /^(?:forwarded|via|cdn-loop|x-forwarded-.*|(?:x-|x-cluster-|true-|fastly-)?client-ip|(?:x-real|cf-connecting|x-original-forwarded)-(?:ip|for))$/;

/** An address of this machine, or a name that every client resolves to one. */
const LOOPBACK =
  /^(?:127(?:\.\d+){3}|\[?::1\]?|\[?::ffff:127(?:\.\d+){3}\]?|(?:.+\.)?localhost)$/i;

/**
 * Whether the client is on this machine, or the program made the request itself. The host must be a name of
 * this machine, too: another one is DNS rebinding, by which a foreign page reads what this machine shows.
 */
export function isLocal({ request, remote, isServed }: Scope): boolean {
  if (isForwarded(request)) return false;
  // A copy that a server of the user's own made of its request still has the client's Host.
  if (remote === undefined) return !isServed && !request.headers.has("host");
  return "hostname" in remote && LOOPBACK.test(remote.hostname) &&
    LOOPBACK.test(URL.parse(request.url)?.hostname ?? "");
}

function isForwarded(request: Request): boolean {
  try {
    return [...request.headers.keys()].some((name) => OF_PROXIES.test(name));
  } catch {
    return true; // the request became a WebSocket, which has no headers
  }
}
