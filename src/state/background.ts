/**
 * Owns what an application has not finished: requests without a response, streams that are being sent,
 * and deferred work. A server that drains waits for them, and aborts the streams that take too long.
 */

import { type Owner, runningRequests, type Scope } from "./scope.ts";
import { sleep } from "../timer.ts";

/** How many seconds pass between two looks at what is running. */
const POLL_SECONDS = 0.02;

/** How much is unfinished, by kind. */
export interface Unfinished {
  readonly requests: number;
  readonly streams: number;
  readonly deferred: number;
}

/** The unfinished work of one application. */
export class BackgroundWork {
  readonly #owner: Owner;
  readonly #aborts = new Set<(reason: unknown) => void>();

  /** `timeoutSeconds` bounds the time that unfinished work gets when its server ends. */
  constructor(owner: Owner, readonly timeoutSeconds: () => number) {
    this.#owner = owner;
  }

  /** Adds a stream, which keeps its request open. Call the returned function when it has ended. */
  hold(scope: Scope, abort: (reason: unknown) => void): () => void {
    const release = scope.hold();
    this.#aborts.add(abort);
    return () => {
      this.#aborts.delete(abort);
      release();
    };
  }

  /** How much is unfinished now. */
  count(): Unfinished {
    return {
      requests: runningRequests(this.#owner).length,
      streams: this.#aborts.size,
      deferred: this.#owner.deferred.size,
    };
  }

  /** Resolves when all deferred work is done, including what is added meanwhile. */
  async deferredDone(): Promise<void> {
    const { deferred } = this.#owner;
    while (deferred.size > 0) await Promise.all(deferred);
  }

  /** Resolves when no body of a request is arriving any more, or after so many seconds. */
  bodiesRead(seconds: number): Promise<void> {
    return poll(seconds, () => runningRequests(this.#owner).some(isReceiving));
  }

  /** Resolves when no stream is being sent or cleaned up any more, or after so many seconds. */
  streamsEnded(seconds: number): Promise<void> {
    return poll(seconds, () => this.#aborts.size > 0);
  }

  /** Resolves when nothing is unfinished, or after so many seconds. */
  allDone(seconds: number): Promise<void> {
    return poll(seconds, () => Object.values(this.count()).some(Boolean));
  }

  /** Marks the requests whose bodies will not arrive, and returns how many there were. */
  interruptBodies(): number {
    const requests = runningRequests(this.#owner).filter(isReceiving);
    for (const scope of requests) scope.isInterrupted = true;
    return requests.length;
  }

  /** Aborts the streams that are being sent, and returns how many there were. */
  abortStreams(reason: unknown): number {
    const aborts = [...this.#aborts];
    for (const abort of aborts) abort(reason);
    return aborts.length;
  }
}

/** Whether the body of a request is still arriving, or a route may be reading it. */
function isReceiving({ request, body }: Scope): boolean {
  const canHaveBody = request.method !== "GET" && request.method !== "HEAD";
  return canHaveBody && body === undefined && request.body !== null;
}

/** Looks now and again: counting what begins and ends would cost each request more. */
async function poll(seconds: number, isBusy: () => boolean): Promise<void> {
  const end = performance.now() + seconds * 1_000;
  while (isBusy() && performance.now() < end) await sleep(POLL_SECONDS);
}
