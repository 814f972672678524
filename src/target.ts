/**
 * Owns the canonical target of a request: the one path that routing, groups and file serving read.
 *
 * `request.url` cannot be it: the runtime builds it from the unchecked `Host` header, so that a header
 * could choose the route. The path is taken from the request target as it was sent.
 */

import { HttpError } from "./errors.ts";

/** What a request asks for. */
export interface Target {
  readonly method: string;
  /** The path as sent, still encoded, beginning with a slash, dot segments removed. */
  readonly path: string;
  /** The query as sent with its question mark, or nothing. */
  readonly search: string;
}

/** The target that stands for a request whose own is malformed. */
export const NO_TARGET: Target = { method: "GET", path: "/", search: "" };

/** RFC 9110, section 4.2.3 and RFC 3986, section 3.2: a name or an address, and a port. */
const HOST = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-fA-F:.]+\])(?::\d*)?$/;

/** What a path never has when it was sent as it should be. */
// deno-lint-ignore no-control-regex -- control characters are what must be found
const ODD = /[\\#\x00-\x20\x7f]|\/(?:\.|%2e){1,2}(?:\/|$)/i;

/** Takes the target from a request; throws a 400 when it or its host is malformed. */
export function targetOf(request: Request): Target {
  const { url, method } = request;
  const host = request.headers.get("host");
  if (host !== null && !HOST.test(host)) {
    throw new HttpError(400, "The Host header is malformed");
  }
  const start = url.indexOf("://") + 3;
  const end = host !== null && url.startsWith(host, start)
    ? start + host.length
    : -1;
  const sent = end === -1 ? fromUrl(url) : url.slice(end);
  const question = sent.indexOf("?");
  const path = question === -1 ? sent : sent.slice(0, question);
  const search = question === -1 ? "" : withoutFragment(sent.slice(question));
  return {
    method,
    path: ODD.test(path) ? canonical(path) : path || "/",
    search,
  };
}

/** The target of a request that was not received but made, such as in a test. */
function fromUrl(url: string): string {
  const { pathname, search } = new URL(url);
  return pathname + search;
}

function withoutFragment(search: string): string {
  const hash = search.indexOf("#");
  return hash === -1 ? search : search.slice(0, hash);
}

/** Dot segments resolved (RFC 3986, section 5.2.4); what no client sends honestly is a 400. */
function canonical(path: string): string {
  // deno-lint-ignore no-control-regex -- control characters are what must be found
  if (/[\\#\x00-\x20\x7f]/.test(path)) {
    throw new HttpError(400, "The request target is malformed");
  }
  const resolved: string[] = [];
  const segments = path.split("/").slice(1);
  for (const [index, segment] of segments.entries()) {
    const plain = segment.replace(/%2e/gi, ".");
    if (plain === "..") resolved.pop();
    if (plain !== "." && plain !== "..") resolved.push(segment);
    else if (index === segments.length - 1) resolved.push("");
  }
  return `/${resolved.join("/")}`;
}
