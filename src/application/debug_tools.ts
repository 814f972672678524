/**
 * Owns loading what helps a person who writes an application. `src/debug/` has it; it is loaded for the first
 * request under `framework.debug`, and never without. What it does for the rooms below it is in `DebugTools`.
 */

import type { Reply } from "../response/reply.ts";
import { withoutRequest } from "../state/without_request.ts";
import type { MaybePromise } from "../steps.ts";
import type { Exchange } from "./exchange.ts";

/** A step of a request's way; returns what to wait for. */
export type Step = (exchange: Exchange) => unknown;

/** What `src/debug/` brings. */
export interface DebugTools {
  /** A reply that reports calls which come after the seal. */
  readonly Reply: typeof Reply;

  /** Handles a request by `handle`, which gets the step `start`, here one that is watched. */
  handle(
    exchange: Exchange,
    start: Step,
    handle: (exchange: Exchange, start: Step) => MaybePromise<Response>,
  ): MaybePromise<Response>;
}

/** The tools, once they were loaded. */
export let debugTools: DebugTools | undefined;

/** Loads the tools. A module that is loaded inside a request would leave its context behind in Deno. */
export async function loadDebugTools(): Promise<DebugTools> {
  if (debugTools !== undefined) return debugTools;
  const { tools } = await withoutRequest(() => import("../debug/mod.ts"));
  return debugTools = tools;
}
