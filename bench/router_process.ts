/**
 * Measures what finding a route adds to a request, and prints it as JSON: the time of a request in a table of many
 * routes, less that of a request for `/` in a table with nothing else. The others have a handler around their router
 * that does no more than take the path out of the URL and respond.
 *
 *     deno run --allow-all bench/router_process.ts ROUNDS TURNS
 */

import { Engine } from "@framework/core";
import findMyWay from "npm:find-my-way@^9";
import { RegExpRouter } from "npm:hono@^4/router/reg-exp-router";
import { TrieRouter } from "npm:hono@^4/router/trie-router";
import { OURS } from "./contenders.ts";
import { summarize } from "./measurement.ts";

type Handler = (request: Request) => Response | Promise<Response>;

/** A handler, the paths that it gets one after the other, and what a request took, in nanoseconds. */
interface Run {
  readonly handler: Handler;
  readonly requests: readonly Request[];
  times: number[];
}

const SIZES = [10, 1_000, 10_000];
const REQUESTS = 500;

/** The route of each kind, and the path that is asked for; `#` is the number of a route. */
const KINDS: Readonly<Record<string, readonly [route: string, path: string]>> =
  {
    "static": ["/section/page#", "/section/page#"],
    "one parameter": ["/thing#/:id", "/thing#/42"],
    "wildcard": ["/files#/*", "/files#/css/main.css"],
  };

const ROUTERS: Record<string, (routes: readonly string[]) => Handler> = {
  [OURS]: (routes) => {
    const app = new Engine();
    for (const route of routes) {
      app.route<string>(`GET ${route.replace(":", "@")}`, () => "found");
    }
    return app.fetch;
  },
  "find-my-way": (routes) => {
    const router = findMyWay();
    for (const route of routes) router.on("GET", route, () => {});
    return (request) => respond(router.find("GET", pathOf(request)) !== null);
  },
  "Hono TrieRouter": (routes) => withHono(new TrieRouter<number>(), routes),
  "Hono RegExpRouter": (routes) => withHono(new RegExpRouter<number>(), routes),
};

const [rounds = 9, turns = 200] = Deno.args.map(Number);
const results: Record<string, Record<string, number[]>> = {};
for (const kind in KINDS) {
  for (const size of SIZES) {
    results[`${kind}, ${size} routes`] = await measure(kind, size);
  }
}
console.log(JSON.stringify(results));

/** Returns the nanoseconds by contender and round. */
async function measure(
  kind: string,
  size: number,
): Promise<Record<string, number[]>> {
  const [route, path] = KINDS[kind]!;
  const numbers = Array.from({ length: size }, (_, n) => 10_000 + n);
  const routes = numbers.map((n) => route.replace("#", String(n)));
  const paths = numbers.map((n) => path.replace("#", String(n)));
  const pairs = Object.entries(ROUTERS)
    // More routes take an expression minutes to build.
    .filter(([name]) => size <= 1_000 || name !== "Hono RegExpRouter")
    .map(([name, make]) => ({
      name,
      base: newRun(make(["/"]), ["/"]),
      table: newRun(make(routes), paths),
    }));
  const figures: Record<string, number[]> = {};
  for (let round = -1; round < rounds; round++) { // The first one warms up.
    for (let turn = 0; turn < turns; turn++) {
      for (const { base, table } of pairs) {
        await takeTurn(base);
        await takeTurn(table);
      }
    }
    for (const { name, base, table } of pairs) {
      const added = summarize(table.times).median -
        summarize(base.times).median;
      if (round >= 0) (figures[name] ??= []).push(added);
      base.times = [];
      table.times = [];
    }
  }
  return figures;
}

function newRun(handler: Handler, paths: readonly string[]): Run {
  const requests = Array.from({ length: 64 }, (_, n) => {
    const path = paths[n * 7_919 % paths.length];
    return new Request(`http://localhost${path}`);
  });
  return { handler, requests, times: [] };
}

async function takeTurn({ handler, requests, times }: Run): Promise<void> {
  const begin = performance.now();
  for (let n = 0; n < REQUESTS; n++) {
    const made = handler(requests[n & 63]!);
    const { ok } = made instanceof Promise ? await made : made;
    if (!ok) throw new Error(`No route found for "${requests[n & 63]!.url}"`);
  }
  times.push((performance.now() - begin) * 1e6 / REQUESTS);
}

function withHono(
  router: TrieRouter<number> | RegExpRouter<number>,
  routes: readonly string[],
): Handler {
  for (const route of routes) router.add("GET", route, 1);
  return (request) =>
    respond(router.match("GET", pathOf(request))[0].length > 0);
}

function pathOf({ url }: Request): string {
  return url.slice(url.indexOf("/", 8));
}

function respond(isFound: boolean): Response {
  return new Response("found", { status: isFound ? 200 : 404 });
}
