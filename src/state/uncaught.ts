/**
 * Owns errors that no code catches, which would end the process. The error of a request becomes the
 * request's error while its response can still change, and a line in the log afterwards. All other
 * errors are Deno's, unless a server keeps the process alive.
 */

import { EndedError, isStop } from "../errors.ts";
import { errorText } from "../error_text.ts";
import { report, reportError } from "../report.ts";
import { withoutRequest } from "../without_request.ts";
import { type Enterable, innermost } from "./current.ts";

/** Where an error of such work occurred, in the log. */
export const UNAWAITED = "in work that was not awaited";

/** For each server that keeps the process alive, the function that ends the process. */
const keepers = new Set<() => void>();

/** The context that each rejected promise has failed: code that handles the promise later undoes it. */
const failed = new WeakMap<Promise<unknown>, Enterable>();

/**
 * The main module, imported once more: the promise rejects with the module's error, even a late one. A server
 * keeps the process alive on errors of requests, and must not on those of a program that failed to begin. The
 * event of an uncaught error does not tell them apart: it has neither the module nor, outside of requests, a
 * context. Importing a module that is already loaded runs nothing, and returns its one promise.
 */
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

/**
 * Keeps the process alive on uncaught errors. On an error of the main module or of the runtime's own server,
 * calls `end` instead. Call the returned function to undo.
 */
export function surviveErrors(end: () => void): () => void {
  keepers.add(end);
  // Outside of requests at once: a turn later, Deno would not report an error of the main module.
  const load = (): Promise<unknown> => import(Deno.mainModule);
  main ??= (innermost() === undefined ? load() : withoutRequest(load))
    .catch((reason) => mainError = { reason });
  return () => void keepers.delete(end);
}

/** Hands an uncaught error to its request and returns that context; calls `late` when no response can show it. */
function catchError(
  event: Event,
  reason: unknown,
  late: (reason: unknown) => void,
): Enterable | undefined {
  const context = innermost();
  // Deno drops the context of a timer that throws: only the framework's own errors are known then.
  const isKnown = isStop(reason) ||
    Error.isError(reason) && reason instanceof EndedError;
  if (context === undefined && !isKnown && keepers.size === 0) return undefined;
  event.preventDefault();
  if (context && !isStop(reason) && context.fail(reason)) return context;
  late(reason);
  return undefined;
}

function reportUnawaited(reason: unknown): void {
  reportError(reason, UNAWAITED);
}

/** Reports a rejection. One of the main module ends the process; which one that is, is known a turn later. */
function reportRejection(reason: unknown): void {
  if (keepers.size === 0 || innermost() !== undefined) {
    return reportUnawaited(reason);
  }
  setTimeout(() => {
    const isMain = mainError !== undefined && mainError.reason === reason;
    if (isMain) report(`The main module failed: ${errorText(reason)}`);
    else reportUnawaited(reason);
    if (!isMain && !(reason instanceof Deno.errors.Http)) return;
    const what = isMain ? "the main module failed" : "a server failed";
    report(`The process is ending with status 1: ${what}`);
    for (const end of keepers) end();
  });
}
