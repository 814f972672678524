/** Tests `guard`: which requests of other sites are refused, and the headers of every response. */

import { Engine } from "@framework/core";
import { guard, type GuardOptions } from "@framework/core/guard";
import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { visit } from "../support/forms.ts";

/** The headers of a guarded response by their short names. */
function securityOf({ headers }: Response): (string | null)[] {
  return [
    "x-content-type-options",
    "referrer-policy",
    "cross-origin-opener-policy",
    "x-frame-options",
    "content-security-policy",
  ].map((name) => headers.get(name));
}

/** An application that takes every method. */
function guarded(options?: GuardOptions): Engine {
  const app = new Engine();
  guard(app, options);
  app.route("/", () => "done");
  return app;
}

/** The status that a POST with headers gets. */
async function statusOfPost(
  app: Engine,
  headers: Record<string, string>,
): Promise<number> {
  return (await visit(app, "/", { method: "POST", headers })).status;
}

/** What a request says of where it comes from, and the status that a POST of it gets. */
const POSTS: readonly [Record<string, string>, number][] = [
  [{}, 200],
  [{ "sec-fetch-site": "same-origin" }, 200],
  [{ "sec-fetch-site": "same-site" }, 403],
  [{ "sec-fetch-site": "cross-site" }, 403],
  [{ "sec-fetch-site": "cross-site", origin: "http://localhost" }, 403],
  [{ "sec-fetch-site": "cross-site", origin: "https://friend.example" }, 200],
  [{ origin: "http://localhost" }, 200],
  [{ origin: "http://localhost:8000" }, 403],
  [{ origin: "http://localhost.evil.example" }, 403],
  [{ origin: "https://evil.example" }, 403],
  [{ origin: "https://friend.example" }, 200],
  [{ origin: "null" }, 403],
  [{ origin: "app://localhost" }, 403],
  [{ origin: "https://evil.example", "x-forwarded-host": "evil.example" }, 403],
];

for (const [headers, status] of POSTS) {
  Deno.test(`\`guard()\` gives a POST with ${JSON.stringify(headers)} the status ${status}`, async () => {
    const app = guarded({ trusted: ["https://friend.example"] });
    const sent = { host: "localhost", ...headers };
    assertEquals(await statusOfPost(app, sent), status);
  });
}

Deno.test("`guard()` lets another site read, and refuses all that may change something", async () => {
  const headers = { "sec-fetch-site": "cross-site" };
  const statuses = { GET: 200, HEAD: 200, OPTIONS: 200, PUT: 403, PURGE: 403 };
  for (const [method, status] of Object.entries(statuses)) {
    const response = await visit(guarded(), "/", { method, headers });
    assertEquals(response.status, status, method);
  }
});

Deno.test("`guard()` compares the origin with the host of the URL where no header names it, as by HTTP/2", async () => {
  const app = guarded();
  assertEquals(await statusOfPost(app, { origin: "http://localhost" }), 200);
  assertEquals(await statusOfPost(app, { origin: "http://evil.example" }), 403);
});

Deno.test("`guard()` refuses WebSockets of other sites", async () => {
  const app = guarded();
  const handshake = { connection: "upgrade", upgrade: "websocket" };
  const own = { origin: "http://localhost", ...handshake };
  assertEquals((await visit(app, "/", { headers: own })).status, 200);
  const other = { origin: "https://evil.example", ...handshake };
  assertEquals((await visit(app, "/", { headers: other })).status, 403);
});

Deno.test("`guard()` refuses a POST that a form turns into another method", async () => {
  const app = guarded();
  app.set("framework.method_override", true);
  for (const _method of ["PUT", "GET", "HEAD", "OPTIONS", "TRACE"]) {
    const { status } = await visit(app, "/", {
      method: "POST",
      headers: { "sec-fetch-site": "cross-site" },
      body: new URLSearchParams({ _method }),
    });
    assertEquals(status, 403, _method);
  }
});

Deno.test("`guard()` asks the functions of `trusted` about other origins", async () => {
  const app = guarded({
    trusted: [
      "https://a.b",
      (origin) => origin.endsWith(".friend.example"),
      (origin) => Promise.resolve(origin.endsWith(".late.example")),
    ],
  });
  for (const friend of ["https://a.friend.example", "https://a.late.example"]) {
    assertEquals(await statusOfPost(app, { origin: friend }), 200);
  }
  const evil = "https://evil.example";
  assertEquals(await statusOfPost(app, { origin: evil }), 403);
});

Deno.test("nothing but `true` of a `trusted` function lets an origin in", async () => {
  const app = guarded({ trusted: () => "yes" as never });
  for (const headers of [{ origin: "https://evil.example" }, {}]) {
    const sent = { "sec-fetch-site": "cross-site", ...headers };
    assertEquals(await statusOfPost(app, sent), 403);
  }
});

/** Origins behind a proxy, with what the proxy passed on. */
const PROXIED: readonly [origin: string, string, number][] = [
  ["https://site.example", "site.example", 200],
  ["https://site.example", "evil.example, site.example", 200],
  ["https://evil.example", "evil.example, site.example", 403],
  ["https://site.example", "site.example:443", 200],
];

Deno.test("`guard()` behind a trusted proxy compares the origin with the host that the proxy wrote", async () => {
  for (const [origin, forwarded, status] of PROXIED) {
    const app = guarded();
    app.set("framework.trust_proxy", true);
    const headers = { host: "inside", origin, "x-forwarded-host": forwarded };
    assertEquals(await statusOfPost(app, headers), status, forwarded);
  }
});

Deno.test("`guard()` sets its headers on every response, pages of errors and refused targets too", async () => {
  const app = guarded();
  app.route("/moved", () => app.redirect("/"));
  app.route("/failed", () => {
    throw new Error("failed");
  });
  for (const path of ["/", "/moved", "/failed", "/none", "/%zz"]) {
    assertEquals(securityOf(await visit(app, path)), [
      "nosniff",
      "strict-origin-when-cross-origin",
      "same-origin",
      "SAMEORIGIN",
      null,
    ], path);
  }
});

Deno.test("`guard()` takes other headers, and leaves one that the response has", async () => {
  const policy = "default-src 'self'";
  const app = guarded({
    headers: {
      "Content-Security-Policy": policy,
      "Referrer-Policy": "no-referrer",
      "cross-origin-opener-policy": null,
    },
  });
  app.route("/own", () => {
    app.response().header("referrer-policy", "origin").write("text");
  });
  const expected = ["nosniff", "no-referrer", null, "SAMEORIGIN", policy];
  assertEquals(securityOf(await visit(app, "/")), expected);
  assertEquals(securityOf(await visit(app, "/own"))[1], "origin");
});

Deno.test("`nonce: true` puts a new nonce into the policy and into the view of each request", async () => {
  const app = guarded({ nonce: true });
  app.route("/page", () => `${app.view().get("nonce")}`);
  const nonces = new Set<string>();
  for (const _ of [1, 2]) {
    const response = await visit(app, "/page");
    const nonce = await response.text();
    const policy = response.headers.get("content-security-policy") ?? "";
    assertMatch(nonce, /^[\w+/=-]{16,}$/);
    assertEquals(policy.includes(`'nonce-${nonce}'`), true, policy);
    nonces.add(nonce);
  }
  assertEquals(nonces.size, 2);
});

Deno.test("a nonce is added to the sources of scripts and styles, but not beside `'unsafe-inline'`", async () => {
  const policy =
    "default-src 'self'; style-src 'unsafe-inline'; img-src *; script-src-attr 'none'";
  const headers = { "content-security-policy": policy };
  const app = guarded({ nonce: true, headers });
  const [, , , , sent] = securityOf(await visit(app, "/"));
  const added = / 'nonce-[\w-]+'/g;
  assertEquals(sent!.match(added)?.length, 1);
  assertMatch(sent!, /^default-src 'self' 'nonce-/);
  assertEquals(sent!.replace(added, ""), policy);
});

Deno.test("`guard()` refuses to trust what is no origin, and headers that cannot be sent", () => {
  const origins = "example.com https://example.com/ null * http://*.evil.test";
  for (const origin of origins.split(" ")) {
    const declare = () => guard(new Engine(), { trusted: [origin] });
    assertThrows(declare, TypeError, `Cannot trust the origin "${origin}"`);
  }
  assertThrows(
    () => guard(new Engine(), { nonce: "yes" } as never),
    TypeError,
    '"nonce" must be true or false',
  );
  for (const headers of [{ a: "b\nc" }, { a: undefined }, { a: 1 }, null]) {
    const declare = () => guard(new Engine(), { headers } as never);
    assertThrows(declare, TypeError, undefined, Deno.inspect(headers));
  }
});
