/** Tests `send`, the method that every response passes last, and `defer`, which runs work after it. */

import { Engine } from "@framework/core";
import { settled } from "@framework/core/testing";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
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

Deno.test("a `Response` that `send` uses for many requests keeps nothing of one of them", async () => {
  const app = new Engine();
  const shared = new Response(null, { status: 204 });
  app.map("send", () => shared);
  app.after("send", (_params, output) => {
    const { user } = app.request().query;
    output.value.headers.append("set-cookie", `user=${user}`);
  });
  app.route("/", () => "text");
  for (const user of ["ada", "bob"]) {
    const { headers, status } = await visit(app, `/?user=${user}`);
    assertEquals([status, headers.getSetCookie()], [204, [`user=${user}`]]);
  }
});

Deno.test("a stream that a filter of `send` replaces is cancelled", async () => {
  for (const body of ["text", null]) {
    const app = new Engine();
    const { promise, resolve } = Promise.withResolvers<void>();
    app.route("/", () => new ReadableStream({ cancel: () => resolve() }));
    app.after("send", (_params, output) => {
      output.value = new Response(body);
    });
    await (await visit(app, "/")).text();
    await promise;
  }
});

Deno.test("`halt()` in `send` comes too late: the response stays, and the filters go on", async () => {
  const app = new Engine();
  app.route("/", () => "text");
  app.before("send", () => app.halt(403));
  app.after("send", (_params, { value }) => value.headers.set("x-after", "1"));
  const response = await visit(app, "/");
  assertEquals([response.status, await response.text()], [200, "text"]);
  assertEquals(response.headers.get("x-after"), "1");
});

Deno.test("an error in `send` is a line in the log and a plain 500", async () => {
  const app = new Engine();
  app.route("/", () => "secret");
  app.after("send", () => {
    throw new Error("broken filter");
  });
  for (const method of ["GET", "HEAD"]) {
    const log = await logOf(async () => {
      const response = await visit(app, "/", { method });
      const text = method === "GET" ? "Internal Server Error" : "";
      assertEquals([response.status, await response.text()], [500, text]);
    });
    assertEquals(log.length, 1);
    assertMatch(
      log[0]!,
      new RegExp(`^\\w{8} ${method} / Error: broken filter at .+:\\d+$`),
    );
  }
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
    const { body, headers } = await visit(app, "/");
    await body?.cancel();
    const sent = Object.fromEntries(headers);
    assertEquals([sent["x-trace"], sent["x-last"]], ["1", "1"]);
    assertEquals(sent["content-security-policy"], "default-src 'self'");
    assertEquals(headers.getSetCookie().length, 1);
    assertMatch(sent["content-type"]!, /^text\/plain/);
    assertEquals(sent["content-language"], undefined);
    assertEquals(sent["cache-control"], undefined);
  });
});

/** Methods and filters after which nothing can be sent. */
const UNSENDABLE: Readonly<Record<string, (app: Engine) => unknown>> = {
  "a mapped one that returns nothing": (app) =>
    app.map("send", () => undefined),
  "a filter that only reads the body": (app) =>
    app.after("send", async (_params, { value }) => void await value.text()),
};

Deno.test("a `send` that leaves no response whose body can be sent is a plain 500", async () => {
  for (const [what, declare] of Object.entries(UNSENDABLE)) {
    const app = new Engine();
    declare(app);
    app.route("/", () => "text");
    const log = await logOf(async () => {
      assertEquals((await visit(app, "/")).status, 500, what);
    });
    assertStringIncludes(log.join("\n"), "must return a web Response");
  }
});

Deno.test("`defer()` runs work after the response, which does not wait for it, with the request still at hand", async () => {
  const app = new Engine();
  const { promise, resolve } = Promise.withResolvers<void>();
  const steps: string[] = [];
  app.route("/orders", () => {
    app.defer(async () => {
      await promise;
      steps.push(`deferred ${app.request().url}`);
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
