/**
 * Owns work that runs outside of every request although a request has asked for it, such as loading a
 * module.
 */

let queue!: ReadableStreamDefaultController<() => unknown>;
runQueued(new ReadableStream({ start: (controller) => queue = controller }));

/**
 * Runs work without a request, a turn later, so that what it makes cannot hold on to one. The context is
 * empty then, in contrast to one of which the request was taken: Deno leaks the context of a dynamic
 * import into all that the event loop runs next, where only an empty one costs nothing.
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
