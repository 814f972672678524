/** Tests `log`: a line for each request, whatever made its response. */

import { Engine } from "@framework/core";
import { log, type LogOptions, type LogRecord } from "@framework/core/log";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { stub } from "@std/testing/mock";
import { visit } from "../support/forms.ts";
import { logOf } from "../support/log.ts";
import { sendRaw } from "../support/raw_http.ts";

const LINE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (.+) \d+\.\d ms (.+)$/;

/** An application whose records are kept in a list. */
function logged(options: LogOptions = {}): { app: Engine; list: LogRecord[] } {
  const app = new Engine();
  const list: LogRecord[] = [];
  log(app, { write: (record) => list.push(record), ...options });
  return { app, list };
}

/** The lines that work prints; times and durations left out. */
async function printed(work: () => unknown): Promise<string[]> {
  using print = stub(console, "log");
  await work();
  return print.calls.map(({ args }) => {
    const [, request, bytes] = LINE.exec(String(args[0])) ?? [];
    return `${request} ${bytes}`;
  });
}

Deno.test("`log()` prints a line for each request that came over a socket", async () => {
  const app = new Engine();
  app.set("framework.body_limit", 10);
  app.route("GET /text", () => "Grüße");
  app.route("GET /stream", () => ReadableStream.from(["a", "b"]));
  app.route("GET /moved", () => app.redirect("/text"));
  app.route("GET /current", () => void app.etag("v1"));
  app.route("POST /upload", () => app.request().getBody());
  const lines = await printed(async () => {
    log(app);
    await using server = app.start({ port: 0, signals: false, onListen() {} });
    const { port } = server.addr as Deno.NetAddr;
    const get = async (path: string, init: RequestInit = {}) => {
      const url = `http://127.0.0.1:${port}${path}`;
      await (await fetch(url, { redirect: "manual", ...init })).bytes();
    };
    await get("/text?a=1");
    await get("/text", { method: "HEAD" });
    await get("/stream");
    await get("/moved");
    await get("/current", { headers: { "if-none-match": `"v1"` } });
    await get("/upload", { method: "POST", body: "x".repeat(11) });
    const end = " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    await sendRaw(port, `GET /%zz${end}`);
  });
  const [, lengthOf413] = / 413 (\d+) B/.exec(lines[5]!) ?? [];
  const [, lengthOf400] = / 400 (\d+) B/.exec(lines[6]!) ?? [];
  assertEquals(lines, [
    "GET /text?a=1 200 7 B",
    "HEAD /text 200 0 B",
    "GET /stream 200 - B",
    "GET /moved 303 0 B",
    "GET /current 304 0 B",
    `POST /upload 413 ${lengthOf413} B`,
    `GET / 400 ${lengthOf400} B`,
  ]);
});

Deno.test("the line of a status of 500 and above alone has the id", async () => {
  const app = new Engine();
  app.route("/@status", (status) => app.halt(Number(status), "text"));
  const lines = await printed(async () => {
    log(app);
    for (const status of [503, 403]) await visit(app, `/${status}`);
  });
  assertMatch(lines[0]!, /^GET \/503 503 \d+ B id [\da-f]{8}$/);
  assertEquals(lines[1], "GET /403 403 4 B");
});

Deno.test("a record has the pattern of the route, the address of the client and the time", async () => {
  const { app, list } = logged();
  app.group("/shop", () => app.route("GET /item/@id", (id) => id));
  app.route("/passed", () => true);
  const from = { remoteAddr: { hostname: "192.0.2.1" } as Deno.NetAddr };
  for (const path of ["/shop/item/7", "/passed", "/missing"]) {
    await app.fetch(new Request(`http://example.com${path}`), from);
  }
  const got = list.map(({ route, ip }) => [route, ip]);
  const ip = "192.0.2.1";
  assertEquals(got, [["/shop/item/@id", ip], [null, ip], [null, ip]]);
  const { method, url, status, bytes, time, milliseconds } = list[0]!;
  const sent = [method, url, status, bytes];
  assertEquals(sent, ["GET", "/shop/item/7", 200, 1]);
  assertEquals(new Date(time).toISOString(), time);
  assertEquals(milliseconds >= 0, true);
});

Deno.test("text of a client begins no line, and sends no control character", async () => {
  const app = new Engine();
  const lines = await printed(async () => {
    log(app);
    await visit(app, "/a%0A2026%1b[31m?b=%0d%0a");
  });
  assertEquals(lines.length, 1);
  assertMatch(lines[0]!, /^GET \/a%0A2026%1b\[31m\?b=%0d%0a 404/);
});

/** URLs, and how the log shows them. */
const MASKED: Readonly<Record<string, string>> = {
  "/a?token=abc": "/a?token=••••",
  "/a?page=2&api_key=abc&x": "/a?page=2&api_key=••••&x",
  "/a?user[password]=abc&code=abc": "/a?user[password]=••••&code=••••",
  "/a?the+key=abc&%&+=1": "/a?the+key=••••&%&+=1",
  "/a?pin=1&cvv=1&card_number=1&sid=1":
    "/a?pin=••••&cvv=••••&card_number=••••&sid=••••",
  "/a?spin=1&passenger=3&discard=4": "/a?spin=1&passenger=3&discard=4",
  "/a?next=%2Fb%3Ftoken%3Dabc&c=1": "/a?next=••••&c=1",
  "/token=abc": "/token=abc",
};

Deno.test("`log()` masks the values of secrets in the query", async () => {
  const { app, list } = logged();
  for (const url of Object.keys(MASKED)) await visit(app, url);
  assertEquals(list.map(({ url }) => url), Object.values(MASKED));
});

Deno.test("`log()` masks the names that it is given", async () => {
  const { app, list } = logged({ secrets: /^isbn$/g });
  await visit(app, "/?isbn=1&isbn=2&token=3");
  assertEquals(list[0]!.url, "/?isbn=••••&isbn=••••&token=3");
});

Deno.test("`log()` keeps the first 8,192 characters of a URL", async () => {
  const { app, list } = logged();
  await visit(app, `/a?b=${"c".repeat(10_000)}&token=abc`);
  assertEquals(list[0]!.url, `/a?b=${"c".repeat(8_192 - 5)}…`);
});

/** Writers that fail: at once, and later. */
const FAILING: Readonly<Record<string, () => unknown>> = {
  "throws": () => {
    throw new Error("No space left");
  },
  "rejects": () => Promise.reject(new Error("No space left")),
};

for (const [how, write] of Object.entries(FAILING)) {
  Deno.test(`a writer that ${how} costs no response, and is reported`, async () => {
    const { app } = logged({ write });
    app.route("/", () => "text");
    let text = "";
    const lines = await logOf(async () => {
      text = await (await visit(app, "/")).text();
    });
    assertEquals([text, lines.length], ["text", 1]);
    assertStringIncludes(lines[0]!, "No space left");
  });
}
