/**
 * Lets scripts of other origins read responses, by the headers of the Fetch standard (CORS protocol).
 *
 * A preflight gets a 204, whatever its path, before any route. The headers are added to every other response
 * after all else, also to error pages. CORS protects no route: a request of an origin that is not allowed is
 * handled, and its browser keeps the response from the script. Add filters of `start` that ask for credentials
 * after `cors`, since a preflight carries none.
 *
 * @example An API for one site, with its cookies
 * ```ts
 * import { Engine } from "@framework/core";
 * import { cors } from "@framework/core/cors";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new Engine();
 * cors(app, { origins: ["https://example.com"], credentials: true });
 * app.route("/news", () => ["first"]);
 *
 * const headers = { origin: "https://example.com" };
 * const request = new Request("http://localhost/news", { headers });
 * const response = await app.fetch(request);
 * assertEquals(
 *   response.headers.get("access-control-allow-origin"),
 *   "https://example.com",
 * );
 * assertEquals(response.headers.get("vary"), "Origin");
 * ```
 *
 * @module
 */

import type { Engine, Framework } from "../../mod.ts";

/** The options of {@linkcode cors}. */
export interface CorsOptions {
  /**
   * The origins that may read responses: a list such as `["https://example.com"]`, a function that is
   * asked on each request, or `"*"` for every origin, which takes no credentials.
   */
  readonly origins:
    | "*"
    | readonly string[]
    | ((origin: string) => boolean | Promise<boolean>);
  /** The methods that scripts may use; GET, HEAD, POST, PUT, PATCH and DELETE when not given. */
  readonly methods?: readonly string[];
  /** The request headers that scripts may send; those that a preflight asks for when not given. */
  readonly headers?: readonly string[];
  /** Whether requests may carry cookies and other credentials; false when not given. */
  readonly credentials?: boolean;
  /** How many seconds a browser may keep the response to a preflight; its own default when not given. */
  readonly maxAge?: number;
  /** The response headers that scripts may read beside the usual ones (Fetch standard, "safelisted"). */
  readonly expose?: readonly string[];
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

const ALLOW_HEADERS = "access-control-allow-headers";

/** An origin: a scheme and a host, and a port where it is not the scheme's own. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^/?#@\s]+$/;

/** The headers to send, and to which origins. */
interface Policy {
  readonly origins: CorsOptions["origins"];
  /** The headers of the response to a preflight: a list, since reading `Headers` takes longer. */
  readonly preflight: readonly [name: string, value: string][];
  /** The headers of any other response. */
  readonly other: readonly [name: string, value: string][];
}

/**
 * Adds the headers of CORS to each response of an application.
 *
 * Throws `TypeError` when an origin is malformed, `"*"` is combined with credentials, or a name cannot be sent,
 * and `RangeError` when `maxAge` is not a whole number from 0.
 */
export function cors(
  app: Engine | typeof Framework,
  options: CorsOptions,
): void {
  checkOptions(options);
  const policy = policyOf(options);
  app.before("start", () => {
    if (isPreflight(app)) app.halt(204);
  });
  app.after(
    "send",
    (_params, { value: sent }) => addHeaders(app, policy, sent.headers),
  );
}

function checkOptions(options: CorsOptions): void {
  const { origins, credentials, maxAge = 0 } = options;
  if (origins === "*" && credentials) {
    throw new TypeError(
      'Cannot allow credentials to every origin: "origins" must be a list or a function',
    );
  }
  if (!Number.isInteger(maxAge) || maxAge < 0) {
    throw new RangeError(
      `Cannot set the age of preflights: it must be whole seconds from 0, got "${maxAge}"`,
    );
  }
  if (origins === "*" || typeof origins === "function") return;
  const wrong = Array.isArray(origins)
    ? origins.find((origin) => !isOrigin(origin))
    : origins;
  if (wrong === undefined && Array.isArray(origins)) return;
  throw new TypeError(
    `Cannot allow the origin ${Deno.inspect(wrong)}: ` +
      'it must be like "https://example.com" or "http://localhost:8000"',
  );
}

/** Whether a text is an origin in the form that browsers send, so that the two can be compared. */
function isOrigin(text: unknown): boolean {
  if (typeof text !== "string" || !ORIGIN.test(text)) return false;
  const origin = URL.parse(text)?.origin;
  // The URL standard gives no origin for unknown schemes.
  return origin === text || origin === "null";
}

function policyOf(options: CorsOptions): Policy {
  const { origins, methods = METHODS, headers, credentials } = options;
  const [preflight, other] = [new Headers(), new Headers()];
  if (credentials) {
    preflight.set("access-control-allow-credentials", "true");
    other.set("access-control-allow-credentials", "true");
  }
  preflight.set("access-control-allow-methods", methods.join(", "));
  if (headers) preflight.set(ALLOW_HEADERS, headers.join(", "));
  if (options.maxAge !== undefined) {
    preflight.set("access-control-max-age", String(options.maxAge));
  }
  if (options.expose) {
    other.set("access-control-expose-headers", options.expose.join(", "));
  }
  return { origins, preflight: [...preflight], other: [...other] };
}

function isPreflight(app: Engine | typeof Framework): boolean {
  const request = app.request();
  return request.method === "OPTIONS" && request.getHeader("origin") !== "" &&
    request.getHeader("access-control-request-method") !== "";
}

/** Adds the headers that every response gets, and those for its origin where that is allowed. */
function addHeaders(
  app: Engine | typeof Framework,
  policy: Policy,
  headers: Headers,
): void | Promise<void> {
  const { origins } = policy;
  if (origins === "*") return allow(app, policy, headers, "*");
  vary(headers, "Origin");
  const origin = app.request().getHeader("origin");
  if (origin === "") return;
  const allowed = typeof origins === "function"
    ? origins(origin)
    : origins.includes(origin);
  if (allowed === true) return allow(app, policy, headers, origin);
  if (!(allowed instanceof Promise)) return;
  return allowed.then((late) => {
    if (late === true) allow(app, policy, headers, origin);
  });
}

function allow(
  app: Engine | typeof Framework,
  policy: Policy,
  headers: Headers,
  origin: string,
): void {
  const isAsking = isPreflight(app);
  const added = isAsking ? policy.preflight : policy.other;
  headers.set("access-control-allow-origin", origin);
  for (const [name, value] of added) headers.set(name, value);
  if (!isAsking || headers.has(ALLOW_HEADERS)) return;
  const asked = app.request().getHeader("access-control-request-headers");
  vary(headers, "Access-Control-Request-Headers");
  if (asked !== "") headers.set(ALLOW_HEADERS, asked);
}

/** Tells caches to keep a response for each value of a request header. */
function vary(headers: Headers, name: string): void {
  const names = headers.get("vary")?.toLowerCase().split(/\s*,\s*/) ?? [];
  if (names.includes("*") || names.includes(name.toLowerCase())) return;
  headers.append("vary", name);
}
