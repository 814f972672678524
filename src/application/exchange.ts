/**
 * Owns one request as an application handles it, and the contexts in which its code runs. All state of a request is
 * here, or can be reached only from here, so that no other request can read it.
 */

import { baseOrigin, withoutBase } from "../base.ts";
import { EndedError } from "../errors.ts";
import { programRequests } from "../extension_keys.ts";
import type { ConnectionInfo } from "../fetch.ts";
import { reportStream } from "../report.ts";
import type { HttpRequest } from "./http_request.ts";
import { hasBody } from "../request/body.ts";
import type { Target } from "../request/target.ts";
import { Reply, type Section } from "../response/reply.ts";
import type { Delivery } from "../response/web_response.ts";
import type { HttpResponse } from "../response/response.ts";
import type { Path } from "../routing/path.ts";
import type { Match } from "../routing/match.ts";
import { hasSignal, isFromServer } from "../runtime.ts";
import {
  close,
  type Current,
  type Enterable,
  innermost,
  leave,
  nextId,
} from "../state/current.ts";
import type { Layer } from "../state/layer.ts";
import { Pending } from "../state/pending.ts";
import type { Running } from "../state/unfinished.ts";
import type { Application } from "./application.ts";
import type { Plan } from "./plan.ts";

/** The ids of requests that are taken from a proxy: they stand in pages and log lines. */
const REQUEST_ID = /^[\w.-]{1,64}$/;

/** Stands for a target that is malformed, or was not read yet. */
const NO_TARGET: Target = { path: "/", search: "" };

/** Where an application is mounted, as the client of one request sees it. */
export interface MountPoint {
  /** Whether its application has responded: what that still handles with the request is for itself. */
  isDone: boolean;
  /** The path in front of the application's paths; "" for the whole site. */
  readonly base: string;
  /** The scheme and host in front of the path; "" where they are not known. */
  readonly origin: string;
}

/** The mount points of the requests that `mount` hands over. */
export const mountPoints: WeakMap<Request, MountPoint> = new WeakMap();

/**
 * One request, from its target to its response: the steps in `handling/` fill it one after another, and what a request
 * declares for itself comes from its application. Its end has five steps:
 *
 * 1. The reply is sealed (`Reply.isSealed`): status, body and what describes it stay; other headers may still be set.
 * 2. The web response is made of it (`Reply.isMade`): only `send` and, under debug, `src/debug/` still change what goes
 *    out.
 * 3. The exchange is concluded (`isConcluded`), with the response that goes out: an error can only be logged.
 * 4. What holds it lets go: the stream of the body (`holdStream()`), a WebSocket or deferred work (`hold()`).
 * 5. It is over (`isOver`): code that outlives it finds no request any more.
 *
 * Applications call each other, so requests lead to others:
 *
 * | from one to the other                                        | by                                           |
 * | ------------------------------------------------------------ | -------------------------------------------- |
 * | outwards, to the code that has called this application       | `outerContext`; `nesting` has all of them    |
 * | outwards, where it is mounted                                | `mountPoint` is set, too                     |
 * | inwards, to the application that is mounted here             | `inner`; for any other, `hasNested` is true  |
 * | outwards, to a reply by which the code of this one responds  | `responder`                                  |
 * | inwards, to the code that has called a method of this one    | `callingOther()`; in a part, `caller` has it |
 */
export class Exchange implements Delivery, Running {
  /**
   * The main context of the request. Its reply is the first one: it is sealed once a page or a copy is sent in its
   * place, which is then its `final`.
   */
  readonly context: Context;
  /** The context, not the exchange, of the code that has called `fetch`: that of a mount, or any other. */
  readonly outerContext: Context | undefined;
  /** Where the outer application has mounted this one; undefined when it has called this one in another way. */
  readonly mountPoint: MountPoint | undefined = undefined;
  /** What the server passed on about the connection. */
  readonly info: ConnectionInfo | undefined;
  /**
   * The application's plan, or the request's, once it has declared something: read it again after code of the
   * application has run.
   */
  plan: Plan;
  /**
   * Whether the web request may be a copy of one that the user's own server has received. Asked before anything reads
   * `raw.signal`, which fills the slot that `hasSignal` looks at.
   */
  readonly mayBeCopy: boolean;
  /** When the request came in, in milliseconds of `performance.now()`; undefined where nothing reads it. */
  readonly began: number | undefined;
  /**
   * The method that was received or, of a form, the one that it asks for (`handling/receive.ts`): applications see it,
   * routes are searched for it, and a mount passes it on. What concerns the message itself asks `raw.method`, which
   * never changes: whether it has a body, or a handshake. A form's method never becomes GET or HEAD, so that what asks
   * for one of these may ask either.
   */
  method: string;
  /** The path and query: those of `NO_TARGET` until they are read, and where they are malformed. */
  target: Target = NO_TARGET;
  /**
   * The body, once it was read (`handling/receive.ts`). Which of these holds says what became of it:
   *
   * | the body                                 | `body`    | `isReceiving` | `hasUnreadBody` |
   * | ---------------------------------------- | --------- | ------------- | --------------- |
   * | there is none: `hasBody` is false        | undefined | no            | no              |
   * | nothing has begun to read it             | undefined | yes           | yes             |
   * | it arrives, or a route reads its stream  | undefined | yes           | no              |
   * | it was read whole                        | its bytes | no            | no              |
   * | reading it has failed, or it was refused | empty     | no            | no              |
   */
  body: Uint8Array<ArrayBuffer> | undefined = undefined;
  /** The path that routes are searched for, once one was. */
  path: Path | undefined = undefined;
  /**
   * The match of the route that is being called; before that, the first one: `handling/search.ts` sets it. Undefined
   * before the search, and without a match.
   */
  match: Match | undefined = undefined;
  /** The exchange of the application to which a mount has handed the request over, the opposite of `mountPoint`. */
  inner: Exchange | undefined = undefined;
  /** What `request()` returns, once it was called. */
  request: HttpRequest | undefined = undefined;
  /** The framework's own, for what it asks before code of the application may replace that. */
  ownRequest: HttpRequest | undefined = undefined;
  /** What this request has set or declared for itself, and its instances of callback classes; null until the first. */
  layer: Layer | null = null;
  /** The calls that are under way, and the errors of those that nobody has awaited. */
  pending: Pending | undefined = undefined;
  /** Work to run after the response; undefined again once all of it has run. */
  deferred: (() => unknown)[] | undefined = undefined;
  /** The validators whose conditions have held, such as "etag". */
  heldValidators: Set<string> | undefined = undefined;
  /** The routes that a mapped `start` has begun. */
  routesBegun: Promise<void> | undefined = undefined;
  /** The context of another application by which code of this one has responded, or has begun to. */
  responder: Context | undefined = undefined;
  /** The renders into variables that have begun: later renders wait for them. */
  storing: Promise<void> | undefined = undefined;
  /** The errors that have a page, until the final status decides whether `handling/error_log.ts` logs them. */
  errors: Set<unknown> | undefined = undefined;
  /** Whether it is a HEAD, which no form can ask for. */
  readonly isHead: boolean;
  /** Whether it came with a body: what became of that is at `body`. */
  readonly hasBody: boolean;
  /** Whether its code has called another application with a request: mounted or not. */
  hasNested = false;
  /** Step 3 of its end, above. */
  isConcluded = false;
  /** Step 5. */
  isOver = false;

  #parts: Context[] | undefined = undefined;
  #remote: Deno.Addr | undefined = undefined;
  #id: string | undefined = undefined;
  #holds = 0;
  /** What the stream of its body has failed with. */
  #streamError: Error | undefined = undefined;

  constructor(
    readonly app: Application,
    readonly raw: Request,
    info: ConnectionInfo | undefined,
  ) {
    this.method = raw.method;
    this.isHead = this.method === "HEAD";
    const isGet = this.method === "GET"; // saves asking Deno
    this.hasBody = !isGet && hasBody(raw);
    this.outerContext = outerOf(raw);
    const around = this.outerContext?.exchange;
    if (around !== undefined) {
      around.hasNested = true;
      around.remember(); // it may be over before this one
      // An application that is called with the request of a mounted one is not mounted there.
      if (around.raw !== raw) this.mountPoint = mountPoints.get(raw);
      if (this.mountPoint !== undefined) {
        around.inner = this;
        info ??= around.info; // a mounted function may pass on the request alone
      }
      // Deno may have dropped it by now. Code that makes a request without `info` is no client.
      if (around.info === info) this.#remote = around.remote;
    }
    this.info = info;
    this.plan = app.plan;
    this.mayBeCopy = info === undefined && hasSignal(raw) &&
      !programRequests.has(raw);
    this.began = this.plan.send === undefined ? undefined : performance.now();
    const { debug } = this.plan;
    const reply = debug === undefined ? new Reply() : new debug.Reply();
    this.context = new Context(this, reply);
  }

  /**
   * Takes the request's own plan, which may read the path in another way: the next search for its first route does.
   * The routes behind a match are searched by the path of that.
   */
  usePlan(plan: Plan): void {
    this.plan = plan;
    this.path = undefined;
  }

  /** The encoded path below `framework.base_url`, by which routes are searched. */
  get pathBelowBase(): string {
    const { target: { path }, plan: { strippedBase } } = this;
    return strippedBase === "" ? path : withoutBase(path, strippedBase);
  }

  /** The path of the application for clients: `framework.base_url` or, where that is not set, its mount point. */
  get base(): string {
    return this.#activeMountPoint?.base ?? this.plan.strippedBase;
  }

  /** The scheme and host of the base, where `framework.base_url` has them. */
  get origin(): string {
    const url = this.plan.settings["framework.base_url"];
    return this.#activeMountPoint?.origin ?? baseOrigin(url);
  }

  /** The path of the request as it was received, with the prefixes under which the application is mounted. */
  get wholePath(): string {
    const { mountPoint, outerContext: outer, target } = this;
    return mountPoint && outer ? outer.exchange.wholePath : target.path;
  }

  /** The mount point, unless `framework.base_url` overrides it. */
  get #activeMountPoint(): MountPoint | undefined {
    const isOverridden = this.plan.settings["framework.base_url"] !== null;
    return isOverridden ? undefined : this.mountPoint;
  }

  /** The pattern of its match, and those in the applications that are mounted there; null for no match. */
  get patterns(): (string | null)[] {
    if (this.match === undefined) return [null];
    const { pattern } = this.match.declaration;
    return [pattern.path, ...this.inner?.patterns ?? []];
  }

  /** This exchange and those around it, from the innermost: applications can be mounted in each other. */
  get nesting(): Exchange[] {
    const nesting: Exchange[] = [this];
    for (let outer = this.outerContext; outer; outer = outer.outer) {
      nesting.push(outer.exchange);
    }
    return nesting;
  }

  /** Whether a web request is the one of this exchange, or of one around it. */
  handles(raw: Request): boolean {
    return this.nesting.some((each) => each.raw === raw);
  }

  /** Whether the request, or one around it, came from a server. */
  get isServed(): boolean {
    return this.nesting.some(({ raw }) => isFromServer(raw));
  }

  /** Whether the server passed on the connection. */
  get hasConnectionInfo(): boolean {
    return this.info !== undefined;
  }

  /** Whether its target was read and is well-formed. */
  get hasTarget(): boolean {
    return this.target !== NO_TARGET;
  }

  /** Whether it has a body that was not read here: it is unread, still arriving, or a route has streamed it. */
  get isReceiving(): boolean {
    const { body, hasBody, inner } = this;
    if (!hasBody) return false;
    if (inner !== undefined) return inner.isReceiving; // the mounted one has taken the body
    return body === undefined;
  }

  /** Whether it has a body that nothing has begun to read. */
  get hasUnreadBody(): boolean {
    return this.isReceiving && !this.raw.bodyUsed;
  }

  get coalesces(): boolean {
    return this.hasConnectionInfo &&
      this.plan.settings["framework.coalesce"];
  }

  /** Names the request in pages and log lines; one that another application has called uses the id of that one's. */
  get id(): string {
    return this.outerContext?.exchange.id ??
      (this.#id ??= this.#receivedId() ?? crypto.randomUUID().slice(0, 8));
  }

  #receivedId(): string | undefined {
    const id = this.trustsProxy ? this.raw.headers.get("x-request-id") : null;
    return id !== null && REQUEST_ID.test(id) ? id : undefined;
  }

  /** What begins a line of the log about it: its id, method and path. */
  get title(): string {
    return `${this.id} ${this.method} ${this.wholePath}`;
  }

  /** Whether a proxy in front is trusted to pass on the client's address, host and protocol. */
  get trustsProxy(): boolean {
    return this.plan.settings["framework.trust_proxy"];
  }

  /** The client's address, cached: Deno rebuilds it on each read and drops it after the response. */
  get remote(): Deno.Addr | undefined {
    return this.#remote ??= this.info?.remoteAddr;
  }

  /**
   * Throws `EndedError` once the request is over: code that has waited asks before it goes on. An exchange that
   * something holds is not over, and neither is one that outlives the response of the exchange around it:
   * `hasResponded` of `handling/dispatch.ts` tells then.
   */
  checkNotOver(): void {
    if (this.isOver) throw new EndedError();
  }

  /**
   * Reads what Deno drops after the response unless it was read before: the address, and the headers, of which `headerOf`
   * then reads what was kept. For an upgrade, see `rememberHeaders()`.
   */
  remember(): void {
    void this.remote;
    void this.raw.headers;
  }

  /** Reads each header, also of the requests around: once the request has become a WebSocket, Deno reads none. */
  rememberHeaders(): void {
    for (const { raw } of this.nesting) void [...raw.headers];
  }

  /** Whether it has other contexts than the main one. */
  get hasParts(): boolean {
    return this.#parts !== undefined;
  }

  /** Adds a context for a part of this request, which is over with it. */
  add(part: Context): void {
    (this.#parts ??= []).push(part);
  }

  /**
   * Keeps the request open until the returned function is called, and those around it, and that of the code which runs:
   * an application that is mounted may use one around it.
   */
  hold(): () => void {
    const calling = callingOther(this)?.exchange.nesting ?? [];
    const releases = [...new Set([...this.nesting, ...calling])]
      .map((each) => each.#hold());
    return () => releases.forEach((release) => release());
  }

  /**
   * Keeps the request open for a stream, until the returned function is called: a server that shuts down calls `abort`
   * when the stream takes too long, and `end` at once. The application around this one sends another stream, made of
   * this, which keeps its own request open and is aborted by itself (`web_response.ts`); its server calls `end`, too.
   */
  holdStream(abort: (reason: unknown) => void, end?: () => void): () => void {
    const { nesting, app: { unfinished: { streams } } } = this;
    const undo = end &&
      nesting.map(({ app: { unfinished } }) =>
        unfinished.endAtDrain(() => {
          unfinished.streams.add(abort); // its source may still clean up
          end();
        })
      );
    const release = this.#hold();
    streams.add(abort);
    return () => {
      undo?.forEach((each) => each());
      nesting.forEach(({ app }) => app.unfinished.streams.delete(abort));
      release();
    };
  }

  #hold(): () => void {
    this.remember();
    this.#holds += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#holds -= 1;
      if (this.isConcluded) this.conclude();
    };
  }

  /**
   * Reports why the stream of its body has failed. Not where code of the program reads that and gets the error: of an
   * application that another one has called, mounted or not, the outer one reports it.
   */
  reportFailure(error: Error): void {
    const isKnown = error === this.#streamError; // of a stream that `send` has made of another
    if (this.outerContext !== undefined || !this.isServed || isKnown) return;
    this.#streamError = error;
    reportStream(error, this.title);
  }

  /** Concludes the request, which is over unless something holds it; what held it last calls this again. */
  conclude(): void {
    this.isConcluded = true;
    if (this.#holds > 0) return;
    this.isOver = true;
    close(this.context);
    if (this.#parts) this.#parts.forEach(close);
  }
}

/** Why a page is made instead of the response. */
export interface Failure {
  /** The method that makes it. */
  readonly page: "notFound" | "error";
  readonly thrown: unknown;
  /** What was thrown, as an error. */
  readonly error: Error;
  /** The status that the page begins with. */
  readonly status: number;
  /** The failure of the page whose code has called the method, if any. */
  readonly within?: Failure | undefined;
}

/** What the code of a method has written by `response()`, or rendered, and how much of it may still do so. */
export interface Writes {
  /** Whether it was the status or a header. */
  head: boolean;
  body: boolean;
  /** How many of the calls that the code has made are under way: they may still write. */
  calls: number;
}

/** What a context for a part of a request has of its own. */
interface PartOptions {
  readonly reply?: Reply;
  /** Where text is written: into this section of the reply, or at its end. */
  readonly section?: Section | undefined;
  /** Why the code makes a page, if it does. */
  readonly failure?: Failure | undefined;
  readonly scope?: object | undefined;
  /** Where what the code writes is noted. */
  readonly writes?: Writes | undefined;
}

/** What a context has besides; that of a whole request has nothing of it. */
interface ContextOptions extends PartOptions {
  /** The context of the same request in which the part was begun. */
  readonly parent?: Context;
  readonly caller?: Context | undefined;
}

const WHOLE: ContextOptions = {};

/** How many contexts of one request may be inside each other. */
const MAX_DEPTH = 1_000;

const NO_NOTES: readonly Writes[] = [];

/** What `request()` and `response()` mean to the code that runs: an exchange, and a reply. */
export class Context implements Enterable {
  readonly id: number = nextId();
  readonly current: Current<Context>;
  readonly section: Section | undefined;
  /** Only `takeOver()` in `handling/pages.ts` replaces it. */
  failure: Failure | undefined;
  readonly writes: Writes | undefined;
  /** The context of another request, mounted in this one, whose code has called the method that this is for. */
  readonly caller: Context | undefined;
  /** By which the calls of this context are told from others (`state/pending.ts`). */
  readonly scope: object;
  /** What `response()` returns, once it was called. */
  response: HttpResponse | undefined = undefined;

  /** How many contexts of the same request are around this one. */
  readonly #depth: number;
  /** Where it is noted what the code of this context does: for it, and for the contexts around it. */
  readonly #notes: readonly Writes[];

  constructor(
    readonly exchange: Exchange,
    readonly reply: Reply,
    { section, failure, scope, writes, parent, caller }: ContextOptions = WHOLE,
  ) {
    this.current = exchange.app.current;
    this.section = section;
    this.failure = failure;
    this.writes = writes;
    this.caller = caller;
    this.scope = scope ?? this;
    this.#depth = parent === undefined ? 0 : parent.#depth + 1;
    const notes = parent === undefined ? NO_NOTES : parent.#notes;
    this.#notes = writes === undefined ? notes : [...notes, writes];
  }

  /**
   * A context for a part of the request: a page or a copy, which has a reply of its own, a section of a reply, or the
   * code of one method. Without a section, text goes to the end of the reply; reply and failure are those of this
   * context by default. It is a scope of its own for calls that nobody awaits, unless it is given that of the caller: a
   * page waits for its own calls, while those of a method belong to its caller. Throws `Error` when too many are inside
   * each other: an asynchronous method that calls itself would never end.
   */
  part(
    { reply = this.reply, section, failure = this.failure, scope, writes }:
      PartOptions,
  ): Context {
    const { exchange } = this;
    if (this.#depth === MAX_DEPTH) {
      const hint = "a method that means its default calls original()";
      throw new Error(
        `Cannot call a mapped method here: ${MAX_DEPTH} of them are inside each other; ${hint}`,
      );
    }
    const part = new Context(exchange, reply, {
      section,
      failure,
      scope,
      writes,
      parent: this,
      caller: callingOther(exchange) ?? this.caller,
    });
    exchange.add(part);
    return part;
  }

  /** Sets a header, as code of this context. */
  setHeader(name: string, value: string): void {
    this.reply.setHeader(name, value);
    this.noteWrite(this.reply, "head");
  }

  /**
   * Notes what is written to a reply, if it is that of this context: here and, as the object by which code writes may be
   * from before, in the context in which that code runs.
   */
  noteWrite(reply: Reply, what: "head" | "body"): void {
    if (reply !== this.reply) return;
    this.#note(what);
    const running = this.exchange.hasParts ? innermost() : this;
    if (running === this || !(running instanceof Context)) return;
    if (running.reply === reply) running.#note(what);
  }

  #note(what: "head" | "body"): void {
    for (const writes of this.#notes) writes[what] = true;
  }

  /** Whether the connection is secure, as the cookies of `HttpResponse` then are. */
  get isSecure(): boolean {
    return this.exchange.app.request(this).secure;
  }

  get outer(): Context | undefined {
    return this.exchange.outerContext;
  }

  get isOver(): boolean {
    return this.exchange.isOver;
  }

  /**
   * Has the response, or the page, wait for a call of the framework. Tracking handles a rejection, so the caller gets
   * another promise: if nobody awaits that one, the rejection is noticed (`state/pending.ts`).
   */
  track<Value>(name: string, call: Promise<Value>): Promise<Value> {
    const { caller, exchange, scope } = this;
    pendingOf(exchange).track(name, call, scope);
    if (caller?.isOver === false) {
      pendingOf(caller.exchange).track(name, call, caller.scope);
    }
    for (const writes of this.#notes) {
      const done = (): void => void (writes.calls -= 1);
      writes.calls += 1;
      call.then(done, done);
    }
    return call.then((value) => value);
  }

  /** Takes an error that no code has caught, of one call; `forget()` takes that back. */
  fail(reason: unknown): boolean {
    const { caller, exchange, scope } = this;
    if (exchange.isConcluded) return false;
    pendingOf(exchange).fail(reason, scope);
    // The method that `caller` has called was perhaps to respond: its guards let nobody pass.
    if (caller?.exchange.isConcluded === false) {
      pendingOf(caller.exchange).failToRespond(reason);
    }
    return true;
  }

  forget(reason: unknown): void {
    this.exchange.pending?.forget(reason);
  }
}

/** The calls of an exchange that are under way, which it keeps from the first one on. */
export function pendingOf(exchange: Exchange): Pending {
  return exchange.pending ??= new Pending();
}

/** The context of the code that runs, where that belongs to another request than the one which it calls, if any. */
export function callingOther(called?: Exchange): Context | undefined {
  const calling = innermost();
  const isOther = calling instanceof Context && calling.exchange !== called;
  return isOther ? calling : undefined;
}

/**
 * The context around a new request: that of the code which has called `fetch`. A request that comes straight from a
 * server has none, but may find that of an earlier request, which Deno leaks after an `import()` inside of one into
 * whatever the event loop runs next. So such a request has an outer context only when that one has the same web
 * request.
 */
function outerOf(raw: Request): Context | undefined {
  const around = innermost();
  if (around === undefined) return undefined;
  const context = around instanceof Context ? around : undefined;
  if (context?.exchange.handles(raw) || !isFromServer(raw)) return context;
  if (context === undefined) leave();
  return undefined;
}
