/**
 * Owns `notFound` and `error`: the empty page that each of them writes on, mapped or not, the default pages,
 * and the `error` of middleware. How a default page looks is in `default_page.ts`.
 */

import type { Application } from "../application/application.ts";
import type { Context, Exchange, Failure } from "../application/exchange.ts";
import { type Details, loadDebugTools } from "../application/debug_tools.ts";
import type { Wrapper } from "../application/mapped_method.ts";
import { errorHeaders, HttpError, isStop, toError } from "../errors.ts";
import type { Reply } from "../response/reply.ts";
import { headerOf } from "../runtime.ts";
import { enter } from "../state/current.ts";
import { run, type Steps } from "../steps.ts";
import { isFromProgram, seesDetails } from "./client.ts";
import { type DefaultPage, pageOf } from "./default_page.ts";
import { noteError } from "./error_log.ts";
import { respondWith } from "./respond.ts";
import { masked } from "../secrets.ts";

/** Members of problem details. */
type Problem = Readonly<Record<string, unknown>>;

/** The error that stands for a `notFound`. */
const MISS = new HttpError(404);

/** The default `notFound`; it needs no parameter. */
export function notFound(app: Application, given?: unknown): unknown {
  return new PageWriter(contextOf(app, "notFound", given), MISS).show();
}

/** The default `error`. */
export function error(app: Application, thrown: unknown): unknown {
  return new PageWriter(contextOf(app, "error", thrown), thrown).show();
}

/** The current context. In other frameworks, a call with a function declares what responds. */
function contextOf(app: Application, name: string, given: unknown): Context {
  if (typeof given === "function" && app.context() === undefined) {
    throw new TypeError(
      `Cannot call ${name}() with a function: use map("${name}", …) to set its handler`,
    );
  }
  return app.context(`${name}()`);
}

/**
 * Runs `notFound` or `error`. A mapped or filtered one runs on an empty page: the content so far is dropped,
 * and what the method and its filters write, or return, is the whole response.
 */
export function onPage(name: "notFound" | "error"): Wrapper {
  return (method, params, context) => {
    const { exchange, reply } = context;
    const { app } = exchange;
    if (method.isUnchanged) return method.run(params);
    if (context.failure?.name === name) {
      throw new Error(
        `Cannot call ${name}() here: it would call itself; call original("${name}") instead`,
      );
    }
    // Made twice: filters of `error` may replace the error, in `params`, after the page was opened.
    const writerIn = (context: Context): PageWriter =>
      new PageWriter(context, name === "error" ? params[0] : MISS);
    const writer = writerIn(context);
    const page = writer.open();
    if (page === undefined) return;
    const enterPage = () => writerIn(app.context(`${name}()`)).takeOver(page);
    const part = exchange.part(page, undefined, writer);
    const make = () => method.run(params, { enter: enterPage });
    return enter(part, () => run(fillBy(make, app, reply)));
  };
}

/**
 * Fills a page by a mapped or filtered method. When that fails, the response is open again. A generator inside
 * of a function would be kept, with all that it can see, until the next full garbage collection.
 */
function* fillBy(
  make: () => unknown,
  app: Application,
  reply: Reply,
): Steps<unknown> {
  try {
    const returned = yield make();
    return yield respondWith(app.context("response()"), returned);
  } catch (thrown) {
    if (!isStop(thrown)) reply.reopen();
    throw thrown;
  }
}

/** Responds with the default page of an error without its problem details, when `error` itself has failed. */
export function respondPlainly(context: Context, error: Error): void {
  new PageWriter(context, error).respond({});
}

/**
 * Lets the `error` of middleware respond to what was thrown. The body is empty then, the status and headers
 * are those of the error. Rethrows when the handler has written, sent and returned nothing.
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
    new PageWriter(context, thrown).setHead(reply);
  }
  try {
    const returned = yield callHandler();
    if (!isSealed) yield respondWith(context, returned);
  } catch (second) {
    if (second !== thrown) noteError(exchange, thrown);
    throw second;
  }
  if (isSealed || !reply.isSealed && reply.isEmpty) throw thrown;
  noteError(exchange, thrown);
}

/**
 * Writes the page for an error, or for a path that was not found: its status, its text, and who may read the message.
 * Where it writes depends on who makes the page:
 *
 * - The default method, as most do: `respond()` writes into the reply of the request, and seals it.
 * - The default method under debug, for a client who sees details: `open()` seals that reply and puts an empty page in
 *   its place, which `fill()` writes once the details are there.
 * - A mapped or filtered method: `onPage()` opens the page and enters a context of its own for it, whose `Failure` is the
 *   writer. There the default method, as `original("error")` or behind filters, fills that page (`isOnPage`).
 */
class PageWriter implements Failure {
  readonly name: "notFound" | "error";
  readonly error: Error;
  /** The error, if its message is written for clients. */
  readonly #http: HttpError | undefined;
  readonly status: number;

  constructor(readonly context: Context, readonly thrown: unknown) {
    this.name = thrown === MISS ? "notFound" : "error";
    this.error = toError(thrown);
    this.#http = this.error instanceof HttpError ? this.error : undefined;
    this.status = this.#http?.status ?? 500;
  }

  /** Puts an empty page in place of the response; returns undefined when that is sealed. */
  open(): Reply | undefined {
    this.#note();
    const page = this.context.reply.openPage(`${this.name}()`);
    if (page !== undefined) this.setHead(page);
    return page;
  }

  /**
   * Takes over a page that was opened for another error, unless a status of its own was set: filters of `error` may
   * replace the error. Nothing else changes the failure of a context.
   */
  takeOver(page: Reply): void {
    const opened = this.context.failure;
    if (opened?.thrown === this.thrown) return;
    if (page.status === opened?.status) this.setHead(page);
    this.context.failure = this;
  }

  /** Gives a response the status and the headers of the error, such as `Allow` or `Retry-After`. */
  setHead(reply: Reply): void {
    reply.setStatus(this.status);
    const headers = this.#http && errorHeaders(this.#http);
    if (headers === undefined) return;
    for (const [name, value] of headers) {
      // Deno already sends `Connection: close` to a client that asked for it.
      if (name === "connection" && saysClose(this.context.exchange)) continue;
      const isCookie = name === "set-cookie";
      reply.setHeader(name, isCookie ? headers.getSetCookie() : value);
    }
  }

  /**
   * Shows the default page: on the page that `onPage()` has opened, or else in place of the response. Under
   * debug, it has details for clients on this machine.
   */
  show(): unknown {
    const { context, error } = this;
    const isOnPage = context.failure?.name === this.name;
    const hasDetails = seesDetails(context.exchange);
    if (!isOnPage && !hasDetails) {
      this.#note();
      return this.respond();
    }
    const page = isOnPage ? context.reply : this.open();
    if (page === undefined) return;
    if (isOnPage) this.takeOver(page);
    if (!hasDetails) return this.fill(page);
    const thrown = error === MISS ? undefined : error;
    return loadDebugTools()
      .then((debug) => debug.detailsOf(context.exchange, page.status, thrown))
      .then((details) => this.fill(page, details));
  }

  /** Responds with the default page in place of what was written so far, with members of the problem details. */
  respond(problem: Problem = this.#problem): void {
    const { reply } = this.context;
    if (!reply.isSealed) {
      reply.clearPage();
      this.setHead(reply);
    }
    reply.respond(`${this.name}()`, this.#pageOn(reply, problem));
  }

  /** Writes the default page onto one that `open()` has opened. */
  fill(page: Reply, details?: Details): void {
    const problem = { ...this.#problem, ...details?.problem };
    const { text, type, headers } = this.#pageOn(page, problem, details?.html);
    page.setBody(text, type);
    for (const name in headers) page.setHeader(name, headers[name]!);
  }

  /** The default page for a reply, whose status may have been changed. */
  #pageOn(reply: Reply, problem: Problem, html?: string): DefaultPage {
    const { context: { exchange } } = this;
    const detail = this.#message();
    const members = detail === "" ? problem : { ...problem, detail };
    return pageOf(exchange, reply.status, reply.header("vary"), members, html);
  }

  get #problem(): Problem {
    return this.#http?.problem ?? {};
  }

  #note(): void {
    if (this.thrown !== MISS) noteError(this.context.exchange, this.thrown);
  }

  /**
   * What the client may read: the message of an `HttpError`; that of any other error only where the program
   * asked itself, or under debug. Other clients get the reference of the line in the log.
   */
  #message(): string {
    const { context: { exchange }, error: { message } } = this;
    const line = firstLine(message);
    if (this.#http) return line;
    if (isFromProgram(exchange) || seesDetails(exchange)) return masked(line);
    return `Reference: ${exchange.id}`;
  }
}

function firstLine(text: string): string {
  const end = text.indexOf("\n");
  return end < 0 ? text : text.slice(0, end);
}

function saysClose({ raw }: Exchange): boolean {
  return /\bclose\b/i.test(headerOf(raw, "connection") ?? "");
}
