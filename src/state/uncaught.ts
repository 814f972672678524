/**
 * Owns errors that no code catches, which would end the process. The error of a request becomes the
 * request's error while its response can still change, and a line in the log afterwards. All other
 * errors are Deno's, unless a server keeps the process alive.
 */

import { isError, isStop, reportError } from "../errors.ts";
import { contextScope, EndedError, type Scope } from "./scope.ts";

/** How many servers keep the process alive. */
let keepers = 0;

/** The requests that a rejection has failed, by promise: a promise can still be awaited later. */
const failed = new WeakMap<Promise<unknown>, Scope>();

globalThis.addEventListener("error", (event) => catchError(event, event.error));
globalThis.addEventListener("unhandledrejection", (event) => {
  const scope = catchError(event, event.reason);
  if (scope) failed.set(event.promise, scope);
});
globalThis.addEventListener("rejectionhandled", ({ promise, reason }) => {
  const scope = failed.get(promise);
  if (scope && scope.failure?.reason === reason) scope.failure = undefined;
});

/** Keeps the process alive on uncaught errors. Call the returned function to undo. */
export function surviveErrors(): () => void {
  keepers += 1;
  return () => void (keepers -= 1);
}

/** Returns the request that the error has failed, if any. */
function catchError(event: Event, reason: unknown): Scope | undefined {
  const scope = contextScope();
  // Deno drops the context of a timer that throws: only the framework's own errors are known then.
  const isOwn = isStop(reason) ||
    isError(reason) && reason instanceof EndedError;
  if (scope === undefined && !isOwn && keepers === 0) return undefined;
  event.preventDefault();
  if (isStop(reason)) return undefined;
  if (!scope || scope.answered || scope.failure) {
    reportError(reason, "in work that nobody awaited");
    return undefined;
  }
  scope.failure = { reason };
  return scope;
}
