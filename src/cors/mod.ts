/**
 * Lets scripts from other origins read responses (CORS protocol of the Fetch standard).
 *
 * Every preflight below its `path` gets a 204 before any route. All other responses there, error pages included, get
 * the headers last. CORS does not protect routes: a request from an origin that is not allowed is handled, and the
 * browser keeps the response from the script. Add filters of `start` that check credentials after `cors`, since a
 * preflight carries none. When an `origins` function throws, the request fails, and no other origin can read the error
 * page.
 *
 * The extension `guard` refuses requests of other sites that may change something, whatever `cors` allows: name the
 * origins that may write in its option `trusted`, too.
 *
 * Call it once for each `path` that has rules of its own. Where one path contains another, both apply, and the
 * later call sets the headers that both have.
 *
 * Guide: [docs/extensions.md](./docs/extensions.md)
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
import { urlBelowBase } from "../base.ts";
import { decodeEscapes, foldText } from "../path_text.ts";
import { wrongKind } from "../errors.ts";
import { checkDeclaring } from "../extension_keys.ts";
import { checkOptions, MAX_SECONDS } from "../options.ts";
import { checkOrigin } from "../origin.ts";
import { reportError } from "../report.ts";
import { isPlainPattern } from "../route_patterns.ts";
import { isThenable } from "../steps.ts";
import { varyBy } from "../vary.ts";

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

/** A path as it can be compared with that of a request: without a query, and without a fragment. */
const PATH = /^\/[^?#]*$/;

/** The headers to send, where, and to which origins. */
interface Policy {
  readonly origins: CorsOptions["origins"];
  /** The segments of the path below which it holds. */
  readonly path: readonly string[];
  /** Whether scripts may send every header that a preflight asks for. */
  readonly takesEveryHeader: boolean;
  /** The headers of the response to a preflight: a list, since reading `Headers` takes longer. */
  readonly preflight: readonly [name: string, value: string][];
  /** The headers of any other response. */
  readonly other: readonly [name: string, value: string][];
}

/**
 * Adds the headers of CORS to each response of an application.
 *
 * Throws `Error` in a request of the application. Throws `TypeError` when an option has an unknown name, an origin or
 * the path is malformed, `"*"` is combined with credentials, `credentials` is not a boolean, or a name cannot be sent,
 * and `RangeError` when `maxAge` is not a whole number, below 0 or above 1,000,000,000,000.
 */
export function cors(
  app: Engine | typeof Framework,
  options: CorsOptions,
): void {
  checkDeclaring(app, "cors");
  checkPolicy(options);
  const policy = policyOf(options);
  const decisions = new WeakMap<HttpRequest, boolean>();
  app.before("start", () => {
    const request = app.request();
    if (!isBelow(app, policy.path)) return;
    decisions.set(request, false); // for the page of an error in `origins`
    const decide = (isAllowed: boolean): void => {
      decisions.set(request, isAllowed);
      if (isPreflight(request)) app.halt(204);
    };
    const isAllowed = allows(policy, request);
    return isAllowed instanceof Promise
      ? isAllowed.then(decide)
      : decide(isAllowed);
  });
  app.after("send", (_params, { value: sent }) => {
    const request = app.request();
    if (!isBelow(app, policy.path)) return;
    const add = (isAllowed: boolean): void =>
      addHeaders(policy, request, sent.headers, isAllowed);
    const isAllowed = decisions.get(request);
    // A request that was refused before `start` has no decision yet.
    return isAllowed === undefined
      ? allowsRefused(policy, request).then(add)
      : add(isAllowed);
  });
}

function checkPolicy(options: CorsOptions): void {
  checkOptions("allow origins", options, OPTIONS);
  const { origins, credentials, maxAge = 0, path = "/" } = { ...options };
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
  if (!PATH.test(path) || !isPlainPattern(path)) {
    throw new TypeError(
      `Cannot add CORS below the path ${
        Deno.inspect(path)
      }: it must look like "/api", without parameters and expressions (a plus is written "\\\\+")`,
    );
  }
  if (origins === "*" || typeof origins === "function") return;
  if (!Array.isArray(origins)) {
    const rule = 'they must be "*", a list or a function';
    throw wrongKind("allow origins", rule, origins);
  }
  for (const origin of origins) checkOrigin("allow", origin);
}

function policyOf(options: CorsOptions): Policy {
  const { origins, methods = METHODS, headers, credentials, expose } = options;
  const [preflight, other] = [new Headers(), new Headers()];
  if (credentials) {
    preflight.set("access-control-allow-credentials", "true");
    other.set("access-control-allow-credentials", "true");
  }
  setList(preflight, "access-control-allow-methods", inUpperCase(methods));
  setList(preflight, "access-control-allow-headers", headers);
  if (options.maxAge !== undefined) {
    preflight.set("access-control-max-age", String(options.maxAge));
  }
  setList(other, "access-control-expose-headers", expose);
  return {
    origins: Array.isArray(origins) ? [...origins] : origins, // what the caller adds later was not checked
    path: segmentsOf((options.path ?? "").replace(/\\(.)/g, "$1")),
    takesEveryHeader: headers === undefined,
    preflight: [...preflight],
    other: [...other],
  };
}

/** Methods as routes have them, since browsers tell `put` from `PUT`; what is no list is left to `setList()`. */
function inUpperCase(methods: readonly string[]): readonly string[] {
  if (!Array.isArray(methods)) return methods;
  return methods.map((method) => String(method).toUpperCase());
}

/** Sets a header to a list, unless that is empty. */
function setList(
  headers: Headers,
  name: string,
  list: readonly string[] = [],
): void {
  if (!Array.isArray(list)) {
    throw wrongKind(`set "${name}"`, "it must be a list", list);
  }
  if (list.length > 0) headers.set(name, list.join(", "));
}

/** The segments of a path, decoded; a slash at the end counts for nothing. */
function segmentsOf(path: string): string[] {
  // A request with a malformed escape is refused.
  return path.replace(/\/$/, "").split("/")
    .map((segment) => decodeEscapes(segment) ?? segment);
}

/** Whether the path of the current request, without the base, begins with these segments, as routes compare. */
function isBelow(
  app: Engine | typeof Framework,
  prefix: readonly string[],
): boolean {
  if (prefix.length === 1) return true; // the root
  const [path = ""] = urlBelowBase(app).split("?", 1);
  const segments = segmentsOf(path);
  const isExact = app.get("framework.case_sensitive") === true;
  return prefix.every((expected, index) => {
    const segment = segments[index];
    return segment === expected ||
      !isExact && segment !== undefined &&
        foldText(segment) === foldText(expected);
  });
}

function isPreflight(request: HttpRequest): boolean {
  return request.method === "OPTIONS" && request.getHeader("origin") !== "" &&
    request.getHeader("access-control-request-method") !== "";
}

/** Whether the origin of a request may read the response. */
function allows(
  { origins }: Policy,
  request: HttpRequest,
): boolean | Promise<boolean> {
  if (origins === "*") return true;
  const origin = request.getHeader("origin");
  if (origin === "") return false;
  if (typeof origins !== "function") return origins.includes(origin);
  const isAllowed = origins(origin);
  return isThenable(isAllowed)
    ? Promise.resolve(isAllowed).then((late) => late === true)
    : isAllowed === true;
}

/** Whether the origin of a refused request may read why; an error in `origins` must not take the response with it. */
async function allowsRefused(
  policy: Policy,
  request: HttpRequest,
): Promise<boolean> {
  try {
    return await allows(policy, request);
  } catch (error) {
    const where = "while asking whether an origin is allowed";
    reportError(error, where, request.id);
    return false;
  }
}

/** Adds the headers that every response gets, and those for its origin where that is allowed. */
function addHeaders(
  policy: Policy,
  request: HttpRequest,
  headers: Headers,
  isAllowed: boolean,
): void {
  const isForAll = policy.origins === "*";
  if (!isForAll) headers.set("vary", varyBy("Origin", headers.get("vary")));
  if (!isAllowed) return;
  const isAsking = isPreflight(request);
  const origin = isForAll ? "*" : request.getHeader("origin");
  headers.set("access-control-allow-origin", origin);
  const added = isAsking ? policy.preflight : policy.other;
  for (const [name, value] of added) headers.set(name, value);
  if (!isAsking || !policy.takesEveryHeader) return;
  const asked = request.getHeader("access-control-request-headers");
  const name = "Access-Control-Request-Headers";
  headers.set("vary", varyBy(name, headers.get("vary")));
  if (asked !== "") headers.set("access-control-allow-headers", asked);
}
