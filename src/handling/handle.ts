/**
 * Owns the lifecycle of a request: the order of the steps, and what happens when one of them throws.
 *
 * | step           | does                                                                         |
 * | -------------- | ---------------------------------------------------------------------------- |
 * | `admit`        | takes the target, and checks the host                                        |
 * | `receive`      | reads the body, if there is one and a route takes it (`receive.ts`)          |
 * | `dispatch`     | calls the routes, or `notFound` (`dispatch.ts`)                              |
 * | `settle`       | waits for the framework's calls that a callback did not await                |
 * | `finish`       | makes the response of the reply, passes it through `send`, and concludes     |
 * | `conclude`     | starts deferred work, concludes the exchange, opens or refuses a WebSocket   |
 * | `recover`      | when any of them throws: `error` (`runError`), then `settle` and `finish`    |
 *
 * Each is synchronous as long as nothing has to be waited for. From then on `continueAsync` takes the same steps in
 * place of `handle`, and `finishAsync` those of `finish` that are left.
 */

import type { Application } from "../application/application.ts";
import { type Context, Exchange } from "../application/exchange.ts";
import { HttpError, isStop, toError } from "../errors.ts";
import { report } from "../report.ts";
import type { ConnectionInfo } from "../fetch.ts";
import { checkHost } from "../request/host.ts";
import { checkScheme, targetOf } from "../request/target.ts";
import { finishUpgrade, resetsNoticed } from "../runtime.ts";
import { enter } from "../state/current.ts";
import "../state/uncaught.ts"; // notices the rejected calls that nobody awaits: see `state/pending.ts`
import { type MaybePromise, run, type Steps, type Waiting } from "../steps.ts";
import { startDeferred } from "./deferred.ts";
import {
  forgetError,
  logError,
  logNotedErrors,
  reportLate,
} from "./error_log.ts";
import { respondPlainly } from "./pages.ts";
import { receive } from "./receive.ts";
import { send } from "./send.ts";
import { dispatch, matchOf } from "./dispatch.ts";

/**
 * The statuses by which the framework refuses input: these errors get a page even when `framework.handle_errors` is
 * false. An application's own `HttpError` of such a status counts, too.
 */
const REFUSALS = new Set([400, 405, 408, 413, 415, 421, 422, 426, 503]);

const UNAWAITED = "in work that was not awaited";

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
  if (!app.isServing && exchange.isServed) app.beginServing();
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

/** Responds with the page of an error to a request that its server does not pass on. */
export function refuseRequest(
  app: Application,
  raw: Request,
  info: ConnectionInfo | undefined,
  error: HttpError,
): MaybePromise<Response> {
  const exchange = new Exchange(app, raw, info);
  try {
    exchange.target = targetOf(raw);
  } catch {
    // a malformed target is refused all the same
  }
  return enter(exchange.context, () => recover(exchange, error));
}

/** Handles a request synchronously, until there is something to wait for. */
function handle({ exchange }: Context): MaybePromise<Response> {
  try {
    admit(exchange);
    const waiting = exchange.hasUnreadBody
      ? receiveThenDispatch(exchange)
      : dispatch(exchange);
    if (waiting !== undefined || exchange.pending?.isUnsettled) {
      return continueAsync(exchange, waiting);
    }
    const response = finish(exchange);
    return response instanceof Promise
      ? response.catch((thrown) => recover(exchange, thrown))
      : response;
  } catch (thrown) {
    return recover(exchange, thrown);
  }
}

/** Takes the target of the request. Throws {@linkcode HttpError} when that is malformed, or for another server. */
function admit(exchange: Exchange): void {
  const { app, plan, raw } = exchange;
  exchange.target = targetOf(raw);
  if (app.isUnderDenoServe) checkScheme(raw); // `deno serve` never has TLS
  const hosts = plan.settings["framework.hosts"];
  if (hosts !== null) checkHost(raw, hosts, exchange.trustsProxy);
}

/** Reads the body for the route that matches, and dispatches the request. */
async function receiveThenDispatch(exchange: Exchange): Promise<void> {
  await receive(exchange, matchOf(exchange));
  await dispatch(exchange);
}

async function continueAsync(
  exchange: Exchange,
  waiting: Waiting,
): Promise<Response> {
  try {
    await waiting;
    if (exchange.pending?.isUnsettled) await settle(exchange);
    const response = finish(exchange);
    return response instanceof Promise ? await response : response;
  } catch (thrown) {
    return await recover(exchange, thrown);
  }
}

/** Waits for calls that the handler did not await; when one rejects, that is the request's error. */
function settle({ pending, plan }: Exchange): Waiting {
  if (!pending?.isUnsettled) return undefined;
  const seconds = plan.settings["framework.wait_timeout"];
  return pending.settle(seconds).then((late) => {
    if (late === "") return;
    report(
      `Sent the response without waiting for: ${late} (over ${seconds} s)`,
    );
  });
}

/** Makes the response, passes it through `send`, and ends the request. */
function finish(exchange: Exchange): Response | Promise<Response> {
  const { context: { reply }, plan } = exchange;
  const response = reply.toResponse(exchange);
  if (exchange.errors !== undefined) logNotedErrors(exchange, response.status);
  const sent = plan.send === undefined
    ? response
    : run(send(exchange, plan.send, response));
  const isLate = sent instanceof Promise || sent.status === 101;
  if (isLate) return finishAsync(exchange, sent);
  conclude(exchange, sent.status);
  return sent;
}

/** Waits for `send`, and for a WebSocket until the runtime knows whether its client has left (see `runtime.ts`). */
async function finishAsync(
  exchange: Exchange,
  sent: Response | Promise<Response>,
): Promise<Response> {
  const response = await sent;
  if (response.status === 101) await resetsNoticed();
  const uncaught = exchange.pending?.takeUncaught();
  if (uncaught) reportLate(exchange, uncaught.reason, UNAWAITED);
  conclude(exchange, response.status);
  return response;
}

/** Starts deferred work and ends the request, unless something holds it. */
function conclude(exchange: Exchange, status: number): void {
  if (exchange.deferred !== undefined) startDeferred(exchange);
  exchange.conclude();
  finishUpgrade(exchange.raw, status);
}

/** Runs `recovery`; what that throws itself rejects, also when it does so synchronously. */
function recover(
  exchange: Exchange,
  error: unknown,
): MaybePromise<Response> {
  try {
    return run(recovery(exchange, error));
  } catch (unhandled) {
    return Promise.reject(unhandled);
  }
}

/** Responds when something was thrown: the stop signal only ends the request, anything else goes to `error`. */
function* recovery(exchange: Exchange, error: unknown): Steps<Response> {
  try {
    if (!isStop(error)) yield* runError(exchange, error);
    yield settle(exchange)?.catch((late) =>
      reportLate(exchange, late, UNAWAITED)
    );
    return yield finish(exchange);
  } catch (unhandled) {
    logNotedErrors(exchange, 500);
    conclude(exchange, 500);
    throw unhandled;
  }
}

/** Calls `error`; when that fails too, responds with the default page. */
function* runError(exchange: Exchange, thrown: unknown): Steps<void> {
  const { app, context, plan: { settings } } = exchange;
  const { reply } = context;
  const error = toError(thrown);
  const isRefusal = error instanceof HttpError && REFUSALS.has(error.status);
  if (!isRefusal && !settings["framework.handle_errors"]) throw thrown;
  if (reply.isSealed) {
    forgetError(exchange, error);
    return reportLate(exchange, error, "after the response was sealed");
  }
  try {
    yield app.call("error", [error]);
  } catch (second) {
    if (isStop(second)) return;
    logError(exchange, error);
    if (second !== error) logError(exchange, toError(second));
    reply.reopen();
    respondPlainly(context, error);
  }
}
