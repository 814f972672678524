/** Owns random choices that are the same for the same seed. */

/** Returns what makes whole numbers from 0, below a bound (mulberry32). */
export function numbers(seed: number): (bound: number) => number {
  return (bound) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}
