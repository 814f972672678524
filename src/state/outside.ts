/**
 * Owns work that runs outside of every request although a request has asked for it, such as loading a
 * module.
 */

const waiting: (() => unknown)[] = [];
let wake: () => void;

runWaiting();

/**
 * Runs work without a request, a turn later, so that what it makes cannot hold on to one. The context is
 * empty then, in contrast to one of which the request was taken: Deno leaks the context of a dynamic
 * import into all that the event loop runs next, where only an empty one costs nothing.
 */
export function withoutRequest<Result>(
  work: () => Promise<Result>,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    waiting.push(() => Promise.try(work).then(resolve, reject));
    wake();
  });
}

/** Runs that work, from an empty context: each `await` returns to the one in which it was called. */
async function runWaiting(): Promise<void> {
  for (;;) {
    while (waiting.length > 0) waiting.shift()!();
    await new Promise<void>((resolve) => wake = resolve);
  }
}
