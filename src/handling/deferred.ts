/**
 * Owns work for after the response: the default `defer`, which keeps it, and running it.
 */

import type { Application } from "../application/application.ts";
import { callingOther, type Exchange } from "../application/exchange.ts";
import { wrongKind } from "../errors.ts";
import { bind } from "../state/current.ts";
import { reportLate } from "./error_log.ts";

/** Keeps work for after the response; what is deferred while a body streams runs at once. */
export function defer(app: Application, work: () => unknown): void {
  if (typeof work !== "function") {
    throw wrongKind("defer work", "it must be a function", work);
  }
  const { exchange } = app.context("defer()");
  const bound = callingOther(exchange) === undefined
    ? work
    : held(exchange, work);
  if (exchange.deferred !== undefined) {
    return void exchange.deferred.push(bound);
  }
  exchange.deferred = [bound];
  if (exchange.isConcluded) startDeferred(exchange);
}

/** Work that runs as the code which has deferred it: that of an application that is mounted may use one around it. */
function held(exchange: Exchange, work: () => unknown): () => unknown {
  const release = exchange.hold();
  return bind(async () => {
    try {
      await work();
    } finally {
      release();
    }
  });
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
