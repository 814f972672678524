/**
 * Visits a server with 64 clients at once for two minutes, or for the seconds given as the argument, and
 * then takes its last file descriptor: every response must be right, the memory flat once the server is
 * warm, no connection left open, and the process alive at the end. Serves and connects on 127.0.0.1 alone.
 */

import { RawConnection } from "./raw_http.ts";
import { ServerProcess } from "./server_child.ts";
import type { Stats } from "./soak_app.ts";
import { SoakClient, visitOnce } from "./soak_visits.ts";

const CLIENTS = 64;
const seconds = Number(Deno.args[0] ?? 120);

/** How many files and connections the server may have open at once. */
const DESCRIPTORS = 256;

/** How much of the time the server gets to become warm. */
const WARM_UP = 0.25;

/** How much the memory of a warm server may vary from one half of the time to the other. */
const TOLERANCE = 1.1;

/** How many seconds it takes at least to tell whether the memory is flat. */
const LONG_ENOUGH = 60;

const views = await Deno.makeTempDir();
await Deno.writeTextFile(`${views}/part.vto`, "<p>{{ n }}</p>");
await Deno.writeTextFile(
  `${views}/layout.vto`,
  "<h1>{{ n }}</h1>{{ content }}",
);
const app = new URL("./soak_app.ts", import.meta.url);
const server = await ServerProcess.start(
  `import { serveSoak } from "${app}"; serveSoak(${JSON.stringify(views)});`,
  {
    permissions: ["--allow-net=127.0.0.1", `--allow-read=${views}`],
    descriptors: DESCRIPTORS,
    limit: seconds + 60,
  },
);
const port = await server.port();
try {
  await soak();
} finally {
  await server[Symbol.asyncDispose]();
  await Deno.remove(views, { recursive: true });
}

async function soak(): Promise<void> {
  const files = await openFiles();
  const counts = new Map<string, number>();
  const samples: Stats[] = [];
  let deferred: number;
  {
    using client = new SoakClient(port, CLIENTS);
    const end = performance.now() + seconds * 1_000;
    const visiting = Array.from(
      { length: CLIENTS },
      () => visitUntil(client, end, counts),
    );
    await Promise.all([...visiting, sample(client, samples, end)]);
    ({ deferred } = await statsOf(client));
  }
  await exhaust();
  {
    using client = new SoakClient(port, 1);
    await statsOf(client);
  }
  const left = await filesLeft(files);
  server.kill("SIGTERM");
  const { code } = await server.ended();
  judge(counts, samples, { left, deferred, code });
}

async function visitUntil(
  client: SoakClient,
  end: number,
  counts: Map<string, number>,
): Promise<void> {
  while (performance.now() < end) {
    const name = await visitOnce(client);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
}

async function sample(
  client: SoakClient,
  samples: Stats[],
  end: number,
): Promise<void> {
  while (performance.now() < end) {
    samples.push(await statsOf(client));
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function statsOf(client: SoakClient): Promise<Stats> {
  return await (await client.get("/stats")).json();
}

/** Opens idle connections until the server has no descriptors left, and waits until it listens again. */
async function exhaust(): Promise<void> {
  using connections = new DisposableStack();
  for (let count = 0; count < DESCRIPTORS; count++) {
    try {
      connections.use(await RawConnection.open(port));
    } catch {
      break; // refused or reset: the server says below whether for this reason
    }
  }
  await server.prints(/Too many open files/);
  await server.prints(/is accepting connections again/);
}

function judge(
  counts: ReadonlyMap<string, number>,
  samples: readonly Stats[],
  { left, deferred, code }: { left: number; deferred: number; code: number },
): void {
  const warm = samples.slice(Math.floor(samples.length * WARM_UP));
  const half = Math.floor(warm.length / 2);
  const [first, second] = [warm.slice(0, half), warm.slice(half)];
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const lines = [
    `${total} visits in ${seconds} s by ${CLIENTS} clients, every response right`,
    [...counts].map(([name, count]) => `${name} ${count}`).sort().join(", "),
    `memory: ${megabytes(samples.slice(0, 1), "rss")} MB at first, then ` +
    `${megabytes(first, "rss")} and ${megabytes(second, "rss")} MB; ` +
    `heap ${megabytes(first, "heap")} and ${megabytes(second, "heap")} MB`,
    `file descriptors: ${DESCRIPTORS}, used up once; connections left: ${left}; ` +
    `exit code: ${code}`,
  ];
  console.log(lines.join("\n"));
  const isFlat = seconds < LONG_ENOUGH ||
    middle(second, "rss") <= middle(first, "rss") * TOLERANCE;
  const isDone = deferred === (counts.get("defer") ?? 0);
  if (isFlat && isDone && left === 0 && code === 0) return;
  console.error({ isFlat, isDone, left, code });
  Deno.exitCode = 1;
}

function middle(samples: readonly Stats[], key: "rss" | "heap"): number {
  const values = samples.map((stats) => stats[key]).sort((a, b) => a - b);
  return values[Math.floor(values.length / 2)] ?? 0;
}

function megabytes(samples: readonly Stats[], key: "rss" | "heap"): string {
  return (middle(samples, key) / 2 ** 20).toFixed(1);
}

// What a server has open

/**
 * How many files and connections the server has open; 0 where the system has no such list. Reading it
 * without `ls` would take every permission there is.
 */
async function openFiles(): Promise<number> {
  if (Deno.build.os !== "linux") return 0;
  const list = new Deno.Command("ls", { args: [`/proc/${server.pid}/fd`] });
  const { stdout } = await list.output();
  return new TextDecoder().decode(stdout).trim().split("\n").length;
}

/** How many more are open than before, once both ends have closed what they close. */
async function filesLeft(before: number): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
    if (await openFiles() <= before) return 0;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return await openFiles() - before;
}
