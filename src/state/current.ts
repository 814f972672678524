/**
 * Owns which request the running code belongs to.
 *
 * The AsyncLocalStorage holds a number, not the context: Deno keeps every stored object alive through young
 * collections, which makes the slowest requests 30 times slower. A context is in a variable while it runs
 * synchronously, and in a map from then on until its request is over.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { EndedError } from "../errors.ts";

/** A context that code can run in. */
export interface Enterable {
  readonly id: number;
  readonly isOver: boolean;
  /** Has the response wait for a call; returns the promise for the caller. */
  track<Value>(name: string, call: Promise<Value>): Promise<Value>;
}

/** The number of code that `configure()` has called: it belongs to no request. */
const CONFIGURING = 0;

const storage = new AsyncLocalStorage<number | undefined>();
const waiting = new Map<number, Enterable>();
let running: Enterable | undefined;
let lastId = CONFIGURING;

export function nextId(): number {
  return ++lastId;
}

/** Runs work in a context; the timers and promises that it leaves behind run there, too. */
export function enter<Context extends Enterable, Result>(
  context: Context,
  work: (context: Context) => Result,
): Result {
  const before = running;
  if (before !== undefined) keep(before); // for functions that were bound to it
  running = context;
  try {
    return storage.run(context.id, work, context);
  } finally {
    running = before;
    keep(context);
  }
}

function keep(context: Enterable): void {
  if (!context.isOver) waiting.set(context.id, context);
}

/** Forgets a context that is over. */
export function leave({ id }: Enterable): void {
  if (waiting.size > 0) waiting.delete(id); // a synchronous request was never in it
}

/**
 * The context of the calling code, of any application; undefined when its request is over. Throws then when the request
 * began after `since`, where that is given: an earlier one is not the caller's, since Deno leaks the context of an
 * `import()` into what runs next, such as another test.
 */
export function current(since = Infinity): Enterable | undefined {
  const id = storage.getStore();
  if (id === undefined || id === CONFIGURING) return undefined;
  const context = running?.id === id ? running : waiting.get(id);
  if (context !== undefined && !context.isOver) return context;
  if (id <= since) return undefined;
  throw new EndedError();
}

/** Has the current request, if any, wait for a promise that a public method returns. */
export function track<Value>(
  name: string,
  call: Promise<Value>,
): Promise<Value> {
  return current()?.track(name, call) ?? call;
}

/** Whether the calling code belongs to a request, also one that is over. */
export function isInRequest(): boolean {
  return (storage.getStore() ?? CONFIGURING) !== CONFIGURING;
}

/** The error for a call that needs a request of the application. */
export function noRequest(call: string): Error {
  const state = current()
    ? "the request that is being handled belongs to another application"
    : "no request is being handled";
  return new Error(`Cannot call ${call} here: ${state}`);
}

/** Runs work, and what it leaves behind, outside of every request. */
export function configure<Result>(work: () => Result): Result {
  return storage.run(CONFIGURING, work);
}

export function isConfiguring(): boolean {
  return storage.getStore() === CONFIGURING;
}

/** Binds a function to the current context, for callers in another one such as a stream's. */
export const { bind } = AsyncLocalStorage;
