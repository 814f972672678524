/**
 * Owns waiting for the framework's calls that the code of a request did not await. How they are noted is in
 * `state/pending.ts`.
 *
 * | function     | waits before                           | for the calls of | takes too long |
 * | ------------ | -------------------------------------- | ---------------- | -------------- |
 * | `settle`     | a seal, a page, the end of the request | one scope or all | a report       |
 * | `settleAll`  | the response of an error is made       | all, until none  | a report       |
 * | `awaitCalls` | code goes on that they may forbid      | one scope        | an error       |
 */

import type { Context, Exchange } from "../application/exchange.ts";
import { report } from "../report.ts";
import type { Steps, Waiting } from "../steps.ts";

/**
 * Waits for the calls, those of one scope or all, and rejects with the error of one that nobody has caught. Reports
 * those that take too long: what follows does without them.
 */
export function settle(exchange: Exchange, scope?: object): Waiting {
  return waitForCalls(exchange, scope, reportLateCalls);
}

/**
 * Waits for calls until none is left, also those that others of them have begun, but no longer in all than `settle`
 * does; `onFailure` gets each error.
 */
export function* settleAll(
  exchange: Exchange,
  onFailure: (thrown: unknown) => void,
): Steps<void> {
  const began = performance.now();
  const isLeft = (): boolean => exchange.pending?.isUnsettled ?? false;
  for (let isLate = false; isLeft() && !isLate;) {
    const onLate = (late: string, seconds: number): void => {
      isLate = true;
      reportLateCalls(late, seconds);
    };
    try {
      yield waitForCalls(exchange, undefined, onLate, began);
    } catch (thrown) {
      onFailure(thrown);
    }
  }
}

function reportLateCalls(late: string, seconds: number): void {
  report(`Sent the response without waiting for: ${late} (over ${seconds} s)`);
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

/**
 * Waits for calls until `framework.wait_timeout` seconds after `began`; `onLate` gets the names of those that take
 * longer, and these seconds.
 */
function waitForCalls(
  { pending, plan }: Exchange,
  scope: object | undefined,
  onLate: (late: string, seconds: number) => void,
  began: number = performance.now(),
): Waiting {
  if (!pending?.isUnsettled) return undefined;
  const seconds = plan.settings["framework.wait_timeout"];
  const passed = (performance.now() - began) / 1_000;
  return pending.settle(Math.max(0, seconds - passed), scope).then((names) => {
    if (names !== "") onLate(names, seconds);
  });
}
