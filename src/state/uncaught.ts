/**
 * Owns errors that no code catches, which would end the process. The error of a request becomes that request's, or a
 * line in the log. All other errors are Deno's, unless a server keeps the process alive.
 */

import { EndedError, isStop } from "../errors.ts";
import { errorText, report, reportError } from "../report.ts";
import { withoutRequest } from "../waiting.ts";
import { current, type Enterable, isInRequest } from "./current.ts";

/** A context that takes the errors of its code. */
export interface Failing extends Enterable {
  /** Takes an error: that of the request, or a line of the log once its response is made. */
  fail(reason: unknown): void;
  /** Forgets an error that was caught after all. */
  forget(reason: unknown): void;
}

/** For each server that keeps the process alive, the function that ends the process. */
const keepers = new Set<() => void>();

/** The context that each rejected promise has failed. */
const failed = new WeakMap<Promise<unknown>, Failing>();

/** The error of the main module, which importing it once more tells: no event does. */
let main: Promise<unknown> | undefined;
let mainError: { readonly reason: unknown } | undefined;

globalThis.addEventListener("error", (event) => {
  catchError(event, event.error, reportUnawaited);
});
globalThis.addEventListener("unhandledrejection", (event) => {
  const context = catchError(event, event.reason, reportRejection);
  if (context) failed.set(event.promise, context);
});
globalThis.addEventListener("rejectionhandled", ({ promise, reason }) => {
  failed.get(promise)?.forget(reason);
});

/** Keeps the process alive on uncaught errors; calls `end` on one of the main module. Call the result to undo. */
export function surviveErrors(end: () => void): () => void {
  keepers.add(end);
  const load = (): Promise<unknown> => import(Deno.mainModule);
  main ??= (isInRequest() ? withoutRequest(load) : load())
    .catch((reason) => mainError = { reason });
  return () => void keepers.delete(end);
}

function catchError(
  event: Event,
  reason: unknown,
  late: (reason: unknown) => void,
): Failing | undefined {
  const context = current() as Failing | undefined;
  const isOurs = isInRequest() || isStop(reason) ||
    Error.isError(reason) && reason instanceof EndedError;
  if (!isOurs && keepers.size === 0) return undefined;
  event.preventDefault();
  if (context === undefined || isStop(reason)) return void late(reason);
  context.fail(reason);
  return context;
}

function reportUnawaited(reason: unknown): void {
  reportError(reason, "in work that was not awaited");
}

/** Reports a rejection. One of the main module ends the process; which one that is, is known a turn later. */
function reportRejection(reason: unknown): void {
  if (keepers.size === 0 || isInRequest()) return reportUnawaited(reason);
  setTimeout(() => {
    if (mainError?.reason !== reason) return reportUnawaited(reason);
    report(`The main module failed: ${errorText(reason)}`);
    report("The process is ending with status 1: the main module failed");
    for (const end of keepers) end();
  });
}
