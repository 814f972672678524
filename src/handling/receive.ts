/**
 * Owns reading the body of a request: before the filters of `start`, within the largest limit of the routes that match,
 * and then checked for the one that is called. A streamed route reads it itself.
 */

import type { Exchange } from "../application/exchange.ts";
import { refusal } from "../errors.ts";
import { OVERRIDES } from "../http.ts";
import {
  checkLength,
  formatOf,
  readBody,
  sizeOf,
  tooLarge,
} from "../request/body.ts";
import type { Declaration } from "../routing/route.ts";
import type { Match } from "../routing/tree.ts";
import { headerOf } from "../request/runtime.ts";
import type { Waiting } from "../waiting.ts";

/** Reads the body where a route takes it whole. Under `method_override`, a form may ask for another method's route. */
export function receive(exchange: Exchange): Waiting {
  const match = exchange.firstRoute();
  const isForm = mayOverride(exchange);
  if (match?.route.takesStream) return void checkStream(exchange, match.route);
  if (match === undefined && !isForm) return undefined;
  const matches = exchange.allRoutes(isForm ? undefined : exchange.method);
  if (matches.length === 0) return undefined;
  let largest: number | undefined;
  for (const { route } of matches) {
    const limit = limitOf(exchange, route);
    if (limit !== undefined) largest = Math.max(largest ?? 0, limit);
  }
  const reading = read(exchange, largest);
  return isForm ? reading.then(() => override(exchange)) : reading;
}

/** Receives the body for a route that is about to be called: an earlier one may not have read it, or may take more. */
export function receiveFor(exchange: Exchange, { route }: Match): Waiting {
  const limit = limitOf(exchange, route);
  if (exchange.body !== undefined) {
    const size = sizeOf(exchange.body, exchange.raw);
    if (limit !== undefined && size > limit) throw tooLarge(limit);
    return undefined;
  }
  if (exchange.raw.bodyUsed) return undefined;
  if (route.takesStream) return void checkStream(exchange, route);
  return read(exchange, limit);
}

/** The limit of a route. One for everything below, such as one that logs and passes, takes what the others take. */
function limitOf(
  { settings }: Exchange,
  { bodyLimit, pattern, takesStream }: Declaration,
): number | undefined {
  if (bodyLimit !== undefined) return bodyLimit;
  const takesAny = takesStream || pattern.endsInStar;
  return takesAny ? undefined : settings["framework.body_limit"];
}

function checkStream({ raw }: Exchange, { bodyLimit }: Declaration): void {
  if (bodyLimit !== undefined) checkLength(raw, bodyLimit);
}

async function read(exchange: Exchange, given?: number): Promise<void> {
  const {
    "framework.body_limit": setting,
    "framework.body_timeout": seconds,
  } = exchange.settings;
  try {
    exchange.body = await readBody(exchange.raw, given ?? setting, seconds);
  } catch (error) {
    exchange.body = ""; // the page of the error may ask for it
    // Deno cancels a body that is arriving when its server shuts down.
    if (exchange.app.isDraining) {
      throw refusal(503, "The server is shutting down");
    }
    throw error;
  }
}

function mayOverride(exchange: Exchange): boolean {
  const { method, raw } = exchange;
  if (method !== "POST" || !exchange.settings["framework.method_override"]) {
    return false;
  }
  const format = formatOf(headerOf(raw, "content-type") ?? "");
  return format === "form" || format === "multipart";
}

/** Takes the method that the field `_method` of a form asks for. */
function override(exchange: Exchange): void {
  let field: unknown;
  try {
    field = exchange.http.data._method;
  } catch {
    return; // a malformed form is an error for the handler that reads it
  }
  const method = typeof field === "string" ? field.toUpperCase() : "";
  if (!OVERRIDES.includes(method)) return;
  exchange.method = method;
  exchange.match = undefined;
  exchange.firstRoute();
}
