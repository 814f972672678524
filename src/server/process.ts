/**
 * Owns ending the process together with its servers: with status 0 on a signal, with status 1 when the main
 * module fails or a server cannot go on.
 */

import { announce } from "../report.ts";
import { abandonAll, flushAll } from "../flush.ts";
import { inWords } from "../state/unfinished.ts";
import { surviveErrors } from "../state/uncaught.ts";
import type { DrainingServer } from "./server.ts";

/**
 * Two signals within so many milliseconds are one press of Ctrl+C, which `deno task` and
 * `deno run --watch` pass on twice.
 */
const PRESS_MILLISECONDS = 250;

/** How many seconds the reader of a log gets for its last lines. */
export const FLUSH_SECONDS = 1;

/** How long unfinished work takes before it is worth a line: a line of the log is written by then. */
const MOMENT_MILLISECONDS = 100;

const servers = new Set<DrainingServer>();
let undo: (() => void)[] = [];
let firstSignal: number | undefined;
let ending: Promise<void> | undefined;

/** Lets a first signal drain the server and end the process, and a second one end it at once. */
export function endWithProcess(server: DrainingServer): void {
  if (servers.size === 0) {
    undo = [onSignals(onSignal), surviveErrors(() => endProcess(1))];
  }
  servers.add(server);
  server.ended.catch(() => endProcess(1)).then(() => {
    servers.delete(server);
    if (servers.size > 0 || ending !== undefined) return;
    for (const each of undo) each();
  });
  server.finished.catch(() => {}); // the server has logged the error, and the process ends
}

/**
 * Calls back on each SIGINT and SIGTERM, with the exit status for a process that the signal ends at once. Call
 * the returned function to undo.
 */
export function onSignals(
  callback: (signal: Deno.Signal, status: number) => void,
): () => void {
  const listeners: [Deno.Signal, () => void][] = [
    ["SIGINT", () => callback("SIGINT", 130)],
    ["SIGTERM", () => callback("SIGTERM", 143)],
  ];
  if (Deno.build.os === "windows") listeners.pop();
  for (const each of listeners) Deno.addSignalListener(...each);
  return () => listeners.forEach((each) => Deno.removeSignalListener(...each));
}

function onSignal(signal: Deno.Signal, status: number): void {
  firstSignal ??= performance.now();
  if (performance.now() - firstSignal > PRESS_MILLISECONDS) {
    abandonAll();
    exit(status);
  }
  if (ending === undefined) {
    setTimeout(() => announceEnd(signal), MOMENT_MILLISECONDS);
  }
  endProcess(0);
}

/** Drains all servers of this process, including those of other applications, and then ends it. */
function endProcess(status: number): void {
  if (status > 0) Deno.exitCode = status;
  ending ??= Promise.allSettled([...servers].map((each) => each.shutdown()))
    .then(() => flushAll(FLUSH_SECONDS))
    .then(() => exit(Deno.exitCode));
}

/** Prints what the process still waits for a moment after the signal, if anything. */
function announceEnd(signal: Deno.Signal): void {
  const parts = inWords(...[...servers].map(({ served }) => served.unfinished));
  if (parts.length === 0) return;
  const list = new Intl.ListFormat("en").format(parts);
  const hint = signal === "SIGINT" ? " (press Ctrl+C again to stop now)" : "";
  announce(`Waiting for ${list}${hint}`);
}

/** Ends the process; under `deno run --watch` only the program, where `Deno.exit()` then throws. */
export function exit(status: number): void {
  try {
    Deno.exit(status);
  } catch {
    // The runtime ends the program as soon as this returns.
  }
}
