/** Owns making a web request of what `fetch` was given, and the methods that none can have. */

import { wrongKind } from "../errors.ts";
import type { ConnectionInfo } from "../fetch.ts";
import { DOT_SEGMENT } from "./target.ts";

/** The methods of which no web request can be made (Fetch standard, "forbidden method"). */
export const FORBIDDEN_METHODS: ReadonlySet<string> = new Set(
  ["CONNECT", "TRACE", "TRACK"],
);

/**
 * A web request as it is, or the GET of a URL or of a path of this machine. Throws `TypeError` for anything else, and
 * for the options of the runtime's `fetch()` in place of what a server passes on.
 */
export function webRequest(
  request: Request | URL | string,
  info?: ConnectionInfo,
): Request {
  if (request instanceof Request) return request;
  const given = Object(info);
  if ("method" in given || "body" in given || "headers" in given) {
    throw new TypeError(
      "Cannot fetch with options: pass a new Request(url, options)",
    );
  }
  const url = urlOf(request);
  if (url !== null && /^https?:$/.test(url.protocol)) {
    const made = new Request(url);
    // A URL drops dot segments; those of a path are refused, as those that a client sends are.
    const isRefused = typeof request === "string" && request.startsWith("/") &&
      DOT_SEGMENT.test(request.split(/[?#]/, 1)[0]!);
    if (!isRefused) return made;
    return Object.defineProperty(made, "url", {
      value: `${url.origin}${request}`,
    });
  }
  const rule =
    'the request must be a web Request, an http or https URL, or a path such as "/users"';
  throw wrongKind("fetch", rule, request);
}

function urlOf(request: unknown): URL | null {
  if (request instanceof URL) return request;
  if (typeof request !== "string") return null;
  const isPath = request.startsWith("/");
  return URL.parse(isPath ? `http://localhost${request}` : request);
}
