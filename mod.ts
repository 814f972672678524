/**
 * A micro web framework for Deno: write it like a classic share-nothing script; on a concurrent
 * server it cannot leak between requests, cannot half-send, cannot be spelled around, and the
 * compiler knows your routes.
 *
 * @module
 */

// The two forms of an application
export { Framework } from "./src/framework.ts";
export { Engine } from "./src/engine.ts";
export type { ConnectionInfo, MaybePromise } from "./src/engine.ts";
