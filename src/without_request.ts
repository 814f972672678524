/**
 * Owns work that runs outside of every request although a request has asked for it. Every `import()` that a request may
 * cause goes through here.
 */

const queue: (() => unknown)[] = [];
let called = Promise.withResolvers<void>();
runQueued();

/**
 * Runs work without a request, a turn later, so that nothing it makes can keep one. Its context never had
 * a request, and is not merely cleared: Deno leaks the context of a dynamic import into whatever the event
 * loop runs next, and only an empty context costs nothing there.
 */
export function withoutRequest<Result>(
  work: () => Promise<Result>,
): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  queue.push(() => Promise.try(work).then(resolve, reject));
  called.resolve();
  return promise;
}

/** Runs queued work in the empty context of this call, to which each `await` returns. */
async function runQueued(): Promise<never> {
  for (;;) {
    await called.promise;
    called = Promise.withResolvers();
    for (const work of queue.splice(0)) work();
  }
}
