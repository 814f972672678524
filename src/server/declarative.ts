/**
 * Owns running under `deno serve`, whose server is Deno's: it drains on signals by itself, without a
 * time-out, and cannot listen again.
 */

import type { BackgroundWork } from "../state/background.ts";
import { exit, SIGNALS } from "./process.ts";
import { ABORTED, CLEAN_UP_SECONDS } from "./server.ts";
import { surviveErrors } from "../state/uncaught.ts";
import { sleep } from "../timer.ts";

/** How many seconds the runtime gets to send the last response: it does not say when that is done. */
const FLUSH_SECONDS = 0.2;

/** How often the runtime has read `onListen`: once of any default export, once more when it listens. */
let reads = 0;

/**
 * Calls back when the runtime reads `onListen` of a main module's default export. No other code does,
 * and where the runtime finds nothing it prints the address itself.
 */
export function whenServed<Application extends object>(
  owner: Application,
  callback: (application: Application) => void,
): void {
  Object.defineProperty(owner, "onListen", {
    get(this: Application): undefined {
      return void callback(this);
    },
  });
}

/** Keeps the process alive on uncaught errors, and bounds the time of a drain. */
export function endWithRuntime(work: BackgroundWork): void {
  reads += 1;
  if (reads === 1) surviveErrors(() => void end(work));
  if (reads === 2) drainOnSignals(work);
}

/** Finishes pending work, then ends the process with status 1. */
async function end(work: BackgroundWork): Promise<void> {
  await work.allDone(work.timeoutSeconds());
  await sleep(FLUSH_SECONDS);
  exit(1);
}

/** Ends the process when the time-out is over. A second signal is left to Deno, as by its own listener. */
function drainOnSignals(work: BackgroundWork): void {
  const drain = async (): Promise<void> => {
    for (const [signal] of SIGNALS) Deno.removeSignalListener(signal, drain);
    work.interruptBodies();
    await sleep(work.timeoutSeconds(), false);
    work.abortStreams(ABORTED);
    await sleep(CLEAN_UP_SECONDS, false);
    exit(0);
  };
  for (const [signal] of SIGNALS) Deno.addSignalListener(signal, drain);
}
