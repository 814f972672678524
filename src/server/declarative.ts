/**
 * Owns running under `deno serve`, whose server is Deno's: it drains on signals by itself, without a
 * time-out, and cannot listen again.
 */

import { abortStreams, unfinished } from "../state/background.ts";
import type { Owner } from "../state/scope.ts";
import { surviveErrors } from "../state/uncaught.ts";
import { sleep, until } from "../timer.ts";
import { exit, onSignals } from "./process.ts";
import { CLEAN_UP_SECONDS } from "./server.ts";

/** How many seconds the runtime gets to send the last response: it does not say when that is done. */
const FLUSH_SECONDS = 0.2;

/** How often the runtime has read `onListen`: once for any default export, once more when it listens. */
let reads = 0;

/**
 * Calls back when the runtime reads `onListen` of a main module's default export. No other code does,
 * and where the runtime finds nothing it prints the address itself.
 */
export function whenServed<Application extends object>(
  application: Application,
  callback: (application: Application) => void,
): void {
  Object.defineProperty(application, "onListen", {
    get(this: Application): undefined {
      return void callback(this);
    },
  });
}

/** Keeps the process alive on uncaught errors, and bounds the time of a drain. */
export function endWithRuntime(owner: Owner): void {
  reads += 1;
  if (reads === 1) surviveErrors(() => void endProcess(owner));
  if (reads === 2) drainOnSignals(owner);
}

/** Finishes pending work, then ends the process with status 1. */
async function endProcess(owner: Owner): Promise<void> {
  await until(() => unfinished(owner).length === 0, owner.shutdownSeconds());
  await sleep(FLUSH_SECONDS);
  exit(1);
}

/** Ends the process when the time-out is over. A second signal is left to Deno, as by its own listener. */
function drainOnSignals(owner: Owner): void {
  const leaveToDeno = onSignals(async () => {
    leaveToDeno();
    owner.isDraining = true;
    await sleep(owner.shutdownSeconds(), false);
    abortStreams(owner);
    await sleep(CLEAN_UP_SECONDS, false);
    exit(0);
  });
}
