/**
 * Shows that requests stay apart on real connections, and that nothing of them is kept: on 64
 * connections, every request sets everything that can be set, each response is compared, and the
 * server's memory is watched. The argument is the number of seconds, 60 when not given.
 */

import { Engine } from "@framework/core";
import { busyText, declareBusy } from "../tests/busy.ts";

const CONNECTIONS = 64;
const WINDOW = 5; // seconds

/** A message of the server's worker. */
interface Report {
  readonly port?: number;
  /** The bytes of its heap in use. */
  readonly heap?: number;
}

if ("WorkerGlobalScope" in globalThis) serve();
else await measure(Number(Deno.args[0] ?? 60));

/** In the worker: serves the application and reports the size of its heap ten times a second. */
function serve(): void {
  const report = (message: Report): void =>
    Reflect.get(globalThis, "postMessage").call(globalThis, message);
  const app = new Engine();
  declareBusy(app);
  app.start({
    port: 0,
    signals: false,
    onListen: (address) => report({ port: (address as Deno.NetAddr).port }),
  });
  setInterval(() => report({ heap: Deno.memoryUsage().heapUsed }), 100);
}

async function measure(seconds: number): Promise<void> {
  const worker = new Worker(import.meta.url, { type: "module" });
  const listening = Promise.withResolvers<number>();
  let floor = Infinity;
  worker.onmessage = ({ data }: MessageEvent<Report>) => {
    if (data.port !== undefined) listening.resolve(data.port);
    if (data.heap !== undefined) floor = Math.min(floor, data.heap);
  };
  const origin = `http://127.0.0.1:${await listening.promise}`;
  const end = performance.now() + seconds * 1000;
  const counts = { responses: 0, wrong: 0 };
  const timer = setInterval(() => {
    const rss = megabytes(Deno.memoryUsage().rss);
    console.log(
      `${counts.responses} responses, ${counts.wrong} wrong, heap floor of the server ${
        megabytes(floor)
      } MB, resident ${rss} MB`,
    );
    floor = Infinity;
  }, WINDOW * 1000);
  await Promise.all(
    Array.from(
      { length: CONNECTIONS },
      (_, connection) => keepRequesting(origin, connection, end, counts),
    ),
  );
  clearInterval(timer);
  worker.terminate();
  console.log(`${counts.responses} responses, ${counts.wrong} wrong`);
  if (counts.wrong > 0) Deno.exit(1);
}

/** One connection: one request after another, each under a name of its own. */
async function keepRequesting(
  origin: string,
  connection: number,
  end: number,
  counts: { responses: number; wrong: number },
): Promise<void> {
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 1 });
  for (let turn = 0; performance.now() < end; turn++) {
    const seed = turn * CONNECTIONS + connection;
    const name = `user${seed}`;
    const response = await fetch(`${origin}/${name}/${seed}`, { client });
    const right = await response.text() === busyText(name, seed) &&
      response.headers.get("x-name") === name &&
      response.status === 200 + seed % 2;
    counts.responses++;
    if (!right) counts.wrong++;
  }
  client.close();
}

function megabytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1);
}
