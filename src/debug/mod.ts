/** Owns what the framework shows to developers; loaded only under `framework.debug`. */

import type { DebugTools } from "../application/debug_tools.ts";
import { detailsOf } from "./details.ts";
import { foldedErrorText } from "./frames.ts";
import { handleUnderDebug } from "./handling.ts";
import { ReportingReply } from "./reporting_reply.ts";
import { timedRender } from "./rendering.ts";
import { timedStart } from "./timing.ts";
import { reporting } from "./undefined_names.ts";
import { warn } from "./warnings.ts";

/** The tools, as the folders below call them. */
export const tools: DebugTools = {
  Reply: ReportingReply,
  handle: handleUnderDebug,
  detailsOf,
  errorText: foldedErrorText,
  timedRender,
  timedStart,
  reporting,
  warn,
};
