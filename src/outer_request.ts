/** Owns the way from the request of a mounted application to that of the application around it. */

/** The key of the request that a mount has passed on, for extensions; undefined for one that came in otherwise. */
export const OUTER_REQUEST: unique symbol = Symbol("the outer request");
