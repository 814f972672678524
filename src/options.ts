/** Owns the rules that options have in common. */

/** The longest time that options take: added to the time of day, it still makes a valid date. */
export const MAX_SECONDS = 1_000_000_000_000;
