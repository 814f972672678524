/** Owns what the framework shows a person who writes an application; loaded under `framework.debug` alone. */

import type { DebugTools } from "../application/debug_tools.ts";
import { handleWatched } from "./handling.ts";
import { NoticingReply } from "./noticing_reply.ts";

/** All of it. */
export const tools: DebugTools = {
  Reply: NoticingReply,
  handle: handleWatched,
};
