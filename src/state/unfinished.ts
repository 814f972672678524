/**
 * Owns what an application has not finished: requests without a response, streams that are being sent,
 * and deferred work. A server that drains waits for them, and aborts the streams that take too long.
 */

/** The reason with which a server that shuts down aborts its streams. */
export const ABORTED = new Deno.errors.Interrupted("The server has shut down");

/** A request that a server passed on, and that has no response yet. */
export interface Running {
  /** Whether its body is still arriving, or may be read by a route. */
  readonly isReceiving: boolean;
}

export class Unfinished {
  /** Whether its server is shutting down: bodies that are still arriving may be cut off. */
  isDraining = false;
  /** Deferred work that is running, including that of mounted applications. */
  readonly deferred: Set<Promise<unknown>> = new Set();
  /** The functions that abort the streams being sent. */
  readonly streams: Set<(reason: unknown) => void> = new Set();
  /** Called when a drain begins: they end work that need not finish. */
  readonly endings: Set<() => void> = new Set();

  /** `running` returns the running requests, `timeoutSeconds` how long a drain may take. */
  constructor(
    readonly running: () => readonly Running[],
    readonly timeoutSeconds: () => number,
  ) {}

  /** How many bodies are still arriving, or may be read by a route. */
  get receiving(): number {
    return this.running().filter(({ isReceiving }) => isReceiving).length;
  }

  /** Notes that the server is shutting down, and ends work that need not finish. */
  beginDrain(): void {
    this.isDraining = true;
    for (const end of this.endings) end();
  }

  /** Aborts the streams that are being sent, and returns how many there were. */
  abortStreams(): number {
    const aborts = [...this.streams];
    for (const abort of aborts) abort(ABORTED);
    return aborts.length;
  }
}

/** What is unfinished of all of them, in words such as "2 streams". */
export function inWords(...all: Unfinished[]): string[] {
  const counts = {
    request: all.flatMap(({ running }) => running()).length,
    stream: all.flatMap(({ streams }) => [...streams]).length,
    "deferred task": all.flatMap(({ deferred }) => [...deferred]).length,
  };
  return Object.entries(counts)
    .filter(([_, count]) => count > 0)
    .map(([unit, count]) => counted(count, unit));
}

/** A number of things, in words. */
export function counted(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
