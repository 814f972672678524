/**
 * Owns the lines of the error log that belong to requests. The page of an error hides what the operator needs:
 * its line has that, under the same reference.
 */

import type { RequestScope } from "../application/application.ts";
import { errorLine, errorText, report, toError } from "../errors.ts";
import { NO_TARGET } from "../state/scope.ts";
import { isFromProgram } from "./client.ts";

/** Notes an error of a request until it is known with which status the request ends. */
export function noteError({ root }: RequestScope, thrown: unknown): void {
  (root.errors ??= new Set()).add(thrown);
}

/**
 * Logs the noted errors of a request that ends with this status. One that the program made itself shows the
 * messages, so that only `framework.log_errors` logs them.
 */
export function logNotedErrors(scope: RequestScope, status: number): void {
  const { errors = [], plan: { settings } } = scope;
  scope.errors = undefined;
  if (status < 500) return;
  if (isFromProgram(scope) && !settings["framework.log_errors"]) return;
  for (const thrown of errors) logError(scope, toError(thrown));
}

/** Logs an error of a request: in one line, or whole where a setting asks for that. */
export function logError({ app, root }: RequestScope, error: Error): void {
  const { request, target, plan: { settings } } = root;
  const isWhole = settings["framework.log_errors"] ||
    settings["framework.debug"];
  const method = target === NO_TARGET ? request.method : target.method;
  const text = isWhole ? errorText(error) : errorLine(error);
  report(`${referenceOf(app)} ${method} ${target.path} ${text}`);
}

/** The id of the request; the application may have registered a class whose objects cannot be made. */
function referenceOf(app: RequestScope["app"]): string {
  try {
    return String(app.request().id);
  } catch {
    return "-";
  }
}
