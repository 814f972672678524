/**
 * Owns timers of any length: the platform's own take milliseconds, and fire at once beyond 24 days.
 */

const LONGEST = 2 ** 31 - 1;

/** Calls a function in so many seconds, at most 24 days; returns the timer for `clearTimeout`. */
export function startTimer(
  seconds: number,
  call: () => void,
): ReturnType<typeof setTimeout> {
  return setTimeout(call, Math.min(seconds * 1_000, LONGEST));
}

/** Waits for so many seconds; unless told otherwise, the process stays alive meanwhile. */
export function sleep(seconds: number, isKept = true): Promise<void> {
  return new Promise((resolve) => {
    const timer = startTimer(seconds, resolve);
    if (!isKept) Deno.unrefTimer(timer);
  });
}

/** Whether work settles within so many seconds; it must not reject. */
export async function settles(
  work: Promise<unknown>,
  seconds: number,
): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = startTimer(seconds, () => resolve(false));
  work.then(() => resolve(true));
  const settled = await promise;
  clearTimeout(timer);
  return settled;
}
