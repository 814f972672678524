/** Owns what code leaves behind: waiting for the calls that it did not await, and running the work that it deferred. */

import type { Context, Exchange } from "../application/exchange.ts";
import { wrongKind } from "../errors.ts";
import { report, reportError } from "../report.ts";
import { bind, enter } from "../state/current.ts";

/**
 * Waits for the calls within a context that were not awaited. Throws the error of one that no code has caught, unless
 * the response is sealed: then it is logged. `before` names code that goes on only when all have ended.
 */
export async function settle(context: Context, before?: string): Promise<void> {
  const { exchange, reply } = context;
  const { pending } = exchange;
  const seconds = exchange.settings["framework.wait_timeout"];
  while (pending !== undefined && !pending.isSettled(context)) {
    const late = (await pending.settle(context, seconds)).join(", ");
    if (late !== "") {
      const fault =
        `calls that were not awaited did not finish within ${seconds} s (${late})`;
      // Without a method that responds alone, there is no response.
      const without = before ?? (reply.isClaimed ? "them" : undefined);
      if (without !== undefined) {
        if (before === undefined) reply.reopen();
        throw new Error(`Cannot continue after ${without}: ${fault}`);
      }
      report(`${exchange.label} Sending the response: ${fault}`);
    }
    for (const reason of pending.takeUncaught(context)) {
      if (!reply.isSealed) throw reason;
      reportError(reason, "in work that was not awaited", exchange.label);
    }
  }
}

/** Keeps work for after the response; what is deferred while a body streams runs at once. */
export function defer(context: Context, work: () => unknown): void {
  const { exchange } = context;
  if (typeof work !== "function") {
    throw wrongKind("defer work", "it must be a function", work);
  }
  const isRunning = exchange.deferred !== undefined;
  // The calling code may be that of a mounted application, whose request ends first.
  (exchange.deferred ??= []).push(enter(context, () => bind(work)));
  if (exchange.isConcluded && !isRunning) startDeferred(exchange);
}

/** Runs deferred work. Servers that drain wait for it, including those of the applications around this one. */
export function startDeferred(exchange: Exchange): void {
  const work = runDeferred(exchange);
  for (let each: Exchange | undefined = exchange; each;) {
    const { deferred } = each.app;
    deferred.add(work);
    work.finally(() => deferred.delete(work));
    each = each.outer?.exchange;
  }
}

/** Runs each piece of work in a separate turn. Errors are logged: it is too late for a response. */
async function runDeferred(exchange: Exchange): Promise<void> {
  const { deferred = [] } = exchange;
  const release = exchange.hold();
  while (deferred.length > 0) {
    await new Promise((resolve) => setTimeout(resolve));
    try {
      await deferred.shift()!();
    } catch (error) {
      reportError(error, "in deferred work", exchange.label);
    }
  }
  exchange.deferred = undefined;
  release();
}
