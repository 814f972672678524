/**
 * Owns waiting for the framework's calls that the code of a request did not await: before its response is made, before
 * its page is sent, and before code goes on that they may still forbid. How they are noted is in `state/pending.ts`.
 */

import type { Context, Exchange } from "../application/exchange.ts";
import { report } from "../report.ts";
import type { Waiting } from "../steps.ts";

/** Waits for all calls; rejects when one does, which is then the request's error. Late ones are reported. */
export function settle({ pending, plan }: Exchange): Waiting {
  if (!pending?.isUnsettled) return undefined;
  const seconds = plan.settings["framework.wait_timeout"];
  return pending.settle(seconds).then((late) => {
    if (late === "") return;
    report(
      `Sent the response without waiting for: ${late} (over ${seconds} s)`,
    );
  });
}

/** Waits for the calls that a page has made, and rejects when one does: it fails as if they were awaited. */
export function settlePage({ exchange, reply }: Context): Waiting {
  const { pending, plan } = exchange;
  if (!pending?.isUnsettled) return undefined;
  const seconds = plan.settings["framework.wait_timeout"];
  return pending.settle(seconds, { reply }).then(() => {});
}

/**
 * Waits for the calls that code has begun since and did not await: each of them may still respond or throw.
 * Rejects when they take too long, so that a guard lets nobody in.
 */
export function callsEnd(
  { pending, plan }: Exchange,
  name: string,
  earlier?: ReadonlySet<Promise<unknown>>,
): Waiting {
  if (!pending?.isUnsettled) return undefined;
  const seconds = plan.settings["framework.wait_timeout"];
  return pending.settle(seconds, { earlier }).then((late) => {
    if (late === "") return;
    throw new Error(
      `Cannot continue after ${name}: calls that were not awaited did not finish within ${seconds} s (${late})`,
    );
  });
}
