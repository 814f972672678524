/** Owns where the addresses of debug itself are: below `/.framework/` of the outermost application under debug. */

import type { Exchange } from "../application/exchange.ts";

export const FOLDER = "/.framework/";

/** The exchange of the outermost application under debug. */
export function deskOf(exchange: Exchange): Exchange {
  const outer = exchange.outer?.exchange;
  const desk = outer && deskOf(outer);
  return desk?.debug === undefined ? exchange : desk;
}

/** An address of debug as clients see it. */
export function debugPath(exchange: Exchange, name: string): string {
  return deskOf(exchange).base + FOLDER + name;
}
