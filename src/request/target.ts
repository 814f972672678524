/**
 * Owns the canonical target of a request: the one path that routing, groups, middleware and file serving read; and
 * making a web request of what `fetch` was given.
 *
 * `request.url` cannot be trusted: Deno builds it from the unchecked `Host` header, so that a header could choose the
 * route. The path is taken from the request target as it was sent, and encoded as the URL standard does, so that code
 * that parses the URL again sees the same path.
 */

import { type HttpError, refusal, wrongKind } from "../errors.ts";
import type { ConnectionInfo } from "../http.ts";
import { decodeEscapes } from "../paths.ts";
import { headerOf, isFromServer } from "./runtime.ts";
import { ABSOLUTE, isHost } from "./headers.ts";

/** What a request asks for, besides its method. */
export interface Target {
  /** The path, still encoded: it begins with a slash and has no dot segments. */
  readonly path: string;
  /** The query with its question mark, still encoded, or nothing. */
  readonly search: string;
  /** Whether the path has neither capitals nor escapes: it reads the same decoded, and in lower case. */
  readonly isPlain: boolean;
}

/** The methods of which no web request can be made (Fetch standard, "forbidden method"). */
export const FORBIDDEN_METHODS: ReadonlySet<string> = new Set(
  ["CONNECT", "TRACE", "TRACK"],
);

/** A character that needs a closer look, such as `%`, `?` and a capital, or the start of a possible dot segment. */
const NOT_PLAIN = /[^!$&-;=@[\]_a-z|~]|\/\./;

const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

// deno-lint-ignore no-control-regex -- control characters are what must be found
const MALFORMED = /^[^?]*[\\\x00-\x20\x7f]|[#\x00-\x20\x7f]/;

const MALFORMED_TARGET = "request target is malformed";

/** The last valid Host header with the start of the URLs of that host: most requests name the same. */
let lastHost = { host: "", prefix: "" };

/**
 * The target of a request. Throws {@linkcode HttpError} 400 when the target or a host is malformed, and for what a proxy
 * may have read differently: a dot segment, and a method with small letters.
 */
export function targetOf(request: Request, method = request.method): Target {
  const { url } = request;
  if (method !== "GET" && /[a-z]/.test(method)) {
    throw badRequest("method must be in capitals", method);
  }
  let received = originForm(url, headerOf(request, "host") ?? "");
  if (!NOT_PLAIN.test(received)) {
    return { path: received, search: "", isPlain: true };
  }
  // Clients keep the fragment of a URL for themselves.
  if (!isFromServer(request)) received = received.split("#", 1)[0]!;
  const [path = ""] = received.split("?", 1);
  if (DOT_SEGMENT.test(path)) throw badRequest("path has a dot segment", path);
  const text = path.includes("%") ? decodeEscapes(path) : path;
  if (text === undefined || text.includes("\0") || MALFORMED.test(received)) {
    throw badRequest(MALFORMED_TARGET, received);
  }
  const { pathname, search } = new URL(`http://localhost${received}`);
  return {
    path: pathname,
    search: search || received.slice(path.length),
    isPlain: !NOT_PLAIN.test(pathname),
  };
}

/** Throws {@linkcode HttpError} 400 when a target names a scheme that its server does not have, and is not `secure`. */
export function checkScheme(request: Request, isSecure: boolean): void {
  if (/^https:/i.test(request.url) === isSecure || !isFromServer(request)) {
    return;
  }
  throw refusal(400, "The request target has the wrong scheme");
}

/** The target without its authority. */
function originForm(url: string, host: string): string {
  if (host !== "" && host !== lastHost.host) {
    if (!isHost(host)) throw badRequest("Host header is malformed", host);
    lastHost = { host, prefix: `http://${host}/` };
  }
  const { prefix } = lastHost;
  // Comparing a slice is faster than `startsWith()`.
  if (host !== "" && url.slice(0, prefix.length) === prefix) {
    return url.slice(prefix.length - 1);
  }
  const [, socket, authority = "", received = ""] = ABSOLUTE.exec(url) ?? [];
  const isValid = /^[/?]/.test(received) &&
    (socket !== undefined || isHost(authority));
  if (!isValid) throw badRequest(MALFORMED_TARGET, url);
  return received;
}

/** The error for a malformed request; quotes the beginning of what was sent. */
function badRequest(fault: string, received: string): HttpError {
  const start = JSON.stringify(received.slice(0, 100));
  return refusal(400, `The ${fault}: ${start}`);
}

/**
 * The GET of a URL or of a path of this machine. Throws `TypeError` for anything else, and for the options of the
 * runtime's `fetch()` in place of what a server passes on.
 */
export function webRequest(
  request: URL | string,
  info?: ConnectionInfo,
): Request {
  const given = Object(info);
  if ("method" in given || "body" in given || "headers" in given) {
    throw new TypeError(
      "Cannot fetch with options: pass a new Request(url, options)",
    );
  }
  const isPath = typeof request === "string" && request.startsWith("/");
  const url = URL.parse(isPath ? `http://localhost${request}` : `${request}`);
  if (url !== null && /^https?:$/.test(url.protocol)) return new Request(url);
  const rule =
    'the request must be a web Request, an http or https URL, or a path such as "/users"';
  throw wrongKind("fetch", rule, request);
}

/** The base of an application that is mounted, by the request that it gets. */
export const mountedAt: WeakMap<Request, string> = new WeakMap();
