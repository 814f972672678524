/** Owns where the deferred work of each engine is found, for those that wait for it from outside. */

const running = new WeakMap<object, ReadonlySet<Promise<unknown>>>();

/** Names the set that holds an engine's deferred work while it runs. */
export function exposeDeferredWork(
  engine: object,
  work: ReadonlySet<Promise<unknown>>,
): void {
  running.set(engine, work);
}

/** Resolves when the deferred work of an engine is done, also what that work has deferred. */
export async function deferredWorkDone(engine: object): Promise<void> {
  const work = running.get(engine);
  while (work?.size) await Promise.all(work);
}
