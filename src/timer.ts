/**
 * Owns waiting with a bound, and timers of any length: the platform's own take milliseconds, and fire at
 * once beyond 24 days.
 */

const LONGEST = 2 ** 31 - 1;

/**
 * How many microtasks work may take before a timer bounds it: a timer costs a third of a small request. The
 * body of a request that has arrived with its head takes four in Deno 2.9.
 */
const EAGER_TURNS = 8;

/** How many seconds pass between two polls. */
const POLL_SECONDS = 0.02;

/** Waits for some seconds, and keeps the process alive meanwhile unless `isKept` is false. */
export function sleep(seconds: number, isKept = true): Promise<void> {
  return new Promise((resolve) => {
    const timer = startTimer(seconds, resolve);
    if (!isKept) Deno.unrefTimer(timer);
  });
}

/** Polls until a condition is met, at most for the given seconds. */
export async function until(
  isMet: () => boolean,
  seconds: number,
): Promise<void> {
  const end = performance.now() + seconds * 1_000;
  while (!isMet() && performance.now() < end) await sleep(POLL_SECONDS);
}

/** Whether work settles within the given seconds. */
export async function settles(
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
