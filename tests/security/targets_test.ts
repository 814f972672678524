/** Which path a request is for: hostile targets and hosts as they come over the network, each with its one right outcome. */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { Engine } from "@framework/core";
import { sendRaw } from "../support/raw_http.ts";

/** The path and query that the application saw, or the status of a refusal. */
type Outcome = string | number;

/** What is sent, each character a byte, and the outcome. */
type Row = readonly [sent: string, outcome: Outcome];

/** Request targets that are read as they are. */
const TAKEN = [
  ..."/ /pub /pub/ /pub?a=1&b=%20c /pub? /pub?a?b/../c /pub?a=%zz /a?b\\c"
    .split(" "),
  "/a;b=c,d@e:f!$&'()*+~[]|",
  // Empty segments stay, and none is taken for an authority
  ..."//x //evil.test/x /// /a//b".split(" "),
  // Neither dot segments nor decoded: a slash that is encoded belongs to its segment
  ..."/... /a..b/..c /.%2ehidden /a%2fb /a/%2e%2e%2fb /a%5c..%5cb".split(" "),
  // Nothing is decoded twice
  "/%252e%252e/a",
];

/** Request targets that are encoded as the URL standard does; the bytes are those of "ü". */
const ENCODED: readonly Row[] = [
  ["/\xc3\xbc", "/%C3%BC"],
  ['/<a>"{b}`', "/%3Ca%3E%22%7Bb%7D%60"],
  ["/a?<b>'\"", "/a?%3Cb%3E%27%22"],
];

/** Request targets that are refused: dot segments, however they are spelled, and malformed ones. */
const REFUSED = [
  ..."/./a /../a /a/.. /a/. /a/..?b /.. /../../etc/passwd".split(" "),
  ..."/%2e/a /%2e%2e/a /a/%2E./b /a/.%2E /a/.%2e/%2e%2E/b /a/..//b".split(" "),
  ..."/a\\b /\\evil.test /a#b /a?b#c".split(" "),
  ..."/%zz /% /a%2 /%ff /%c3 /%c3/%bc /%c0%af /%ed%a0%80 /a%00b".split(" "),
  ...["/a b", "/a\tb", "/a\0b", "/a\x1fb", "/a\x7fb", "/\xff"],
];

/** Targets that are no path, under `Host: a.test`. */
const FORMS: readonly Row[] = [
  // Absolute-form: the path counts, whatever the host
  ["GET http://a.test/pub", "/pub"],
  ["GET http://a.test", "/"],
  ["GET http://a.test:80/pub", "/pub"],
  ["GET HTTP://A.TEST/pub", "/pub"],
  ["GET http://evil.test/admin?x", "/admin?x"],
  ["GET http://[::1]/x", "/x"],
  ["GET http://a.test/../pub", 400],
  ["GET http://a.test#x", 400],
  ["GET http://[::g]/x", 400],
  ["GET http://u:p@a.test/pub", 400],
  ["GET http://a.test@evil.test/pub", 400],
  ["GET http://a.test:99999/x", 400],
  ["GET https://a.test/pub", 400],
  ["GET javascript:alert(1)", 400],
  // Authority-form and asterisk-form
  ["CONNECT a.test:443", 400],
  ["GET a.test:80", 400],
  ["GET *", 400],
  ["OPTIONS *", "/*"],
  // Neither
  ["GET pub", 400],
  ["GET ", 400],
  ['G"T /pub', 400],
];

/** Host headers under which `GET /pub` is read. */
const VALID_HOSTS = [
  ..."a.test A.TEST a.test. a.test:8000 a.test: my_service".split(" "),
  ..."127.0.0.1:80 [::1] [::1]:8000 xn--bcher-kva.test".split(" "),
  "", // as in HTTP/1.0
];

/** Host headers that are refused: what would become a part of the URL, and what is no host. */
const INVALID_HOSTS = [
  ..."x/admin/secret? h? h# h\\x u@h u:p@h http://h //h".split(" "),
  ..."a,b a;b a'b <a> * %61 %zz \xc3\xbc a..b . .. ::1 256.256.256.256".split(
    " ",
  ),
  ..."a:1:2 a.test:65536 a.test:8x a.test:-1 [::1 [::g] []".split(" "),
  ...["a b", "a\tb", "a\0b"],
  ...["a.test\r\nHost: a.test", "a.test\r\nHost: b.test", "a\r\n .test"],
];

/** An application that responds to every request with its path and query. */
function mirror(): Engine {
  const app = new Engine();
  app.route("*", () => app.request().url);
  return app;
}

/** Sends each request to a served application and checks its outcome. */
async function assertOutcomes(
  app: Engine,
  rows: Iterable<Row>,
): Promise<void> {
  await using server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  for (const [head, expected] of rows) {
    const request = `${head}\r\nConnection: close\r\n\r\n`;
    const { status, body } = await sendRaw(port, request);
    const outcome = status === 200 ? body : status;
    assertEquals(outcome, expected, JSON.stringify(head));
  }
}

/** Rows with a text around what is sent. */
function within(before: string, rows: readonly Row[], after = ""): Row[] {
  return rows.map(([sent, outcome]) => [before + sent + after, outcome]);
}

const AFTER_TARGET = " HTTP/1.1\r\nHost: a.test";

Deno.test("a target of any bytes has one right path, or is a 400", async () => {
  const taken = TAKEN.map((target): Row => [target, target]);
  const refused = REFUSED.map((target): Row => [target, 400]);
  const rows = [...taken, ...ENCODED, ...refused];
  await assertOutcomes(mirror(), within("GET ", rows, AFTER_TARGET));
});

Deno.test("a target of any form has one right path, or is a 400", async () => {
  await assertOutcomes(mirror(), within("", FORMS, AFTER_TARGET));
});

Deno.test("no Host header chooses the path; a malformed one is a 400", async () => {
  const valid = VALID_HOSTS.map((host): Row => [host, "/pub"]);
  const invalid = INVALID_HOSTS.map((host): Row => [host, 400]);
  const rows = within("GET /pub HTTP/1.1\r\nHost: ", [...valid, ...invalid]);
  await assertOutcomes(mirror(), rows);
});

Deno.test("no Host header changes the path of an absolute target", async () => {
  await assertOutcomes(mirror(), [
    ["GET http://x/y/pub HTTP/1.1\r\nHost: x/y", 400],
    ["GET http://ab/pub HTTP/1.1\r\nHost: a", "/pub"],
    ["GET http://a/b/pub HTTP/1.1\r\nHost: a", "/b/pub"],
    ["GET http://a/pub HTTP/1.1\r\nHost:", "/pub"],
    ["GET http://a/pub HTTP/1.0\r\nX-None: 1", "/pub"],
    ["GET //a/pub HTTP/1.0\r\nX-None: 1", "//a/pub"],
  ]);
});

Deno.test("`raw.url` has the same path as `url`", async () => {
  const app = new Engine();
  app.route("*", () => {
    const { pathname, search } = new URL(app.request().raw.url);
    return String(app.request().url.replace(/\?$/, "") === pathname + search);
  });
  const taken = [...TAKEN, ...ENCODED.map(([target]) => target)];
  const rows = taken.map((target): Row => [target, "true"]);
  await assertOutcomes(app, within("GET ", rows, AFTER_TARGET));
});

Deno.test("a method with small letters is a 400, an unknown one is not", async () => {
  const head = "/ HTTP/1.1\r\nHost: a.test";
  await assertOutcomes(mirror(), [
    [`get ${head}`, 400],
    [`Head ${head}`, 400],
    [`patch ${head}`, 400],
    [`PATCH ${head}`, "/"],
    [`M-SEARCH ${head}`, "/"],
  ]);
});

Deno.test("no method is a 500, with or without a body", async () => {
  const app = new Engine();
  app.route("/etag", () => void app.etag("a"));
  app.route("/raw", async () => await app.request().raw.text());
  app.route("/data", () => app.request().data);
  await using server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const head = "HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n" +
    "Content-Type: application/x-www-form-urlencoded\r\n";
  for (const path of ["/etag", "/raw", "/data"]) {
    for (const method of ["get", "Head", "TRACE", "trace", "TRACK", "patch"]) {
      for (const body of ["\r\n", "Content-Length: 3\r\n\r\na=1"]) {
        const request = `${method} ${path} ${head}${body}`;
        const { status } = await sendRaw(port, request);
        assert(status >= 200 && status < 500, `${method} ${path}: ${status}`);
      }
    }
  }
});

/** Spellings of a guarded path: the guard responds to each, or it leads to no route. */
const SPELLINGS: readonly Row[] = [
  ["GET /admin/secret HTTP/1.1\r\nHost: a.test", 403],
  ["GET /admin/secret/ HTTP/1.1\r\nHost: a.test", 403],
  ["GET /ADMIN/Secret HTTP/1.1\r\nHost: a.test", 403],
  ["GET /%61dmin/secret HTTP/1.1\r\nHost: a.test", 403],
  ["GET /pub/../admin/secret HTTP/1.1\r\nHost: a.test", 400],
  ["GET http://evil.test/admin/secret HTTP/1.1\r\nHost: a.test", 403],
  ["GET /admin/secret?/pub HTTP/1.1\r\nHost: a.test", 403],
  ["GET //admin/secret HTTP/1.1\r\nHost: a.test", 404],
  ["GET /admin//secret HTTP/1.1\r\nHost: a.test", 404],
  ["GET /admin%2fsecret HTTP/1.1\r\nHost: a.test", 404],
  ["GET /admin/secret%00 HTTP/1.1\r\nHost: a.test", 400],
  ["GET /pub HTTP/1.1\r\nHost: x/admin/secret?", 400],
];

Deno.test("a group's guard cannot be spelled around", async () => {
  const app = new Engine();
  app.route("/pub", () => "public");
  app.group("/admin", (router) => {
    router.get("/secret", () => "secret");
  }, [() => false]);
  await assertOutcomes(app, SPELLINGS);
});

/** Hosts that requests name where three are served, and their outcomes. */
const ALLOWED: readonly Row[] = [
  ["GET / HTTP/1.1\r\nHost: a.test", "/"],
  ["GET / HTTP/1.1\r\nHost: A.Test.", "/"],
  ["GET / HTTP/1.1\r\nHost: a.test:9", "/"],
  ["GET / HTTP/1.1\r\nHost: b.test:8000", "/"],
  ["GET http://a.test/x HTTP/1.1\r\nHost: a.test", "/x"],
  ["GET / HTTP/1.1\r\nHost: b.test", 421],
  ["GET / HTTP/1.1\r\nHost: a.test.evil.test", 421],
  ["GET / HTTP/1.1\r\nHost: evil-a.test", 421],
  ["GET / HTTP/1.1\r\nHost:", 421],
  ["GET / HTTP/1.0\r\nX-None: 1", 421],
  ["GET http://evil.test/ HTTP/1.1\r\nHost: a.test", 421],
  ["GET http://a.test/ HTTP/1.1\r\nHost: evil.test", 421],
  [
    "GET /nowhere?a HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-Host: evil.test",
    "/nowhere?a",
  ],
];

Deno.test("`framework.hosts` lists the only hosts that are served", async () => {
  const app = mirror();
  app.set("framework.hosts", ["A.test", "b.test:8000", "[::1]"]);
  await assertOutcomes(app, ALLOWED);
});

Deno.test("`framework.hosts` compares the `X-Forwarded-Host` of a trusted proxy", async () => {
  const app = mirror();
  app.set({ "framework.hosts": ["a.test"], "framework.trust_proxy": true });
  const table: [host: string, forwarded: string, status: number][] = [
    ["10.0.0.1", "a.test", 200],
    ["10.0.0.1", "evil.test, a.test", 200],
    ["a.test", "evil.test", 421],
  ];
  for (const [host, forwarded, status] of table) {
    const headers = { host, "x-forwarded-host": forwarded };
    const request = new Request("http://10.0.0.1/", { headers });
    const response = await app.fetch(request);
    await response.body?.cancel();
    assertEquals(response.status, status, `${host} ${forwarded}`);
  }
});

Deno.test("`framework.hosts` refuses a host that no request can name", () => {
  const app = new Engine();
  for (const host of ["http://a.test", "*.a.test", "a.test/", "", 1, "a b"]) {
    assertThrows(
      () => app.set("framework.hosts", [host] as string[]),
      TypeError,
    );
  }
});
