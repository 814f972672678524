/**
 * Owns what debug adds around the handling of a request: responses of its own, and what it changes in the
 * final response for a person on this machine.
 */

import type { Step } from "../application/debug_tools.ts";
import type { Exchange } from "../application/exchange.ts";
import { seesDetails } from "../handling/client.ts";
import { targetOf } from "../request/target.ts";
import type { MaybePromise } from "../steps.ts";
import { finish, respond } from "./live.ts";

/** Handles a request, and lets debug respond before, and change the response after. */
export function handleWatched(
  exchange: Exchange,
  start: Step,
  handle: (exchange: Exchange, start: Step) => MaybePromise<Response>,
): MaybePromise<Response> {
  // An application around this one that is under debug, too, watches the request.
  const isInner = exchange.outer?.exchange.nesting
    .some(({ plan }) => plan.debug !== undefined);
  if (isInner || !seesDetails(exchange)) return handle(exchange, start);
  return watch(exchange, () => handle(exchange, start));
}

async function watch(
  exchange: Exchange,
  handle: () => MaybePromise<Response>,
): Promise<Response> {
  try {
    exchange.target = targetOf(exchange.raw);
  } catch {
    return await handle(); // which refuses it
  }
  const own = respond(exchange);
  if (own !== undefined) {
    exchange.hasResponse = true;
    exchange.end();
    return own;
  }
  const response = await handle();
  return response.status === 101 ? response : await finish(exchange, response);
}
