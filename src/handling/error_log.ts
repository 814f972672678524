/**
 * Owns the lines of the error log that belong to requests. The page of an error hides what the operator needs;
 * its line in the log shows it, under the same reference. What was thrown is logged by what became of it:
 *
 * | what became of it                                                        | logged by                                             |
 * | ------------------------------------------------------------------------ | ----------------------------------------------------- |
 * | it has got a page, of whoever made that                                  | `noteError`, then `logNotedErrors` for a 500 or above |
 * | `error` itself has failed: it and the error before it                    | `logError`, in place of the note                      |
 * | unawaited work threw it, and the page that was the response is lost      | `logError`                                            |
 * | a filter of `send`, or `send` itself, has failed                         | `logError`                                            |
 * | after the seal, it was thrown, or given to `error()`                     | `reportLate`, in place of the note (`forgetError`)    |
 * | deferred work threw it or, too late for a page, work that nobody awaited | `reportLate`                                          |
 * | not even the default page can be made, or `error` does not run           | the server: `onError` of `server/listen.ts`           |
 * | a stream that is being sent has failed                                   | `Exchange.reportFailure`                              |
 * | work that nobody awaited threw it once the request was over              | `state/uncaught.ts`, which does not know the request  |
 */

import type { Exchange } from "../application/exchange.ts";
import { toError } from "../errors.ts";
import { errorLine, errorText } from "../error_text.ts";
import { report, reportError } from "../report.ts";
import { routeName } from "../routing/match.ts";
import { isFromProgram } from "./client.ts";

/**
 * Notes what was thrown and has got a page, until `finish` knows the status of the final page. It is noted as it was
 * thrown, since `toError()` makes another `Error` each time: what is noted twice is logged once.
 */
export function noteError(exchange: Exchange, thrown: unknown): void {
  (exchange.errors ??= new Set()).add(thrown);
}

/** Forgets what was noted, if it was: it is logged by other means. */
export function forgetError(exchange: Exchange, thrown: unknown): void {
  exchange.errors?.delete(thrown);
}

/**
 * Logs the noted errors of a request whose final page has this status. The response to the program's own requests
 * already has the message: those errors are logged only under `framework.log_errors` and `framework.debug`.
 */
export function logNotedErrors(exchange: Exchange, status: number): void {
  const { errors = [], plan: { isDebugging, settings } } = exchange;
  exchange.errors = undefined;
  if (status < 500) return;
  const isLogged = settings["framework.log_errors"] || isDebugging;
  if (!isLogged && isFromProgram(exchange)) return;
  for (const thrown of errors) logError(exchange, toError(thrown));
}

/** Logs an error of a request, noted or not: in one line, or whole where a setting asks for that. */
export function logError(exchange: Exchange, error: Error): void {
  forgetError(exchange, error);
  const { debug, isDebugging, settings } = exchange.plan;
  const isWhole = settings["framework.log_errors"] || isDebugging;
  const text = debug?.errorText(error) ??
    (isWhole ? errorText(error) : errorLine(error, routeOf(exchange)));
  report(`${exchange.title} ${text}`);
}

/** The place of an error that came when the response could not become its page. */
export const AFTER_SEAL = "after the response was sealed";

/**
 * Reports an error of a request that its response cannot show, with the place where it was thrown, such as "in ...".
 */
export function reportLate(
  exchange: Exchange,
  thrown: unknown,
  place: string,
): void {
  reportError(thrown, place, exchange.title);
}

function routeOf({ match }: Exchange): string {
  return match === undefined ? "" : routeName(match);
}
