/**
 * Owns ending the process with its servers: on a signal, and with status 1 when the main module fails or
 * a server cannot go on.
 */

import type { Unfinished } from "../state/background.ts";
import type { DrainingServer } from "./server.ts";
import { surviveErrors } from "../state/uncaught.ts";

/** The signals that end a process, with the status of one that they end at once. */
export const SIGNALS: readonly (readonly [Deno.Signal, number])[] =
  Deno.build.os === "windows"
    ? [["SIGINT", 130]]
    : [["SIGINT", 130], ["SIGTERM", 143]];

/**
 * How many milliseconds pass at least between two signals that were sent on purpose: `deno task` and
 * `deno run --watch` pass one Ctrl+C on twice.
 */
const ONE_PRESS = 250;

/** The kinds of unfinished work, and their names in the message. */
const UNITS: readonly (readonly [keyof Unfinished, string])[] = [
  ["requests", "request"],
  ["streams", "stream"],
  ["deferred", "deferred task"],
];

/** The servers that end with the process. */
const servers = new Set<DrainingServer>();
let firstSignal: number | undefined;
let ending: Promise<void> | undefined;

const listeners = SIGNALS.map(([signal, status]) =>
  [signal, () => onSignal(signal, status)] as const
);

/** Drains on the first signal and ends the process; a second signal ends it at once. */
export function endWithProcess(server: DrainingServer): void {
  if (servers.size === 0) {
    for (const [signal, listener] of listeners) {
      Deno.addSignalListener(signal, listener);
    }
  }
  servers.add(server);
  const release = surviveErrors(() => endProcess(1));
  const remove = (): void => {
    servers.delete(server);
    release();
    if (servers.size === 0 && ending === undefined) removeListeners();
  };
  server.ended.then(remove, () => {
    endProcess(1);
    remove();
  });
  server.finished.catch(() => {}); // it was logged, and ends the process
}

function removeListeners(): void {
  for (const [signal, listener] of listeners) {
    Deno.removeSignalListener(signal, listener);
  }
}

function onSignal(signal: Deno.Signal, status: number): void {
  firstSignal ??= performance.now();
  if (performance.now() - firstSignal > ONE_PRESS) exit(status);
  if (ending === undefined) announce(signal);
  endProcess(0);
}

/** Ends when all servers are drained, those of other applications in this process too. */
function endProcess(status: number): void {
  if (status > 0) Deno.exitCode = status;
  ending ??= Promise.allSettled([...servers].map((each) => each.shutdown()))
    .then(() => exit(Deno.exitCode));
}

/** Prints what the process waits for, if anything. */
function announce(signal: Deno.Signal): void {
  const counts = [...servers].map(({ unfinished }) => unfinished);
  const parts = UNITS.flatMap(([kind, unit]) => {
    const count = counts.reduce((sum, each) => sum + each[kind], 0);
    return count === 0 ? [] : [`${count} ${unit}${count === 1 ? "" : "s"}`];
  });
  if (parts.length === 0) return;
  const list = new Intl.ListFormat("en").format(parts);
  const hint = signal === "SIGINT" ? ", press again to end now" : "";
  // deno-lint-ignore no-console -- it tells why the process goes on
  console.log(`Finishing ${list}${hint}`);
}

/** Under `deno run --watch`, `Deno.exit()` ends the program alone, and then throws. */
export function exit(status: number): void {
  try {
    Deno.exit(status);
  } catch {
    // The runtime ends the program as soon as this returns.
  }
}
