/** Owns live reload: its own responses, and what it adds to pages. */

import type { Exchange } from "../application/exchange.ts";
import type { MaybePromise } from "../steps.ts";

/**
 * Responds to a request in place of every route; `exchange.target` and `exchange.base` are known. Only clients
 * who see details get here, and only at the outermost application under debug.
 */
export function respond(_exchange: Exchange): Response | undefined {
  return undefined;
}

/**
 * Returns the final response, perhaps another one, for a client who sees details, which may be the program
 * itself (`isFromProgram`). The request is over by now.
 */
export function finish(
  _exchange: Exchange,
  response: Response,
): MaybePromise<Response> {
  return response;
}
