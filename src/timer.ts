/**
 * Owns waiting, in seconds: for a time of any length, for a condition, and for work with a time-out. The
 * platform's timers fire at once when they are given more than 24 days.
 */

const LONGEST = 2 ** 31 - 1;

/**
 * How many microtasks work gets before a timer is started, which is slow. A body
 * that has arrived together with the head takes four in Deno 2.9.
 */
const EAGER_TURNS = 8;

/** How many seconds pass between two polls. */
const POLL_SECONDS = 0.02;

/** Waits for some seconds. When `keepsAlive` is false, the process may end meanwhile. */
export function sleep(seconds: number, keepsAlive = true): Promise<void> {
  return new Promise((resolve) => {
    const timer = startTimer(seconds, resolve);
    if (!keepsAlive) Deno.unrefTimer(timer);
  });
}

/** Polls until a condition is met, for the given seconds at most. */
export async function until(
  isMet: () => boolean,
  seconds: number,
): Promise<void> {
  const end = performance.now() + seconds * 1_000;
  while (!isMet() && performance.now() < end) await sleep(POLL_SECONDS);
}

/** Waits for work to settle, for the given seconds at most; returns whether it has. */
export async function settlesWithin(
  work: Promise<unknown>,
  seconds: number,
): Promise<boolean> {
  let isSettled = false;
  const note = (): void => void (isSettled = true);
  const settled = work.then(note, note);
  for (let turn = 0; turn < EAGER_TURNS && !isSettled; turn++) await null;
  if (isSettled) return true;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = startTimer(seconds, resolve);
  await Promise.race([settled, promise]);
  clearTimeout(timer);
  return isSettled;
}

function startTimer(seconds: number, call: () => void) {
  return setTimeout(call, Math.min(seconds * 1_000, LONGEST));
}
