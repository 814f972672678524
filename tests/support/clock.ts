/** Owns time in tests: waiting in fake time, so that a test of a time-out can use the real value. */

import { FakeTime } from "@std/testing/time";

/** How many turns of the event loop everything under way gets, connections too, before the clock goes on. */
const TURNS = 10;

/** How often the clock may go on. */
const MOST_TIMERS = 100;

/**
 * Lets work begin under a clock of its own, which goes to the next timer that is due whenever nothing else is
 * under way, until the work has settled. Returns the seconds that passed on it, to a tenth; throws what the work throws.
 */
export async function secondsOf(work: () => unknown): Promise<number> {
  using time = new FakeTime();
  const begun = time.now;
  let isOver = false;
  const settled = Promise.resolve(work()).finally(() => isOver = true);
  for (let timer = 0; timer < MOST_TIMERS && !isOver; timer++) {
    for (let turn = 0; turn < TURNS && !isOver; turn++) await time.tickAsync(0);
    if (!isOver) await time.nextAsync();
  }
  if (!isOver) throw new Error("Cannot wait longer for what a test began");
  await settled;
  return Math.round((time.now - begun) / 100) / 10;
}
