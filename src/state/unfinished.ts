/**
 * Owns what an application has not finished: requests without a response, streams that are being sent,
 * and deferred work. A server that drains waits for them, ends the streams whose clients connect again, and
 * aborts those that take too long.
 */

import { counted } from "../report.ts";

/** The reason with which a server that shuts down aborts its streams. */
export const ABORTED = new Deno.errors.Interrupted("The server has shut down");

/** How many seconds the source of an abandoned stream has to clean up. */
export const CANCEL_SECONDS = 0.5;

/** How many seconds a draining server gives aborted streams for that, and unfinished uploads for their refusals. */
export const CLEAN_UP_SECONDS = CANCEL_SECONDS * 2;

/** A request from a server that has no response yet. */
export interface Running {
  /** Whether its body is still arriving, or may be read by a route. */
  readonly isReceiving: boolean;
}

export class Unfinished {
  /** Whether its server is shutting down: bodies that are still arriving may be cut off. */
  isDraining = false;
  /** Deferred work that is running, also of mounted applications. */
  readonly deferred: Set<Promise<unknown>> = new Set();
  /** The functions that abort the streams being sent. */
  readonly streams: Set<(reason: unknown) => void> = new Set();
  /** The functions that end streams which a drain does not wait for. */
  readonly #endings = new Set<() => void>();

  /** `running` returns the running requests, `timeoutSeconds` how long a drain may take. */
  constructor(
    readonly running: () => readonly Running[],
    readonly timeoutSeconds: () => number,
  ) {}

  /** How many bodies are still arriving, or may be read by a route. */
  get receiving(): number {
    return this.running().filter(({ isReceiving }) => isReceiving).length;
  }

  /** Has a drain end a stream whose client connects again. Call the returned function to undo. */
  endAtDrain(end: () => void): () => void {
    this.#endings.add(end);
    if (this.isDraining) queueMicrotask(() => this.endStreams());
    return () => void this.#endings.delete(end);
  }

  /**
   * Ends the streams whose clients connect again. Call it when the server no longer listens: a client of
   * server-sent events that gets a 503 does not try again.
   */
  endStreams(): void {
    const endings = [...this.#endings];
    this.#endings.clear();
    for (const end of endings) end();
  }

  /** Aborts the streams that are being sent, and returns how many there were. */
  abortStreams(): number {
    const aborts = [...this.streams];
    for (const abort of aborts) abort(ABORTED);
    return aborts.length;
  }
}

/**
 * What is unfinished of all of them, in words such as "2 open streams". A server of `start()` waits for each kind
 * (`server/server.ts`).
 */
export function inWords(...all: Unfinished[]): string[] {
  const counts = {
    request: all.flatMap(({ running }) => running()).length,
    "open stream": all.flatMap(({ streams }) => [...streams]).length,
    "deferred task": all.flatMap(({ deferred }) => [...deferred]).length,
  };
  return Object.entries(counts)
    .filter(([_, count]) => count > 0)
    .map(([unit, count]) => counted(count, unit));
}
