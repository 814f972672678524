/**
 * Owns a request's way through an application: the order of the steps, the one net under all of
 * them, and what happens when something falls into it.
 */

import { plainError } from "./answers.ts";
import type { Application } from "./application.ts";
import { readBody } from "./body.ts";
import { afterwards } from "./deferred.ts";
import { HttpError, isStop, report, reportError, toError } from "./errors.ts";
import { firstMatch } from "./methods.ts";
import type { Scope, Visit } from "./scope.ts";
import type { Steps } from "./steps.ts";
import { checkHost, targetOf } from "./target.ts";

/** Handles one request inside its scope, from the target to the response. */
export function* handle(app: Application, scope: Scope): Steps<Response> {
  const { visit } = scope;
  const { request } = visit;
  try {
    try {
      visit.target = targetOf(request);
      checkHost(request, app.setting("framework.hosts"));
      if (request.body !== null) visit.body = yield read(app, visit);
      yield app.start();
      yield* settle(app, scope);
      return app.response().toResponse(request.method === "HEAD");
    } catch (thrown) {
      yield* recover(app, scope, thrown);
      return app.response().toResponse(request.method === "HEAD");
    }
  } finally {
    scope.answered = true;
    if (scope.hasDeferred) app.background(afterwards(scope));
    scope.end();
  }
}

/** The refusals of the input itself: answered even when errors are not handled. */
const REFUSALS: ReadonlySet<number> = new Set([400, 405, 408, 413, 415, 421]);

/** Reads the body, unless the first route that matches takes it as a stream. */
function read(app: Application, { request, target }: Visit): unknown {
  if (firstMatch(app, target)?.route.takesStream) return undefined;
  const limits = { bytes: app.setting("framework.body_limit") };
  return readBody(request, limits, app.setting("framework.body_timeout"));
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

/** Ends what was thrown: the stop signal is no error, anything else goes to `error`. */
function* recover(
  app: Application,
  scope: Scope,
  thrown: unknown,
): Steps<void> {
  if (!isStop(thrown)) yield* fail(app, thrown);
  try {
    yield* settle(app, scope);
  } catch (late) {
    if (!isStop(late)) reportError(late, "in work that nobody awaited");
  }
}

function* fail(app: Application, thrown: unknown): Steps<void> {
  const refused = thrown instanceof HttpError && REFUSALS.has(thrown.status);
  if (!refused && !app.setting("framework.handle_errors")) throw thrown;
  const response = app.response();
  if (response.sent) {
    return reportError(thrown, "after the response was sealed");
  }
  const error = toError(thrown);
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
