/**
 * Owns running under `deno serve`, where the server is Deno's own: Deno drains it on signals, without a
 * time-out, and it cannot listen again.
 *
 * Deno tells an application in no documented way that it serves it. The first request would be too late: until
 * then an error would end the process, and a signal would wait for a stream without end. Deno does read the
 * property `onListen` of the default export, once when the module is loaded and once more when it listens, so a
 * getter counts these reads. Where a later Deno reads it less often, `deno serve` keeps its own rules, and the
 * tests of `server_process_test.ts` fail.
 */

import { abandonAll, flushAll } from "../flush.ts";
import { inWords, type Unfinished } from "../state/unfinished.ts";
import { surviveErrors } from "../state/uncaught.ts";
import { sleep, until } from "../timer.ts";
import { exit, onSignals } from "./process.ts";
import { CLEAN_UP_SECONDS, type Served } from "./server.ts";

/** How many seconds the runtime gets to send the last response: it does not tell when that is sent. */
const FLUSH_SECONDS = 0.2;

/** How often the runtime has read `onListen`: once for any default export, once more when it listens. */
let reads = 0;

/**
 * Calls back when the runtime reads `onListen` of the main module's default export, which no other code does.
 * The property stays undefined, so that the runtime prints the address itself.
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

/** Call when the runtime reads `onListen`: keeps the process alive on uncaught errors, and bounds a drain. */
export function endWithRuntime(served: Served): void {
  reads += 1;
  if (reads === 1) surviveErrors(() => void endProcess(served.unfinished));
  if (reads < 2) return;
  served.isUnderDenoServe = true;
  served.warnOfMistakes();
  if (reads === 2) drainOnSignals(served.unfinished);
}

/** Finishes pending work, then ends the process with status 1. */
async function endProcess(unfinished: Unfinished): Promise<void> {
  await until(
    () => inWords(unfinished).length === 0,
    unfinished.timeoutSeconds(),
  );
  await Promise.all([sleep(FLUSH_SECONDS), flushAll(FLUSH_SECONDS)]);
  exit(1);
}

/** Ends the process on a signal, once the time-out is over. A second signal is left to Deno's own listener. */
function drainOnSignals(unfinished: Unfinished): void {
  const leaveToDeno = onSignals(async () => {
    leaveToDeno();
    unfinished.beginDrain();
    await sleep(unfinished.timeoutSeconds(), false);
    unfinished.abortStreams();
    await sleep(CLEAN_UP_SECONDS, false);
    abandonAll();
    exit(0);
  });
}
