/** Owns what a web request can be made of: which methods, and a URL or a path, for a GET of it. */

import { wrongKind } from "../errors.ts";

/** The methods of which no web request can be made (Fetch standard, "forbidden method"). */
export const FORBIDDEN_METHODS: ReadonlySet<string> = new Set(
  ["CONNECT", "TRACE", "TRACK"],
);

/** A web request as it is, or the GET of a URL or of a path of this machine. Throws `TypeError` for anything else. */
export function webRequest(request: Request | URL | string): Request {
  if (request instanceof Request) return request;
  const url = urlOf(request);
  if (url !== null && /^https?:$/.test(url.protocol)) return new Request(url);
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
