/**
 * Owns running under `deno serve`, where the server is Deno's own: Deno drains it on signals, without a
 * time-out, and it cannot listen again.
 *
 * Deno tells an application in no documented way that it serves it. The first request would be too late: until
 * then an error would end the process, and a signal would wait for a stream without end. Deno does read the
 * property `onListen` of the default export when it has loaded the main module, and under `deno serve` calls
 * `Deno.serve` in the same turn: a getter notices the one and watches for the other. Where a later Deno does
 * neither, `deno serve` keeps its own rules, and the tests of `server_process_test.ts` fail.
 */

import { abandonAll, flushAll } from "../flush.ts";
import {
  CLEAN_UP_SECONDS,
  inWords,
  type Unfinished,
} from "../state/unfinished.ts";
import { surviveErrors } from "../state/uncaught.ts";
import { settlesWithin, sleep, until } from "../timer.ts";
import { exit, FLUSH_SECONDS, onSignals } from "./process.ts";
import {
  reportUnfinished,
  type ServedApplication,
  type Server,
} from "./server.ts";
import { ParallelWorker } from "./workers.ts";

/** How many seconds the last response gets: the server waits for idle connections, too. */
const RESPONSE_SECONDS = 0.2;

/** How often the runtime has read `onListen` in this turn: the main worker does so once more when it listens. */
let reads = 0;

/**
 * Calls back when the runtime reads `onListen` of the main module's default export, which no other code does.
 * The property stays undefined, so that the runtime prints the address itself.
 */
export function whenServed<App extends object>(
  app: App,
  callback: (app: App) => void,
): void {
  Object.defineProperty(app, "onListen", {
    get(this: App): undefined {
      return void callback(this);
    },
  });
}

/** Call when the runtime reads `onListen`: keeps the process alive on uncaught errors, and bounds a drain. */
export function endWithRuntime(served: ServedApplication): void {
  reads += 1;
  if (reads > 1) return;
  queueMicrotask(() => reads = 0);
  watchServe((server, isParallel) => {
    const isMain = reads > 1;
    served.isUnderDenoServe = true;
    served.isSecure = false; // it never has TLS
    surviveErrors(() => void endAfterError(server, served.unfinished));
    if (isMain) served.warnOfMistakes();
    drainOnSignals(server, served.unfinished, isParallel, isMain);
  });
}

/** Calls back with the server that the runtime starts in this turn, if it starts one. */
function watchServe(
  callback: (server: Server, isParallel: boolean) => void,
): void {
  const { serve } = Deno;
  const restore = (): boolean => Reflect.set(Deno, "serve", serve);
  Reflect.set(
    Deno,
    "serve",
    (options: Deno.ServeTcpOptions & Deno.ServeInit) => {
      restore();
      const server = serve(options);
      callback(server, isLoadBalanced(options));
      return server;
    },
  );
  queueMicrotask(restore);
}

/** Whether several workers listen on one port, as under `--parallel`: the runtime has a symbol for that. */
function isLoadBalanced(options: object): boolean {
  return Object.getOwnPropertySymbols(options)
    .some((key) => Reflect.get(options, key) === true);
}

/** Finishes pending work, then ends the process with status 1. */
async function endAfterError(
  server: Server,
  unfinished: Unfinished,
): Promise<void> {
  await until(
    () => inWords(unfinished).length === 0,
    unfinished.timeoutSeconds(),
  );
  await Promise.all([
    settlesWithin(server.shutdown(), RESPONSE_SECONDS),
    flushAll(FLUSH_SECONDS),
  ]);
  exit(1);
}

/**
 * Ends the process on a signal, once the time-out is over. A second signal is left to Deno's own listener. Among
 * parallel workers, one that is told of a signal too late drains as if it had heard it.
 */
function drainOnSignals(
  server: Server,
  unfinished: Unfinished,
  isParallel: boolean,
  isMain: boolean,
): void {
  const drain = async (): Promise<void> => {
    leaveToDeno();
    unfinished.isDraining = true;
    const work = finish(server, unfinished);
    unfinished.endStreams();
    worker?.beginDrain(work);
    const seconds = unfinished.timeoutSeconds();
    await sleep(seconds, false);
    const late = inWords(unfinished);
    if (late.length > 0) reportUnfinished(seconds, late);
    unfinished.abortStreams();
    await sleep(CLEAN_UP_SECONDS, false);
    abandonAll();
    exit(0);
  };
  const leaveToDeno = onSignals(drain);
  const worker = isParallel ? new ParallelWorker(isMain, drain) : undefined;
}

/** Finishes requests and deferred work. On a signal, Deno has shut the server down itself: twice is once. */
async function finish(server: Server, unfinished: Unfinished): Promise<void> {
  await server.shutdown().catch(() => {});
  await until(
    () => inWords(unfinished).length === 0,
    unfinished.timeoutSeconds(),
  );
}
