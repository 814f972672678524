/** Owns what the framework shows at the desk; loaded only under `framework.debug`. */

import type { DebugTools } from "../application/debug_tools.ts";
import { detailsOf } from "./details.ts";
import { handleAtDesk } from "./handling.ts";
import { ignored, sealed } from "./sealing.ts";

/** The tools, as the folders below call them. */
export const tools: DebugTools = {
  handle: handleAtDesk,
  detailsOf,
  sealed,
  ignored,
};
