/**
 * Writes all over a large piece of memory, for ever, so that the caches that all cores share hold
 * little of what a server needs.
 */

/** How much memory is written, in numbers of 4 bytes: 256 MB, more than a shared cache holds. */
const SIZE = 1 << 26;

const memory = new Uint32Array(SIZE);
for (let place = 1;;) {
  // A linear congruential generator: no cache foresees the next place.
  for (let times = 0; times < SIZE; times++) {
    place = (Math.imul(place, 1_664_525) + 1_013_904_223) & (SIZE - 1);
    memory[place]!++;
  }
}
