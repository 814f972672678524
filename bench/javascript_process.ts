/**
 * Has the contenders handle blocks of served requests in turns, and takes the CPU time between the call of the
 * handlers and the last response: neither what Deno and the kernel take to send it, nor waiting. Afterwards
 * responds with the results.
 *
 *     deno run --allow-all bench/javascript_process.ts WARMING ROUNDS BLOCKS
 */

import process from "node:process";
import { CONTENDERS } from "./contenders.ts";
import { CONNECTIONS } from "./load.ts";
import { summarize } from "./measurement.ts";

type Info = Deno.ServeHandlerInfo<Deno.NetAddr>;

type Handler = (request: Request, info: Info) => Response | Promise<Response>;

interface Waiting {
  readonly request: Request;
  readonly info: Info;
  readonly resolve: (response: Response) => void;
}

const [warming, rounds, blocks] = Deno.args.map(Number);
const contenders: { name: string; handler: Handler }[] = [];
for (const [name, file] of Object.entries(CONTENDERS)) {
  const { fetch: handler } = await import(`./contenders/${file}`);
  contenders.push({ name, handler });
}

let waiting: Waiting[] = [];
let block = Promise.withResolvers<Waiting[]>();
const results: Record<string, number[]> = {};
let isDone = false;

Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.log(port),
}, (request, info) => {
  if (isDone) return Response.json(results);
  return new Promise<Response>((resolve) => {
    waiting.push({ request, info, resolve });
    if (waiting.length < CONNECTIONS) return;
    block.resolve(waiting);
    waiting = [];
  });
});

await takeTurns(warming!);
for (let round = 0; round < rounds!; round++) {
  for (const [name, times] of await takeTurns(blocks!)) {
    (results[name] ??= []).push(summarize(times).median);
  }
}
isDone = true;

/** Gives every contender a number of blocks; returns the microseconds that a request took in each. */
async function takeTurns(count: number): Promise<Map<string, number[]>> {
  const times = new Map(contenders.map(({ name }) => [name, [] as number[]]));
  for (let turn = 0; turn < count; turn++) {
    for (const { name, handler } of shuffled(contenders)) {
      times.get(name)!.push(await handle(await nextBlock(), handler));
    }
  }
  return times;
}

async function nextBlock(): Promise<Waiting[]> {
  const requests = await block.promise;
  block = Promise.withResolvers();
  return requests;
}

/** Responds to a block; returns the microseconds a request. */
async function handle(requests: Waiting[], handler: Handler): Promise<number> {
  const before = process.cpuUsage();
  const made = requests.map(({ request, info }) => handler(request, info));
  const isAsync = made.some((response) => response instanceof Promise);
  const responses = isAsync ? await Promise.all(made) : made as Response[];
  const { user, system } = process.cpuUsage(before);
  for (const [place, { resolve }] of requests.entries()) {
    resolve(responses[place]!);
  }
  return (user + system) / requests.length;
}

/** Another order each time: what one leaves to the collector, the next one pays. */
function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, key: Math.random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}
