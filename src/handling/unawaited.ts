/**
 * Owns waiting for the framework's calls that the code of a request did not await: before its response is made, before
 * its page is sent, and before code goes on that they may still forbid. How they are noted is in `state/pending.ts`.
 */

import type { Context, Exchange } from "../application/exchange.ts";
import { report } from "../report.ts";
import type { Waiting } from "../steps.ts";

/**
 * Waits for the calls, those of one scope or all, and rejects with the error of one that nobody has caught. Reports
 * those that take too long: what follows does without them.
 */
export function settle(exchange: Exchange, scope?: object): Waiting {
  return waitForCalls(exchange, scope, (late, seconds) => {
    report(
      `Sent the response without waiting for: ${late} (over ${seconds} s)`,
    );
  });
}

/**
 * Waits for the calls that code of this context has begun and did not await: each of them may still respond or throw.
 * Rejects when they take too long. Where code goes on after that, rejects also when a call that was to respond has
 * failed, even if that was caught, so that a guard lets nobody in.
 */
export function awaitCalls(
  context: Context,
  after: string,
  goesOn = true,
): Waiting {
  const { exchange, scope } = context;
  const waiting = waitForCalls(exchange, scope, (late, seconds) => {
    throw new Error(
      `Cannot continue after ${after}: calls that were not awaited did not finish within ${seconds} s (${late})`,
    );
  });
  if (waiting === undefined) return heedCalls(context, goesOn);
  return waiting.then(() => heedCalls(context, goesOn));
}

/** Has late responses seal the reply, and throws the failure of a call that was to respond, unless another one has. */
function heedCalls(
  { exchange: { pending }, reply }: Context,
  goesOn: boolean,
): undefined {
  pending?.runChecks();
  const failure = pending?.takeFailure();
  if (goesOn && failure !== undefined && !reply.isSealed) throw failure.reason;
}

/** Waits for calls; `onLate` gets the names of those that take too long, and how many seconds they had. */
function waitForCalls(
  { pending, plan }: Exchange,
  scope: object | undefined,
  onLate: (late: string, seconds: number) => void,
): Waiting {
  if (!pending?.isUnsettled) return undefined;
  const seconds = plan.settings["framework.wait_timeout"];
  return pending.settle(seconds, scope).then((names) => {
    if (names !== "") onLate(names, seconds);
  });
}
