/** Tests `log`: a line for each request, whatever made its response. */

import { Engine, Framework, HttpError } from "@framework/core";
import { log, type LogOptions, type LogRecord } from "@framework/core/log";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { visit } from "./forms.ts";
import { logOf } from "./log.ts";
import { sendRaw } from "./raw_http.ts";

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

Deno.test("`log()` gives the reference that the page and the error log have", async () => {
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
  const { status, reference } = list[0]!;
  assertEquals(status, 500);
  assertMatch(reference!, /^[\da-f]{8}$/);
  assertStringIncludes(page, reference!);
  assertStringIncludes(line!, reference!);
});

/** URLs, and how the log shows them. */
const MASKED: Readonly<Record<string, string>> = {
  "/a?token=abc": "/a?token=••••",
  "/a?page=2&api_key=abc&x": "/a?page=2&api_key=••••&x",
  "/a?user[password]=abc&code=abc": "/a?user[password]=••••&code=••••",
  "/a?%70ass%77ord=abc": "/a?%70ass%77ord=••••",
  "/a?secret=a=b?c": "/a?secret=••••",
  "/a?secret": "/a?secret",
  "/a?postcode=1": "/a?postcode=1",
  "/a?": "/a?",
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

Deno.test("`log()` gives the bytes of a response that another filter has replaced only where it says them", async () => {
  const list: LogRecord[] = [];
  for (const headers of [{}, { "content-length": "3" }]) {
    const app = new Engine();
    app.after("send", (_params, output) => {
      output.value = new Response("new", { headers });
    });
    log(app, { write: (record) => list.push(record) });
    app.route("/", () => "a longer text");
    await visit(app, "/");
  }
  assertEquals(list.map(({ bytes }) => bytes), [undefined, 3]);
});

Deno.test("`log()` reports an error of its writer, and the response goes out", async () => {
  const { app } = logged({
    write: () => {
      throw new Error("No space left");
    },
  });
  app.route("/", () => "text");
  let text = "";
  const lines = await logOf(async () => {
    text = await (await visit(app, "/")).text();
  });
  assertEquals(text, "text");
  assertEquals(lines.length, 1);
  assertStringIncludes(lines[0]!, "Error in the log: Error: No space left");
});

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
