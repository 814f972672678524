/**
 * Owns `notFound` and `error`: the empty page that each of them writes on, mapped or not, the default pages,
 * and the `error` of middleware. How a default page looks is in `default_page.ts`.
 */

import type { Application } from "../application/application.ts";
import type { Context, Exchange, Failure } from "../application/exchange.ts";
import type { Details } from "../application/debug_tools.ts";
import type { Wrapper } from "../application/mapped_method.ts";
import { errorHeaders, HttpError, isStop, toError } from "../errors.ts";
import type { Reply } from "../response/reply.ts";
import { headerOf } from "../runtime.ts";
import { enter } from "../state/current.ts";
import { isThenable, run, type Steps } from "../steps.ts";
import { isFromProgram, seesDetails } from "./client.ts";
import { type DefaultPage, pageOf } from "./default_page.ts";
import { AFTER_SEAL, noteError, reportLate } from "./error_log.ts";
import {
  checkInTime,
  discardReturned,
  respondWith,
  sendReturned,
} from "./respond.ts";
import { masked } from "../secrets.ts";
import { settle } from "./unawaited.ts";

/** Members of problem details. */
type Problem = Readonly<Record<string, unknown>>;

/** Why `notFound` responds. Nothing was thrown: the error stands in for what was. */
const NOT_FOUND: Failure = {
  ...failureOf(new HttpError(404)),
  page: "notFound",
};

/** The default `notFound`. The parameter is looked at for a message alone. */
export function notFound(app: Application, given?: unknown): unknown {
  return show(contextOf(app, "notFound", given), NOT_FOUND);
}

/** The default `error`. */
export function error(app: Application, thrown: unknown): unknown {
  return show(contextOf(app, "error", thrown), failureOf(thrown));
}

/** The current context. In other frameworks, a call with a function declares what responds: the error says how here. */
function contextOf(app: Application, name: string, given: unknown): Context {
  if (typeof given === "function" && app.context() === undefined) {
    throw new TypeError(
      `Cannot call ${name}() with a function: use map("${name}", ...) to set its handler`,
    );
  }
  return app.context(`${name}()`);
}

/** Why `error` responds to what was thrown. */
function failureOf(thrown: unknown): Failure {
  const error = toError(thrown);
  const status = error instanceof HttpError ? error.status : 500;
  return { page: "error", thrown, error, status };
}

/**
 * Why `error` responds, by its parameter, which becomes an `Error` for the filters and the method. The failure keeps what
 * was thrown as it was.
 */
function takeError(params: unknown[]): Failure {
  const failure = failureOf(params[0]);
  params[0] = failure.error;
  return failure;
}

/**
 * Runs `notFound` or `error`. A mapped or filtered one runs on an empty page: the content so far is dropped,
 * and what the method and its filters write, or return, is the whole response.
 */
export function onPage(name: "notFound" | "error"): Wrapper {
  const runPage: Wrapper["run"] = (method, params, context) => {
    const { exchange, failure: within } = context;
    for (let around = within; around; around = around.within) {
      if (around.page !== name) continue;
      throw new Error(
        `Cannot call ${name}() here: it would call itself; call original("${name}") instead`,
      );
    }
    const isError = name === "error";
    const cause = isError ? takeError(params) : NOT_FOUND;
    return onNewPage(context, { ...cause, within }, (page) => {
      const beforeMethod = () => {
        exchange.checkNotOver();
        const isReplaced = isError && params[0] !== cause.error; // by a filter
        const last = isReplaced ? takeError(params) : cause;
        takeOver(page, { ...last, within });
      };
      const made = method.run(params, { beforeMethod });
      return method.isDefault ? replacing(page.reply, made) : made;
    });
  };
  return { responds: true, run: runPage };
}

/** Clears the page of the default method, which returns nothing, where a filter has put a value in its place. */
function replacing(reply: Reply, made: unknown): unknown {
  if (isThenable(made)) {
    return Promise.resolve(made).then((value) => replacing(reply, value));
  }
  if (made !== undefined) reply.clearBody();
  return made;
}

/**
 * Puts an empty page in place of the response, and has a function fill it or return what it consists of. When that
 * fails, or a call that it did not await, the response is open again. When the response is sealed, only logs the error.
 */
function onNewPage(
  context: Context,
  failure: Failure,
  make: (page: Context) => unknown,
): unknown {
  const { reply } = context;
  noteFailure(context, failure);
  if (reply.isSealed) return reply.ignore(`${failure.page}()`); // in a stream, each part would stay until its end
  const empty = reply.empty();
  const page = context.part({ reply: empty, failure }); // may throw: nothing is sealed by now
  reply.giveWay(empty, `${failure.page}()`);
  reply.clearPage();
  return enter(page, () => run(runOnPage(page, failure, make, reply)));
}

/** A function of its own: V8 keeps one that is made inside of another, with all that this sees, for long. */
function* runOnPage(
  page: Context,
  failure: Failure,
  make: (page: Context) => unknown,
  reply: Reply,
): Steps<void> {
  try {
    setHead(page, failure);
    const returned = yield make(page);
    checkInTime(page.exchange, returned);
    yield respondWith(page, returned); // its calls end next
    yield settle(page.exchange, page.scope);
  } catch (thrown) {
    if (!isStop(thrown)) reply.reopen();
    throw thrown;
  }
}

/** Responds with the default page of an error without its problem details, when `error` itself has failed. */
export function respondPlainly(context: Context, error: Error): void {
  sendDefaultPage(context, failureOf(error), {});
}

/**
 * Lets the `error` of middleware respond to what was thrown. The body is empty then, the status and headers
 * are those of the error. Rethrows when the handler has written, sent and returned nothing, and after a seal, which the
 * handler only learns of.
 */
export function* onMiddlewareError(
  context: Context,
  thrown: unknown,
  callHandler: () => unknown,
): Steps<void> {
  const { exchange, reply } = context;
  const { isSealed } = reply;
  if (!isSealed) {
    reply.clearPage();
    setHead(context, failureOf(thrown));
  }
  try {
    const returned = yield callHandler();
    if (isSealed) discardReturned(returned);
    else yield sendReturned(context, returned);
    // A call that it did not await may be its response.
    if (!reply.isSealed && reply.isEmpty) yield settle(exchange, context.scope);
  } catch (second) {
    if (second !== thrown) {
      if (!isSealed) dropHead(reply, failureOf(thrown));
      if (isSealed) reportLate(exchange, thrown, AFTER_SEAL);
      else noteError(exchange, thrown);
    }
    throw second;
  }
  if (isSealed || !reply.isSealed && reply.isEmpty) throw thrown;
  noteError(exchange, thrown);
}

/**
 * Shows the default page of a failure. Under debug, it has details for clients on this machine. Where it is written
 * depends on who makes the page:
 *
 * - The default method as `original("error")`, or behind filters: onto the page that `onPage()` has opened, whose
 *   context has a failure of that name.
 * - The default method, when the client sees details: onto an empty page in place of the reply, once they are there.
 * - The default method, as most do: into the reply of the request, which is sealed then.
 */
function show(context: Context, failure: Failure): unknown {
  const hasDetails = seesDetails(context.exchange);
  const write = hasDetails ? writeWithDetails : writeDefaultPage;
  if (context.failure?.page === failure.page) {
    takeOver(context, failure);
    return write(context, failure);
  }
  if (hasDetails) {
    return onNewPage(context, failure, (page) => write(page, failure));
  }
  noteFailure(context, failure);
  return sendDefaultPage(context, failure);
}

async function writeWithDetails(
  page: Context,
  failure: Failure,
): Promise<void> {
  const { exchange, reply: { status } } = page;
  const error = failure.page === "notFound" ? undefined : failure.error;
  const debug = await exchange.plan.loadDebug();
  writeDefaultPage(
    page,
    failure,
    await debug.detailsOf(exchange, status, error),
  );
}

/**
 * Takes over a page that was opened for another error, unless a status of its own was set: filters of `error` may
 * replace the error. Nothing else changes the failure of a context.
 */
function takeOver(page: Context, failure: Failure): void {
  const { failure: opened, reply } = page;
  if (opened?.error === failure.error) return;
  noteFailure(page, failure);
  if (opened !== undefined) dropHead(reply, opened);
  if (reply.status === opened?.status) setHead(page, failure);
  page.failure = failure;
}

/** Notes an error that gets a page. After the seal it gets none, and is logged at once. */
function noteFailure({ exchange, reply }: Context, failure: Failure): void {
  const { thrown } = failure;
  if (failure.page === "notFound" || exchange.errors?.has(thrown)) return;
  if (!reply.isSealed) noteError(exchange, thrown);
  else reportLate(exchange, thrown, AFTER_SEAL);
}

/** Gives a response the status and the headers of the error, such as `Allow` or `Retry-After`. */
function setHead({ exchange, reply }: Context, failure: Failure): void {
  reply.setStatus(failure.status);
  for (const [name, value] of headersOf(failure)) {
    // Deno already sends `Connection: close` to a client that asked for it.
    if (name === "connection" && saysClose(exchange)) continue;
    if (name !== "set-cookie") reply.setHeader(name, value);
    else reply.addCookie(value);
  }
}

/** Removes the headers of an error that another one replaces, except those that were changed since they were set. */
function dropHead(reply: Reply, failure: Failure): void {
  for (const [name, value] of headersOf(failure)) {
    const lines = reply.headers?.get(name) ?? [];
    reply.setHeader(name, lines.filter((line) => line !== value));
  }
}

/** The headers that an error brings; each cookie is one of its own. */
function headersOf({ error }: Failure): Iterable<[string, string]> {
  return error instanceof HttpError && errorHeaders(error) || [];
}

/** Responds with the default page in place of what was written so far, with members of the problem details. */
function sendDefaultPage(
  context: Context,
  failure: Failure,
  problem?: Problem,
): void {
  const { reply } = context;
  if (!reply.isSealed) {
    reply.clearPage();
    setHead(context, failure);
  }
  reply.respond(`${failure.page}()`, defaultPage(context, failure, problem));
}

/** Writes the default page onto one that `onNewPage()` has opened. */
function writeDefaultPage(
  page: Context,
  failure: Failure,
  details?: Details,
): void {
  const { reply } = page;
  const problem = { ...problemOf(failure), ...details?.problem };
  const content = defaultPage(page, failure, problem, details?.html);
  reply.setBody(content.text, content.type);
  reply.dropByteHeaders(reply.byteHeaders()); // the error's
  for (const name in content.headers) {
    reply.setHeader(name, content.headers[name]!);
  }
}

/** The default page for a reply, whose status may have been changed. */
function defaultPage(
  { exchange, reply }: Context,
  failure: Failure,
  problem = problemOf(failure),
  html?: string,
): DefaultPage {
  const detail = messageOf(exchange, failure.error);
  const members = detail === "" ? problem : { ...problem, detail };
  return pageOf(exchange, reply.status, reply.header("vary"), members, html);
}

function problemOf({ error }: Failure): Problem {
  return error instanceof HttpError ? error.problem : {};
}

/**
 * What the client may read: the message of an `HttpError`; that of any other error only where the program
 * asked itself, or under debug. Other clients get the reference of the line in the log.
 */
export function messageOf(exchange: Exchange, error: Error): string {
  const line = firstLine(error.message);
  if (error instanceof HttpError) return line;
  if (isFromProgram(exchange) || seesDetails(exchange)) return masked(line);
  return `Reference: ${exchange.id}`;
}

function firstLine(text: string): string {
  const end = text.indexOf("\n");
  return end < 0 ? text : text.slice(0, end);
}

function saysClose({ raw }: Exchange): boolean {
  return /\bclose\b/i.test(headerOf(raw, "connection") ?? "");
}
