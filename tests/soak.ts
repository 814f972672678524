/**
 * Visits a server with 64 clients at once for two minutes, or for the seconds given as the argument:
 * every answer must be right, the memory flat once the server is warm, no connection left open, and
 * the process alive at the end. It listens and connects on 127.0.0.1 alone.
 */

import { RawConnection } from "./raw_http.ts";
import { ServerProcess } from "./server_child.ts";
import type { Stats } from "./soak_app.ts";

const CLIENTS = 64;
const seconds = Number(Deno.args[0] ?? 120);

/** How much of the time the server gets to become warm. */
const WARM_UP = 0.25;

/** How much the memory of a warm server may vary from one half of the time to the other. */
const TOLERANCE = 1.1;

type Visit = (n: string) => Promise<unknown>;

/** What clients do, and how often of a hundred times. */
const VISITS:
  readonly (readonly [share: number, name: string, visit: Visit])[] = [
    [20, "text", async (n) => is(await get(`/text/${n}`), 200, `text ${n}`)],
    [15, "own", own],
    [15, "page", page],
    [8, "halt", async (n) => is(await get(`/halt/${n}`), 410, `halt ${n}`)],
    [8, "fail", async (n) => has(await get(`/fail/${n}`), 500, "500 Internal")],
    [5, "loose", loose],
    [5, "late", async (n) => is(await get(`/late/${n}`), 200, `late ${n}`)],
    [
      4,
      "missing",
      async (n) => has(await get(`/nowhere/${n}`), 404, "404 Not"),
    ],
    [4, "malformed", async () => has(await get("/%zz"), 400, "400 Bad")],
    [4, "echo", echo],
    [4, "upload", upload],
    [
      3,
      "stream",
      async (n) => is(await get(`/stream/${n}`), 200, `${n} `.repeat(5)),
    ],
    [2, "defer", async (n) => is(await get(`/defer/${n}`), 200, `defer ${n}`)],
    [1, "stream left", leaveStream],
    [1, "upload left", leaveUpload],
    [1, "answer left", leaveAnswer],
  ];

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
    limit: 600,
  },
);
let client: Deno.HttpClient;
let port = 0;
try {
  port = await server.port();
  client = Deno.createHttpClient({ poolMaxIdlePerHost: CLIENTS });
  await soak();
} finally {
  await server[Symbol.asyncDispose]();
  await Deno.remove(views, { recursive: true });
}

async function soak(): Promise<void> {
  const files = await openFiles();
  const counts = new Map<string, number>();
  const samples: Stats[] = [];
  const end = performance.now() + seconds * 1_000;
  const sampling = sample(samples, end);
  await Promise.all(
    Array.from({ length: CLIENTS }, () => visitUntil(end, counts)),
  );
  await sampling;
  const { deferred }: Stats = await (await get("/stats")).json();
  client.close();
  const left = await filesLeft(files);
  server.kill("SIGTERM");
  const { code } = await server.ended();
  judge(counts, samples, { left, deferred, code });
}

async function visitUntil(
  end: number,
  counts: Map<string, number>,
): Promise<void> {
  while (performance.now() < end) {
    let number = Math.random() * 100;
    const [, name, visit] = VISITS.find(([share]) => (number -= share) < 0)!;
    await visit(crypto.randomUUID());
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
}

async function sample(samples: Stats[], end: number): Promise<void> {
  while (performance.now() < end) {
    samples.push(await (await get("/stats")).json());
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
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
    `${total} visits in ${seconds} s by ${CLIENTS} clients, every answer right`,
    [...counts].map(([name, count]) => `${name} ${count}`).sort().join(", "),
    `memory: ${megabytes(samples.slice(0, 1), "rss")} MB at first, then ` +
    `${megabytes(first, "rss")} and ${megabytes(second, "rss")} MB; ` +
    `heap ${megabytes(first, "heap")} and ${megabytes(second, "heap")} MB`,
    `connections left: ${left}; exit code: ${code}`,
  ];
  console.log(lines.join("\n"));
  const isFlat = middle(second, "rss") <= middle(first, "rss") * TOLERANCE;
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
 * How many files and connections the server has open; 0 where the system does not tell. Reading the
 * list itself would take every permission there is.
 */
async function openFiles(): Promise<number> {
  if (Deno.build.os !== "linux") return 0;
  const list = new Deno.Command("ls", { args: [`/proc/${server.pid}/fd`] });
  const { stdout } = await list.output();
  return new TextDecoder().decode(stdout).trim().split("\n").length;
}

/** How many more are open than before, once what was closed is closed at both ends. */
async function filesLeft(before: number): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
    if (await openFiles() <= before) return 0;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return await openFiles() - before;
}

// Visits

async function get(path: string, init?: RequestInit): Promise<Response> {
  return await fetch(`http://127.0.0.1:${port}${path}`, { ...init, client });
}

async function is(
  response: Response,
  status: number,
  text: string,
): Promise<void> {
  const body = await response.text();
  if (response.status === status && body === text) return;
  throw new Error(
    `${response.url} answered ${response.status} ${body} in place of ${status} ${text}`,
  );
}

async function has(
  response: Response,
  status: number,
  part: string,
): Promise<void> {
  const body = await response.text();
  await is(
    new Response(body.includes(part) ? part : body, {
      status: response.status,
    }),
    status,
    part,
  );
}

async function own(n: string): Promise<void> {
  const response = await get(`/own/${n}`);
  if (response.headers.get("x-own") !== n) {
    throw new Error(`The header of ${n} is another request's`);
  }
  await is(response, 200, JSON.stringify({ own: n, url: `/own/${n}` }));
}

/** The runtime tells of a rejection that nobody awaits in its own time: the answer may be out by then. */
async function loose(n: string): Promise<void> {
  const response = await get(`/loose/${n}`);
  if (response.status === 200) await is(response, 200, "");
  else await has(response, 500, "500 Internal");
}

async function page(n: string): Promise<void> {
  await is(await get(`/page/${n}`), 200, `<h1>${n}</h1><p>${n}</p>`);
}

async function echo(n: string): Promise<void> {
  const body = JSON.stringify({ n, list: [1, { deep: n }] });
  const headers = { "content-type": "application/json" };
  await is(await get("/echo", { method: "POST", headers, body }), 200, body);
}

async function upload(n: string): Promise<void> {
  const body = new FormData();
  body.set("n", n);
  body.set("file", new Blob([new Uint8Array(100_000)]), "file");
  const answer = JSON.stringify({ n, size: 100_000 });
  await is(await get("/upload", { method: "POST", body }), 200, answer);
}

/** Goes away in the middle of a stream. */
async function leaveStream(): Promise<void> {
  const response = await get("/endless");
  const reader = response.body!.getReader();
  await reader.read();
  await reader.cancel();
}

/** Goes away in the middle of an upload. */
async function leaveUpload(): Promise<void> {
  using connection = await RawConnection.open(port);
  await connection.send(
    "POST /echo HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100000\r\n\r\nhalf",
  );
  await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Goes away before the answer comes. */
async function leaveAnswer(n: string): Promise<void> {
  using connection = await RawConnection.open(port);
  await connection.send(`GET /own/${n} HTTP/1.1\r\nHost: a.test\r\n\r\n`);
}
