/** Owns how the framework learns of the calls of extensions, which the code of a request may not await. */

/** The key by which they hand such a call over, to the innermost context: what the call may forbid waits for it. */
export const TRACK: unique symbol = Symbol("track a call");
