/**
 * Owns who is current: the one address of per-request state. Everything else asks here which
 * request the running code belongs to, and keeps what that request sets in the request's own layer.
 *
 * The AsyncLocalStorage holds an integer and not the scope itself: the runtime keeps every stored
 * object alive through young collections, which costs a third more time at the 99th percentile. A
 * request that ends synchronously is found through one variable; one that goes on is found by its
 * number in a map, until it ends. Work that outlives its request finds nothing, and is told so.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { isHandedOver } from "../runtime.ts";
import { NO_TARGET, type Target } from "../request/target.ts";
import { settles } from "../timer.ts";

const storage = new AsyncLocalStorage<number | undefined>();
const open = new Map<number, Scope>();
let synchronous: Scope | undefined;
let lastId = 0;

/** The number of the last request before an owner came to be: none up to it is the owner's. */
const births = new WeakMap<object, number>();

/** What the runtime tells about a connection; `Deno.serve` and `deno serve` pass it on. */
export interface ConnectionInfo {
  /** The address of the other end. */
  readonly remoteAddr?: Deno.Addr;
}

/** What is known of a request from the outside. */
export class Visit {
  readonly request: Request;
  /** What is asked for. */
  target: Target = NO_TARGET;
  /** The body, once it is read. */
  body: Uint8Array<ArrayBuffer> | undefined;
  readonly #info: ConnectionInfo | undefined;
  #remote: Deno.Addr | undefined;

  /** The second is what a server tells about the connection. */
  constructor(request: Request, info?: ConnectionInfo) {
    this.request = request;
    this.#info = info;
  }

  /** Whether a server handed it over. */
  get isServed(): boolean {
    return this.#info !== undefined;
  }

  /** The other end of the connection; the runtime makes it anew each time, and forgets it in the end. */
  get remote(): Deno.Addr | undefined {
    return this.#remote ??= this.#info?.remoteAddr;
  }

  /** Looks at what is not told any more after the response, so that it is kept. */
  remember(): void {
    void this.remote;
    void this.request.headers;
  }
}

/** One request being handled by one owner (an engine), or a part of it with its own components. */
export class Scope {
  /** The number under which asynchronous work finds this scope. */
  readonly id: number = ++lastId;
  /** The scope of the whole request; itself, unless this is a part of one. */
  readonly root: Scope;
  /** Whether the response is made: what fails from here on can only be logged. */
  answered = false;
  /** Whether the request is over. */
  ended = false;
  /** Whether deferred work is being done. */
  isDeferring = false;
  /** The error of a rejected promise that nobody awaited. */
  failure: { readonly reason: unknown } | undefined;
  /** The match of the route that is being followed, on the scope of the whole request. */
  match: { toRoute(): object } | undefined;

  readonly #parent: Scope | undefined;
  #components: Record<string, object> | undefined;
  #layers: Map<object, unknown> | undefined;
  #parts: Scope[] | undefined;
  #tasks: Map<Promise<unknown>, string> | undefined;
  #rejected = false;
  #deferred: (() => unknown)[] | undefined;
  #holds = 0;

  /** The engine is the owner; `root` is given for a part of a request. */
  constructor(readonly owner: object, readonly visit: Visit, root?: Scope) {
    this.root = root ?? this;
    this.#parent = root ? root.#parent : enclosing(visit);
  }

  /** The scope of the nearest request of the owner around this one: requests can nest. */
  of(owner: object): Scope | undefined {
    return this.owner === owner ? this : this.#parent?.of(owner);
  }

  /** Whether this is about that request, or a request around this one is. */
  isAbout(request: Request): boolean {
    return this.visit.request === request ||
      this.#parent !== undefined && this.#parent.isAbout(request);
  }

  /** A part of this request with a component of its own in place of the request's. */
  part(name: string, component: object): Scope {
    const part = new Scope(this.owner, this.visit, this.root);
    const known = this === this.root ? undefined : this.#components;
    part.#components = { ...known, [name]: component };
    (this.root.#parts ??= []).push(part);
    open.set(part.id, part);
    return part;
  }

  /** The instance of a component that lives as long as the request. */
  component(name: string): object | undefined {
    return this.#components?.[name] ?? this.root.#components?.[name];
  }

  /** Keeps a component's instance until the request ends. */
  keep(name: string, component: object): void {
    (this.root.#components ??= {})[name] = component;
  }

  /** What this request has of its own under a key. */
  layer(key: object): unknown {
    return this.root.#layers?.get(key);
  }

  /** Gives this request something of its own under a key. */
  setLayer(key: object, layer: unknown): void {
    (this.root.#layers ??= new Map()).set(key, layer);
  }

  /** Counts asynchronous work as the request's until it settles; its outcome stays its caller's. */
  track(name: string, work: Promise<unknown>): void {
    const root = this.root;
    const tasks = root.#tasks ??= new Map();
    tasks.set(work, name);
    work.then(
      () => tasks.delete(work),
      () => root.#rejected = tasks.delete(work),
    );
  }

  /** Whether tracked work is still under way, or a rejection may still turn out to be unhandled. */
  get unsettled(): boolean {
    return this.#rejected || this.failure !== undefined ||
      (this.#tasks !== undefined && this.#tasks.size > 0);
  }

  /** Waits for tracked work, at most so many seconds; answers the names of what did not settle. */
  async settle(seconds: number): Promise<string[]> {
    const tasks = this.#tasks ?? new Map<Promise<unknown>, string>();
    const allSettle = async () => {
      while (tasks.size > 0) await Promise.allSettled(tasks.keys());
    };
    await settles(allSettle(), seconds);
    // The runtime tells who handles a rejection, and who does not, at the end of a turn.
    if (this.#rejected || this.failure) {
      await new Promise((resolve) => setTimeout(resolve));
    }
    this.#rejected = false;
    return [...tasks.values()];
  }

  /** Keeps work for after the response. */
  defer(work: () => unknown): void {
    this.visit.remember();
    (this.root.#deferred ??= []).push(work);
  }

  /** Whether work is kept for after the response. */
  get hasDeferred(): boolean {
    return this.#deferred !== undefined && this.#deferred.length > 0;
  }

  /** Takes the next deferred work, in the order of the calls. */
  nextDeferred(): (() => unknown) | undefined {
    return this.#deferred?.shift();
  }

  /** Keeps the request open, as for a stream of its response, until the answer is called, once. */
  hold(): () => void {
    this.visit.remember();
    const root = this.root;
    root.#holds += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      root.#holds -= 1;
      if (root.answered) root.end();
    };
  }

  /** Ends the request unless something holds it: from then on its number leads nowhere. */
  end(): void {
    if (this.#holds > 0) return;
    this.ended = true;
    if (open.size === 0) return;
    open.delete(this.id);
    for (const part of this.#parts ?? []) open.delete(part.id);
  }
}

/** Runs work inside a scope; a scope whose work goes on asynchronously stays findable until it ends. */
export function enter<Arguments extends unknown[], Result>(
  scope: Scope,
  work: (...args: Arguments) => Result,
  ...args: Arguments
): Result {
  const before = synchronous;
  // What is bound to the request around this one must find it meanwhile.
  if (before !== undefined && !before.root.ended) open.set(before.id, before);
  synchronous = scope;
  try {
    return storage.run(scope.id, work, ...args);
  } finally {
    synchronous = before;
    if (!scope.root.ended) open.set(scope.id, scope);
  }
}

/** Runs work outside every request, so that what it makes cannot hold on to one. */
export function outside<Result>(work: () => Result): Result {
  return storage.run(undefined, work);
}

/** Binds a function to the current request, for callers in another context such as a stream's. */
export function bind<Arguments extends unknown[], Result>(
  work: (...args: Arguments) => Result,
): (...args: Arguments) => Result {
  return AsyncLocalStorage.bind(work) as (...args: Arguments) => Result;
}

/**
 * The scope of the request that the owner is handling in the calling context, if any. Throws when
 * the calling code belongs to a request that has ended.
 */
export function current(owner: object): Scope | undefined {
  const id = storage.getStore();
  if (id === undefined) return undefined;
  const scope = find(id);
  return scope?.owner === owner ? scope : around(scope, id, owner);
}

/** The same, for a call that has a meaning only inside a request; throws outside one. */
export function required(owner: object, call: string): Scope {
  const scope = current(owner);
  if (scope !== undefined) return scope;
  throw new Error(`Cannot call ${call} here: no request is being handled`);
}

/** The owner's request around a scope that is not its own. */
function around(
  scope: Scope | undefined,
  id: number,
  owner: object,
): Scope | undefined {
  const outer = scope?.of(owner);
  const isOver = scope === undefined || outer?.root.ended;
  if (isOver && id > (births.get(owner) ?? lastId)) throw new EndedError();
  return isOver ? undefined : outer;
}

/** Notes that an owner has come to be. */
export function begin(owner: object): void {
  if (!births.has(owner)) births.set(owner, lastId);
}

/** Thrown to work that outlives its request: it gets nothing, least of all another request's data. */
export class EndedError extends Error {
  override readonly name = "EndedError";

  constructor() {
    super(
      "Cannot use the framework here: the request this work belongs to has ended",
    );
  }
}

/**
 * The scope of the request that the calling code belongs to, whichever engine handles it: undefined
 * outside of requests, null once that request has ended.
 */
export function contextScope(): Scope | null | undefined {
  const id = storage.getStore();
  return id === undefined ? undefined : find(id)?.root ?? null;
}

/** The requests that a server handed to an owner and that have no response yet. */
export function runningRequests(owner: object): Scope[] {
  return [...open.values()].filter((scope) =>
    scope === scope.root && scope.owner === owner && scope.visit.isServed &&
    !scope.answered
  );
}

/** The scope with that number, while its request lasts. */
function find(id: number): Scope | undefined {
  return synchronous?.id === id ? synchronous : open.get(id);
}

/**
 * The scope that a new request lies in. What the runtime hands over lies in none, though it leaves the
 * context of a request behind when a module was loaded in it, for whatever comes next.
 */
function enclosing({ request, isServed }: Visit): Scope | undefined {
  const id = storage.getStore();
  if (id === undefined) return undefined;
  const scope = find(id);
  if (scope === undefined && isServed) storage.enterWith(undefined);
  return isHandedOver(request) && !scope?.isAbout(request) ? undefined : scope;
}
