/** Owns the header `Server-Timing`, which shows where the time of a request went. */

import type { Context, Exchange } from "../application/exchange.ts";
import type { Waiting } from "../steps.ts";

/** The times of the requests that are timed. */
const timings = new WeakMap<Exchange, Timing>();

/** The times of one request, in milliseconds. */
export class Timing {
  readonly #began = performance.now();
  readonly #metrics: string[] = [];

  /** Times a request from now on. */
  constructor(exchange: Exchange) {
    timings.set(exchange, this);
  }

  /** Notes how long the body took to arrive: all the time until now. */
  receivedBody(): void {
    this.add("body", this.#began);
  }

  /** Notes a step that began at that time of `performance.now()` and ends now. */
  add(name: string, began: number, description = ""): void {
    const text = description.replace(/[^\x20-\x7e]|["\\]/g, "?");
    const shown = text === "" ? "" : `;desc="${text}"`;
    const duration = (performance.now() - began).toFixed(2);
    this.#metrics.push(`${name}${shown};dur=${duration}`);
  }

  /** The value of the header, with the time until now as `total`. */
  header(): string {
    this.add("total", this.#began);
    return this.#metrics.join(", ");
  }
}

/** The times of a request, or of the one around it that is timed. */
export function timingOf(exchange: Exchange): Timing | undefined {
  return exchange.nesting.map((each) => timings.get(each))
    .find((timing) => timing !== undefined);
}

/** Calls `start`, and notes how long that and the body before it took, if the request itself is timed. */
export function timedStart(
  context: Context,
  start: (context: Context) => Waiting,
): Waiting {
  const { exchange } = context;
  const timing = timings.get(exchange);
  if (timing === undefined) return start(context);
  if (exchange.body !== undefined) timing.receivedBody();
  const began = performance.now();
  const done = (): void => timing.add("start", began);
  try {
    const waiting = start(context);
    if (waiting === undefined) return void done();
    return waiting.finally(done);
  } catch (thrown) {
    done();
    throw thrown;
  }
}
