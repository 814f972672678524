/** Owns how long is measured: as for a result that is kept, or quickly, for a look. */

/** How often and how much. */
export interface Plan {
  /** How many times each contender has its turn. */
  readonly rounds: number;
  /** The requests of one turn. */
  readonly requests: number;
  /** The requests before the first turn: the engine optimises hot code for some seconds. */
  readonly warmup: number;
  /** The requests before the last look at the memory. */
  readonly memory: number;
  /** How many times each server is started. */
  readonly starts: number;
}

/** For results. */
export const THOROUGH: Plan = {
  rounds: 9,
  requests: 10_000,
  warmup: 60_000,
  memory: 200_000,
  starts: 15,
};

/** For a look. */
export const QUICK: Plan = {
  rounds: 5,
  requests: 3_000,
  warmup: 8_000,
  memory: 40_000,
  starts: 5,
};
