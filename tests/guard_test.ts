/** Tests `guard`: which requests of other sites are refused, and the headers of every response. */

import { Engine } from "@framework/core";
import { guard, type GuardOptions } from "@framework/core/guard";
import { assertEquals, assertThrows } from "@std/assert";
import { visit } from "./forms.ts";
import { logOf } from "./log.ts";
import { sendRaw } from "./raw_http.ts";
import { opensSocket } from "./web_socket.ts";

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

const USUAL = [
  "nosniff",
  "strict-origin-when-cross-origin",
  "same-origin",
  "SAMEORIGIN",
];

/** An application that takes every method. */
function guarded(options?: GuardOptions): Engine {
  const app = new Engine();
  guard(app, options);
  app.route("/", () => "done");
  return app;
}

/** What a request says of where it comes from, and the status that a POST of it gets. */
const POSTS: readonly [Record<string, string>, number][] = [
  [{}, 200],
  [{ "sec-fetch-site": "same-origin" }, 200],
  [{ "sec-fetch-site": "none" }, 200],
  [{ "sec-fetch-site": "same-site" }, 403],
  [{ "sec-fetch-site": "cross-site" }, 403],
  [{ "sec-fetch-site": "SAME-ORIGIN" }, 403],
  [{ "sec-fetch-site": "cross-site", origin: "http://localhost" }, 403],
  [{ "sec-fetch-site": "cross-site", origin: "https://friend.example" }, 200],
  [{ "sec-fetch-site": "cross-site", origin: "http://friend.example" }, 403],
  [{ origin: "http://localhost" }, 200],
  [{ origin: "https://localhost" }, 200],
  [{ origin: "http://localhost:8000" }, 403],
  [{ origin: "http://localhost.evil.example" }, 403],
  [{ origin: "https://evil.example" }, 403],
  [{ origin: "https://friend.example" }, 200],
  [{ origin: "null" }, 403],
  [{ origin: "nonsense" }, 403],
  [{ origin: "file://" }, 403],
  [{ origin: "app://localhost" }, 403],
  [{ origin: "https://evil.example", "x-forwarded-host": "evil.example" }, 403],
];

for (const [headers, status] of POSTS) {
  Deno.test(`\`guard()\` gives a POST with ${JSON.stringify(headers)} the status ${status}`, async () => {
    const app = guarded({ trusted: ["https://friend.example"] });
    const response = await visit(app, "/", {
      method: "POST",
      headers: { host: "localhost", ...headers },
    });
    await response.body?.cancel();
    assertEquals([response.status, securityOf(response)], [status, [
      ...USUAL,
      null,
    ]]);
  });
}

for (
  const [method, status] of [
    ["GET", 200],
    ["HEAD", 200],
    ["OPTIONS", 200],
    ["PUT", 403],
    ["PATCH", 403],
    ["DELETE", 403],
    ["PURGE", 403],
  ] as const
) {
  Deno.test(`\`guard()\` gives ${method} of another site the status ${status}`, async () => {
    const headers = { "sec-fetch-site": "cross-site" };
    const response = await visit(guarded(), "/", { method, headers });
    await response.body?.cancel();
    assertEquals(response.status, status);
  });
}

Deno.test("`guard()` compares the origin with the host of the URL where no header names it, as by HTTP/2", async () => {
  const statuses = ["http://localhost", "http://evil.example"].map(
    async (origin) => {
      const init = { method: "POST", headers: { origin } };
      return (await visit(guarded(), "/", init)).status;
    },
  );
  assertEquals(await Promise.all(statuses), [200, 403]);
});

Deno.test("`guard()` refuses a POST that a form turns into another method", async () => {
  const app = guarded();
  app.set("framework.method_override", true);
  for (const _method of ["PUT", "GET", "HEAD", "OPTIONS", "TRACE", "QUERY"]) {
    const response = await visit(app, "/", {
      method: "POST",
      headers: { "sec-fetch-site": "cross-site" },
      body: new URLSearchParams({ _method }),
    });
    await response.body?.cancel();
    assertEquals(response.status, 403, _method);
  }
});

/** What is no promise, but can be awaited as one. */
function thenable(value: boolean): Promise<boolean> {
  const then = (resolve: (value: boolean) => void) => resolve(value);
  return { then } as unknown as Promise<boolean>;
}

/** What may be trusted: a function, also one that is asynchronous, alone and in a list. */
const TRUSTED: readonly Required<GuardOptions>["trusted"][] = [
  (origin) => origin.endsWith(".friend.example"),
  (origin) => Promise.resolve(origin.endsWith(".friend.example")),
  (origin) => thenable(origin.endsWith(".friend.example")),
  ["https://a.b", (origin) => origin.endsWith(".friend.example")],
  [
    () => Promise.resolve(false),
    (origin) => origin.endsWith(".friend.example"),
  ],
];

for (const [index, trusted] of TRUSTED.entries()) {
  Deno.test(`\`guard()\` asks a \`trusted\` function about other origins (${index + 1})`, async () => {
    const app = guarded({ trusted });
    const statuses = ["https://a.friend.example", "https://evil.example"].map(
      async (origin) => {
        const headers = { origin, "sec-fetch-site": "cross-site" };
        return (await visit(app, "/", { method: "POST", headers })).status;
      },
    );
    assertEquals(await Promise.all(statuses), [200, 403]);
  });
}

Deno.test("`guard()` trusts nobody by anything but true, and asks about no missing origin", async () => {
  const asked: string[] = [];
  const app = guarded({ trusted: (origin) => asked.push(origin) as never });
  for (const origin of [undefined, "https://evil.example"]) {
    const headers = { "sec-fetch-site": "cross-site", ...origin && { origin } };
    const response = await visit(app, "/", { method: "POST", headers });
    assertEquals(response.status, 403);
  }
  assertEquals(asked, ["https://evil.example"]);
});

/** Origins behind a proxy, with what the proxy passed on. */
const PROXIED: readonly [origin: string, Record<string, string>, number][] = [
  ["https://site.example", { "x-forwarded-host": "site.example" }, 200],
  [
    "https://site.example",
    { "x-forwarded-host": "evil.example, site.example" },
    200,
  ],
  [
    "https://evil.example",
    { "x-forwarded-host": "evil.example, site.example" },
    403,
  ],
  ["https://site.example", { "x-forwarded-host": "site.example:443" }, 200],
  ["http://site.example", {
    "x-forwarded-host": "site.example",
    "x-forwarded-proto": "https",
  }, 403],
  ["http://inside.example", {}, 200],
];

for (const [origin, headers, status] of PROXIED) {
  Deno.test(`\`guard()\` behind a proxy gives ${origin} with ${JSON.stringify(headers)} the status ${status}`, async () => {
    const app = guarded();
    app.set("framework.trust_proxy", true);
    const response = await visit(app, "/", {
      method: "POST",
      headers: { host: "inside.example", origin, ...headers },
    });
    await response.body?.cancel();
    assertEquals(response.status, status);
  });
}

Deno.test("`guard()` sets its headers on every response, pages of errors and refused input too", async () => {
  const policy = "default-src 'self'";
  const app = guarded({
    headers: {
      "Content-Security-Policy": policy,
      "Referrer-Policy": "no-referrer",
      "cross-origin-opener-policy": null,
    },
  });
  app.route("/moved", () => app.redirect("/"));
  app.route("/current", () => app.halt(304));
  app.route("/failed", () => {
    throw new Error("failed");
  });
  for (const path of ["/", "/moved", "/current", "/failed", "/none", "/%zz"]) {
    const response = await visit(app, path);
    await response.body?.cancel();
    const expected = ["nosniff", "no-referrer", null, "SAMEORIGIN", policy];
    assertEquals(securityOf(response), expected, path);
  }
});

Deno.test("`guard()` leaves a header that the response has", async () => {
  const app = guarded();
  app.route("/own", () => {
    app.response().header("referrer-policy", "origin").write("text");
  });
  const response = await visit(app, "/own");
  assertEquals(securityOf(response)[1], "origin");
});

Deno.test("`guard()` refuses forms and WebSockets of other sites over a socket", async () => {
  const app = guarded();
  app.route("/socket", () => {
    const { socket, response } = Deno.upgradeWebSocket(app.request().raw);
    socket.onopen = () => socket.close();
    return response;
  });
  const errors = await logOf(async () => {
    await using server = app.start({ port: 0, signals: false });
    const { port } = server.addr as Deno.NetAddr;
    const statusOf = async (origin: string, start: string, more = "") => {
      const own = `Host: 127.0.0.1:${port}\r\nOrigin: ${origin}\r\n`;
      const head = `${start} HTTP/1.1\r\n${own}${more}\r\n`;
      return (await sendRaw(port, head)).status;
    };
    const close = "Connection: close\r\n";
    const upgrade = "Connection: close, Upgrade\r\nUpgrade: websocket\r\n" +
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    const origin = `http://127.0.0.1:${port}`;
    assertEquals(await statusOf(origin, "POST /", close), 200);
    const other = `http://127.0.0.1:${port + 1}`;
    assertEquals(await statusOf(other, "POST /", close), 403);
    assertEquals(await statusOf(other, "GET /socket", upgrade), 403);
    const socket = `ws://127.0.0.1:${port}/socket`;
    assertEquals(await opensSocket(socket), true);
  });
  assertEquals(errors, []);
});

for (
  const origin of [
    "example.com",
    "https://example.com/",
    "null",
    "*",
    "https://Example.com",
    "http://*.evil.test",
  ]
) {
  Deno.test(`\`guard()\` refuses to trust ${JSON.stringify(origin)}`, () => {
    const declare = () => guard(new Engine(), { trusted: [origin] });
    assertThrows(declare, TypeError, `Cannot trust the origin "${origin}"`);
  });
}

Deno.test("`guard()` trusts the origin of an app, whose scheme is its own", async () => {
  const app = guarded({ trusted: ["capacitor://localhost"] });
  const headers = { origin: "capacitor://localhost" };
  const init = { method: "POST", headers };
  const response = await app.fetch(new Request("http://localhost/", init));
  assertEquals(response.status, 200);
});

Deno.test("`guard()` refuses headers that are no text, and no record of them", () => {
  const name = "x-frame-options";
  for (const value of [undefined, false, 1, ["DENY"]]) {
    assertThrows(
      () => guard(new Engine(), { headers: { [name]: value as never } }),
      TypeError,
      `Cannot set the header "${name}": it must be text, or null to leave it out, got `,
    );
  }
  const given = { [name]: "DENY" };
  for (const headers of [new Headers(given), Object.entries(given), null]) {
    assertThrows(
      () => guard(new Engine(), { headers } as never),
      TypeError,
      'Cannot set the headers of every response: they must be a record such as { "x-frame-options": "DENY" }',
    );
  }
});

Deno.test("`guard()` refuses a header that cannot be sent", () => {
  const declare = () => guard(new Engine(), { headers: { a: "b\nc" } });
  assertThrows(declare, TypeError);
});

Deno.test("`guard()` says under debug whom it has refused, and what would let them in", async () => {
  const app = guarded();
  const post = (headers: Record<string, string>) =>
    visit(app, "/", { method: "POST", headers });
  const refused = { origin: "https://other.example" };
  assertEquals(await logOf(() => post(refused)), []);
  app.set("framework.debug", true);
  assertEquals(await logOf(() => post({ origin: "http://localhost" })), []);
  const said = [
    ...await logOf(() => post(refused)),
    ...await logOf(() => post({ "sec-fetch-site": "cross-site" })),
  ];
  const hint = 'to allow an origin to make changes, add it to "trusted"';
  assertEquals(said, [
    `The guard refused a request from https://other.example: ${hint}`,
    `The guard refused a request from an unknown origin: ${hint}`,
  ]);
});
