/**
 * Lets scripts from other origins read responses (CORS protocol of the Fetch standard).
 *
 * Every preflight below its `path` gets a 204 before any route. All other responses there get the headers last: pages of
 * errors, and of targets that are refused, too. CORS does not protect routes: a request from an origin that is not allowed is handled, and the
 * browser keeps the response from the script. Add filters of `start` that check credentials after `cors`, since a
 * preflight carries none. When an `origins` function throws, the response is a 500 that no other origin can read.
 *
 * The extension `guard` refuses requests of other sites that may change something, whatever `cors` allows: name the
 * origins that may write in its option `trusted`, too.
 *
 * Call it once for each `path` that has rules of its own. Where one path contains another, both apply, and the
 * later call sets the headers that both have.
 *
 * Guide: [docs/reference.md](./docs/reference.md#cors)
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

import type { Engine, Framework, HttpRequest } from "../../mod.ts";
import { wrongKind } from "../errors.ts";
import { checkOrigin, varyBy } from "../http.ts";
import { checkOptions, MAX_SECONDS } from "../options.ts";
import { decodeEscapes, foldText, withoutBase } from "../paths.ts";

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
  /**
   * The path for which the rules hold, with everything below it, without the base: such as `/api`; by default `/`. It
   * has no parameters and no optional parts.
   */
  readonly path?: string;
  /** The methods that scripts may use, in any case; GET, HEAD, POST, PUT, PATCH and DELETE by default. */
  readonly methods?: readonly string[];
  /** The request headers that scripts may send; those that a preflight asks for by default. */
  readonly headers?: readonly string[];
  /** Whether requests may carry cookies and other credentials; false by default. */
  readonly credentials?: boolean;
  /** How many seconds a browser may keep the response to a preflight; the browser's own default when not given. */
  readonly maxAge?: number;
  /** The response headers that scripts may read besides the usual ones (Fetch standard, "safelisted"). */
  readonly expose?: readonly string[];
}

const OPTIONS: readonly (keyof CorsOptions)[] = [
  "origins",
  "path",
  "methods",
  "headers",
  "credentials",
  "maxAge",
  "expose",
];

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/** A path without a query, a fragment and anything that has a meaning in patterns. */
const PATH = /^\/[^@()*+?#[\]{}|\\:\s]*$/;

/** The headers of a response: a list, since reading `Headers` takes longer. */
type HeaderList = readonly (readonly [name: string, value: string])[];

/**
 * Adds the headers of CORS to each response of an application.
 *
 * Throws `TypeError` when an option has an unknown name, an origin or the path is malformed, `"*"` is combined with
 * credentials, `credentials` is not a boolean, or a name cannot be sent, and `RangeError` when `maxAge` is not a whole
 * number, below 0 or above 1,000,000,000,000.
 */
export function cors(
  app: Engine | typeof Framework,
  options: CorsOptions,
): void {
  checkOptions("allow origins", options, OPTIONS);
  checkCors(options);
  const path = segmentsOf(options.path ?? "/");
  const { preflight, other } = headersOf(options);
  app.before("start", () => {
    if (isPreflight(app.request()) && isBelow(app, path)) app.halt(204);
  });
  app.after("send", async (_params, { value: { headers } }) => {
    if (!isBelow(app, path)) return;
    const request = app.request();
    const isForAll = options.origins === "*";
    if (!isForAll) headers.set("vary", varyBy("Origin", headers.get("vary")));
    if (!await allows(options, request)) return;
    const origin = isForAll ? "*" : request.getHeader("origin");
    headers.set("access-control-allow-origin", origin);
    const isAsking = isPreflight(request);
    for (const [name, value] of isAsking ? preflight : other) {
      headers.set(name, value);
    }
    if (isAsking && options.headers === undefined) {
      allowAsked(request, headers);
    }
  });
}

function checkCors(
  { origins, credentials, maxAge = 0, path = "/" }: CorsOptions,
): void {
  if (origins !== "*" && typeof origins !== "function") {
    const rule = 'they must be "*", a list or a function';
    if (!Array.isArray(origins)) {
      throw wrongKind("allow origins", rule, origins);
    }
    for (const origin of origins) checkOrigin("allow", origin);
  }
  if (credentials !== undefined && typeof credentials !== "boolean") {
    const rule = '"credentials" must be true or false';
    throw wrongKind("allow credentials", rule, credentials);
  }
  if (origins === "*" && credentials) {
    throw new TypeError(
      'Cannot allow credentials to every origin: "origins" must be a list or a function',
    );
  }
  if (!Number.isInteger(maxAge) || maxAge < 0 || maxAge > MAX_SECONDS) {
    throw new RangeError(
      `Cannot set the maximum age of preflights: it must be a whole number of seconds, at least 0 and at most ${MAX_SECONDS}, got "${maxAge}"`,
    );
  }
  if (typeof path !== "string" || !PATH.test(path)) {
    const rule = 'it must look like "/api", without parameters and expressions';
    throw wrongKind("add CORS below the path", rule, path);
  }
}

/** The headers of the response to a preflight, and those of any other. */
function headersOf(
  options: CorsOptions,
): Readonly<Record<"preflight" | "other", HeaderList>> {
  const { methods = METHODS, headers = [], expose = [] } = options;
  const credentials = options.credentials ? "true" : "";
  return {
    preflight: headerList({
      "access-control-allow-credentials": credentials,
      // Browsers tell `put` from `PUT`, and routes have capitals.
      "access-control-allow-methods": listed("methods", methods).toUpperCase(),
      "access-control-allow-headers": listed("headers", headers),
      "access-control-max-age": `${options.maxAge ?? ""}`,
    }),
    other: headerList({
      "access-control-allow-credentials": credentials,
      "access-control-expose-headers": listed("expose", expose),
    }),
  };
}

function listed(name: keyof CorsOptions, list: readonly string[]): string {
  if (Array.isArray(list)) return list.join(", ");
  throw wrongKind("allow origins", `"${name}" must be a list`, list);
}

/** The headers that have a value. Throws `TypeError` for one that cannot be sent. */
function headerList(record: Record<string, string>): HeaderList {
  return [...new Headers(record)].filter(([, value]) => value !== "");
}

function isPreflight(request: HttpRequest): boolean {
  return request.method === "OPTIONS" && request.getHeader("origin") !== "" &&
    request.getHeader("access-control-request-method") !== "";
}

/** The segments of a path, decoded where that is possible; a slash at the end counts for nothing. */
function segmentsOf(path: string): string[] {
  return path.replace(/\/$/, "").split("/")
    .map((segment) => decodeEscapes(segment) ?? segment);
}

/** Whether the path of the current request, without the base, begins with these segments, as routes compare. */
function isBelow(
  app: Engine | typeof Framework,
  prefix: readonly string[],
): boolean {
  if (prefix.length === 1) return true; // the root
  const { raw, base } = app.request();
  // A target that was refused is in no other property.
  const [, sent = ""] = /^[^:]*:\/\/[^/?#]*([^?#]*)/.exec(raw.url) ?? [];
  const hasBase = app.has("framework.base_url");
  const segments = segmentsOf(hasBase ? withoutBase(sent, base) : sent);
  const isExact = app.get("framework.case_sensitive");
  const compared = isExact ? String : foldText;
  return prefix.every((expected, index) =>
    compared(expected) === compared(segments[index] ?? "")
  );
}

/** Whether the origin of a request may read the response. */
async function allows(
  { origins }: CorsOptions,
  request: HttpRequest,
): Promise<boolean> {
  if (origins === "*") return true;
  const origin = request.getHeader("origin");
  if (origin === "") return false;
  return typeof origins === "function"
    ? await origins(origin) === true
    : origins.includes(origin);
}

/** Allows a preflight the headers that it asks for. */
function allowAsked(request: HttpRequest, headers: Headers): void {
  const name = "Access-Control-Request-Headers";
  const asked = request.getHeader(name);
  headers.set("vary", varyBy(name, headers.get("vary")));
  if (asked !== "") headers.set("access-control-allow-headers", asked);
}
