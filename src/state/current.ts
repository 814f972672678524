/**
 * Owns which context the running code belongs to, however many run at once. It knows nothing of HTTP.
 *
 * The AsyncLocalStorage holds an integer and not the context itself: Deno keeps every stored object alive
 * through young collections, which makes the slowest requests slower. While a context runs
 * synchronously, it is in one variable; after that, in a map by its number until it is over. Work that outlives
 * its context finds none, and gets an error that says so.
 *
 * Two rules say what a number means:
 *
 * - The sign: a positive number is that of a context; a negative one is that of a call of `configure()`, whose code
 *   belongs to no context, not even once the call is over.
 * - The order: a later number is larger. A context whose number is not larger than the last one before an owner was
 *   made is older than that owner. Code in it may have made the owner, and is free to use it, even after the context.
 *   A part of a request, such as the code of a mapped method, has a number of its own: it may be younger than an owner
 *   that the same request has made.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { EndedError } from "../errors.ts";

/** A context that code can run in. */
export interface Enterable {
  /** From `nextId()`: asynchronous work finds the context by it. */
  readonly id: number;
  /** The owner of the context. */
  readonly current: Current<Enterable>;
  /** The context around this one, of another owner. */
  readonly outer: Enterable | undefined;
  /** Whether no code may use the context any more. */
  readonly isOver: boolean;
  /** Notes a call of the framework that may not be awaited; returns the promise for the caller. */
  track<Value>(name: string, call: Promise<Value>): Promise<Value>;
  /** Takes an error that no code has caught; returns false when it is too late for that. */
  fail(reason: unknown): boolean;
  /** Drops such an error: some code has caught it after all. */
  forget(reason: unknown): void;
}

const storage = new AsyncLocalStorage<number | undefined>();
/** The context that runs synchronously. */
let synchronous: Enterable | undefined;
/** The contexts that code can find by their numbers: those that have left their synchronous part and are not over. */
const open = new Map<number, Enterable>();
/** Who configures, by the negative number of the work, and the number of what is around that. */
const configuring = new Map<
  number,
  { readonly owner: Current<Enterable>; readonly outer: number | undefined }
>();
let lastId = 0;

/** The contexts of one owner. */
export class Current<Context extends Enterable> {
  /** The last number before this owner was made. */
  readonly #lastIdBefore = lastId;

  /**
   * The context that the calling code belongs to; undefined when it belongs to none. Throws when it belongs to
   * one that is over.
   */
  get(): Context | undefined {
    const id = storage.getStore();
    if (id === undefined || id < 0) return undefined;
    const inner = find(id);
    let context = inner;
    while (context !== undefined && context.current !== this) {
      context = context.outer;
    }
    const isOver = inner === undefined || context?.isOver === true;
    if (!isOver) return context as Context | undefined;
    if (id > this.#lastIdBefore) throw new EndedError();
    return undefined;
  }

  /** The contexts that wait for something, or have left something behind, and are not over. */
  openContexts(): Context[] {
    const isOfThis = (context: Enterable): context is Context =>
      context.current === this;
    return [...open.values()].filter(isOfThis);
  }

  /**
   * Runs work outside of every context, with `isConfiguring` true until the work returns or its promise settles.
   * The negative number says that what the work leaves behind, such as a timer, belongs to no context either. Of a
   * promise, it returns another one.
   */
  configure<Result>(work: () => Result): Result {
    const id = -nextId();
    const done = (): void => void configuring.delete(id);
    configuring.set(id, { owner: this, outer: storage.getStore() });
    let result: Result;
    try {
      result = storage.run(id, work);
    } catch (thrown) {
      done();
      throw thrown;
    }
    // Not the same promise, which this would handle: a rejection that nobody awaits must be noticed.
    if (result instanceof Promise) return result.finally(done) as Result;
    done();
    return result;
  }

  /** Whether the calling code runs in `configure()`, also by way of that of other owners. */
  get isConfiguring(): boolean {
    let work = configuring.get(storage.getStore() ?? 0);
    while (work !== undefined && work.owner !== this) {
      work = configuring.get(work.outer ?? 0);
    }
    return work !== undefined;
  }

  /** The innermost context that the calling code belongs to, of any owner, if it began after this owner was made. */
  get innermostSinceMade(): Enterable | undefined {
    const id = storage.getStore() ?? 0;
    return id > this.#lastIdBefore ? find(id) : undefined;
  }
}

/** A number for a new context. */
export function nextId(): number {
  return ++lastId;
}

/** Runs work in a context; the timers and promises that it leaves behind run there too, until `close()`. */
export function enter<Context extends Enterable, Result>(
  context: Context,
  work: (context: Context) => Result,
): Result {
  const before = synchronous;
  // Callbacks bound to the context around this one must still find it.
  if (before !== undefined && !before.isOver) open.set(before.id, before);
  synchronous = context;
  try {
    return storage.run(context.id, work, context);
  } finally {
    synchronous = before;
    if (!context.isOver) open.set(context.id, context);
  }
}

/** Forgets a context that is over. */
export function close({ id }: Enterable): void {
  open.delete(id);
}

/**
 * The innermost context that the calling code belongs to, of any owner; undefined when it belongs to none, null when
 * it belongs to one that is over.
 */
export function innermost(
  id: number | undefined = storage.getStore(),
): Enterable | null | undefined {
  if (id === undefined || id < 0) return undefined;
  const context = find(id);
  return context === undefined || context.isOver ? null : context;
}

/** As `innermost()`, but for code in `configure()` the context of the code that has called it. */
export function surrounding(): Enterable | null | undefined {
  let id = storage.getStore();
  while (id !== undefined && id < 0) id = configuring.get(id)?.outer;
  return id === undefined ? undefined : innermost(id);
}

/**
 * Notes a call in the innermost context that the calling code belongs to; returns the promise for the caller. Every
 * public method that returns a promise, and is not called by `Application.call`, returns it through this: the response
 * would not wait for it otherwise. `fetch` and `configure` do not: what they begin belongs to no context of the caller.
 */
export function track<Value>(
  name: string,
  call: Promise<Value>,
): Promise<Value> {
  return innermost()?.track(name, call) ?? call;
}

/** Makes the code that runs from here on belong to no context. */
export function leave(): void {
  storage.enterWith(undefined);
}

/** Binds a function to the current context, for callers in another one such as a stream's. */
export const { bind } = AsyncLocalStorage;

function find(id: number): Enterable | undefined {
  return synchronous?.id === id ? synchronous : open.get(id);
}
