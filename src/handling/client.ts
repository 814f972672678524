/** Owns what error pages ask about the client: who sees details, and whether JSON is preferred to HTML. */

import { accepts } from "@std/http/negotiation";
import type { Exchange } from "../application/exchange.ts";
import { JSON_TYPE } from "../http.ts";
import { headerOf } from "../request/runtime.ts";

const PROXY =
  /^(?:forwarded|via|cdn-loop|x-forwarded-.*|(?:x-|x-cluster-|true-|fastly-)?client-ip|(?:x-real|cf-connecting|x-original-forwarded)-(?:ip|for))$/;

const LOOPBACK =
  /^(?:127(?:\.\d+){3}|\[?::1\]?|\[?::ffff:127(?:\.\d+){3}\]?|(?:.+\.)?localhost)$/i;

/** The start of the URLs that programs make for themselves: a server's own URL has its port. */
const OWN_ORIGIN = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])\//;

const JSON_TYPES = ["application/problem+json", "application/json"];

/** Whether the program made the request itself, as tests do. */
export function isFromProgram(exchange: Exchange): boolean {
  const { isServed, raw } = exchange;
  return !isServed && exchange.remote === undefined &&
    OWN_ORIGIN.test(raw.url) && !raw.headers.has("host") && !isForwarded(raw);
}

/** Whether the client may see details: under debug, on this machine. */
export function seesDetails(exchange: Exchange): boolean {
  if (!exchange.settings["framework.debug"]) return false;
  if (isFromProgram(exchange)) return true;
  const { proxies, raw, remote, root } = exchange;
  // Any other host name is DNS rebinding.
  return remote !== undefined && "hostname" in remote && proxies === 0 &&
    !isForwarded(root.raw) && LOOPBACK.test(remote.hostname) &&
    LOOPBACK.test(URL.parse(raw.url)?.hostname ?? "");
}

function isForwarded(request: Request): boolean {
  return [...request.headers.keys()].some((name) => PROXY.test(name));
}

/** Whether an error is sent as JSON: as the setting says, else as the client prefers, else as it has sent. */
export function prefersJson({ raw, settings }: Exchange): boolean {
  const format = settings["framework.error_format"];
  if (format !== "auto") return format === "json";
  const accept = headerOf(raw, "accept");
  if (accept !== null && accept !== "*/*") {
    const first = accepts(raw, "text/html", ...JSON_TYPES);
    if (first !== undefined && first !== "text/html") return true;
    // Of types that are preferred equally, the one that is offered first is returned.
    if (accepts(raw, ...JSON_TYPES, "text/html") === "text/html") return false;
  }
  return JSON_TYPE.test(headerOf(raw, "content-type") ?? "");
}

/** Whether something has failed since the client has left: a signal of the request, or reading a streamed body. */
export function isOfLeaving(error: Error, { raw, hasBody }: Exchange): boolean {
  if (hasBody && error instanceof Deno.errors.BadResource) return true;
  let cause: unknown = error;
  while (cause instanceof Error && cause.name !== "AbortError") {
    cause = cause.cause;
  }
  return cause instanceof Error && raw.signal.aborted;
}
