/**
 * Measures finding a route, and building the table, against the routers of other frameworks: the same
 * tables of routes, the same paths, in turns within one run. Prints medians and ratios.
 *
 *     deno run --allow-env --v8-flags=--expose-gc bench/router.ts [rounds]
 */

import findMyWay from "npm:find-my-way@9";
import { RegExpRouter } from "npm:hono@4/router/reg-exp-router";
import { TrieRouter } from "npm:hono@4/router/trie-router";
import { addRoute, createRouter, findRoute } from "npm:rou3@1";
import { Path } from "../src/routing/path.ts";
import { Router, routesOf } from "../src/routing/router.ts";

/** A router as it is measured: building a table returns the function that looks up one path. */
type Contender = (routes: readonly Route[]) => (path: string) => unknown;

/** The parts of a route in the notation of all: `:name`, `?` for an optional one, `*` at the end. */
type Route = readonly string[];

const sizes = [10, 100, 1_000, 10_000];

/** In each round, the contenders take so many turns, each of so many look-ups: a pause touches few turns. */
const turns = 150;
const lookups = 1_000;

/** For how long paths are looked up before, in nanoseconds: the engine optimises anew for a new table. */
const warmingUp = 40e6;

/** The routes of each kind, and the paths that are looked up, by a number of five digits. */
const kinds: Record<
  string,
  { route: (n: string) => Route; path: (n: string) => string }
> = {
  static: {
    route: (n) => [`section${n.slice(3)}`, `page${n}`],
    path: (n) => `/section${n.slice(3)}/page${n}`,
  },
  "one parameter": {
    route: (n) => [`thing${n}`, ":id"],
    path: (n) => `/thing${n}/42`,
  },
  "two parameters": {
    route: (n) => [`thing${n}`, ":id", "part", ":name"],
    path: (n) => `/thing${n}/42/part/wheel`,
  },
  optional: {
    route: (n) => [`blog${n}`, ":year", ":month?"],
    path: (n) => Number(n) % 2 ? `/blog${n}/2024/05` : `/blog${n}/2024`,
  },
  wildcard: {
    route: (n) => [`files${n}`, "*"],
    path: (n) => `/files${n}/css/site/main.css`,
  },
  miss: {
    route: (n) => [`thing${n}`, ":id", "part"],
    path: (n) => `/thing${n}/42/other`,
  },
};

function digits(n: number): string {
  return String(n).padStart(5, "0");
}

const contenders: Record<string, Contender> = {
  "this router": (routes) => {
    const router = new Router();
    for (const route of routes) {
      router.route<string>(`GET ${ours(route)}`, () => {});
    }
    const found = routesOf(router);
    return (path) => found.first(new Path(path, false), "GET")?.values;
  },
  "find-my-way": (routes) => {
    const router = findMyWay();
    for (const route of routes) router.on("GET", theirs(route), () => {});
    return (path) => router.find("GET", path);
  },
  "Hono TrieRouter": (routes) => {
    const router = new TrieRouter<number>();
    for (const route of routes) router.add("GET", theirs(route), 1);
    return (path) => router.match("GET", path);
  },
  "Hono RegExpRouter": (routes) => {
    const router = new RegExpRouter<number>();
    for (const route of routes) router.add("GET", theirs(route), 1);
    return (path) => router.match("GET", path);
  },
  "rou3": (routes) => {
    const router = createRouter<number>();
    for (const route of routes) {
      const optional = route.at(-1)!.endsWith("?");
      if (optional) addRoute(router, "GET", theirs(route.slice(0, -1)), 1);
      const path = theirs(route).replace("?", "").replace(/\*$/, "**");
      addRoute(router, "GET", path, 1);
    }
    return (path) => findRoute(router, "GET", path);
  },
};

function ours(route: Route): string {
  return route.map((part) => {
    const name = part.replace(/^:/, "@");
    return name.endsWith("?") ? `(/${name.slice(0, -1)})` : `/${name}`;
  }).join("");
}

function theirs(route: Route): string {
  return route.map((part) => `/${part}`).join("");
}

/** Collects all garbage now; only with `--v8-flags=--expose-gc`. */
function collectGarbage(): void {
  const { gc } = globalThis as { gc?: () => void };
  gc?.();
}

/** The time of one run of the work, in nanoseconds. */
function time(work: () => void): number {
  const start = performance.now();
  work();
  return (performance.now() - start) * 1e6;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

/** Nanoseconds, by round. */
interface Figures {
  readonly build: number[];
  readonly match: number[];
}

/** Times of building, per route, and of one look-up, of all contenders in turns. */
function measure(
  kind: keyof typeof kinds,
  size: number,
  rounds: number,
): Map<string, Figures> {
  const { route, path } = kinds[kind]!;
  const routes = Array.from({ length: size }, (_, n) => route(digits(n)));
  // Cut out of a URL, as those of a server are
  const paths = Array.from({ length: 64 }, (_, n) => {
    const url = `http://localhost:8000${path(digits((n * 7919) % size))}`;
    return url.slice(url.indexOf("/", 8));
  });
  const runs = Object.entries(contenders)
    .filter(([name]) => size < 10_000 || name !== "Hono RegExpRouter")
    .map(([name, make]) => ({
      name,
      make,
      builds: [] as number[],
      matches: [] as number[],
      look: make(routes),
    }));
  for (const { look, name } of runs) {
    if ((kind === "miss") !== isMiss(look(paths[1]!))) {
      throw new Error(`${name} is wrong about ${paths[1]} among ${kind}`);
    }
  }
  const lookUp = ({ look }: { look: (path: string) => unknown }) => {
    for (let n = 0; n < lookups; n++) look(paths[n & 63]!);
  };
  for (let round = -1; round < rounds; round++) {
    for (const run of runs) {
      const build = time(() => void (run.look = run.make(routes)));
      if (round >= 0) run.builds.push(build); // the first round warms up
    }
    collectGarbage(); // the garbage of building must not be collected while matching is measured
    for (const run of runs) {
      for (let warm = 0; warm < warmingUp;) warm += time(() => lookUp(run));
    }
    const times = runs.map((): number[] => []);
    for (let turn = 0; turn < turns; turn++) {
      for (const [place, run] of runs.entries()) {
        times[place]!.push(time(() => lookUp(run)) / lookups);
      }
    }
    for (const [place, run] of runs.entries()) {
      if (round >= 0) run.matches.push(median(times[place]!));
    }
  }
  return new Map(runs.map(({ name, builds, matches }) => [name, {
    build: builds.map((build) => build / size),
    match: matches,
  }]));
}

/** Whether a router has found nothing. */
function isMiss(found: unknown): boolean {
  if (found === undefined || found === null) return true;
  return Array.isArray(found) && Array.isArray(found[0]) &&
    found[0].length === 0;
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

function print(figure: keyof Figures, rounds: number): void {
  const names = Object.keys(contenders);
  console.log(
    `\n${
      figure === "match" ? "Match" : "Build, per route"
    }: ns, and how many times ours\n`,
  );
  console.log(row(["kind", "routes", ...names]));
  console.log(row(["---", "--:", ...names.map(() => "--:")]));
  for (const [kind, sizesOf] of results) {
    for (const [size, figures] of sizesOf) {
      const own = figures.get("this router")![figure];
      const cells = names.map((name) => {
        const times = figures.get(name)?.[figure];
        if (times === undefined) return "–";
        const ratio = median(times.map((time, round) => time / own[round]!));
        const time = median(times).toFixed(0);
        return name === "this router" ? time : `${time} (${ratio.toFixed(2)})`;
      });
      console.log(row([kind, String(size), ...cells]));
    }
  }
  console.log(
    `\nMedians of ${rounds} rounds, in each of which all take turns; ratios are taken within a round. Deno ${Deno.version.deno}.`,
  );
}

const rounds = Number(Deno.args[0] ?? 7);
const results = new Map<string, Map<number, Map<string, Figures>>>();
for (const kind of Object.keys(kinds)) {
  results.set(
    kind,
    new Map(sizes.map((size) => [size, measure(kind, size, rounds)])),
  );
}
print("match", rounds);
print("build", rounds);
