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

/** Waits for so many seconds. */
export function sleep(seconds: number): Promise<void> {
  return new Promise((resolve) => void startTimer(seconds, resolve));
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
