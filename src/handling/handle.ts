/**
 * Owns a request's way through an application: the order of the steps, and what happens when one of them
 * throws.
 */

import type { Application, RequestScope } from "../application/application.ts";
import { HttpError, isStop, reportError, toError } from "../errors.ts";
import { checkHost, checkPlain, targetOf } from "../request/target.ts";
import { textResponse } from "../response/outcome.ts";
import { finishUpgrade, resetsNoticed } from "../runtime.ts";
import { type ConnectionInfo, enter, Scope } from "../state/scope.ts";
import { run } from "../steps.ts";
import { startDeferred } from "./deferred.ts";
import { logError, logNotedErrors } from "./error_log.ts";
import { respondPlainly } from "./pages.ts";
import { hasUnreadBody, receive } from "./receive.ts";
import { send } from "./send.ts";
import { callStart, matchOnce } from "./start.ts";

/** The statuses of refused input: these errors get a page even when `framework.handle_errors` is false. */
const REFUSALS = new Set([400, 405, 408, 413, 415, 421, 422, 426, 503]);

const UNAWAITED = "in work that nobody awaited";

/** Handles a request of an application, in a scope of its own. */
export function handleRequest(
  app: Application,
  request: Request,
  info?: ConnectionInfo,
): Response | Promise<Response> {
  const scope = new Scope(app, request, info) as RequestScope;
  app.owner.isServing ||= scope.isServed;
  return enter(scope, handle);
}

/** Responds with the page of an error to a request that its server does not pass on. */
export function refuseRequest(
  app: Application,
  request: Request,
  info: ConnectionInfo | undefined,
  error: HttpError,
): Promise<Response> {
  const scope = new Scope(app, request, info) as RequestScope;
  return enter(scope, () => {
    const plan = scope.plan = app.plan ?? app.compile();
    if (plan.send !== undefined) scope.began = performance.now();
    try {
      scope.target = targetOf(request);
    } catch {
      // a malformed target is refused all the same
    }
    return recover(scope, error);
  });
}

/** Handles a request synchronously, until there is something to wait for. */
function handle(scope: RequestScope): Response | Promise<Response> {
  try {
    const pending = begin(scope);
    return pending === undefined && !scope.isUnsettled
      ? finish(scope)
      : continueAsync(scope, pending);
  } catch (thrown) {
    return recover(scope, thrown);
  }
}

/** Runs the steps up to the end of `start`; returns undefined when they are done, else what to await. */
function begin(scope: RequestScope): unknown {
  const { app, request } = scope;
  const plan = scope.plan = app.plan ?? app.compile();
  if (plan.send !== undefined) scope.began = performance.now();
  scope.target = targetOf(request);
  if (scope.owner.isPlain) checkPlain(request);
  const hosts = plan.settings["framework.hosts"];
  if (hosts !== null) checkHost(request, hosts, plan.trustsProxy);
  return hasUnreadBody(scope) ? receiveThenStart(scope) : callStart(scope);
}

/** Reads the body for the route that matches, and runs `start`. */
async function receiveThenStart(scope: RequestScope): Promise<void> {
  await receive(scope, matchOnce(scope));
  await callStart(scope);
}

async function continueAsync(
  scope: RequestScope,
  pending: unknown,
): Promise<Response> {
  try {
    await pending;
    if (scope.isUnsettled) await settle(scope);
    const response = finish(scope);
    return response instanceof Promise ? await response : response;
  } catch (thrown) {
    return await recover(scope, thrown);
  }
}

/** Waits for calls that the handler did not await; when one rejects, that is the request's error. */
function settle(scope: RequestScope): Promise<void> {
  return scope.settle(scope.plan.settings["framework.wait_timeout"]);
}

/** Makes the response, passes it through `send`, and ends the request. */
function finish(scope: RequestScope): Response | Promise<Response> {
  const { app, outcome, httpResponse, plan, request } = scope;
  const isKept = outcome !== undefined && httpResponse === undefined;
  const response = isKept && request.method !== "HEAD"
    ? textResponse(outcome, scope)
    : app.response(scope).toResponse();
  if (scope.errors !== undefined) logNotedErrors(scope, response.status);
  const sent = plan.send === undefined
    ? response
    : run(send(scope, plan.send, response));
  const isLate = sent instanceof Promise || sent.status === 101;
  if (isLate) return finishAsync(scope, sent);
  conclude(scope, sent.status);
  return sent;
}

/** Waits for `send`, and for a WebSocket until the runtime knows whether its client has left. */
async function finishAsync(
  scope: RequestScope,
  sent: Response | Promise<Response>,
): Promise<Response> {
  const response = await sent;
  if (response.status === 101) await resetsNoticed();
  if (scope.failure) reportError(scope.failure.reason, UNAWAITED);
  conclude(scope, response.status);
  return response;
}

/** Starts deferred work and ends the request, unless something holds it. */
function conclude(scope: RequestScope, status: number): void {
  scope.responded = true;
  if (scope.deferred !== undefined) startDeferred(scope);
  scope.end();
  finishUpgrade(scope.request, status);
}

/** Responds when something was thrown: the stop signal only ends the request, anything else goes to `error`. */
async function recover(scope: RequestScope, error: unknown): Promise<Response> {
  try {
    if (!isStop(error)) await runError(scope, error);
    if (scope.isUnsettled) {
      await settle(scope).catch((late) => reportError(late, UNAWAITED));
    }
    return await finish(scope);
  } catch (unhandled) {
    logNotedErrors(scope, 500);
    conclude(scope, 500);
    throw unhandled;
  }
}

/** Calls `error`; when that fails too, responds with the default page. */
async function runError(scope: RequestScope, thrown: unknown): Promise<void> {
  const { app, plan: { settings } } = scope;
  const error = toError(thrown);
  if (error !== thrown) scope.errors?.delete(thrown); // noted by middleware
  const isRefusal = error instanceof HttpError && REFUSALS.has(error.status);
  if (!isRefusal && !settings["framework.handle_errors"]) throw thrown;
  const response = app.response(scope);
  if (response.sent) {
    scope.errors?.delete(error);
    return reportError(error, "after the response was sealed");
  }
  try {
    await app.call("error", [error]);
  } catch (second) {
    if (isStop(second)) return;
    logError(scope, toError(second));
    if (second !== error) logError(scope, error);
    scope.errors?.delete(error);
    response.reopen();
    respondPlainly(scope, error);
  }
}
