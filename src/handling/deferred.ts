/**
 * Owns work for after the response: the default `defer`, which keeps it, and running it.
 */

import type { Application } from "../application/application.ts";
import type { Exchange } from "../application/exchange.ts";
import { wrongKind } from "../errors.ts";
import { reportLate } from "./error_log.ts";

/** Keeps work for after the response; what is deferred while a body streams runs at once. */
export function defer(app: Application, work: () => unknown): void {
  if (typeof work !== "function") {
    throw wrongKind("defer work", "it must be a function", work);
  }
  const { exchange } = app.context("defer()");
  if (exchange.deferred !== undefined) {
    return void exchange.deferred.push(work);
  }
  exchange.deferred = [work];
  if (exchange.isConcluded) startDeferred(exchange);
}

/** Runs deferred work. Servers that drain wait for it, including those of the applications around this one. */
export function startDeferred(exchange: Exchange): void {
  const work = runDeferred(exchange);
  for (const { app: { unfinished: { deferred } } } of exchange.nesting) {
    deferred.add(work);
    work.finally(() => deferred.delete(work));
  }
}

/**
 * Runs each piece of deferred work in a separate turn, so that work that defers more work does not keep
 * other requests waiting. Errors are logged: it is too late for a response.
 */
async function runDeferred(exchange: Exchange): Promise<void> {
  const { deferred = [] } = exchange;
  const release = exchange.hold();
  try {
    while (deferred.length > 0) {
      await new Promise((resolve) => setTimeout(resolve));
      try {
        await deferred.shift()!();
      } catch (error) {
        reportLate(exchange, error, "in deferred work");
      }
    }
  } finally {
    exchange.deferred = undefined;
    release();
  }
}
