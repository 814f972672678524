/** Tests `send`, the method that every response passes last, and `defer`, which runs work after it. */

import { Engine } from "@framework/core";
import { settled } from "@framework/core/testing";
import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { visit } from "../support/forms.ts";
import { logOf } from "../support/log.ts";

/** Paths of all that a request can come to, and the status that goes out. */
const OUTCOMES: readonly [path: string, status: number, init?: RequestInit][] =
  [
    ["/text", 200],
    ["/text", 200, { method: "HEAD" }],
    ["/response", 201],
    ["/redirect", 303],
    ["/stream", 200],
    ["/halt", 403],
    ["/stop", 202],
    ["/etag", 304, { headers: { "if-none-match": '"v1"' } }],
    ["/error", 500],
    ["/nowhere", 404],
    ["/text", 413, { method: "POST", body: "x".repeat(20) }],
    ["/%zz", 400],
    ["/text", 421, { headers: { host: "other.test" } }],
  ];

Deno.test("every response passes `send` once", async () => {
  const app = new Engine();
  app.set("framework.body_limit", 10);
  app.set("framework.hosts", ["localhost"]);
  app.route("/text", () => "text");
  app.route("/response", () => new Response("made", { status: 201 }));
  app.route("/redirect", () => app.redirect("/text"));
  app.route("/error", () => Promise.reject(new Error("boom")));
  app.route("/halt", () => app.halt(403, "no"));
  app.route("/stop", () => app.stop(202));
  app.route("/etag", () => app.etag("v1"));
  app.route("/stream", async function* () {
    yield "text";
  });
  const seen: number[] = [];
  app.after("send", (_params, { value }) => void seen.push(value.status));
  await logOf(async () => {
    for (const [path, status, init] of OUTCOMES) {
      const response = await visit(app, path, init);
      await response.text();
      assertEquals(response.status, status, path);
      assertEquals(seen.splice(0), [status], path);
    }
  });
});

Deno.test("a filter of `send` may change the headers of a response, also of one whose headers are fixed", async () => {
  const app = new Engine();
  app.route("/", () => "text");
  app.route("/redirect", () => Response.redirect("http://localhost/"));
  app.route("/fetched", () => fetch("data:text/plain,fetched"));
  app.before("send", ([response]) => response.headers.set("x-before", "1"));
  app.after("send", (_params, output) => {
    output.value.headers.set("x-after", "1");
  });
  for (const path of ["/", "/redirect", "/fetched"]) {
    const { body, headers } = await visit(app, path);
    await body?.cancel();
    const seen = [headers.get("x-before"), headers.get("x-after")];
    assertEquals(seen, ["1", "1"], path);
  }
});

Deno.test("a filter of `send` may replace the response, and later filters get the new one", async () => {
  const app = new Engine();
  app.route("/", () => "text");
  app.before("send", (params) => {
    params[0] = new Response("first", { status: 201 });
  });
  app.after("send", async (_params, output) => {
    const text = await output.value.text();
    output.value = new Response(text.toUpperCase(), output.value);
  });
  app.after("send", (_params, output) => {
    output.value.headers.set("x-status", `${output.value.status}`);
  });
  const response = await visit(app, "/");
  assertEquals([response.status, await response.text()], [201, "FIRST"]);
  assertEquals(response.headers.get("x-status"), "201");
});

Deno.test("an error in `send` is a line in the log and a plain 500", async () => {
  const app = new Engine();
  app.route("/", () => "secret");
  app.after("send", () => {
    throw new Error("broken filter");
  });
  const log = await logOf(async () => {
    const response = await visit(app, "/");
    const sent = [response.status, await response.text()];
    assertEquals(sent, [500, "Internal Server Error"]);
  });
  assertEquals(log.length, 1);
  assertMatch(log[0]!, /^\w{8} GET \/ Error: broken filter at .+:\d+$/);
});

Deno.test("the 500 of an error in `send` has the headers so far, and nothing that describes the body before", async () => {
  const app = new Engine();
  app.route("/", () => {
    app.response().header("x-trace", "1").cookie("a", "b").cache(60)
      .header("content-language", "de");
    return new Response("png", { headers: { "content-type": "image/png" } });
  });
  app.after("send", (_params, { value }) => {
    value.headers.set("content-security-policy", "default-src 'self'");
    throw new Error("no database");
  });
  app.after("send", (_params, { value }) => value.headers.set("x-last", "1"));
  await logOf(async () => {
    const { headers } = await visit(app, "/");
    const sent = Object.fromEntries(headers);
    assertEquals([sent["x-trace"], sent["x-last"]], ["1", "1"]);
    assertEquals(sent["content-security-policy"], "default-src 'self'");
    assertEquals(headers.getSetCookie().length, 1);
    assertMatch(sent["content-type"]!, /^text\/plain/);
    assertEquals(sent["content-language"], undefined);
    assertEquals(sent["cache-control"], undefined);
  });
});

Deno.test("`defer()` runs work after the response, with the request still at hand; `settled()` waits for it, and for what it defers", async () => {
  const app = new Engine();
  const { promise, resolve } = Promise.withResolvers<void>();
  const steps: string[] = [];
  app.route("/orders", () => {
    app.defer(async () => {
      await promise;
      app.defer(() => void steps.push(`deferred ${app.request().url}`));
    });
    return "text";
  });
  app.after("send", () => void steps.push("sent"));
  await (await visit(app, "/orders")).text();
  resolve();
  await settled(app);
  assertEquals(steps, ["sent", "deferred /orders"]);
});

Deno.test("what fails in deferred work, or in a call that it does not await, is a line in the log", async () => {
  const app = new Engine().map("fail", () => Promise.reject(new Error("boom")));
  app.route("/work", () => app.defer(() => Promise.reject(new Error("boom"))));
  app.route("/call", () => app.defer(() => void app.fail()));
  for (const path of ["/work", "/call"]) {
    const log = await logOf(async () => {
      assertEquals((await visit(app, path)).status, 200);
      await settled(app);
      // Deno reports a rejection before the second turn of the event loop.
      for (const _turn of [1, 2]) await new Promise((go) => setTimeout(go));
    });
    assertEquals(log.length, 1, path);
    assertStringIncludes(log[0]!, "Error: boom");
  }
});

Deno.test("a filter of `send` that replaces bytes by a stream does not send their length", async () => {
  const app = new Engine();
  app.after("send", (_params, output) => {
    const compressed = output.value.body.pipeThrough(
      new CompressionStream("gzip"),
    );
    output.value = new Response(compressed, output.value);
  });
  app.route("/", () => new Uint8Array(1000));
  const response = await app.fetch("/");
  assertEquals(response.headers.get("content-length"), null);
  assert((await response.bytes()).length < 1000);
});
