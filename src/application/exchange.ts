/**
 * Owns one request as an application handles it. All state of a request is here, or can be reached only from here, so
 * that no other request can read it.
 */

import type { ConnectionInfo } from "../http.ts";
import { basePath, withoutBase } from "../paths.ts";
import { reportStream } from "../report.ts";
import { type Body, hasBody } from "../request/body.ts";
import { headerOf, isFromServer } from "../request/runtime.ts";
import { mountedAt, type Target } from "../request/target.ts";
import { Reply, type Section } from "../response/reply.ts";
import type { OpenStream } from "../response/stream.ts";
import { Path } from "../routing/path.ts";
import type { Match } from "../routing/tree.ts";
import { current, leave, nextId } from "../state/current.ts";
import type { Layer } from "../state/layer.ts";
import { Pending } from "../state/pending.ts";
import type { Failing } from "../state/uncaught.ts";
import type { Application } from "./application.ts";
import type { DebugTools } from "./debug_tools.ts";
import { MappedMethod } from "./mapped_method.ts";
import { HttpRequest } from "./request.ts";
import type { Settings } from "./settings.ts";

const REQUEST_ID = /^[\w.-]{1,64}$/;

const NO_TARGET: Target = { path: "/", search: "", isPlain: true };

/** One request on its way through the steps of `handling/handle.ts`. */
export class Exchange {
  /** The context of all code but that of methods that respond alone, and of renders. */
  readonly main: Context;
  /** The context of the code of another application that has called `fetch`, as a mount does. */
  readonly outer: Context | undefined;
  /** The exchange of the request that a server has received, or a program made, in front of every mount and `fetch`. */
  readonly root: Exchange;
  readonly reply: Reply = new Reply();
  /** The method that was received, or the one that a form asks for. */
  method: string;
  target: Target = NO_TARGET;
  readonly hasBody: boolean;
  readonly isHead: boolean;
  /** Whether a server has received the request, or the one around it. */
  readonly isServed: boolean;
  /** The whole body, once it was read. */
  body: Body | undefined = undefined;
  path: Path | undefined = undefined;
  /** The route that is being called; before that, the first that matches. */
  match: Match | undefined = undefined;
  /** What this request has set or declared for itself. */
  layer: Layer | undefined = undefined;
  pending: Pending | undefined = undefined;
  deferred: (() => unknown)[] | undefined = undefined;
  /** What has got an error page: logged once the final status is known. */
  errors: Error[] | undefined = undefined;
  /** The routes that a mapped `start` has begun. */
  routesBegun: Promise<unknown> | undefined = undefined;
  /** The last render into a view variable: later renders wait for it. */
  storing: Promise<unknown> | undefined = undefined;
  /** The validators whose conditions have held. */
  held: Set<string> | undefined = undefined;
  /** What `request()` returns, once it was called. */
  instance: object | undefined = undefined;
  /** The WebSocket that it has become. */
  upgrade: Deno.WebSocketUpgrade | undefined = undefined;
  /** What helps at the desk, under `framework.debug`. */
  debug: DebugTools | undefined = undefined;
  /** When it came in, where `send` is changed. */
  readonly began: number | undefined = undefined;
  /** Whether the response is made: an error can only be logged. */
  isConcluded = false;
  isOver = false;

  #http: HttpRequest | undefined = undefined;
  #remote: Deno.Addr | undefined = undefined;
  #id: string | undefined = undefined;
  #contexts: Context[] | undefined = undefined;
  #holds = 0;

  constructor(
    readonly app: Application,
    readonly raw: Request,
    readonly info: ConnectionInfo | undefined,
  ) {
    this.method = raw.method;
    this.isHead = this.method === "HEAD";
    this.hasBody = this.method !== "GET" && hasBody(raw);
    const around = current() as Context | undefined;
    const isReceived = isFromServer(raw);
    // Deno leaks the context of a request that has imported something into whatever runs next.
    const isInside = around !== undefined &&
      (around.exchange.raw === raw || !isReceived);
    this.outer = isInside ? around : undefined;
    this.root = isInside ? around.exchange.root : this;
    this.isServed = isInside ? this.root.isServed : isReceived;
    this.main = new Context(this, this.reply);
    const { send } = app.callables.shared;
    const isSendChanged = send instanceof MappedMethod && !send.isUnchanged;
    if (isSendChanged) this.began = performance.now();
  }

  get settings(): Settings {
    return this.app.allSettings.of(this.layer);
  }

  /** The route to call first. It is kept until the request declares or sets something. */
  firstRoute(): Match | undefined {
    const { app, layer, match, method } = this;
    if (match !== undefined && layer === undefined) return match;
    return this.match = app.routes.of(layer).find(this.#takePath(), method);
  }

  /** The route to call after one that has passed. */
  nextRoute({ path, route }: Match): Match | undefined {
    const { app, layer, method } = this;
    return this.match = app.routes.of(layer).find(path, method, route);
  }

  /** All routes that match the path; without a method, those of any method. */
  allRoutes(method?: string): Match[] {
    const { app, layer, path = this.#takePath() } = this;
    return app.routes.of(layer).all(path, method);
  }

  /** The path that routes are searched for: below `framework.base_url`, decoded. */
  #takePath(): Path {
    const {
      "framework.base_url": base,
      "framework.case_sensitive": isCaseSensitive,
    } = this.settings;
    const { path, isPlain } = this.target;
    const below = base === null ? path : withoutBase(path, basePath(base));
    return this.path = new Path(below, isCaseSensitive, isPlain);
  }

  /** The path of the application for clients: `framework.base_url`, or where it is mounted. */
  get base(): string {
    const url = this.settings["framework.base_url"];
    return url === null ? mountedAt.get(this.raw) ?? "" : basePath(url);
  }

  /** The exchange of the application that this one is mounted in. */
  get mountedIn(): Exchange | undefined {
    return mountedAt.has(this.raw) ? this.outer?.exchange : undefined;
  }

  /** What `request()` returns or, where that is something else, an object of the framework's own. */
  get http(): HttpRequest {
    const { instance } = this;
    if (instance instanceof HttpRequest) return instance;
    return this.#http ??= new HttpRequest(this);
  }

  /** How many proxies in front are trusted. */
  get proxies(): number {
    return Number(this.settings["framework.trust_proxy"]);
  }

  /** The client's address, cached: Deno drops it after the response. */
  get remote(): Deno.Addr | undefined {
    return this.#remote ??= this.info?.remoteAddr ??
      this.outer?.exchange.remote;
  }

  /** Names the request in pages and log lines. */
  get id(): string {
    if (this.outer !== undefined) return this.outer.exchange.id;
    const sent = this.proxies > 0 ? headerOf(this.raw, "x-request-id") : null;
    return this.#id ??= sent !== null && REQUEST_ID.test(sent)
      ? sent
      : crypto.randomUUID().slice(0, 8);
  }

  /** What begins a line of the log about it. */
  get label(): string {
    return `${this.id} ${this.method} ${this.root.target.path}`;
  }

  /** Adds a context that is over with the request. */
  add(context: Context): Context {
    (this.#contexts ??= []).push(context);
    return context;
  }

  /** Keeps the request open until the returned function is called. */
  hold(): () => void {
    const release = this.outer?.exchange.hold();
    this.remember();
    this.#holds += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#holds -= 1;
      if (this.isConcluded) this.conclude();
      release?.();
    };
  }

  /** Keeps the request open for a stream, which a server that shuts down stops. */
  holdStream(stream: OpenStream): () => void {
    const release = this.hold();
    const { streams, isDraining } = this.root.app; // that of the server
    streams.add(stream);
    if (isDraining && stream.isResumable) queueMicrotask(stream.stop);
    return () => {
      streams.delete(stream);
      release();
    };
  }

  /** Reports why a stream has failed, once: no page can show it. */
  reportFailure(error: Error): void {
    if (this.isServed && !this.outer) reportStream(error, this.label);
  }

  /** Reads what Deno drops after the response. */
  remember(): void {
    this.outer?.exchange.remember();
    void this.remote;
    void this.raw.headers;
  }

  /** The response is made; the request is over unless a stream, a socket or deferred work holds it. */
  conclude(): void {
    this.isConcluded = true;
    if (this.#holds > 0) return;
    this.isOver = true;
    leave(this.main);
    this.#contexts?.forEach(leave);
  }
}

/** What `request()` and `response()` mean to the code that runs: a request, and where it writes. */
export class Context implements Failing {
  readonly id: number = nextId();
  /** What `response()` returns, once it was called. */
  instance: object | undefined = undefined;

  constructor(
    readonly exchange: Exchange,
    readonly reply: Reply,
    /** Where text is written: at the end of the body, or at a place that was kept for later output. */
    readonly section: Section = reply.body,
    readonly parent?: Context,
    /** The method whose code runs, where a mapped or filtered one stands for a default. */
    readonly method?: string,
  ) {}

  get isOver(): boolean {
    return this.exchange.isOver;
  }

  /** Whether the code of that method runs, also by way of others. */
  isInside(method: string): boolean {
    return this.method === method || this.parent?.isInside(method) === true;
  }

  /** Whether it is that context, or one that was made inside of it. */
  isWithin(context: Context): boolean {
    return this === context || this.parent?.isWithin(context) === true;
  }

  /** A context for the code of a method, which writes to the same reply, perhaps to a section of its body. */
  inside(method: string, section: Section = this.section): Context {
    const { exchange, reply } = this;
    return exchange.add(new Context(exchange, reply, section, this, method));
  }

  /** A context for the code of a method that responds alone, with a reply of its own. */
  alone(method: string): Context {
    const { exchange } = this;
    const own = this.reply.successor();
    return exchange.add(new Context(exchange, own, own.body, this, method));
  }

  /** Has the response wait for a call of the framework. */
  track<Value>(name: string, call: Promise<Value>): Promise<Value> {
    const { exchange } = this;
    exchange.pending ??= new Pending(exchange);
    return exchange.pending.track(name, this, call);
  }

  fail(reason: unknown): void {
    const { exchange } = this;
    exchange.pending ??= new Pending(exchange);
    exchange.pending.fail(reason, this);
  }

  forget(reason: unknown): void {
    this.exchange.pending?.forget(reason);
  }
}
