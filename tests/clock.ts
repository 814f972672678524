/** Owns waiting in fake time, so that a test of a time-out takes none and can use the real value. */

import { FakeTime } from "@std/testing/time";

/** How far the clock goes at once, in milliseconds. */
const STEP = 250;

/** How many steps something may take. */
const MOST_STEPS = 1_000;

/**
 * Lets work begin under a clock of its own, which goes on until the work has settled. Returns the seconds that
 * passed on it; throws what the work throws.
 */
export async function secondsOf(work: () => unknown): Promise<number> {
  using time = new FakeTime();
  const begun = time.now;
  let isOver = false;
  const settled = Promise.resolve(work()).finally(() => isOver = true);
  for (let step = 0; step < MOST_STEPS && !isOver; step++) {
    await time.tickAsync(STEP);
  }
  if (!isOver) throw new Error("Cannot wait longer for what a test began");
  await settled;
  return (time.now - begun) / 1_000;
}
