/**
 * Owns what debug adds around the handling of a request: warnings, addresses of its own, times, and the script of live
 * reload. Of applications that are mounted in each other, the outermost one under debug does it.
 */

import type { Application } from "../application/application.ts";
import type { Exchange } from "../application/exchange.ts";
import { isFromProgram, seesDetails } from "../handling/client.ts";
import { withoutBase } from "../paths.ts";
import { report, reportError } from "../report.ts";
import { targetOf } from "../request/target.ts";
import { mutable } from "../response/web_response.ts";
import { routeName } from "../routing/tree.ts";
import { type MaybePromise, withoutRequest } from "../waiting.ts";
import { deskOf, FOLDER } from "./desk.ts";
import { events, liveState, withScript } from "./live.ts";
import { LIVE_SCRIPT } from "./live_script.ts";
import { STYLE } from "./style.ts";
import { beginTiming } from "./timing.ts";

export async function handleAtDesk(
  exchange: Exchange,
  handle: () => MaybePromise<Response>,
): Promise<Response> {
  const isOutermost = deskOf(exchange) === exchange;
  if (isOutermost && exchange.isServed) warn(exchange.app);
  const response = isOutermost && seesDetails(exchange)
    ? await handleForDeveloper(exchange, handle)
    : await handle();
  reportNothing(exchange, response);
  return response;
}

async function handleForDeveloper(
  exchange: Exchange,
  handle: () => MaybePromise<Response>,
): Promise<Response> {
  const tool = respondTool(exchange);
  if (tool !== undefined) {
    exchange.conclude(); // nothing else does
    return tool;
  }
  const state = liveState(); // before the templates are read
  const endTiming = beginTiming(exchange);
  const response = await handle();
  if (response.status === 101) return response; // the WebSocket is open already
  const finished = isFromProgram(exchange)
    ? mutable(response)
    : withScript(exchange, mutable(response));
  const times = `live;desc="${state}", ${endTiming()}`;
  finished.headers.append("server-timing", times);
  return finished;
}

/** The response for an address of debug itself; undefined for any other. */
function respondTool(exchange: Exchange): Response | undefined {
  if (exchange.method !== "GET") return undefined;
  switch (pathBelowBase(exchange)) {
    case `${FOLDER}style.css`:
      return responseOf(STYLE, "text/css; charset=utf-8");
    case `${FOLDER}live.js`:
      return responseOf(LIVE_SCRIPT, "text/javascript; charset=utf-8");
    case `${FOLDER}live`:
      return responseOf(events(exchange), "text/event-stream");
  }
}

function pathBelowBase({ raw, base }: Exchange): string | undefined {
  try {
    return withoutBase(targetOf(raw).path, base);
  } catch {
    return undefined; // the target is malformed, and will be refused
  }
}

function responseOf(body: BodyInit, type: string): Response {
  const headers = { "cache-control": "no-store", "content-type": type };
  return new Response(body, { headers });
}

/** Says that a callback has returned nothing, where that may be a mistake. */
function reportNothing(
  { isHead, match, reply: { body, sealedBy }, label }: Exchange,
  response: Response,
): void {
  const isEmpty = body.length === 0 && response.body === null;
  const isUnsaid = response.status === 200 &&
    sealedBy === "the end of the request";
  if (match === undefined || isHead || !isEmpty || !isUnsaid) return;
  const why = `${routeName(match)} returned and wrote nothing`;
  report(`${label} Sent an empty response: ${why} (if meant, set status 204)`);
}

const warned = new WeakSet<Application>();

/** Warns, once, of routes that can never be reached. */
function warn(app: Application): void {
  if (warned.has(app)) return;
  warned.add(app);
  withoutRequest(() => app.router().check()).then(
    (warnings) => warnings.forEach((each) => report(`Warning: ${each}`)),
    (error) => reportError(error, "while checking the routes"),
  );
}
