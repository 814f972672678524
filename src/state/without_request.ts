/**
 * Owns work that runs outside of every request although a request has asked for it, such as loading a
 * module.
 */

let queue!: ReadableStreamDefaultController<() => unknown>;
runQueued(new ReadableStream({ start: (controller) => queue = controller }));

/**
 * Runs work without a request, a turn later, so that nothing it makes can keep one. Its context never had
 * a request, and is not merely cleared: Deno leaks the context of a dynamic import into whatever the event
 * loop runs next, and only an empty context costs nothing there.
 */
export function withoutRequest<Result>(
  work: () => Promise<Result>,
): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  queue.enqueue(() => Promise.try(work).then(resolve, reject));
  return promise;
}

/** Runs queued work in the empty context of this call, to which each `await` returns. */
async function runQueued(queued: ReadableStream<() => unknown>): Promise<void> {
  for await (const work of queued) work();
}
