/**
 * Owns `notFound` and `error`: the clean page on which each of them writes, whoever mapped it, and the
 * default pages.
 */

import type { Application, RequestScope } from "../application/application.ts";
import type { MappedMethod } from "../application/callable.ts";
import { HttpError, isStop, report, reportError, toError } from "../errors.ts";
import { WITHOUT_PAGE } from "../response/header.ts";
import { isUntouched } from "../response/outcome.ts";
import type { HttpResponse } from "../response/response.ts";
import { withoutRequest } from "../state/outside.ts";
import { run, type Steps } from "../steps.ts";
import { isLocal } from "./client.ts";
import { pageOf } from "./page.ts";
import { respondWith } from "./respond.ts";
import { masked } from "./secrets.ts";

/** The method that makes a page. */
type PageName = "notFound" | "error";

/** Runs `notFound`, with its filters, on a page of status 404. */
export function onNotFoundPage(
  app: Application,
  method: MappedMethod,
  params: unknown[],
  scope: RequestScope,
): unknown {
  return onPage(app, scope, "notFound", method, params);
}

/** Runs `error`, with its filters, on a page that has the status and the headers of the error. */
export function onErrorPage(
  app: Application,
  method: MappedMethod,
  params: unknown[],
  scope: RequestScope,
): unknown {
  const error = toError(params[0]);
  logError(app, error);
  return onPage(app, scope, "error", method, params, error);
}

/**
 * Runs a method on a page of its own: what was written until now is dropped, and what it writes, or
 * returns, is the whole response. The page takes the place of the response it was called on.
 */
function onPage(
  app: Application,
  scope: RequestScope,
  name: PageName,
  method: MappedMethod,
  params: unknown[],
  failure?: Error,
): unknown {
  if (scope.page === name) {
    throw new Error(
      `Cannot call ${name}() here: it would call itself, where original("${name}") is meant`,
    );
  }
  if (method.isPlain && failure === undefined && isUntouched(scope)) {
    return app.respond(scope, `${name}()`, pageOf(scope.request, 404));
  }
  const response = app.response(scope);
  const page = openPage(response, name, failure);
  if (page === undefined) return;
  if (method.isPlain) return writePage(app, scope, page, failure);
  const work = (): unknown => run(makePage(app, response, method, params));
  return scope.with({ response: page, page: name }, work);
}

function* makePage(
  app: Application,
  response: HttpResponse,
  method: MappedMethod,
  params: unknown[],
): Steps<unknown> {
  try {
    return yield respondWith(app, yield method.run(params));
  } catch (thrown) {
    if (!isStop(thrown)) response.reopen();
    throw thrown;
  }
}

/** The default `notFound`. */
export function notFound(app: Application): unknown {
  return showPage(app, "notFound");
}

/** The default `error`. */
export function error(app: Application, thrown: unknown): unknown {
  return showPage(app, "error", toError(thrown));
}

/**
 * Lets the `error` of middleware respond to what was thrown, with an empty body and the status and headers
 * of the error. Throws it on unless something was written, sent or returned.
 */
export function* onMiddlewareError(
  app: Application,
  thrown: unknown,
  callHandler: () => unknown,
): Steps<void> {
  const failure = toError(thrown);
  const response = app.response();
  const { sent } = response;
  if (!sent) {
    for (const name in WITHOUT_PAGE) response.header(name, null);
    response.clearBody().status(statusOf(failure));
    addHeaders(response, failure);
  }
  const returned = yield callHandler();
  if (!sent) yield respondWith(app, returned);
  if (sent || !response.sent && response.isEmpty) throw thrown;
  logError(app, failure);
}

/** Responds with the default page of an error and no details, when `error` itself has failed. */
export function respondPlainly(app: Application, failure: Error): void {
  const scope = app.scope("error()");
  const page = openPage(app.response(scope), "error", failure);
  if (page !== undefined) fillPage(app, scope, page, failure, "");
}

/** Writes the default page where the method runs on a page already, or else in place of the response. */
function showPage(
  app: Application,
  name: PageName,
  failure?: Error,
): unknown {
  const scope = app.scope(`${name}()`);
  const response = app.response(scope);
  const page = scope.page === name
    ? response
    : openPage(response, name, failure);
  return page && writePage(app, scope, page, failure);
}

/**
 * Puts a page in place of a response: for a failure with its status and headers, otherwise with 404.
 * Returns undefined where the response is sealed.
 */
function openPage(
  response: HttpResponse,
  name: PageName,
  failure?: Error,
): HttpResponse | undefined {
  const status = failure ? statusOf(failure) : 404;
  const page = response.replace(`${name}()`, status);
  if (page && failure) addHeaders(page, failure);
  return page;
}

/** Writes the default page; under debug, with details for a developer on this machine. */
function writePage(
  app: Application,
  scope: RequestScope,
  page: HttpResponse,
  failure?: Error,
): unknown {
  if (!scope.root.plan.settings["framework.debug"] || !isLocal(scope)) {
    return fillPage(app, scope, page, failure, "");
  }
  // A module that is loaded inside a request would leave its context behind in Deno.
  return withoutRequest(() => import("./debug.ts")).then(({ debugDetails }) =>
    fillPage(app, scope, page, failure, debugDetails(app, failure))
  );
}

function fillPage(
  app: Application,
  scope: RequestScope,
  page: HttpResponse,
  failure: Error | undefined,
  details: string,
): void {
  const message = failure ? messageFor(app, scope, failure) : "";
  const { type, text, headers } = pageOf(
    scope.request,
    page.status(),
    message,
    details,
    failure instanceof HttpError ? failure.problem : undefined,
  );
  const vary = page.header("vary");
  page.page(text, type)
    .header("vary", vary === null ? headers.vary : `${vary}, ${headers.vary}`);
}

/**
 * What the client may read of an error. An `HttpError` is written for it. Any other is for the operator:
 * a client elsewhere gets a reference, and the log a line with the same reference.
 */
function messageFor(
  app: Application,
  scope: RequestScope,
  failure: Error,
): string {
  const [line = ""] = failure.message.split("\n", 1);
  if (failure instanceof HttpError) return line;
  if (isLocal(scope)) return masked(line);
  const reference = app.request().id;
  if (!scope.root.plan.settings["framework.log_errors"]) {
    const shown = JSON.stringify(failure.message);
    report(`Error ${reference} ${placeOf(scope)}: ${shown}`);
  }
  return `Reference: ${reference}`;
}

/** Logs an error whole where `framework.log_errors` asks for it. */
function logError(app: Application, failure: Error): void {
  if (!app.setting("framework.log_errors") || statusOf(failure) < 500) return;
  const scope = app.scope("error()");
  const isKnown = failure instanceof HttpError || isLocal(scope);
  const reference = isKnown ? "" : `${app.request().id} `;
  reportError(failure, reference + placeOf(scope));
}

function placeOf({ target: { method, path } }: RequestScope): string {
  return `while handling ${method} ${path}`;
}

function statusOf(failure: Error): number {
  return failure instanceof HttpError ? failure.status : 500;
}

/** Adds the headers of an error to the response that shows it, such as `Allow` or `Retry-After`. */
function addHeaders(response: HttpResponse, failure: Error): void {
  if (!(failure instanceof HttpError)) return;
  for (const name of failure.headers.keys()) {
    const value = name === "set-cookie"
      ? failure.headers.getSetCookie()
      : failure.headers.get(name);
    response.header(name, value);
  }
}
