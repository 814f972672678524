/**
 * Owns loading what helps a person who writes an application. `src/debug/` has it; it is loaded for the first
 * request under `framework.debug`, and never without.
 */

import type { Reply } from "../response/reply.ts";
import { withoutRequest } from "../state/without_request.ts";

/** What `src/debug/` brings. */
export interface DebugTools {
  /** A reply that reports calls which come after the seal. */
  makeReply(): Reply;
}

/** The tools, once they were loaded. */
export let debugTools: DebugTools | undefined;

/** Loads the tools. A module that is loaded inside a request would leave its context behind in Deno. */
export async function loadDebugTools(): Promise<DebugTools> {
  const { tools } = await withoutRequest(() => import("../debug/mod.ts"));
  return debugTools = tools;
}
