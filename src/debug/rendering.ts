/** Owns watching renders: how long each takes, and which line asked for a missing template. */

import type { Exchange } from "../application/exchange.ts";
import { MissingTemplate } from "../errors.ts";
import { callSite } from "./frames.ts";
import { timingOf } from "./timing.ts";

/** Fetches the text of a template by `fetch`; called where the application calls `render()`. */
export function watchRender(
  exchange: Exchange,
  file: string,
  fetch: () => Promise<string>,
): () => Promise<string> {
  const place = callSite();
  return async () => {
    const began = performance.now();
    try {
      return await fetch();
    } catch (error) {
      throw error instanceof MissingTemplate ? error.calledAt(place) : error;
    } finally {
      timingOf(exchange)?.add("render", began, String(file));
    }
  };
}
