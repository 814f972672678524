/** Owns the header `Server-Timing`, which shows where the time of a request went. */

import type { Context, Exchange } from "../application/exchange.ts";
import { current } from "../state/current.ts";
import { deskOf } from "./desk.ts";

/** The metrics of the requests that are timed. */
const metrics = new WeakMap<Exchange, string[]>();

/** Times a request from now on. The result returns the value of the header, with the time until then as `total`. */
export function beginTiming(exchange: Exchange): () => string {
  const began = performance.now();
  const noted: string[] = [];
  metrics.set(exchange, noted);
  return () => [...noted, `total;${since(began)}`].join(", ");
}

/** Notes how long a render has taken that the current request began at that time of `performance.now()`. */
export function noteRender(template: string, began: number): void {
  const context = current() as Context | undefined;
  const noted = context && metrics.get(deskOf(context.exchange));
  const text = template.replace(/[^\x20-\x7e]|["\\]/g, "?");
  noted?.push(`render;desc="${text}";${since(began)}`);
}

function since(began: number): string {
  return `dur=${(performance.now() - began).toFixed(2)}`;
}
