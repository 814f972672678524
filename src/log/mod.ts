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
 * OpenTelemetry (`OTEL_DENO`), it gets the lines at once, and so it does for requests that the program itself makes,
 * as in tests.
 *
 * Unless the reader stalls, no line is lost when the process ends by itself, or on a signal that the server drains
 * on. `Deno.exit()` in your own code loses the lines that wait.
 *
 * Filters of `send` that are added later may still replace the response: call `log` after the other
 * extensions.
 *
 * Guide: [docs/errors.md](./docs/errors.md#the-log)
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

import type { Engine, Framework } from "../../mod.ts";
import { wrongKind } from "../errors.ts";
import { NULL_BODY } from "../http.ts";
import { checkOptions } from "../options.ts";
import { maskedPair, reportError, SECRETS } from "../report.ts";
import { isThenable } from "../waiting.ts";
import { lines } from "./lines.ts";

/** The record of a request and its response. */
export interface LogRecord {
  /** When the response was sent, as `2026-11-04T09:30:00.000Z`. */
  readonly time: string;
  /** The method. */
  readonly method: string;
  /**
   * The path with its query, encoded, of which at most 8,192 characters are kept; `/` for a malformed one. Values of
   * secrets are masked.
   */
  readonly url: string;
  /** The status of the response. */
  readonly status: number;
  /** The milliseconds from the head of the request to the head of the response. */
  readonly milliseconds: number;
  /** The length of the response's body in bytes; undefined for a stream of unknown length. */
  readonly bytes?: number | undefined;
  /** The pattern of the route, with the prefixes of groups; null where no route matched. */
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

/** How many characters of a URL are logged. */
const MAX_URL = 8_192;

/** Logs each request of an application. Throws `TypeError` for an unknown option, or one of the wrong type. */
export function log(
  app: Engine | typeof Framework,
  options: LogOptions = {},
): void {
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
    try {
      const written = write(recordOf(app, sent, secrets));
      if (!isThenable(written)) return;
      const writing = Promise.resolve(written).catch(reportFailure);
      if (hasClient(app)) app.defer(() => writing); // a server that drains waits for it
    } catch (error) {
      reportFailure(error);
    }
  });
}

/** An error of the log must not take the response with it. */
function reportFailure(error: unknown): void {
  reportError(error, "while writing the log");
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
    bytes: isEmpty ? 0 : lengthOf(app, sent),
    route: request.route?.pattern ?? null,
    ip: request.ip,
    id: request.id,
  };
}

/** How many bytes the body has; undefined where nobody knows before it is sent. */
function lengthOf(
  app: Engine | typeof Framework,
  { headers }: Response,
): number | undefined {
  const length = headers.get("content-length");
  return length === null ? app.response().length : Number(length);
}

/** The beginning of a URL, with the values of secrets in its query masked. */
function maskedUrl(url: string, secrets: RegExp): string {
  const [path, query] = url.slice(0, MAX_URL).split(/\?(.*)/s, 2);
  const cut = url.length > MAX_URL ? "\u2026" : "";
  if (!query) return path + cut;
  const isSecret = (name: string): boolean => name.search(secrets) !== -1;
  const pairs = query.split("&").map((pair) => maskedPair(pair, isSecret));
  return `${path}?${pairs.join("&")}${cut}`;
}

/** Returns a writer of lines to the standard output. */
function printer(app: Engine | typeof Framework): (record: LogRecord) => void {
  return (record) => {
    const line = lineOf(record);
    if (hasClient(app)) lines.print(line);
    // deno-lint-ignore no-console -- this is the log
    else console.log(line);
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
