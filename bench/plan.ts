/** Owns how much is measured: enough for results that are kept, or little for a quick look. */

/** How often, and how much. */
export interface Plan {
  /** How many sets of fresh processes are measured: no two processes are quite as fast. */
  readonly sets: number;
  /** The rounds of each set; in a round, every contender has a turn. */
  readonly rounds: number;
  /** What ends the warm-up of a process, whichever comes first. */
  readonly warmup: Limit;
  /** What ends a turn, whichever comes first. */
  readonly turn: Limit;
  /** The blocks of a turn where contenders share a process. */
  readonly blocks: number;
  /** The requests that a server gets before its memory is read. */
  readonly memory: number;
  /** How many times each server is started. */
  readonly starts: number;
}

/** What ends a load, whichever comes first. */
export interface Limit {
  readonly requests: number;
  readonly seconds: number;
}

/** For results. */
export const FULL: Plan = {
  sets: 3,
  rounds: 3,
  warmup: { requests: 60_000, seconds: 8 },
  turn: { requests: 20_000, seconds: 2 },
  blocks: 200,
  memory: 200_000,
  starts: 15,
};

/** For a quick look. */
export const QUICK: Plan = {
  sets: 1,
  rounds: 3,
  warmup: { requests: 6_000, seconds: 1 },
  turn: { requests: 3_000, seconds: 0.5 },
  blocks: 40,
  memory: 20_000,
  starts: 3,
};
