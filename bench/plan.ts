/** Owns how much is measured: everything, for results that are kept, or little, for a quick look. */

/** How often, and how much. */
export interface Plan {
  /** How many times each contender is measured. */
  readonly rounds: number;
  /** How many sets of fresh processes share the rounds. */
  readonly laps: number;
  /** The requests of one round. */
  readonly requests: number;
  /** The requests before the first round of a process: V8 optimises hot code for some seconds. */
  readonly warmup: number;
  /** The requests that each process gets before its memory is read. */
  readonly memory: number;
  /** How many times each server is started. */
  readonly starts: number;
}

/** For results. */
export const FULL: Plan = {
  rounds: 9,
  laps: 3,
  requests: 10_000,
  warmup: 40_000,
  memory: 200_000,
  starts: 15,
};

/** For a quick look. */
export const QUICK: Plan = {
  rounds: 5,
  laps: 1,
  requests: 3_000,
  warmup: 10_000,
  memory: 40_000,
  starts: 5,
};
