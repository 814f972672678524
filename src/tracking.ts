/** Owns how a request learns of the calls of extensions, which its code may not await. */

/** The key by which extensions hand such a call to the request: what it may forbid waits for it. */
export const TRACK: unique symbol = Symbol("track a call");
