/**
 * Owns per-request state: which request the running code belongs to, and everything that is that request's
 * alone. Nothing of a request can be read by a later one.
 *
 * The AsyncLocalStorage holds an integer and not the scope itself: Deno keeps every stored object alive
 * through young collections, which costs a third more time at the 99th percentile. While a request runs
 * synchronously, its scope is in one variable; after that, in a map by its number until the request ends.
 * Work that outlives its request finds no scope, and gets an error that says so.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { EndedError, report } from "../errors.ts";
import { isFromServer } from "../runtime.ts";
import { isThenable } from "../steps.ts";
import { settles } from "../timer.ts";

const storage = new AsyncLocalStorage<number | undefined>();
const open = new Map<number, Scope>();
const configuring = new Map<number, Owner>();
let synchronous: Scope | undefined;
let lastId = 0;

/** What a server passes on about a connection; `Deno.serve` and `deno serve` do. */
export interface ConnectionInfo {
  /** The client's address. */
  readonly remoteAddr?: Deno.Addr;
}

/** A function from a web request to its response. */
export type Fetch = (
  request: Request,
  info?: ConnectionInfo,
) => Response | Promise<Response>;

/** What a request asks for. */
export interface Target {
  /** The method in capitals. */
  readonly method: string;
  /** The path, still encoded: it begins with a slash and has no dot segments. */
  readonly path: string;
  /** The query with its question mark, still encoded, or nothing. */
  readonly search: string;
}

/** Stands for the target of a request whose own is malformed. */
export const NO_TARGET: Target = { method: "GET", path: "/", search: "" };

/** An engine as the state sees it: each has state and unfinished work of its own. */
export class Owner {
  /** Whether a server passes requests to it: from then on only `configure()` changes its application. */
  isServing = false;
  /** Whether that server is shutting down: bodies that are still arriving may be cut off. */
  isDraining = false;
  /** Whether the server that passes requests to it is known to have no TLS. */
  isPlain = false;
  /** Deferred work that is running, also that of engines that it passes requests to. */
  readonly deferred: Set<Promise<unknown>> = new Set();
  /** The functions that abort the streams being sent. */
  readonly streams: Set<(reason: unknown) => void> = new Set();
  /** The highest scope number when the engine was made: its own scopes have higher ones. */
  readonly bornAfter: number = lastId;

  /** `shutdownSeconds` bounds the time that its work gets when its server ends. */
  constructor(readonly shutdownSeconds: () => number = () => 0) {}
}

/** What the lower rooms read of the plan that the application compiles for its requests. */
export interface CompiledPlan {
  /** Whether each request needs an `HttpResponse`: one of the application's own class, or for debugging. */
  readonly needsResponse: boolean;
  /** The path of the application, without a slash at its end. */
  readonly base: string;
  /** Whether a proxy in front tells the client's address and protocol. */
  readonly trustsProxy: boolean;
  /** How many bytes may wait for the client of a WebSocket. */
  readonly socketLimit: number;
}

/** A request that one engine handles, or a part of it with a response of its own. */
export class Scope {
  /** The number under which asynchronous work finds this scope. */
  readonly id: number = ++lastId;
  readonly owner: Owner;
  /** The scope of the whole request; itself, unless this is a part of one. */
  readonly root: Scope;
  /** When the request came in, in milliseconds of `performance.now()`; undefined where nothing reads it. */
  began: number | undefined;
  /** The method, path and query, once they were read. */
  target: Target = NO_TARGET;
  /** The body, once it was read. */
  body: Uint8Array<ArrayBuffer> | undefined;
  /** The match of the route that is being called. */
  match: object | undefined;
  /** What `request()` returns, once it was called; kept by the root alone. */
  httpRequest: object | undefined;
  /** The whole response as plain values, while nothing needs an `HttpResponse`. */
  outcome: object | undefined;
  /** What sealed the outcome, if anything did. */
  sealedBy: string | undefined;
  /** The response being built, once something needed it. */
  httpResponse: object | undefined;
  /** What this part makes a page for; `name` is the method that makes it. */
  page: { readonly name: "notFound" | "error" } | undefined;
  /** Whether the web response was made: from then on an error can only be logged. */
  responded = false;
  /** Whether the request is over. */
  ended = false;
  /** Work to run after the response; undefined again once all of it has run. */
  deferred: (() => unknown)[] | undefined;
  /** The reason of a rejected promise that nobody awaited. */
  failure: { readonly reason: unknown } | undefined;
  /** The application's plan, or one of the request's own once it has declared something. */
  plan: CompiledPlan | undefined;
  /** The `id` of the request, once it was asked for; kept by the root of the outermost scope. */
  reference: string | undefined;
  /** What was thrown and has a page, until it is known whether it is logged; kept by the root alone. */
  errors: Set<unknown> | undefined;
  /** Values of this request alone by key, such as its layers; undefined until one is set. */
  own: Map<unknown, unknown> | undefined;

  readonly #parent: Scope | undefined;
  #remote: Deno.Addr | undefined;
  #parts: Scope[] | undefined;
  #tasks: Map<Promise<unknown>, string> | undefined;
  #hasRejected = false;
  #holds = 0;

  /** `info` is what the server passed on about the connection; `root` is given for a part of a request. */
  constructor(
    readonly app: { readonly owner: Owner },
    readonly request: Request,
    readonly info: ConnectionInfo | undefined,
    root?: Scope,
  ) {
    this.owner = app.owner;
    this.root = root ?? this;
    this.#parent = root ? root.#parent : parentScope(request);
  }

  /** This scope and those around it, from the innermost: engines can be mounted in each other. */
  get nesting(): Scope[] {
    return [this, ...this.#parent?.nesting ?? []];
  }

  /** Whether the request, or one around it, came from a server. */
  get isServed(): boolean {
    return this.nesting.some(({ request }) => isFromServer(request));
  }

  /** The client's address, cached: Deno rebuilds it on each read and drops it after the response. */
  get remote(): Deno.Addr | undefined {
    return this.root.#remote ??= this.info?.remoteAddr;
  }

  /** Runs work as a part of this request, with a response and perhaps a page of its own. */
  with<Result>(
    { response, page = this.page }: { response: object; page?: Scope["page"] },
    work: () => Result,
  ): Result {
    const { root } = this;
    const part = new Scope(this.app, this.request, this.info, root);
    part.target = root.target;
    part.plan = root.plan;
    part.httpResponse = response;
    part.page = page;
    (root.#parts ??= []).push(part);
    return enter(part, work);
  }

  /** Sets a value of this request alone. */
  setOwn(key: unknown, value: unknown): void {
    (this.root.own ??= new Map()).set(key, value);
  }

  /** Notes asynchronous work until it settles; the caller still handles its result. */
  track(name: string, work: Promise<unknown>): void {
    const { root } = this;
    const tasks = root.#tasks ??= new Map();
    tasks.set(work, name);
    work.then(
      () => tasks.delete(work),
      () => root.#hasRejected = tasks.delete(work),
    );
  }

  /** Whether tracked work is under way, or a rejection may still turn out to be unhandled. */
  get isUnsettled(): boolean {
    return this.#hasRejected || this.failure !== undefined ||
      this.#tasks !== undefined && this.#tasks.size > 0;
  }

  /** Waits for tracked work, for the given seconds at most; rejects when a rejection in it is unhandled. */
  async settle(seconds: number): Promise<void> {
    const tasks = this.#tasks ?? new Map<Promise<unknown>, string>();
    const allSettle = async () => {
      while (tasks.size > 0) await Promise.allSettled(tasks.keys());
    };
    if (!await settles(allSettle(), seconds)) {
      const late = [...tasks.values()].join(", ");
      report(`The response did not wait longer than ${seconds} s for: ${late}`);
    }
    // Deno reports at the end of a turn which rejections nobody handles.
    if (this.#hasRejected || this.failure) {
      await new Promise((resolve) => setTimeout(resolve));
    }
    this.#hasRejected = false;
    const { failure } = this;
    this.failure = undefined;
    if (failure) throw failure.reason;
  }

  /**
   * Keeps the request open until the returned function is called. Pass `abort` for a stream: a server that
   * shuts down calls it to end the stream.
   */
  hold(abort?: (reason: unknown) => void): () => void {
    const { root, owner } = this;
    root.remember();
    root.#holds += 1;
    if (abort) owner.streams.add(abort);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      root.#holds -= 1;
      if (abort) owner.streams.delete(abort);
      if (root.responded) root.end();
    };
  }

  /** Ends the request, unless something holds it: from then on no code finds its scope. */
  end(): void {
    if (this.#holds > 0) return;
    this.ended = true;
    open.delete(this.id);
    if (this.#parts) { for (const part of this.#parts) open.delete(part.id); }
  }

  /** Reads what Deno drops after the response, so that it stays readable. */
  remember(): void {
    void this.remote;
    void this.request.headers;
  }
}

/** Runs work inside a scope, which asynchronous work then finds until the request ends. */
export function enter<Entered extends Scope, Result>(
  scope: Entered,
  work: (scope: Entered) => Result,
): Result {
  const before = synchronous;
  // Callbacks bound to the request around this one must still find it.
  if (before !== undefined && !before.root.ended) open.set(before.id, before);
  synchronous = scope;
  try {
    return storage.run(scope.id, work, scope);
  } finally {
    synchronous = before;
    if (!scope.root.ended) open.set(scope.id, scope);
  }
}

/**
 * Runs work as the application itself: without a request, and with writes to the application allowed although
 * it serves, until the work returns or its promise settles. The negative number says that what the work leaves
 * behind, such as a timer, belongs to no request either.
 */
export function configure<Result>(owner: Owner, work: () => Result): Result {
  const id = -(++lastId);
  const done = (): void => void configuring.delete(id);
  configuring.set(id, owner);
  let result: Result | undefined;
  try {
    return result = storage.run(id, work);
  } finally {
    if (isThenable(result)) result.then(done, done);
    else done();
  }
}

/** Binds a function to the current request, for callers in another context such as a stream's. */
export const { bind } = AsyncLocalStorage;

/**
 * The scope of the request that the owner is handling in the calling context, if any. Throws when the
 * calling code belongs to a request that has ended.
 */
export function current(owner: Owner): Scope | undefined {
  const id = storage.getStore();
  if (id === undefined || id < 0) return undefined;
  const scope = find(id);
  if (scope?.owner === owner) return scope;
  const outer = scope?.nesting.find((each) => each.owner === owner);
  const isOver = scope === undefined || outer?.root.ended;
  if (isOver && id > owner.bornAfter) throw new EndedError();
  return isOver ? undefined : outer;
}

/** The same, but throws outside of a request, naming the call that needs one. */
export function currentOrThrow(owner: Owner, call: string): Scope {
  const scope = current(owner);
  if (scope !== undefined) return scope;
  throw new Error(`Cannot call ${call} here: no request is being handled`);
}

/**
 * The scope that a write belongs to; undefined when it is the application's. Throws when the application
 * serves, or a served request of another one is handled, and the write is not in `configure()`: Deno forgets
 * the request in some callbacks, and what is set for one client must not reach every other.
 */
export function writingScope(owner: Owner): Scope | undefined {
  const scope = current(owner);
  if (scope !== undefined) return scope;
  const id = storage.getStore() ?? 0;
  const isOfOther = id > owner.bornAfter && find(id)?.isServed;
  if (!owner.isServing && !isOfOther) return undefined;
  if (configuring.get(id) === owner) return undefined;
  throw new Error(
    "Cannot change the application here: it has served, and this code belongs to no request of it. " +
      "Wrap the change in configure() when it is meant for every request, or call init() to begin anew " +
      "once no server runs",
  );
}

/**
 * The scope of the request that the calling code belongs to, whatever engine handles it; undefined outside
 * of requests, null once that request has ended.
 */
export function contextScope(): Scope | null | undefined {
  const id = storage.getStore();
  return id === undefined || id < 0 ? undefined : find(id)?.root ?? null;
}

/** The requests that a server passed to an owner and that have no response yet. */
export function runningRequests(owner: Owner): Scope[] {
  return [...open.values()].filter((scope) =>
    scope === scope.root && scope.owner === owner &&
    scope.info !== undefined && !scope.responded
  );
}

function find(id: number): Scope | undefined {
  return synchronous?.id === id ? synchronous : open.get(id);
}

/**
 * The scope around a new request. A served request has none. Workaround: after a dynamic import inside
 * a request, Deno leaks that request's context into whatever the event loop runs next.
 */
function parentScope(request: Request): Scope | undefined {
  const id = storage.getStore();
  if (id === undefined) return undefined;
  const scope = find(id);
  const isInner = scope?.nesting.some((each) => each.request === request);
  if (isInner || !isFromServer(request)) return scope;
  if (scope === undefined) storage.enterWith(undefined);
  return undefined;
}
