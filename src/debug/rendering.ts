/** Owns what debug shows of a render: how long it takes, and which line asked for a missing template. */

import type { Exchange } from "../application/exchange.ts";
import { MissingTemplate } from "../errors.ts";
import { callSite } from "./frames.ts";
import { timingOf } from "./timing.ts";

/** A `fetch` of the text of a template that is timed; made where the application calls `render()`. */
export function timedRender(
  exchange: Exchange,
  file: string,
  fetch: () => Promise<string>,
): () => Promise<string> {
  const site = callSite();
  return async () => {
    const began = performance.now();
    try {
      return await fetch();
    } catch (error) {
      throw error instanceof MissingTemplate ? error.calledAt(site) : error;
    } finally {
      timingOf(exchange)?.add("render", began, String(file));
    }
  };
}
