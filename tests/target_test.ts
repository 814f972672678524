/** Which path a request is for: tables of hostile targets and hosts, each with the one right outcome. */

import {
  assert,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Engine } from "@framework/core";
import { checkHost, isHost } from "../src/request/host.ts";
import { targetOf } from "../src/request/target.ts";
import { sendRaw } from "./raw_http.ts";

/** The path and query that the application saw, or the status of a refusal. */
type Outcome = string | number;

/**
 * Request targets, each character a byte, and their outcomes. The third column is for a `Request` that a
 * program makes, which the URL parser has normalized already.
 */
const TARGETS: readonly (readonly [
  target: string,
  sent: Outcome,
  made?: Outcome,
])[] = [
  ["/", "/"],
  ["/pub", "/pub"],
  ["/pub/", "/pub/"],
  ["/pub?a=1&b=%20c", "/pub?a=1&b=%20c"],
  ["/pub?", "/pub?"],
  ["/pub?a?b/../c", "/pub?a?b/../c"],
  ["/pub?a=%zz", "/pub?a=%zz"],
  ["/a;b=c,d@e:f!$&'()*+~[]|", "/a;b=c,d@e:f!$&'()*+~[]|"],
  // Empty segments stay, and none is taken for an authority
  ["//x", "//x"],
  ["//evil.test/x", "//evil.test/x"],
  ["///", "///"],
  ["/a//b", "/a//b"],
  // Dot segments, however they are spelled; the parser of a `Request` resolves them
  ["/./a", 400, "/a"],
  ["/../a", 400, "/a"],
  ["/a/..", 400, "/"],
  ["/a/.", 400, "/a/"],
  ["/a/..?b", 400, "/?b"],
  ["/a/./b/../c", 400, "/a/c"],
  ["/..", 400, "/"],
  ["/../../etc/passwd", 400, "/etc/passwd"],
  ["/%2e/a", 400, "/a"],
  ["/%2e%2e/a", 400, "/a"],
  ["/a/%2E./b", 400, "/b"],
  ["/a/.%2E", 400, "/"],
  ["/a/.%2e/%2e%2E/b", 400, "/b"],
  ["/a/..//b", 400, "//b"],
  ["/\xc3\xbc/../a", 400, "/a"],
  ["/.%2ehidden", "/.%2ehidden"],
  ["/...", "/..."],
  ["/.hidden", "/.hidden"],
  ["/a..b/..c", "/a..b/..c"],
  // A slash that is encoded belongs to its segment
  ["/a/%2e%2e%2fb", "/a/%2e%2e%2fb"],
  ["/a%2fb", "/a%2fb"],
  ["/a%5c..%5cb", "/a%5c..%5cb"],
  // Nothing is decoded twice
  ["/%252e%252e/a", "/%252e%252e/a"],
  // What the URL standard encodes is encoded; the bytes are those of "ü"
  ["/\xc3\xbc", "/%C3%BC", "/%C3%83%C2%BC"],
  ['/<a>"{b}`', "/%3Ca%3E%22%7Bb%7D%60"],
  ["/a?<b>'\"", "/a?%3Cb%3E%27%22"],
  // Malformed
  ["/a\\b", 400, "/a/b"],
  ["/\\evil.test", 400, "//evil.test"],
  ["/a?b\\c", "/a?b\\c"],
  ["/a#b", 400],
  ["/a?b#c", 400],
  ["/a\tb", 400, "/ab"],
  ["/a b", 400, "/a%20b"],
  ["/a\0b", 400],
  ["/a\x7fb", 400, "/a%7Fb"],
  ["/a\x1fb", 400, "/a%1Fb"],
  ["/\xff", 400, "/%C3%BF"],
  ["/%zz", 400],
  ["/%", 400],
  ["/a%2", 400],
  ["/%ff", 400],
  ["/%c3", 400],
  ["/%c3/%bc", 400],
  ["/%c0%af", 400],
  ["/%ed%a0%80", 400],
  ["/a%00b", 400],
  ["/a%00/../b", 400, "/b"],
];

/** Targets that are no path, under `Host: a.test`. A `Request` cannot express them. */
const FORMS: readonly (readonly [line: string, outcome: Outcome])[] = [
  // Absolute-form: the path counts, whatever the host
  ["GET http://a.test/pub", "/pub"],
  ["GET http://a.test", "/"],
  ["GET http://a.test:80/pub", "/pub"],
  ["GET HTTP://A.TEST/pub", "/pub"],
  ["GET http://evil.test/admin?x", "/admin?x"],
  ["GET http://a.test.evil.test/x", "/x"],
  ["GET http://a.tests/x", "/x"],
  ["GET http://[::1]/x", "/x"],
  ["GET http://a.test?x=/admin", "/?x=/admin"],
  ["GET http:///pub", "/http:///pub"],
  ["GET http://a.test/../pub", 400],
  ["GET http://a.test#x", 400],
  ["GET http://[::1", 400],
  ["GET http://[::g]/x", 400],
  ["GET http://u:p@a.test/pub", 400],
  ["GET http://a.test@evil.test/pub", 400],
  ["GET http://a.test\\@evil.test/x", 400],
  ["GET http://a.test:8x/x", 400],
  ["GET http://a.test:99999/x", 400],
  ["GET https://a.test/pub", 400],
  ["GET ftp://a.test/pub", 400],
  ["GET javascript:alert(1)", 400],
  // Authority-form and asterisk-form
  ["CONNECT a.test:443", 400],
  ["CONNECT a.test", 400],
  ["CONNECT /pub", 400],
  ["GET a.test:80", 400],
  ["GET *", 400],
  ["OPTIONS *", "/*"],
  // Neither
  ["GET pub", 400],
  ["GET ?a", 400],
  ["GET ../pub", 400],
  ["GET ", 400],
  ['G"T /pub', 400],
];

/** Host headers as they are sent, and the outcome of `GET /pub` under them. */
const HOSTS: readonly (readonly [lines: string, outcome: Outcome])[] = [
  ["Host: a.test", "/pub"],
  ["host: A.TEST", "/pub"],
  ["Host: a.test.", "/pub"],
  ["Host: a.test:8000", "/pub"],
  ["Host: a.test:", "/pub"],
  ["Host: a.test:65535", "/pub"],
  ["Host: my_service", "/pub"],
  ["Host: 127.0.0.1:80", "/pub"],
  ["Host: [::1]", "/pub"],
  ["Host: [::1]:8000", "/pub"],
  ["Host: xn--bcher-kva.test", "/pub"],
  // HTTP/1.0 has none, and the runtime does not tell the versions apart
  ["X-None: 1", "/pub"],
  ["Host:", "/pub"],
  ["Host:  ", "/pub"],
  // What would become a part of the URL
  ["Host: x/admin", 400],
  ["Host: x/admin/secret?", 400],
  ["Host: h?", 400],
  ["Host: h#", 400],
  ["Host: h\\x", 400],
  ["Host: u@h", 400],
  ["Host: u:p@h", 400],
  ["Host: http://h", 400],
  ["Host: //h", 400],
  // What is no host
  ["Host: a b", 400],
  ["Host: a\tb", 400],
  ["Host: a\0b", 400],
  ["Host: a,b", 400],
  ["Host: a;b", 400],
  ["Host: a'b", 400],
  ["Host: <a>", 400],
  ["Host: *", 400],
  ["Host: %61", 400],
  ["Host: %zz", 400],
  ["Host: \xc3\xbc", 400],
  ["Host: a..b", 400],
  ["Host: .", 400],
  ["Host: ..", 400],
  ["Host: a.test:65536", 400],
  ["Host: a.test:999999", 400],
  ["Host: a.test:8x", 400],
  ["Host: a.test:-1", 400],
  ["Host: a:1:2", 400],
  ["Host: ::1", 400],
  ["Host: [::1", 400],
  ["Host: [::g]", 400],
  ["Host: []", 400],
  ["Host: 256.256.256.256", 400],
  ["Host: a.test\r\nHost: a.test", 400],
  ["Host: a.test\r\nHost: b.test", 400],
  ["Host: a\r\n .test", 400],
  ["Host : a.test", 400],
];

/** An application that responds to every request with its path and query. */
function mirror(): Engine {
  const app = new Engine();
  app.route("*", () => app.request().url);
  return app;
}

/** Sends each request to a real server and checks its outcome. */
async function assertOutcomes(
  app: Engine,
  table: Iterable<readonly [request: string, outcome: Outcome]>,
): Promise<void> {
  await using server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  for (const [request, expected] of table) {
    const { status, body } = await sendRaw(
      port,
      `${request}\r\nConnection: close\r\n\r\n`,
    );
    const outcome = status === 200 ? body : status;
    assertEquals(outcome, expected, JSON.stringify(request));
  }
}

Deno.test("`targetOf()` reads the one right path from any bytes", async () => {
  await assertOutcomes(
    mirror(),
    TARGETS.map(([target, outcome]) => [
      `GET ${target} HTTP/1.1\r\nHost: a.test`,
      outcome,
    ]),
  );
});

Deno.test("`targetOf()` reads the one right path from any form of target", async () => {
  await assertOutcomes(
    mirror(),
    FORMS.map((
      [line, outcome],
    ) => [`${line} HTTP/1.1\r\nHost: a.test`, outcome]),
  );
});

Deno.test("`targetOf()` lets no Host header choose the path", async () => {
  await assertOutcomes(
    mirror(),
    HOSTS.map(([lines, outcome]) => [`GET /pub HTTP/1.1\r\n${lines}`, outcome]),
  );
});

Deno.test("`targetOf()` lets no Host header change the path of an absolute target", async () => {
  await assertOutcomes(mirror(), [
    ["GET http://x/y/pub HTTP/1.1\r\nHost: x/y", 400],
    ["GET http://ab/pub HTTP/1.1\r\nHost: a", "/pub"],
    ["GET http://a:80/pub HTTP/1.1\r\nHost: a", "/pub"],
    ["GET http://a/b/pub HTTP/1.1\r\nHost: a", "/b/pub"],
    ["GET http://a/pub HTTP/1.1\r\nHost:", "/pub"],
    ["GET http://a/pub HTTP/1.0\r\nX-None: 1", "/pub"],
    ["GET //a/pub HTTP/1.0\r\nX-None: 1", "//a/pub"],
    ["GET //a/pub HTTP/1.1\r\nHost:", "//a/pub"],
  ]);
});

Deno.test("`targetOf()` reads the same path from a `Request` that a program makes", async () => {
  const app = mirror();
  for (const row of TARGETS) {
    const [target, sent] = row;
    if (target.includes("#")) continue; // a client keeps the fragment for itself: see "request_engine_test.ts"
    const response = await app.fetch(new Request(`http://a.test${target}`));
    const body = await response.text();
    assertEquals(
      response.status === 200 ? body : response.status,
      row[2] ?? sent,
      JSON.stringify(target),
    );
  }
});

Deno.test("`targetOf()` refuses a malformed Host header of a `Request` that a program makes", async () => {
  for (const host of ["x/admin?", "a b", "a, b", "u@h", "%zz"]) {
    const request = new Request("http://a.test/pub", { headers: { host } });
    assertEquals((await mirror().fetch(request)).status, 400, host);
  }
});

Deno.test("`targetOf()` refuses a method with small letters", async () => {
  const head = "/ HTTP/1.1\r\nHost: a.test";
  await assertOutcomes(mirror(), [
    [`get ${head}`, 400],
    [`Head ${head}`, 400],
    [`patch ${head}`, 400],
    [`PATCH ${head}`, "/"],
    [`M-SEARCH ${head}`, "/"],
  ]);
  const request = new Request("http://a.test/", { method: "patch" });
  assertStringIncludes(
    await (await mirror().fetch(request)).text(),
    "The method must be in capitals: &quot;patch&quot;",
  );
});

Deno.test("no method is a 500, with or without a body, whatever the route reads", async () => {
  const app = new Engine();
  app.route("/etag", () => void app.etag("a"));
  app.route("/lastModified", () => void app.lastModified(1));
  app.route("/raw", async () => await app.request().raw.text());
  app.route("/data", () => app.request().data);
  await using server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const type = "Content-Type: application/x-www-form-urlencoded";
  for (const path of ["/etag", "/lastModified", "/raw", "/data"]) {
    for (const method of ["get", "Head", "TRACE", "trace", "TRACK", "patch"]) {
      for (const body of ["", "Content-Length: 3\r\n\r\na=1"]) {
        const { status } = await sendRaw(
          port,
          `${method} ${path} HTTP/1.1\r\nHost: a.test\r\n${type}\r\n` +
            `Connection: close\r\n${body || "\r\n"}`,
        );
        assert(status >= 200 && status < 500, `${method} ${path}: ${status}`);
      }
    }
  }
});

Deno.test("`targetOf()` quotes a malformed target in its refusal, but only the beginning", () => {
  const target = `/%zz${"a".repeat(1_000)}`;
  const error = assertThrows(
    () => targetOf(new Request(`http://a.test${target}`)),
    Error,
    'The request target is malformed: "/%zzaaa',
  );
  assertEquals(error.message.length < 150, true);
});

Deno.test("`targetOf()` names a dot segment in its refusal", async () => {
  await using server = mirror().start({
    port: 0,
    signals: false,
    onListen() {},
  });
  const { port } = server.addr as Deno.NetAddr;
  const { body } = await sendRaw(
    port,
    "GET /pub/../admin HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n",
  );
  assertStringIncludes(body, "The path has a dot segment: ");
});

Deno.test("`targetOf()` takes the longest path that the runtime allows", async () => {
  const path = `/${"a".repeat(60_000)}`;
  await assertOutcomes(mirror(), [
    [`GET ${path} HTTP/1.1\r\nHost: a.test`, path],
    [`GET /${path}${path} HTTP/1.1\r\nHost: a.test`, 400],
  ]);
});

Deno.test("`targetOf()` returns the path of the raw URL", async () => {
  const app = new Engine();
  app.route("*", () => {
    const { pathname, search } = new URL(app.request().raw.url);
    return String(app.request().url.replace(/\?$/, "") === pathname + search);
  });
  const targets = [
    ...TARGETS,
    ...FORMS.map(([line, outcome]) =>
      [line.replace(/^\S+ /, ""), outcome] as const
    ),
  ].filter(([target, outcome]) => outcome !== 400 && target !== "*");
  await assertOutcomes(
    app,
    targets.map((
      [target],
    ) => [`GET ${target} HTTP/1.1\r\nHost: a.test`, "true"]),
  );
});

/** Spellings of a guarded path: the guard responds to each, or it leads to no route. */
const SPELLINGS: readonly (readonly [head: string, outcome: Outcome])[] = [
  ["GET /admin/secret HTTP/1.1\r\nHost: a.test", 403],
  ["GET /admin/secret/ HTTP/1.1\r\nHost: a.test", 403],
  ["GET /ADMIN/Secret HTTP/1.1\r\nHost: a.test", 403],
  ["GET /%61dmin/secret HTTP/1.1\r\nHost: a.test", 403],
  ["GET /./admin/secret HTTP/1.1\r\nHost: a.test", 400],
  ["GET /pub/../admin/secret HTTP/1.1\r\nHost: a.test", 400],
  ["GET /pub/%2e%2e/admin/secret HTTP/1.1\r\nHost: a.test", 400],
  ["GET http://evil.test/admin/secret HTTP/1.1\r\nHost: a.test", 403],
  ["GET /admin/secret?/pub HTTP/1.1\r\nHost: a.test", 403],
  ["GET //admin/secret HTTP/1.1\r\nHost: a.test", 404],
  ["GET /admin//secret HTTP/1.1\r\nHost: a.test", 404],
  ["GET /admin%2fsecret HTTP/1.1\r\nHost: a.test", 404],
  ["GET /admin/secret%00 HTTP/1.1\r\nHost: a.test", 400],
  ["GET /pub HTTP/1.1\r\nHost: x/admin/secret?", 400],
  ["GET /pub HTTP/1.1\r\nHost: x/admin/secret#", 400],
];

Deno.test("`group()` guards a path however it is spelled", async () => {
  const app = new Engine();
  app.route("/pub", () => "public");
  app.group("/admin", (router) => {
    router.get("/secret", () => "secret");
  }, [() => false]);
  await assertOutcomes(app, SPELLINGS);
});

/** Hosts that requests name under the allow-list, and their outcomes. */
const ALLOWED: readonly (readonly [head: string, outcome: Outcome])[] = [
  ["GET / HTTP/1.1\r\nHost: a.test", "/"],
  ["GET / HTTP/1.1\r\nHost: A.Test.", "/"],
  ["GET / HTTP/1.1\r\nHost: a.test:9", "/"],
  ["GET / HTTP/1.1\r\nHost: b.test:8000", "/"],
  ["GET / HTTP/1.1\r\nHost: [::1]:80", "/"],
  ["GET http://a.test/x HTTP/1.1\r\nHost: a.test", "/x"],
  ["GET http://a.test/x HTTP/1.0\r\nX-None: 1", "/x"],
  ["GET / HTTP/1.1\r\nHost: b.test", 421],
  ["GET / HTTP/1.1\r\nHost: b.test:80", 421],
  ["GET / HTTP/1.1\r\nHost: a.test.evil.test", 421],
  ["GET / HTTP/1.1\r\nHost: evil-a.test", 421],
  ["GET / HTTP/1.1\r\nHost: [::2]", 421],
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

Deno.test("`framework.hosts` admits no host that is added to its list later", async () => {
  const app = mirror();
  const hosts = ["a.test"];
  app.set("framework.hosts", hosts);
  hosts.push("evil.test");
  app.set("framework.debug", false); // the settings are read anew
  const url = "http://evil.test/";
  assertEquals((await app.fetch(new Request(url))).status, 421);
  hosts[0] = "evil.test";
  assertEquals((await app.fetch(new Request(url))).status, 421);
  const kept = app.get("framework.hosts") as string[];
  assertThrows(() => kept.push("evil.test"), TypeError);
  assertEquals(kept, ["a.test"]);
});

Deno.test("`framework.hosts` compares the last `X-Forwarded-Host` of a trusted proxy", async () => {
  const app = mirror();
  app.set({ "framework.hosts": ["a.test"], "framework.trust_proxy": true });
  const statusOf = async (host: string, forwarded?: string) => {
    const headers = new Headers({ host });
    if (forwarded) headers.set("x-forwarded-host", forwarded);
    return (await app.fetch(new Request("http://10.0.0.1/", { headers })))
      .status;
  };
  assertEquals(await statusOf("10.0.0.1", "a.test"), 200);
  assertEquals(await statusOf("10.0.0.1", "evil.test, a.test"), 200);
  assertEquals(await statusOf("a.test", "evil.test"), 421);
  assertEquals(await statusOf("10.0.0.1"), 421);
});

Deno.test("`framework.hosts` checks the URL of a `Request` that a program makes", async () => {
  const app = mirror();
  app.set("framework.hosts", ["a.test"]);
  app.set("framework.handle_errors", false);
  assertEquals((await app.fetch(new Request("http://a.test/x"))).status, 200);
  assertEquals((await app.fetch(new Request("http://b.test/x"))).status, 421);
});

Deno.test("`framework.hosts` refuses a host that no request can name", () => {
  const app = new Engine();
  for (const host of ["http://a.test", "*.a.test", "a.test/", "", 1, "a b"]) {
    assertThrows(
      () => app.set("framework.hosts", [host] as string[]),
      TypeError,
      "hosts",
    );
    assertEquals(isHost(host), false);
  }
});

Deno.test("`checkHost()` refuses every host when the list is empty", () => {
  assertThrows(
    () => checkHost(new Request("http://a.test/"), [], false),
    Error,
    'The host "a.test" is not served here',
  );
});
