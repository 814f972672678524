/** Owns what waits to be written when the framework ends the process, such as lines of a log. */

import { settlesWithin } from "./timer.ts";

/** Writes later what its reader is too slow for. */
export interface BufferedWriter {
  /** Resolves when nothing waits. */
  flush(): Promise<void>;
  /** Drops what waits. */
  abandon(): void;
}

const writers = new Set<BufferedWriter>();

/** Has the framework flush a writer before it ends the process. */
export function flushAtEnd(writer: BufferedWriter): void {
  writers.add(writer);
}

/** Flushes every writer, for the given seconds at most, and drops what waits then. */
export async function flushAll(seconds: number): Promise<void> {
  const flushes = [...writers].map((writer) => writer.flush());
  await settlesWithin(Promise.all(flushes), seconds);
  abandonAll();
}

/** Drops what waits: the process ends at once. */
export function abandonAll(): void {
  for (const writer of writers) writer.abandon();
}
