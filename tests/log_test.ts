/** Tests `log`: a line for each request, whatever made its response. */

import { Engine, Framework, HttpError } from "@framework/core";
import { log, type LogOptions, type LogRecord } from "@framework/core/log";
import {
  assertEquals,
  assertLess,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { visit } from "./forms.ts";
import { logOf } from "./log.ts";
import { sendRaw } from "./raw_http.ts";
import { ServerProcess } from "./server_child.ts";
import { SlowlyRead } from "./slow_reader.ts";

const LINE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (.+) \d+\.\d ms (.+)$/;

/** An application whose records are kept in a list. */
function logged(options: LogOptions = {}): { app: Engine; list: LogRecord[] } {
  const app = new Engine();
  const list: LogRecord[] = [];
  log(app, { write: (record) => list.push(record), ...options });
  return { app, list };
}

/** What work prints, one line each; times and durations left out. */
async function printed(work: () => unknown): Promise<string[]> {
  const lines: string[] = [];
  const before = console.log;
  console.log = (line: string) => {
    const [, request, bytes] = LINE.exec(line) ?? [];
    lines.push(`${request} ${bytes}`);
  };
  try {
    await work();
  } finally {
    console.log = before;
  }
  return lines;
}

/** An application with a route for each kind of response. */
function everyKind(): Engine {
  const app = new Engine();
  app.route("GET /text", () => "Grüße");
  app.route("GET /stream", () => ReadableStream.from(["a", "b"]));
  app.route("GET /moved", () => app.redirect("/text"));
  app.route("GET /refused", () => app.halt(403, "No"));
  app.route("GET /current", () => void app.etag("v1"));
  app.route("GET /failed", () => {
    throw new HttpError(503, "Later");
  });
  app.route("POST /upload", () => app.request().getBody());
  return app;
}

Deno.test("`log()` prints a line for each request that came over a socket", async () => {
  const app = everyKind();
  app.set("framework.body_limit", 10);
  const lines = await printed(async () => {
    log(app);
    await using server = app.start({ port: 0, signals: false });
    const { port } = server.addr as Deno.NetAddr;
    const get = async (path: string, init: RequestInit = {}) => {
      const url = `http://127.0.0.1:${port}${path}`;
      await (await fetch(url, { redirect: "manual", ...init })).bytes();
    };
    await get("/text?a=1");
    await get("/text", { method: "HEAD" });
    await get("/stream");
    await get("/moved");
    await get("/refused");
    await get("/current", { headers: { "if-none-match": `"v1"` } });
    await get("/upload", { method: "POST", body: "x".repeat(11) });
    await sendRaw(
      port,
      "GET /%zz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    );
  });
  assertMatch(lines.shift()!, /^undefined/); // where it listens
  const [, lengthOf413] = /413 (\d+) B/.exec(lines[6]!) ?? [];
  const [, lengthOf400] = /400 (\d+) B/.exec(lines[7]!) ?? [];
  assertEquals(lines, [
    "GET /text?a=1 200 7 B",
    "HEAD /text 200 0 B",
    "GET /stream 200 - B",
    "GET /moved 303 0 B",
    "GET /refused 403 2 B",
    "GET /current 304 0 B",
    `POST /upload 413 ${lengthOf413} B`,
    `GET / 400 ${lengthOf400} B`,
  ]);
});

Deno.test("`log()` gives the id that the page and the error log have as the reference", async () => {
  const { app, list } = logged();
  app.route("/", () => {
    throw new Error("hidden");
  });
  const from = { remoteAddr: { hostname: "192.0.2.1" } as Deno.NetAddr };
  let page = "";
  const [line] = await logOf(async () => {
    const response = await app.fetch(new Request("http://example.com/"), from);
    page = await response.text();
  });
  const { status, id } = list[0]!;
  assertEquals(status, 500);
  assertMatch(id, /^[\da-f]{8}$/);
  assertStringIncludes(page, id);
  assertStringIncludes(line!, id);
});

Deno.test("`log()` gives the id in the line for a status of 500 and above alone", async () => {
  const app = everyKind();
  app.set("framework.trust_proxy", true);
  const lines = await printed(async () => {
    log(app);
    const headers = { "x-request-id": "of-the-proxy" };
    for (const path of ["/failed", "/refused"]) {
      await visit(app, path, { headers });
    }
  });
  assertMatch(lines[0]!, /^GET \/failed 503 \d+ B id of-the-proxy$/);
  assertEquals(lines[1], "GET /refused 403 2 B");
});

Deno.test("`log()` gives the pattern of the route and the address of the client", async () => {
  const { app, list } = logged();
  app.group("/shop", () => app.route("GET /item/@id", (id) => id));
  app.route("/passed", () => true);
  const from = { remoteAddr: { hostname: "192.0.2.1" } as Deno.NetAddr };
  for (const path of ["/shop/item/7", "/passed", "/missing"]) {
    await app.fetch(new Request(`http://example.com${path}`), from);
  }
  assertEquals(
    list.map(({ route, ip, id }) => [route, ip, id.length]),
    [["/shop/item/@id", "192.0.2.1", 8], [null, "192.0.2.1", 8], [
      null,
      "192.0.2.1",
      8,
    ]],
  );
});

/** Paths, and the routes in the records of an application that has others mounted. */
const MOUNTED: Readonly<Record<string, string | null>> = {
  "/api": "/api",
  "/api/user/1": "/api/user/@id",
  "/api/missing": null,
  "/api/passed": null,
  "/api/deep/item/2": "/api/deep/item/@id",
  "/api/deep/missing": null,
  "/all/of/it": "/all/*",
  "/plain/page": "/plain/*",
  "/asked": "/asked",
};

Deno.test("`log()` gives the route of a mounted application behind the prefix, whichever came first", async () => {
  const { app, list } = logged();
  const deep = new Engine();
  deep.route("/item/@id", (id) => id);
  const api = new Engine();
  api.route("/", () => "all");
  api.route("/user/@id", (id) => id);
  api.route("/passed", () => true);
  api.mount("/deep", deep);
  const all = new Engine();
  all.route("*", () => "all");
  app.mount("/api", api);
  app.mount("/all", all);
  app.mount("/plain", () => new Response("plain"));
  app.route("/asked", () => api.fetch("/user/1")); // not mounted there
  log(app, { write: (record) => list.push(record) });
  for (const [path, route] of Object.entries(MOUNTED)) {
    await visit(app, path);
    const [before, after] = list.splice(0);
    assertEquals([before!.route, after!.route], [route, route], path);
  }
});

Deno.test("`log()` gives no route where a mapped `request` returns something else", async () => {
  const { app, list } = logged();
  const request = { method: "GET", url: "/mapped", ip: "", id: "1" };
  app.map("request", () => request);
  app.route("/", () => "text");
  await visit(app, "/");
  assertEquals(list.map(({ url, route }) => [url, route]), [["/mapped", null]]);
});

/** URLs, and how the log shows them. */
const MASKED: Readonly<Record<string, string>> = {
  "/a?token=abc": "/a?token=••••",
  "/a?page=2&api_key=abc&x": "/a?page=2&api_key=••••&x",
  "/a?user[password]=abc&code=abc": "/a?user[password]=••••&code=••••",
  "/a?%70ass%77ord=abc": "/a?%70ass%77ord=••••",
  "/a?secret=a=b?c": "/a?secret=••••",
  "/a?next=/b?token=abc": "/a?next=/b?token=••••",
  "/a?next=/b?c=1?%6bey=a?b&d=1": "/a?next=/b?c=1?%6bey=••••&d=1",
  "/a??token=abc": "/a??token=••••",
  "/a?secret": "/a?secret",
  "/a?to%6ben%=abc&the+key=abc&%&+=1": "/a?to%6ben%=••••&the+key=••••&%&+=1",
  "/a?pass=1&pin=1&cvv=1&cvc=1&card_number=1":
    "/a?pass=••••&pin=••••&cvv=••••&cvc=••••&card_number=••••",
  "/a?user_pass=1&pin-code=1&card[cvv2]=1&cardCvc=1&cardNumber=1":
    "/a?user_pass=••••&pin-code=••••&card[cvv2]=••••&cardCvc=••••&cardNumber=••••",
  "/a?sid=1&connect.sid=1&SID=1&id_jwt=1&passphrase=1":
    "/a?sid=••••&connect.sid=••••&SID=••••&id_jwt=••••&passphrase=••••",
  "/a?spin=1&pinned=2&passenger=3&discard=4&compass=5":
    "/a?spin=1&pinned=2&passenger=3&discard=4&compass=5",
  "/a?side=1&president=2&reside=3&asid=4":
    "/a?side=1&president=2&reside=3&asid=4",
  "/a?postcode=1": "/a?postcode=1",
  "/a?next=%2Fb%3Ftoken%3Dabc&c=1": "/a?next=••••&c=1",
  "/a?next=%2Fb%23access_token%3dabc": "/a?next=••••",
  "/a?next=%2Fb%3Fnext%3D%252Fc%253Fcode%253Dabc": "/a?next=••••",
  "/a?next=%2Fb%3Fc%3D1%26the+key%3Dabc%zz": "/a?next=••••",
  "/a?b=c%26token=abc": "/a?b=••••",
  "/a?state=token%3Dabc": "/a?state=••••",
  "/a?%2Fb%3Ftoken%3Dabc": "/a?%2Fb%3Ftoken=••••",
  "/a?next=/b?token%3Dabc": "/a?next=/b?token=••••",
  "/a?next=/b?c=%26key%3Dabc?d=1": "/a?next=/b?c=••••",
  "/a?auth%3D1%26b=abc": "/a?auth=••••",
  "/a?b%3Dauth%26c=abc": "/a?b=••••",
  "/a?next=%2Fauth%3Fpage%3D2%26%zz": "/a?next=%2Fauth%3Fpage%3D2%26%zz",
  "/a?": "/a?",
  "/token=abc": "/token=abc",
};

Deno.test("`log()` masks the values of secrets in the query", async () => {
  const { app, list } = logged();
  for (const url of Object.keys(MASKED)) await visit(app, url);
  assertEquals(list.map(({ url }) => url), Object.values(MASKED));
});

/** The parts of long URLs, and what the log shows behind a thousand of them. */
const LONG: Readonly<Record<string, string>> = {
  "a=1&": "••••",
  "a=1?": "a=••••",
};

for (const [part, rest] of Object.entries(LONG)) {
  Deno.test(`\`log()\` masks all that follows a thousand fields, as in "${part.repeat(2)}..."`, async () => {
    const { app, list } = logged();
    for (const count of [999, 16_000]) {
      await visit(app, `/?${part.repeat(count)}a=1`);
    }
    const thousand = `/?${part.repeat(1_000)}`;
    const urls = list.map(({ url }) => url);
    assertEquals(urls, [`/?${part.repeat(999)}a=1`, thousand + rest]);
  });
}

Deno.test("`log()` masks the names that it is given", async () => {
  const { app, list } = logged({ secrets: /^isbn$/g });
  await visit(app, "/?isbn=1&isbn=2&token=3");
  assertEquals(list[0]!.url, "/?isbn=••••&isbn=••••&token=3");
});

/** Filters of `send` that replace a response, and how many bytes the new one has. */
const REPLACING: Readonly<
  Record<string, [(app: Engine) => void, number | undefined]>
> = {
  "by a text": [
    (app) =>
      app.after("send", (_params, output) => {
        output.value = new Response("new");
      }),
    3,
  ],
  "by a text, before `send`": [
    (app) =>
      app.before("send", (params) => {
        params[0] = new Response("new");
      }),
    3,
  ],
  "with a length that it says": [
    (app) =>
      app.after("send", (_params, output) => {
        const headers = { "content-length": "3" };
        output.value = new Response("new", { headers });
      }),
    3,
  ],
  "by a stream": [
    (app) =>
      app.after("send", (_params, output) => {
        output.value = new Response(ReadableStream.from([new Uint8Array(3)]));
      }),
    undefined,
  ],
  "by failing": [
    (app) =>
      app.before("send", () => {
        throw new Error("boom");
      }),
    "Internal Server Error".length,
  ],
};

for (const [how, [replace, expected]] of Object.entries(REPLACING)) {
  Deno.test(`\`log()\` gives the bytes of a response that a filter of "send" replaces ${how}`, async () => {
    const records: LogRecord[] = [];
    const app = new Engine();
    replace(app);
    log(app, { write: (record) => records.push(record) });
    app.route("/", () => "a longer text");
    await logOf(async () => await (await visit(app, "/")).body?.cancel());
    assertEquals(records.map(({ bytes }) => bytes), [expected]);
  });
}

/** Writers that fail: at once, and later. */
const FAILING: Readonly<Record<string, () => unknown>> = {
  "throws": () => {
    throw new Error("No space left");
  },
  "rejects": () => Promise.reject(new Error("No space left")),
  "rejects once its result is awaited": () => ({
    then: (_resolve: unknown, reject: (reason: Error) => void) =>
      reject(new Error("No space left")),
  }),
};

for (const [how, write] of Object.entries(FAILING)) {
  Deno.test(`\`log()\` reports an error of a writer that ${how}, and the response goes out`, async () => {
    const { app } = logged({ write });
    app.route("/", () => "text");
    let text = "";
    const lines = await logOf(async () => {
      text = await (await visit(app, "/")).text();
    });
    assertEquals(text, "text");
    assertEquals(lines.length, 1);
    assertStringIncludes(
      lines[0]!,
      "Error while writing the log: Error: No space left",
    );
  });
}

/** Writers that call a function a while after they have returned. */
const LATE: Readonly<Record<string, (done: () => void) => unknown>> = {
  "in a promise": (done) => pause().then(done),
  "once its result is awaited, as a query does": (done) => ({
    then: (resolve: () => void) => void pause().then(done).then(resolve),
  }),
};

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}

for (const [how, work] of Object.entries(LATE)) {
  Deno.test(`a server that drains waits for a record of \`log()\` that \`write\` keeps ${how}`, async () => {
    const written: string[] = [];
    const write = ({ url }: LogRecord) => work(() => written.push(url));
    const { app } = logged({ write });
    app.route("/", () => "text");
    const server = app.start({ port: 0, signals: false });
    const { port } = server.addr as Deno.NetAddr;
    await (await fetch(`http://127.0.0.1:${port}/`)).text();
    await server.shutdown();
    assertEquals(written, ["/"]);
  });
}

Deno.test("`log()` works on `Framework`", async () => {
  const before = Framework.app();
  Framework.app(new Engine());
  try {
    const list: LogRecord[] = [];
    log(Framework, { write: (record) => list.push(record) });
    Framework.route("/", () => "text");
    await visit(Framework, "/");
    assertEquals(list.map(({ status, bytes }) => [status, bytes]), [[200, 4]]);
  } finally {
    Framework.app(before);
  }
});

const SERVER = `
  import { Engine } from "@framework/core";
  import { log } from "@framework/core/log";

  const app = new Engine();
  log(app);
  app.route("/*", () => "text");
  app.start({ port: 0 });
`;

/** How many requests it takes to fill the pipe and the queue. */
const MANY = 300;

/** Starts a server whose reader stalls once it has read the address. */
async function stalled(): Promise<[SlowlyRead, origin: string]> {
  const process = await SlowlyRead.start(SERVER);
  const text = await process.read(/\n/);
  return [process, /http:\/\/[\d.:]+/.exec(text)![0]];
}

/** Sends requests with long paths, one after the other; returns how many were responded to. */
async function visitMany(origin: string): Promise<number> {
  let count = 0;
  for (let index = 0; index < MANY; index++) {
    const signal = AbortSignal.timeout(5_000);
    const response = await fetch(`${origin}/${"a".repeat(8_000)}`, { signal });
    if (await response.text() === "text") count++;
  }
  return count;
}

Deno.test("`log()` holds no request up for a reader that stalls, and tells how many lines it dropped", async () => {
  const [process, origin] = await stalled();
  await using _ = process;
  assertEquals(await visitMany(origin), MANY);
  const dropped =
    /Dropped (\d+) log lines: the reader of the log is too slow\n/;
  const text = await process.read(dropped);
  const lines = text.match(/ 200 [\d.]+ ms 4 B$/gm)!.length;
  assertEquals(lines + Number(dropped.exec(text)![1]), MANY);
  await (await fetch(`${origin}/after`)).text();
  assertStringIncludes(await process.read(/after/), "GET /after 200");
});

Deno.test("`log()` lets a server end on SIGTERM while its reader stalls", async () => {
  const [process, origin] = await stalled();
  await using _ = process;
  await visitMany(origin);
  const began = performance.now();
  assertEquals(await process.end("SIGTERM"), 0);
  assertLess(performance.now() - began, 9_000);
});

Deno.test("`log()` leaves nothing under way behind a test", async () => {
  const source = `
    import { Engine } from "@framework/core";
    import { log } from "@framework/core/log";

    for (let index = 0; index < 100; index++) {
      Deno.test("visit " + index, { sanitizeOps: true }, async () => {
        const app = new Engine();
        log(app);
        app.route("/", () => "text");
        await app.fetch("/");
      });
    }
  `;
  await using process = await ServerProcess.start(source, {
    command: ["test", "--no-check"],
  });
  assertEquals((await process.ended()).code, 0, process.printed);
});

/** Logs more than a pipe has room for. The number of each request begins its path. */
const LOGGING = `
  import { Engine } from "@framework/core";
  import { log } from "@framework/core/log";

  const app = new Engine();
  log(app);
  app.route("/*", () => "text");
  const visit = async (count) => {
    const headers = { host: "a" }; // as if a server had received it
    const path = count + "a".repeat(8_000);
    await app.fetch(new Request("http://a/" + path, { headers }));
  };
`;

/** The numbers of the requests whose lines are whole. */
function numbersOf(text: string): number[] {
  const lines = text.matchAll(/^\S+Z GET \/(\d+)a{8000} 200 [\d.]+ ms 4 B$/gm);
  return Array.from(lines, ([, number]) => Number(number));
}

const ALL = Array.from({ length: 100 }, (_, number) => number);

/** What a process does after it has logged. */
const ENDINGS: Readonly<Record<string, string>> = {
  "ends": "",
  "has been busy and calls `Deno.exit()`": `
    const end = performance.now() + 1_500;
    while (performance.now() < end);
    Deno.exit();
  `,
};

for (const [what, ending] of Object.entries(ENDINGS)) {
  Deno.test(`\`log()\` loses no line of a process that ${what}`, async () => {
    await using process = await SlowlyRead.start(`${LOGGING}
      for (let count = 0; count < 100; count++) await visit(count);
      ${ending}
    `);
    assertEquals(numbersOf(await process.read(/(?!)/)), ALL);
  });
}

Deno.test("`log()` loses nothing but the write under way by `Deno.exit()`, and only one that has not begun", async () => {
  const folder = await Deno.makeTempDir();
  const pipes = [`${folder}/first`, `${folder}/second`];
  await new Deno.Command("mkfifo", { args: pipes }).output();
  // Nobody writes to these pipes: opening them occupies all threads of the runtime, and other work waits.
  const source = `${LOGGING}
    const [first, second] = ${JSON.stringify(pipes)};
    const occupyThreads = (pipe) => {
      for (let count = 0; count < 600; count++) Deno.open(pipe);
    };
    occupyThreads(first);
    await visit(0);
    occupyThreads(second);
    for (let count = 1; count < 100; count++) await visit(count);
    Deno.openSync(first, { write: true }); // the first line is written, no other one
    setTimeout(() => Deno.exit(), 300);
  `;
  const permissions = [`--allow-read=${folder}`, `--allow-write=${folder}`];
  await using process = await SlowlyRead.start(source, permissions);
  const numbers = numbersOf(await process.read(/(?!)/));
  const lost = ALL.filter((number) => !numbers.includes(number));
  assertLess(lost.length, 2);
  assertEquals(numbers, ALL.filter((number) => !lost.includes(number)));
  await Deno.remove(folder, { recursive: true });
});
