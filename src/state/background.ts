/**
 * Owns what an application has not finished: requests without a response, streams that are being sent,
 * and deferred work. A server that drains waits for them, and aborts the streams that take too long.
 */

import { type Owner, runningRequests, type Scope } from "./scope.ts";

/** The reason with which a server that shuts down aborts its streams. */
export const ABORTED = new Deno.errors.Interrupted("The server has shut down");

/** What is unfinished of all owners, in words such as "2 streams". */
export function unfinished(...owners: Owner[]): string[] {
  const counts = {
    request: owners.flatMap((owner) => runningRequests(owner)).length,
    stream: owners.flatMap(({ streams }) => [...streams]).length,
    "deferred task": owners.flatMap(({ deferred }) => [...deferred]).length,
  };
  return Object.entries(counts)
    .filter(([_, count]) => count > 0)
    .map(([unit, count]) => counted(count, unit));
}

/** A number of things, in words. */
export function counted(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** The requests whose bodies are still arriving, or may be read by a route. */
export function receiving(owner: Owner): Scope[] {
  return runningRequests(owner).filter(({ request, body }) => {
    const canHaveBody = request.method !== "GET" && request.method !== "HEAD";
    return canHaveBody && body === undefined && request.body !== null;
  });
}

/** Aborts the streams that are being sent, and returns how many there were. */
export function abortStreams({ streams }: Owner): number {
  const aborts = [...streams];
  for (const abort of aborts) abort(ABORTED);
  return aborts.length;
}
