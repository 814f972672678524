/**
 * Owns `notFound` and `error`: the empty page that each of them writes on, mapped or not, the default pages,
 * and the `error` of middleware. How a default page looks is in `default_page.ts`.
 */

import type { Application, RequestScope } from "../application/application.ts";
import type { Wrapper } from "../application/callable.ts";
import { HttpError, isStop, toError } from "../errors.ts";
import { PAGE_HEADERS } from "../response/header.ts";
import { isUntouched } from "../response/outcome.ts";
import type { HttpResponse } from "../response/response.ts";
import { headerOf } from "../runtime.ts";
import { withoutRequest } from "../state/without_request.ts";
import { run, type Steps } from "../steps.ts";
import { isFromProgram, seesDetails } from "./client.ts";
import { pageOf, varyWith } from "./default_page.ts";
import { noteError } from "./error_log.ts";
import { respondWith } from "./respond.ts";
import { masked } from "./secrets.ts";

/** The error that stands for a `notFound`. */
const MISS = new HttpError(404);

/** The default `notFound`. */
export function notFound(app: Application): unknown {
  return new Failure(app.scope("notFound()"), MISS).show();
}

/** The default `error`. */
export function error(app: Application, thrown: unknown): unknown {
  return new Failure(app.scope("error()"), thrown).show();
}

/**
 * Runs `notFound` or `error`. A mapped or filtered one runs on an empty page: the content so far is dropped,
 * and what the method and its filters write, or return, is the whole response.
 */
export function onPage(name: "notFound" | "error"): Wrapper<RequestScope> {
  return (method, params, scope) => {
    const { app } = scope;
    // Most misses need no `HttpResponse`: the page is kept as the outcome.
    if (method.isUnchanged && name === "notFound" && isUntouched(scope)) {
      return app.respond(scope, "notFound()", pageOf(scope, 404));
    }
    if (method.isUnchanged) return method.run(params);
    if (scope.page?.name === name) {
      throw new Error(
        `Cannot call ${name}() here: it would call itself, where original("${name}") is meant`,
      );
    }
    const failureIn = (scope: RequestScope): Failure =>
      new Failure(scope, name === "error" ? params[0] : MISS);
    const response = app.response(scope);
    const failure = failureIn(scope);
    const page = failure.openPage();
    if (page === undefined) return;
    const takeOver = () => failureIn(app.scope("error()")).takeOver(page);
    return scope.with({ response: page, page: failure }, () => run(makePage()));

    /** When the page cannot be made, the response is open again. */
    function* makePage(): Steps<unknown> {
      try {
        const returned = yield method.run(params, takeOver);
        return yield respondWith(app.scope("response()"), returned);
      } catch (thrown) {
        if (!isStop(thrown)) response.reopen();
        throw thrown;
      }
    }
  };
}

/** Responds with the default page of an error and no details, when `error` itself has failed. */
export function respondPlainly(scope: RequestScope, error: Error): void {
  const page = scope.app.response(scope).replace("error()");
  if (page === undefined) return;
  const failure = new Failure(scope, error);
  failure.setHead(page);
  failure.fillPage(page);
}

/**
 * Lets the `error` of middleware respond to what was thrown. The body is empty then, the status and headers
 * are those of the error. Rethrows when the handler has written, sent and returned nothing.
 */
export function* onMiddlewareError(
  scope: RequestScope,
  thrown: unknown,
  callHandler: () => unknown,
): Steps<void> {
  const failure = new Failure(scope, thrown);
  noteError(scope, thrown);
  const response = scope.app.response(scope);
  const { sent } = response;
  if (!sent) {
    for (const name of PAGE_HEADERS) response.header(name, null);
    failure.setHead(response.clearBody());
  }
  const returned = yield callHandler();
  if (!sent) yield respondWith(scope, returned);
  if (sent || !response.sent && response.isEmpty) throw thrown;
}

/** An error of a request, or a path that was not found: its page, and who may read its message. */
class Failure {
  readonly name: "notFound" | "error";
  readonly error: Error;
  /** The error, if its message is written for clients. */
  readonly #http: HttpError | undefined;
  readonly #status: number;

  constructor(readonly scope: RequestScope, readonly thrown: unknown) {
    this.name = thrown === MISS ? "notFound" : "error";
    this.error = toError(thrown);
    this.#http = this.error instanceof HttpError ? this.error : undefined;
    this.#status = this.#http?.status ?? 500;
  }

  /** Puts an empty page in place of the response; returns undefined when that is sealed. */
  openPage(): HttpResponse | undefined {
    if (this.thrown !== MISS) noteError(this.scope, this.thrown);
    const page = this.scope.app.response(this.scope).replace(`${this.name}()`);
    if (page !== undefined) this.setHead(page);
    return page;
  }

  /** Takes over a page that was opened for another error, unless a status of its own was set. */
  takeOver(page: HttpResponse): void {
    const opened = this.scope.page as Failure;
    if (opened.thrown === this.thrown) return;
    if (page.status() === opened.#status) this.setHead(page);
    this.scope.page = this;
  }

  /** Gives a response the status and the headers of the error, such as `Allow` or `Retry-After`. */
  setHead(response: HttpResponse): void {
    response.status(this.#status);
    const headers = this.#http?.headers ?? new Headers();
    for (const [name, value] of headers) {
      // To a client that closes the connection, Deno says the same by itself.
      if (name === "connection" && saysClose(this.scope)) continue;
      const isCookie = name === "set-cookie";
      response.header(name, isCookie ? headers.getSetCookie() : value);
    }
  }

  /**
   * Shows the default page: on the page that `onPage()` has opened, or else in place of the response. Under
   * debug, it has details for clients on this machine.
   */
  show(): unknown {
    const { scope, error } = this;
    const isOpen = scope.page?.name === this.name;
    const page = isOpen ? scope.app.response(scope) : this.openPage();
    if (page === undefined) return;
    if (isOpen) this.takeOver(page);
    if (!seesDetails(scope)) return this.fillPage(page);
    const thrown = error === MISS ? undefined : error;
    // A module that is loaded inside a request would leave its context behind in Deno.
    return withoutRequest(() => import("./debug.ts")).then((debug) =>
      this.fillPage(page, debug.debugDetails(scope, thrown))
    );
  }

  /** Writes the default page; `details` is HTML. */
  fillPage(page: HttpResponse, details?: string): void {
    const detail = this.#message() || this.#http?.problem.detail;
    const problem = { ...this.#http?.problem, detail };
    const { text, type } = pageOf(this.scope, page.status(), problem, details);
    page.body(text, type).header("vary", varyWith(page.header("vary")));
  }

  /**
   * What the client may read: the message of an `HttpError`; that of any other error only where the program
   * asked itself, or under debug. Other clients get the reference of the line in the log.
   */
  #message(): string {
    const { scope, error: { message } } = this;
    const [line = ""] = message.split("\n", 1);
    if (this.#http) return line;
    if (isFromProgram(scope) || seesDetails(scope)) return masked(line);
    return `Reference: ${scope.app.request().id}`;
  }
}

function saysClose({ request }: RequestScope): boolean {
  return /\bclose\b/i.test(headerOf(request, "connection") ?? "");
}
