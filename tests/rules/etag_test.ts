/** Conditional requests: `etag()` and `lastModified()` as RFC 9110, section 13, says. */

import { Engine } from "@framework/core";
import { assert, assertEquals } from "@std/assert";

const MODIFIED = 784_111_777; // Sun, 06 Nov 1994 08:49:37 GMT
const BEFORE = "Sun, 06 Nov 1994 08:49:36 GMT";
const AT = "Sun, 06 Nov 1994 08:49:37 GMT";
const AFTER = "Sun, 06 Nov 1994 08:49:38 GMT";

/** An application whose routes set a strong or a weak tag, a date, and both. */
function caching(): Engine {
  const app = new Engine();
  app.route("/@what", (what) => {
    if (what === "date" || what === "both") app.lastModified(MODIFIED);
    if (what !== "date") app.etag("v1", what === "weak" ? "weak" : "strong");
    return "body";
  });
  return app;
}

/** Requests a path with a method and conditions. */
async function visit(
  app: Engine,
  path: string,
  headers: Record<string, string>,
  method = "GET",
): Promise<Response> {
  const url = `http://localhost${path}`;
  return await app.fetch(new Request(url, { method, headers }));
}

type Conditions = Record<string, string>;
type Statuses = [get: number, head: number, put: number];

const FRESH: Statuses = [304, 304, 412];
const CHANGED: Statuses = [200, 200, 200];
const FAILED: Statuses = [412, 412, 412];
/** A date that has not changed: `If-Modified-Since` says nothing about PUT. */
const SINCE: Statuses = [304, 304, 200];

/** Path, conditions, and the status that GET, HEAD and PUT have then. */
const MATRIX: [path: string, conditions: Conditions, Statuses][] = [
  ["/strong", {}, CHANGED],
  ["/strong", { "if-none-match": '"v1"' }, FRESH],
  ["/strong", { "if-none-match": 'W/"v1"' }, FRESH],
  ["/strong", { "if-none-match": '"v0",W/"v1" , "v2"' }, FRESH],
  ["/strong", { "if-none-match": "*" }, FRESH],
  ["/strong", { "if-none-match": '"v0"' }, CHANGED],
  ["/strong", { "if-none-match": '"v1' }, CHANGED],
  ["/strong", { "if-none-match": "v1" }, CHANGED],
  ["/strong", { "if-match": '"v0", "v1"' }, CHANGED],
  ["/strong", { "if-match": "*" }, CHANGED],
  ["/strong", { "if-match": 'W/"v1"' }, FAILED],
  ["/strong", { "if-match": '"v0"' }, FAILED],
  ["/strong", { "if-match": '"v0"', "if-none-match": '"v1"' }, FAILED],
  ["/weak", { "if-none-match": '"v1"' }, FRESH],
  ["/weak", { "if-match": '"v1"' }, FAILED],
  ["/date", { "if-modified-since": BEFORE }, CHANGED],
  ["/date", { "if-modified-since": AT }, SINCE],
  ["/date", { "if-modified-since": AFTER }, SINCE],
  ["/date", { "if-modified-since": "never" }, CHANGED],
  ["/date", { "if-modified-since": "Sunday, 06-Nov-94 08:49:37 GMT" }, SINCE],
  ["/date", { "if-modified-since": "Sun Nov  6 08:49:37 1994" }, SINCE],
  ["/date", { "if-unmodified-since": BEFORE }, FAILED],
  ["/date", { "if-unmodified-since": AT }, CHANGED],
  ["/date", { "if-unmodified-since": "never" }, CHANGED],
  ["/both", { "if-match": '"v1"', "if-unmodified-since": BEFORE }, CHANGED],
  ["/both", { "if-match": '"v0"', "if-unmodified-since": AFTER }, FAILED],
  ["/both", { "if-none-match": '"v0"', "if-modified-since": AT }, CHANGED],
  ["/both", { "if-none-match": '"v1"', "if-modified-since": BEFORE }, FRESH],
];

Deno.test("`etag()` and `lastModified()` evaluate conditions as RFC 9110 says: 304 for GET and HEAD alone", async () => {
  const app = caching();
  for (const [path, headers, statuses] of MATRIX) {
    for (const [index, method] of ["GET", "HEAD", "PUT"].entries()) {
      const response = await visit(app, path, headers, method);
      const about = `${method} ${path} ${JSON.stringify(headers)}`;
      assertEquals(response.status, statuses[index], about);
      const body = response.ok && method !== "HEAD" ? "body" : "";
      assertEquals(await response.text(), body, about);
    }
  }
});

Deno.test("`etag()` refuses what makes no tag", async () => {
  const refused: [id: string, type?: string][] = [
    ['"v1"'],
    ["a b"],
    ["a\r\nb"],
    [1 as never],
    ["v1", "strange"],
  ];
  for (const [id, type] of refused) {
    const app = new Engine();
    app.route("/", () => app.etag(id, type as "weak"));
    const { status, headers } = await app.fetch("/");
    assertEquals([status, headers.get("etag")], [500, null], id);
  }
});

Deno.test("`lastModified()` never names a time that is to come (section 8.8.2.1)", async () => {
  const app = new Engine();
  app.route("/", () => app.lastModified(Date.now() / 1000 + 1000));
  const date = (await app.fetch("/")).headers.get("last-modified")!;
  assert(Date.parse(date) <= Date.now());
});

Deno.test("`lastModified()` refuses milliseconds and what is no time", async () => {
  for (const time of [Date.now(), NaN, Infinity, "0", new Date()]) {
    const app = new Engine();
    app.route("/", () => app.lastModified(time as number));
    assertEquals((await app.fetch("/")).status, 500, String(time));
  }
});

Deno.test("a 304 keeps what belongs to it, and drops what describes the body (section 15.4.5)", async () => {
  const app = new Engine();
  app.route("/", () => {
    app.response().cache(60).cookie("a", "1").header("vary", "accept")
      .header("content-location", "/x").header("expires", AT)
      .header("content-type", "text/css").header("content-language", "en")
      .header("content-length", 3).write("abc");
    app.etag("v1");
  });
  const response = await visit(app, "/", { "if-none-match": '"v1"' });
  assertEquals([response.status, response.body], [304, null]);
  assertEquals([...response.headers.keys()], [
    "cache-control",
    "content-location",
    "etag",
    "expires",
    "set-cookie",
    "vary",
  ]);
});

Deno.test("a handler that has changed something sets the new tag, once the conditions have held", async () => {
  const app = new Engine();
  let version = 1;
  app.route("PUT /", () => {
    app.etag(`v${version}`);
    version++;
    app.etag(`v${version}`);
  });
  const put = () => visit(app, "/", { "if-match": '"v1"' }, "PUT");
  const saved = await put();
  assertEquals([saved.status, saved.headers.get("etag")], [200, '"v2"']);
  assertEquals([(await put()).status, version], [412, 2]);
});
