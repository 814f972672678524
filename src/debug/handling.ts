/**
 * Owns what debug adds around the handling of a request from this machine: addresses of debug itself, live reload
 * and timing.
 */

import type { DebugTools } from "../application/debug_tools.ts";
import type { Context, Exchange } from "../application/exchange.ts";
import { seesDetails } from "../handling/client.ts";
import { targetOf } from "../request/target.ts";
import { mutable } from "../response/web_response.ts";
import type { MaybePromise } from "../steps.ts";
import { addLiveReload, respondLive } from "./live.ts";
import { respondStyle } from "./style.ts";
import { Timing } from "./timing.ts";
import { warn } from "./warnings.ts";

type Handle = Parameters<DebugTools["handle"]>[1];

/** Handles a request by `handle`, with what debug adds for a client who sees details. */
export function handleUnderDebug(
  context: Context,
  handle: Handle,
): MaybePromise<Response> {
  const { exchange } = context;
  if (exchange.isServed) warn(exchange.app);
  // An application around this one that is under debug, too, does the same.
  const isAroundDebugging = exchange.outerContext?.exchange.nesting
    .some(({ plan }) => plan.debug !== undefined);
  if (isAroundDebugging || !seesDetails(exchange)) return handle(context);
  return handleTimed(exchange, handle);
}

async function handleTimed(
  exchange: Exchange,
  handle: Handle,
): Promise<Response> {
  const timing = new Timing(exchange);
  const tool = respondTool(exchange);
  if (tool !== undefined) {
    exchange.conclude(); // nothing else does: a drain would wait for it
    return tool;
  }
  const response = await handle(exchange.context);
  if (response.status === 101) return response; // a WebSocket is open already: see `runtime.ts`
  const finished = mutable(await addLiveReload(exchange, response));
  finished.headers.append("server-timing", timing.header());
  return finished;
}

/** The response for an address of debug itself, such as live reload; undefined for any other. */
function respondTool(exchange: Exchange): Response | undefined {
  try {
    exchange.target = targetOf(exchange.raw);
  } catch {
    return undefined; // the target is malformed, and will be refused
  }
  return respondStyle(exchange) ?? respondLive(exchange);
}
