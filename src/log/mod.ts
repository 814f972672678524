/**
 * One line for each request, written when its response is sent:
 *
 *     2026-11-04T09:30:00.000Z GET /search?word=tea 200 1.3 ms 512 B
 *     2026-11-04T09:30:00.000Z POST /orders 500 20.4 ms 301 B id 1f09ab34
 *
 * The time is that of the response. The milliseconds run from the head of the request to the head of the
 * response. The bytes are `-` for a stream of unknown length. A line with a status of 500 or above ends with the
 * id that the error page and the error log show as the reference. Secrets in the query are masked.
 *
 * Requests do not wait for a stalled reader of the standard output: up to a million characters are kept for it,
 * further lines are dropped, and the log says how many. If `console.log` has been replaced, or exports to
 * OpenTelemetry (`OTEL_DENO`), it gets the lines at once.
 *
 * Unless the reader stalls, no line is lost when the process ends by itself, or on a signal that the server drains
 * on. `Deno.exit()` in your own code may lose the write that is under way, of 4,096 characters or one longer line:
 * Deno does not tell whether it has begun.
 *
 * Filters of `send` that are added later may still replace the response: call `log` after the other
 * extensions.
 *
 * Guide: [docs/logging.md](./docs/logging.md)
 *
 * @example A record for each request instead of the line, such as for logs in JSON
 * ```ts
 * import { Engine } from "@framework/core";
 * import { log, type LogRecord } from "@framework/core/log";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new Engine();
 * const records: LogRecord[] = [];
 * log(app, { write: (record) => records.push(record) });
 * app.route("/hello", () => "Hello!");
 *
 * await app.fetch("/hello?key=abc");
 * const { method, url, status, bytes } = records[0]!;
 * assertEquals({ method, url, status, bytes }, {
 *   method: "GET",
 *   url: "/hello?key=\u2022\u2022\u2022\u2022",
 *   status: 200,
 *   bytes: 6,
 * });
 * ```
 *
 * @module
 */

import type { Engine, Framework, HttpRequest } from "../../mod.ts";
import { wrongKind } from "../errors.ts";
import { checkDeclaring, ROUTE_PATTERNS } from "../extension_keys.ts";
import { checkOptions } from "../options.ts";
import { reportError } from "../report.ts";
import { NULL_BODY } from "../null_body.ts";
import { wholePattern } from "../route_patterns.ts";
import { MASK, maskedPair, SECRETS } from "../secrets.ts";
import { isThenable } from "../steps.ts";
import { settlesWithin } from "../timer.ts";
import { lines } from "./lines.ts";

/** The record of a request and its response. */
export interface LogRecord {
  /** When the response was sent, as `2026-11-04T09:30:00.000Z`. */
  readonly time: string;
  /** The method. */
  readonly method: string;
  /**
   * The path with its query, encoded; `/` for a malformed one. Values of secrets are masked, and so is all that follows
   * 1,000 fields.
   */
  readonly url: string;
  /** The status of the response. */
  readonly status: number;
  /** The milliseconds from the head of the request to the head of the response. */
  readonly milliseconds: number;
  /** The length of the response's body in bytes; undefined for a stream of unknown length. */
  readonly bytes?: number | undefined;
  /**
   * The pattern of the route, with the prefixes of groups and, in a mounted engine, of its mounts; null where no
   * route matched, such as in a mounted engine, and where a mapped `request` returns something else.
   */
  readonly route: string | null;
  /** The address of the client, or "": `request().ip`. */
  readonly ip: string;
  /** The `request().id`, which error pages and the error log show. */
  readonly id: string;
}

/** The options of {@linkcode log}. */
export interface LogOptions {
  /**
   * Gets each record, instead of a line on the standard output. What it throws is only reported. The response does not
   * wait for a promise that it returns, but a server that drains does.
   */
  readonly write?: (record: LogRecord) => unknown;
  /** Matches the names of query parameters whose values are masked. */
  readonly secrets?: RegExp;
}

/** How many names of a query are matched: more fields are refused by `query`. */
const MAX_NAMES = 1_000;

/** How long a request, and so a server that drains, waits for a record to be kept by `write`. */
const WRITE_SECONDS = 10;

/** How long a server that drains waits for the reader of the log: one that reads takes far less. */
const STALLED_SECONDS = 0.1;

/**
 * Logs each request of an application. Throws `TypeError` for an unknown option, or one of the wrong type, and `Error`
 * in a request of the application.
 */
export function log(
  app: Engine | typeof Framework,
  options: LogOptions = {},
): void {
  checkDeclaring(app, "log");
  checkOptions("log requests", options, ["write", "secrets"]);
  const { write = printer(app), secrets = SECRETS } = options;
  if (typeof write !== "function") {
    throw wrongKind("log requests", '"write" must be a function', write);
  }
  if (!(secrets instanceof RegExp)) {
    const rule = '"secrets" must be a regular expression';
    throw wrongKind("log requests", rule, secrets);
  }
  app.after("send", (_params, { value: sent }) => {
    // An error must not take the response with it.
    const fail = (error: unknown): void =>
      reportError(error, "while writing the log");
    try {
      const written = write(recordOf(app, sent, secrets));
      if (!isThenable(written)) return;
      const writing = Promise.resolve(written).catch(fail);
      if (hasClient(app)) {
        app.defer(() => settlesWithin(writing, WRITE_SECONDS));
      }
    } catch (error) {
      fail(error);
    }
  });
}

function recordOf(
  app: Engine | typeof Framework,
  sent: Response,
  secrets: RegExp,
): LogRecord {
  const request = app.request();
  const { method } = request;
  const { status } = sent;
  const isEmpty = method === "HEAD" || NULL_BODY.has(status);
  return {
    time: new Date().toISOString(),
    method,
    url: maskedUrl(request.url, secrets),
    status,
    milliseconds: request.elapsed ?? 0,
    bytes: isEmpty ? 0 : bytesOf(app, sent),
    route: routeOf(request),
    ip: request.ip,
    id: request.id,
  };
}

/** The whole pattern of the route; null where none matched, or a mapped `request` returns something else. */
function routeOf(request: HttpRequest): string | null {
  if (!(ROUTE_PATTERNS in request)) return null;
  const patterns = request[ROUTE_PATTERNS];
  const isMatched = patterns.every((pattern) => pattern !== null);
  return isMatched ? wholePattern(patterns) : null;
}

function bytesOf(
  app: Engine | typeof Framework,
  sent: Response,
): number | undefined {
  const length = sent.headers.get("content-length");
  // Also of a response that an earlier filter has put in place of another one.
  return length === null ? app.response().length : Number(length);
}

/**
 * A URL with the values of secrets in its query masked. Their names are matched decoded; what follows more names than a
 * request may have is masked unread: a long URL would take too long.
 */
function maskedUrl(url: string, secrets: RegExp): string {
  const [path, query] = url.split(/\?(.*)/s, 2);
  if (!query) return url;
  const pairs = query.split("&", MAX_NAMES + 1);
  if (pairs.length > MAX_NAMES) pairs[MAX_NAMES] = MASK;
  let names = 0; // addresses in a value have further ones
  const isSecret = (name: string): boolean =>
    ++names > MAX_NAMES || decodedName(name).search(secrets) !== -1;
  return `${path}?${pairs.map((pair) => maskedPair(pair, isSecret)).join("&")}`;
}

/** The name of a query parameter, decoded, which takes long and is seldom needed. */
function decodedName(encoded: string): string {
  if (!/[%+]/.test(encoded)) return encoded;
  const [name = ""] = new URLSearchParams(encoded).keys();
  return name;
}

/** Returns a writer of lines to the standard output. */
function printer(app: Engine | typeof Framework): (record: LogRecord) => void {
  return (record) => {
    const line = lineOf(record);
    // deno-lint-ignore no-console -- this is the log
    if (!hasClient(app)) return console.log(line);
    const writing = lines.print(line);
    if (writing === undefined) return;
    app.defer(() => settlesWithin(writing, STALLED_SECONDS));
  };
}

/** Whether a request came from outside: one that the program made itself, as in a test, leaves nothing under way. */
function hasClient(app: Engine | typeof Framework): boolean {
  const request = app.request();
  return request.ip !== "" || request.getHeader("host") !== "";
}

function lineOf(record: LogRecord): string {
  const { time, method, url, status, milliseconds, bytes, id } = record;
  const duration = `${milliseconds.toFixed(1)} ms`;
  const suffix = status < 500 ? "" : ` id ${id}`;
  const request = `${time} ${method} ${url}`;
  return `${request} ${status} ${duration} ${bytes ?? "-"} B${suffix}`;
}
