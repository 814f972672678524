/**
 * Owns a request's way through an application: the order of the steps, the one net under all of
 * them, and what happens when something falls into it.
 */

import { plainError } from "./responders.ts";
import type { Application } from "../application/application.ts";
import { readBody } from "../request/body.ts";
import { afterwards } from "./deferred.ts";
import { HttpError, isStop, report, reportError, toError } from "../errors.ts";
import { firstMatch } from "./defaults.ts";
import { finishUpgrade } from "../runtime.ts";
import type { Scope } from "../state/scope.ts";
import { isThenable, run, type Steps } from "../steps.ts";
import { checkHost, type Target, targetOf } from "../request/target.ts";

/**
 * Handles one request inside its scope, from the target to the response: in plain calls, until there
 * is something to wait for.
 */
export function handle(
  app: Application,
  scope: Scope,
): Response | Promise<Response> {
  try {
    const begun = begin(app, scope);
    if (isThenable(begun) || scope.unsettled) {
      return run(goOn(app, scope, begun));
    }
    return finish(app, scope);
  } catch (thrown) {
    return run(recover(app, scope, thrown));
  }
}

/** From the target to the end of `start`. */
function begin(app: Application, scope: Scope): unknown {
  const { visit } = scope;
  const { request } = visit;
  visit.target = targetOf(request);
  checkHost(request, app.setting("framework.hosts", scope));
  return hasBody(request, visit.target)
    ? run(readAndStart(app, scope))
    : app.start(scope);
}

/** GET and HEAD have no body (Fetch standard), which saves asking the runtime. */
function hasBody(request: Request, { method }: Target): boolean {
  return method !== "GET" && method !== "HEAD" && request.body !== null;
}

function* readAndStart(app: Application, scope: Scope): Steps<unknown> {
  const { visit } = scope;
  visit.body = yield read(app, scope);
  if (app.setting("framework.method_override", scope)) {
    visit.target = { ...visit.target, method: app.request().method };
  }
  return yield app.start(scope);
}

/** Goes on with what has begun, once there is something to wait for. */
function* goOn(
  app: Application,
  scope: Scope,
  begun: unknown,
): Steps<Response> {
  try {
    yield begun;
    yield* settle(app, scope);
    return yield finish(app, scope);
  } catch (thrown) {
    return yield* recover(app, scope, thrown);
  }
}

/** Makes the response, with which the request ends. */
function finish(app: Application, scope: Scope): Response | Promise<Response> {
  const { request } = scope.visit;
  const answer = app.response(scope).toResponse(request.method === "HEAD");
  end(app, scope);
  finishUpgrade(request, answer.status);
  return answer;
}

function end(app: Application, scope: Scope): void {
  scope.answered = true;
  if (scope.hasDeferred) app.background(afterwards(scope));
  scope.end();
}

/** The refusals of the input itself: answered even when errors are not handled. */
const REFUSALS: ReadonlySet<number> = new Set([400, 405, 408, 413, 415, 421]);

/** Reads the body, unless the first route that matches takes it as a stream. */
function read(app: Application, scope: Scope): unknown {
  if (firstMatch(app, scope)?.route.takesStream) return undefined;
  const { request } = scope.visit;
  const limit = app.setting("framework.body_limit");
  return readBody(request, limit, app.setting("framework.body_timeout"));
}

/** Waits for what the handler left un-awaited; a rejection of it is the request's error. */
function* settle(app: Application, scope: Scope): Steps<void> {
  if (scope.unsettled) {
    const seconds = app.setting("framework.wait_timeout");
    const late: string[] = yield scope.settle(seconds);
    if (late.length > 0) {
      const names = late.join(", ");
      report(
        `The response did not wait longer than ${seconds} s for: ${names}`,
      );
    }
  }
  const { failure } = scope;
  scope.failure = undefined;
  if (failure) throw failure.reason;
}

/** Answers when something was thrown: the stop signal is no error, anything else goes to `error`. */
function* recover(
  app: Application,
  scope: Scope,
  thrown: unknown,
): Steps<Response> {
  try {
    if (!isStop(thrown)) yield* fail(app, thrown);
    yield* settleAgain(app, scope);
    return yield finish(app, scope);
  } catch (unhandled) {
    end(app, scope);
    finishUpgrade(scope.visit.request, 500);
    throw unhandled;
  }
}

/** What is thrown after the answer was made can only be logged. */
function* settleAgain(app: Application, scope: Scope): Steps<void> {
  try {
    yield* settle(app, scope);
  } catch (late) {
    if (!isStop(late)) reportError(late, "in work that nobody awaited");
  }
}

function* fail(app: Application, thrown: unknown): Steps<void> {
  const error = toError(thrown);
  const refused = error instanceof HttpError && REFUSALS.has(error.status);
  if (!refused && !app.setting("framework.handle_errors")) throw thrown;
  const response = app.response();
  if (response.sent) {
    return reportError(thrown, "after the response was sealed");
  }
  try {
    yield app.call("error", error);
  } catch (second) {
    if (isStop(second)) return;
    reportError(second, 'in "error"');
    reportError(error, 'that "error" was to answer');
    response.reopen();
    plainError(app, error);
  }
}
