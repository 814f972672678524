/**
 * Owns the lifecycle of a request: the order of its steps, and what happens when one throws.
 *
 * | step       | does                                                                       |
 * | ---------- | -------------------------------------------------------------------------- |
 * | `targetOf` | takes the target (`request/target.ts`)                                     |
 * | `endLoop`  | ends a loop of applications that call each other                           |
 * | `admit`    | refuses what the server must not take                                      |
 * | `receive`  | reads the body, if there is one and a route takes it (`receive.ts`)        |
 * | `dispatch` | calls the routes, or `notFound` (`dispatch.ts`)                            |
 * | `settle`   | waits for calls that a callback did not await (`unawaited.ts`)             |
 * | `finish`   | makes the response of the reply, and passes it through `send`              |
 * | `complete` | starts deferred work, concludes the exchange, opens or refuses a WebSocket |
 *
 * Each is synchronous as long as nothing has to be waited for. `src/stack.ts` knows this file by its name: what stands
 * below it in a stack has called `fetch`, and is no place of an error.
 */

import type { Application } from "../application/application.ts";
import { type Context, Exchange } from "../application/exchange.ts";
import type { MappedMethod } from "../application/mapped_method.ts";
import { HttpError, isRefusal, isStop, refusal, toError } from "../errors.ts";
import type { ConnectionInfo } from "../fetch.ts";
import { checkHost } from "../request/host.ts";
import { checkScheme, targetOf } from "../request/target.ts";
import { departuresNoticed, finishUpgrade } from "../runtime.ts";
import { enter } from "../state/current.ts";
import { UNAWAITED } from "../state/uncaught.ts"; // which notices rejected calls that nobody awaits
import { type MaybePromise, run, type Steps } from "../steps.ts";
import { startDeferred } from "./deferred.ts";
import {
  AFTER_SEAL,
  forgetError,
  logError,
  logNotedErrors,
  reportLate,
} from "./error_log.ts";
import { respondPlainly } from "./pages.ts";
import { receive } from "./receive.ts";
import { firstRoute } from "./search.ts";
import { send } from "./send.ts";
import { dispatch } from "./dispatch.ts";
import { settle, settleAll } from "./unawaited.ts";

/** How deeply requests may be nested, mounted or by `fetch`: deeper counts as a loop. */
const MAX_NESTING = 100;

/** Handles a request; returns a promise only when something has to be waited for. */
export function handleRequest(
  app: Application,
  raw: Request,
  info?: ConnectionInfo,
): MaybePromise<Response> {
  const { plan } = app;
  if (plan.isDebugging && plan.debug === undefined) {
    return loadThenHandle(app, raw, info);
  }
  const exchange = new Exchange(app, raw, info);
  if (!app.isServing && exchange.isServed) app.isServing = true;
  const { debug } = plan;
  return enter(
    exchange.context,
    debug === undefined ? handle : (context) => debug.handle(context, handle),
  );
}

async function loadThenHandle(
  app: Application,
  raw: Request,
  info?: ConnectionInfo,
): Promise<Response> {
  await app.plan.loadDebug();
  return handleRequest(app, raw, info);
}

/** Handles a request; what neither `error` nor the default page can show rejects. */
function handle({ exchange }: Context): MaybePromise<Response> {
  try {
    return run(lifecycle(exchange));
  } catch (unhandled) {
    return Promise.reject(unhandled);
  }
}

/**
 * The steps of a request. When one throws, the method `error` responds: `runError`. As long as none has, only what has
 * to be waited for is yielded: a `yield` costs time even without a promise. However they end, the request is completed:
 * a server that shuts down would wait for it otherwise.
 */
function* lifecycle(exchange: Exchange): Steps<Response> {
  let response: Response | undefined;
  try {
    try {
      exchange.target = targetOf(exchange.raw);
      const isNested = exchange.outerContext !== undefined;
      if (isNested && isInLoop(exchange)) return response = endLoop(exchange);
      admit(exchange);
      if (exchange.hasBody) yield receive(exchange, firstRoute(exchange));
      const waiting = dispatch(exchange);
      if (waiting !== undefined) yield waiting;
      if (exchange.pending?.isUnsettled) yield settle(exchange);
      const finished = finish(exchange);
      return response = finished instanceof Promise ? yield finished : finished;
    } catch (thrown) {
      if (isStop(thrown)) yield* endStopped(exchange);
      else yield* runError(exchange, thrown);
      yield* settleAll(exchange, (late) => failLate(exchange, late));
      const finished = finish(exchange);
      return response = finished instanceof Promise ? yield finished : finished;
    }
  } catch (unhandled) {
    logNotedErrors(exchange, 500);
    exchange.context.reply.reopen(); // which cancels what was to be sent
    throw unhandled;
  } finally {
    complete(exchange, response?.status ?? 500);
  }
}

/**
 * Throws {@linkcode HttpError} for a request that has the scheme or host of another server, and while the server shuts
 * down. Its target is known by then: the page, the log and `cors` ask for it.
 */
function admit(exchange: Exchange): void {
  const { app, plan, raw } = exchange;
  if (app.isSecure !== undefined) checkScheme(raw, app.isSecure);
  if (app.unfinished.isDraining) checkDraining(exchange);
  const hosts = plan.settings["framework.hosts"];
  if (hosts !== null) checkHost(raw, hosts, exchange.trustsProxy);
}

/** Whether a request is one of a loop of applications that hand requests to each other, each waiting for the next. */
function isInLoop({ nesting }: Exchange): boolean {
  const waiting = nesting.filter(({ isConcluded }) => !isConcluded);
  return waiting.length > MAX_NESTING;
}

/** Ends a loop by the plain page: `error`, `send` or a filter may be what loops. */
function endLoop({ context }: Exchange): Response {
  const error = new HttpError(
    508,
    "The applications call each other in a loop",
  );
  logError(context.exchange, error);
  respondPlainly(context, error);
  return context.reply.toResponse(context.exchange);
}

/**
 * Refuses a request that comes while the server drains. That of `start()` listens on, but only to receive bodies. One
 * that another application hands on was taken before.
 */
function checkDraining(
  { app, hasConnectionInfo, outerContext }: Exchange,
): void {
  const isNested = outerContext !== undefined;
  if (!hasConnectionInfo || isNested || app.isUnderDenoServe) return;
  const headers = { connection: "close" };
  throw refusal(503, "The server is shutting down", { headers });
}

/** Makes the response, and passes it through `send`. */
function finish(exchange: Exchange): MaybePromise<Response> {
  const { context: { reply }, plan } = exchange;
  const response = reply.toResponse(exchange);
  if (exchange.errors !== undefined) logNotedErrors(exchange, response.status);
  if (plan.send !== undefined || response.status === 101) {
    return run(finishLate(exchange, response, plan.send));
  }
  return response;
}

/** Calls `send`, and waits for a WebSocket until the runtime knows whether its client has left (see `runtime.ts`). */
function* finishLate(
  exchange: Exchange,
  made: Response,
  changedSend: MappedMethod | undefined,
): Steps<Response> {
  const response = changedSend === undefined
    ? made
    : yield* send(exchange, changedSend, made);
  if (response.status === 101) yield departuresNoticed();
  return response;
}

/**
 * Logs what came too late, starts deferred work, which holds the request from then on, and concludes it: without a
 * hold, it is over. Then a WebSocket opens, or is refused.
 */
function complete(exchange: Exchange, status: number): void {
  if (exchange.pending !== undefined) reportUncaught(exchange);
  if (exchange.deferred !== undefined) startDeferred(exchange);
  exchange.conclude();
  const { outerContext, raw } = exchange;
  if (outerContext?.exchange.handles(raw)) return; // the status may change
  finishUpgrade(raw, status);
}

/**
 * Waits for what is left after `halt` or `stop`. When one of them fails before it has responded, the reply is open
 * again.
 */
function* endStopped(exchange: Exchange): Steps<void> {
  try {
    yield settle(exchange);
  } catch (late) {
    if (exchange.context.reply.isSealed) failLate(exchange, late);
    else yield* runError(exchange, late);
  }
}

/**
 * Calls `error`; when that fails too, responds with the default page. A sealed reply has its response: a page, or a
 * method that responds, opens it again when it fails before its response is whole.
 */
function* runError(exchange: Exchange, thrown: unknown): Steps<void> {
  const { app, context } = exchange;
  const { reply } = context;
  const error = handledError(exchange, thrown);
  forgetError(exchange, thrown); // logged here, or noted again by `error`
  exchange.pending?.drop(thrown); // a filtered `json` may have kept what it has thrown: see `mapped_response.ts`
  if (reply.isSealed) {
    reply.hasIgnored = true; // the page of this error
    return reportLate(exchange, error, AFTER_SEAL);
  }
  try {
    yield app.call("error", [error]);
  } catch (second) {
    if (isStop(second)) return;
    logError(exchange, error);
    forgetError(exchange, second);
    if (second !== error) logError(exchange, toError(second));
    reply.reopen();
    respondPlainly(context, error);
  }
}

/** What was thrown, as the error of a page; rethrows it under `framework.handle_errors` false, unless it is a refusal. */
function handledError({ plan }: Exchange, thrown: unknown): Error {
  const error = toError(thrown);
  if (plan.settings["framework.handle_errors"] || isRefusal(error)) {
    return error;
  }
  throw thrown;
}

/**
 * Takes an error of a call that nobody awaited, after the request has responded. Where the page that was to be the
 * response has failed by it, the reply is open again, and the default page is sent.
 */
function failLate(exchange: Exchange, thrown: unknown): void {
  const { context } = exchange;
  if (context.reply.isSealed) return reportLate(exchange, thrown, UNAWAITED);
  const error = handledError(exchange, thrown);
  forgetError(exchange, thrown);
  logError(exchange, error);
  respondPlainly(context, error);
}

/** Logs the errors that came too late for the response. */
function reportUncaught(exchange: Exchange): void {
  for (const { reason } of exchange.pending!.takeUncaught()) {
    reportLate(exchange, reason, UNAWAITED);
  }
}
