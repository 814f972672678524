/** Tests `send`, the method that every response passes last, and what its filters can ask. */

import {
  assertEquals,
  assertGreaterOrEqual,
  assertLessOrEqual,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { Engine, HttpError } from "@framework/core";
import { cors } from "@framework/core/cors";
import { guard } from "@framework/core/guard";
import { visit } from "./forms.ts";
import { logOf } from "./log.ts";

Deno.test("a response that `send` leaves has no type that it was rid of", async () => {
  const app = new Engine();
  app.after("send", (_params, output) => {
    output.value = new Response("raw");
    output.value.headers.delete("content-type");
  });
  app.route("/", () => "text");
  const response = await app.fetch("/");
  assertEquals(response.headers.get("content-type"), null);
  assertEquals(await response.text(), "raw");
});

Deno.test("a response that `send` uses for many requests keeps nothing of one of them", async () => {
  const shared = new Response(null, { status: 204 });
  const ways: readonly ((app: Engine) => void)[] = [
    (app) =>
      app.after("send", (_params, output) => void (output.value = shared)),
    (app) => app.map("send", () => shared),
  ];
  for (const use of ways) {
    const app = new Engine();
    use(app);
    app.after("send", (_params, output) => {
      const { query } = app.request();
      output.value.headers.append("set-cookie", `name=${query.name}`);
    });
    app.route("/", () => "text");
    for (const name of ["ada", "bob"]) {
      const { headers, status } = await app.fetch(`/?name=${name}`);
      assertEquals(headers.getSetCookie(), [`name=${name}`]);
      assertEquals(status, 204);
    }
  }
});

Deno.test("`send()` stays synchronous where its filters are", () => {
  const app = new Engine();
  app.after("send", (_params, output) => {
    output.value.headers.set("x-seen", "yes");
  });
  app.route("/", () => "text");
  const response = app.fetch(new Request("http://localhost/"));
  assertEquals((response as Response).headers.get("x-seen"), "yes");
});

Deno.test("`elapsed` counts from before the body, and is undefined while nothing filters `send`", async () => {
  const app = new Engine();
  const seen: (number | undefined)[] = [];
  app.route("/", () => void seen.push(app.request().elapsed));
  await visit(app, "/");
  assertEquals(seen, [undefined]);
  app.after("send", () => void seen.push(app.request().elapsed));
  const { readable, writable } = new TransformStream<Uint8Array<ArrayBuffer>>();
  const begin = performance.now();
  const response = visit(app, "/", { method: "POST", body: readable });
  await new Promise((resolve) => setTimeout(resolve, 20));
  await writable.close();
  await response;
  const [, inHandler, inFilter] = seen;
  assertGreaterOrEqual(inHandler!, 15);
  assertGreaterOrEqual(inFilter!, inHandler!);
  assertLessOrEqual(inFilter!, performance.now() - begin);
});

Deno.test("an error that nobody awaited while an asynchronous `send` runs is a line in the log", async () => {
  const app = new Engine()
    .map("fail", () => Promise.reject(new Error("in send")));
  app.before("send", async () => {
    app.fail();
    // On a busy machine the first timer may run before Deno reports the rejections, the second never does.
    await new Promise((resolve) => setTimeout(resolve));
    await new Promise((resolve) => setTimeout(resolve));
  });
  let id = "";
  app.route("/", () => {
    id = app.request().id;
    Promise.reject(new Error("in the handler"));
    return "text";
  });
  const log = await logOf(async () => {
    assertEquals(await (await visit(app, "/")).text(), "text");
  });
  assertEquals(
    log.map((line) => line.split("\n")[0]!).toSorted(),
    [
      `${id} GET / Error in work that was not awaited: Error: in send`,
      `${id} GET / Error in work that was not awaited: Error: in the handler`,
    ].toSorted(),
  );
});

/** Bodies by their kind, and how many bytes each has. */
const LENGTHS: Readonly<
  Record<string, readonly [() => unknown, number | undefined]>
> = {
  "a text": [() => "Grüße", 7],
  "an empty text": [() => "", 0],
  "JSON": [() => [1, 2], 5],
  "bytes": [() => new Uint8Array(9), 9],
  "a blob": [() => new Blob(["Grüße"]), 7],
  "a stream": [() => ReadableStream.from(["text"]), undefined],
  "a response of a text": [() => new Response("Grüße"), 7],
  "a response without a body": [() => new Response(null), 0],
  "a response of a stream": [
    () => new Response(new Blob(["text"]).stream()),
    undefined,
  ],
};

for (const [kind, [content, length]] of Object.entries(LENGTHS)) {
  Deno.test(`\`length\` of ${kind} is ${length}`, async () => {
    const app = new Engine();
    const seen: unknown[] = [];
    app.after("send", () => void seen.push(app.response().length));
    app.route("/", content as () => string);
    const response = await visit(app, "/");
    const body = await response.bytes();
    assertEquals(seen, [length]);
    if (length !== undefined) assertEquals(body.length, length);
  });
}

Deno.test("`length` of a page is that of the page", async () => {
  const app = new Engine();
  const seen: unknown[] = [];
  app.after("send", () => void seen.push(app.response().length));
  app.route("/", () => {
    app.response().write("dropped");
    return app.notFound();
  });
  const text = await (await visit(app, "/")).text();
  assertEquals(seen, [text.length]);
});

/** What a request can come to, and the status that goes out. */
const OUTCOMES: Readonly<
  Record<string, readonly [path: string, status: number, init?: RequestInit]>
> = {
  "a text": ["/text", 200],
  "a returned `Response`": ["/response", 201],
  "a redirect": ["/redirect", 303],
  "JSON": ["/json", 200],
  "an unknown path": ["/nowhere", 404],
  "an error": ["/error", 500],
  "an `HttpError`": ["/teapot", 418],
  "`halt()`": ["/halt", 403],
  "`stop()`": ["/stop", 202],
  "an ETag that is current": [
    "/etag",
    304,
    { headers: { "if-none-match": '"v1"' } },
  ],
  "HEAD": ["/text", 200, { method: "HEAD" }],
  "a body that is too large": [
    "/text",
    413,
    { method: "POST", body: "x".repeat(20) },
  ],
  "a malformed target": ["/%zz", 400],
  "a host that is not served": [
    "/text",
    421,
    { headers: { host: "other.test" } },
  ],
  "a stream": ["/stream", 200],
};

for (const form of ["default", "mapped"]) {
  Deno.test(`every response passes \`send\`, with ${form} pages`, async () => {
    const app = new Engine();
    app.set("framework.body_limit", 10);
    app.set("framework.hosts", ["localhost"]);
    app.route("/text", () => "text");
    app.route("/response", () => new Response("made", { status: 201 }));
    app.route("/redirect", () => app.redirect("/text"));
    app.route("/json", () => ({}));
    app.route("/error", () => {
      throw new Error("boom");
    });
    app.route("/teapot", () => {
      throw new HttpError(418);
    });
    app.route("/halt", () => app.halt(403, "no"));
    app.route("/stop", () => app.stop(202));
    app.route("/etag", () => app.etag("v1"));
    app.route("/stream", async function* () {
      yield "text";
    });
    if (form === "mapped") {
      app.map("notFound", () => "not here");
      app.map("error", () => "sorry");
    }
    const seen: [number, string][] = [];
    app.after("send", (_params, { value }) => {
      seen.push([value.status, app.request().url]);
    });
    for (const [what, [path, status, init]] of Object.entries(OUTCOMES)) {
      const response = await visit(app, path, init);
      await response.text();
      assertEquals(response.status, status, what);
      assertEquals(seen.length, 1, what);
      assertEquals(seen.pop()![0], status, what);
    }
  });
}

Deno.test("a filter of `send` may replace the response, also later, and one whose headers are fixed", async () => {
  const app = new Engine();
  app.route("/", () => "text");
  app.route("/fixed", () => Response.redirect("http://localhost/"));
  app.before("send", (params) => {
    params[0].headers.set("x-before", "1");
  });
  app.after("send", async (_params, output) => {
    await null;
    const text = await output.value.text();
    output.value = new Response(text.toUpperCase(), output.value);
  });
  const response = await visit(app, "/");
  assertEquals(await response.text(), "TEXT");
  assertEquals(response.headers.get("x-before"), "1");
  const fixed = await visit(app, "/fixed");
  assertEquals([fixed.status, fixed.headers.get("x-before")], [302, "1"]);
});

Deno.test("a filter of `send` that replaces a stream by text, or by no body, cancels the stream", async () => {
  for (const body of ["text", new Uint8Array([1]), null]) {
    const app = new Engine();
    let isCancelled = false;
    app.route(
      "/",
      () => new ReadableStream({ cancel: () => void (isCancelled = true) }),
    );
    app.after("send", (_params, output) => {
      output.value = new Response(body);
    });
    await (await visit(app, "/")).text();
    assertEquals(isCancelled, true, String(body));
  }
});

Deno.test("a filter of `send` may replace a stream by another one that reads it late", async () => {
  const app = new Engine();
  app.route("/", () => ReadableStream.from(["text"]));
  app.after("send", (_params, output) => {
    const { body } = output.value as Response;
    const late = async function* () {
      yield* body!;
    };
    output.value = new Response(ReadableStream.from(late()));
  });
  assertEquals(await (await visit(app, "/")).text(), "text");
});

Deno.test("an error in `send` has its page under debug", async () => {
  const app = new Engine();
  app.set("framework.debug", true);
  app.route("/", () => "secret");
  app.map("send", () => {
    throw new Error("broken method");
  });
  let response!: Response;
  await logOf(async () => {
    response = await app.fetch("/");
  });
  assertEquals(response.status, 500);
  const text = await response.text();
  assertStringIncludes(text, "<p>broken method</p>");
  assertMatch(text, /send_test\.ts:\d+/);
  assertStringIncludes(text, "This request as a test");
});

Deno.test("the page of an error in `send` masks secrets under debug, and has the first line of the message alone", async () => {
  const app = new Engine();
  app.set("framework.debug", true);
  app.after("send", () => {
    throw new Error(`cannot open ${app.request().url}\nsecond line`);
  });
  await logOf(async () => {
    for (const accept of ["text/html", "application/json"]) {
      const headers = { accept };
      const response = await visit(app, "/?token=abc123", { headers });
      const [text] = (await response.text()).split("<details");
      assertStringIncludes(text!, "cannot open /?token=");
      assertEquals(/abc123.*\n?<\/p>|"detail":[^,]*abc123/.test(text!), false);
      assertEquals(/<p>[^<]*second|"detail":[^,]*second/.test(text!), false);
    }
  });
});

Deno.test("a stream that a filter of `send` puts in place runs in its request, which waits for it", async () => {
  const app = new Engine();
  const transformed: Record<string, (body: ReadableStream) => ReadableStream> =
    {
      "another stream": () =>
        ReadableStream.from(async function* () {
          yield "a";
          await new Promise((resolve) => setTimeout(resolve, 2));
          yield app.request().url;
        }()).pipeThrough(new TextEncoderStream()),
      "the same stream": (body) => body,
      "a stream made of it": (body) =>
        body.pipeThrough(
          new TransformStream({
            transform: (chunk, controller) => controller.enqueue(chunk),
          }),
        ),
    };
  app.route("/another stream", () => "text");
  app.route("/@kind", async function* () {
    yield "a";
    await new Promise((resolve) => setTimeout(resolve, 2));
    yield app.request().url;
  });
  let kind = "";
  app.after("send", (_params, output) => {
    output.value = new Response(transformed[kind]!(output.value.body));
  });
  for (kind of Object.keys(transformed)) {
    const path = `/${encodeURIComponent(kind)}`;
    assertEquals(await (await visit(app, path)).text(), `a${path}`, kind);
  }
});

Deno.test("a stream that one filter of `send` puts in place and another replaces is cancelled, and holds nothing", async () => {
  const passOn = (body: ReadableStream) =>
    body.pipeThrough(new TransformStream());
  for (const last of ["text", null]) {
    const app = new Engine();
    const cancelled: string[] = [];
    const streamed = (name: string) =>
      new ReadableStream({ cancel: () => void cancelled.push(name) });
    app.route("/own", () => streamed("own"));
    app.route("/other", () => "text");
    app.before("send", (params) => {
      const isOwn = app.request().url === "/own";
      const body = isOwn ? params[0].body : streamed("other");
      params[0] = new Response(passOn(body!));
    });
    app.after("send", (_params, output) => {
      output.value = new Response(last);
    });
    const server = app.start({ port: 0, signals: false, onListen() {} });
    const { port } = server.addr as Deno.NetAddr;
    for (const path of ["own", "other"]) {
      await (await fetch(`http://127.0.0.1:${port}/${path}`)).text();
    }
    assertEquals(await logOf(() => server.shutdown()), []);
    assertEquals(cancelled, ["own", "other"]);
  }
});

Deno.test("a stream that a filter of `send` has made of another fails with one line in the log", async () => {
  const app = new Engine();
  app.route("/", async function* () {
    yield "a";
    await Promise.resolve();
    throw new Error("boom");
  });
  app.after("send", (_params, output) => {
    const body = output.value.body.pipeThrough(new TransformStream());
    output.value = new Response(body);
  });
  const lines = await logOf(async () => {
    const server = app.start({ port: 0, signals: false, onListen() {} });
    const { port } = server.addr as Deno.NetAddr;
    const response = await fetch(`http://127.0.0.1:${port}/`);
    await assertRejects(() => response.text());
    await server.shutdown();
  });
  assertEquals(lines.length, 1, lines.join("\n"));
  assertStringIncludes(lines[0]!, "boom");
});

Deno.test("an error in `send` is a line in the log and a plain 500", async () => {
  const app = new Engine();
  app.route("/", () => "secret");
  app.after("send", () => {
    throw new Error("broken filter");
  });
  let response!: Response;
  const [line, ...more] = await logOf(async () => {
    response = await visit(app, "/");
  });
  assertEquals(response.status, 500);
  assertEquals(await response.text(), "Internal Server Error");
  assertMatch(
    line!,
    /^\w{8} GET \/ Error: broken filter at .+send_test\.ts:\d+$/,
  );
  assertEquals(more, []);
});

Deno.test("a mapped `send` that returns no response is a plain 500", async () => {
  const app = new Engine();
  app.map("send", () => undefined);
  const [line] = await logOf(async () => {
    assertEquals((await visit(app, "/")).status, 500);
  });
  assertStringIncludes(line!, '"send" must return a web Response');
});

Deno.test("a `Response` that is returned again has none of the headers that it was sent with", async () => {
  const app = new Engine();
  const shared = new Response("done");
  const empty = new Response(null, { status: 204 });
  app.before("send", ([response]) => {
    response.headers.append("set-cookie", `user=${app.request().query.user}`);
  });
  app.route("/done", () => shared);
  app.route("/empty", () => empty);
  for (const path of ["/done", "/empty"]) {
    for (const user of ["ada", "bob"]) {
      const response = await visit(app, `${path}?user=${user}`);
      assertEquals(await response.text(), path === "/done" ? "done" : "");
      assertEquals(response.headers.getSetCookie(), [`user=${user}`]);
    }
  }
});

/** Responses whose headers are fixed. */
const FIXED: Readonly<Record<string, () => Response | Promise<Response>>> = {
  "a redirect": () => Response.redirect("http://localhost/elsewhere"),
  "a fetched response": () => fetch("data:text/plain,fetched"),
};

for (const [what, make] of Object.entries(FIXED)) {
  Deno.test(`a filter of \`send\` that puts ${what} in place leaves later filters their headers`, async () => {
    const app = new Engine();
    app.route("/", () => "text");
    app.after("send", async (_params, output) => {
      output.value = await make();
    });
    guard(app);
    const log = await logOf(async () => {
      const response = await visit(app, "/");
      assertEquals(response.status, what === "a redirect" ? 302 : 200);
      assertEquals(response.headers.get("x-content-type-options"), "nosniff");
      await response.text();
    });
    assertEquals(log, []);
  });

  Deno.test(`a route that returns ${what} gets the headers of filters of \`send\``, async () => {
    const app = new Engine();
    app.route("/", make);
    app.before("send", ([response]) => response.headers.set("x-before", "1"));
    const response = await visit(app, "/");
    assertEquals(response.headers.get("x-before"), "1");
    await response.text();
  });
}

Deno.test("an error in `send` leaves the headers that were collected, and those of the filters after it", async () => {
  const app = new Engine();
  app.route("/", () => {
    app.response().header("x-trace", "1").cookie("a", "b").cache(60);
    return new Response("png", { headers: { "content-type": "image/png" } });
  });
  app.after("send", (_params, { value }) => {
    value.headers.set("vary", "Origin");
    throw new Error("no database");
  });
  guard(app, { headers: { "content-security-policy": "default-src 'self'" } });
  let response!: Response;
  const log = await logOf(async () => {
    response = await visit(app, "/");
  });
  assertEquals([response.status, log.length], [500, 1]);
  assertEquals(await response.text(), "Internal Server Error");
  const sent = Object.fromEntries(response.headers);
  assertEquals(sent["x-trace"], "1");
  assertEquals(sent["x-content-type-options"], "nosniff");
  assertEquals(sent["content-security-policy"], "default-src 'self'");
  assertEquals(sent["content-type"], "text/plain;charset=UTF-8");
  assertEquals([sent["cache-control"], sent["vary"]], [undefined, "Origin"]);
  assertEquals(response.headers.getSetCookie().length, 1);
});

Deno.test("an `origins` function of `cors` that throws is a 500 with the headers of `guard`", async () => {
  const app = new Engine();
  app.route("/", () => "text");
  const origins = (): boolean => {
    throw new Error("no database");
  };
  cors(app, { origins });
  guard(app);
  const headers = { origin: "https://a.test" };
  await logOf(async () => {
    const response = await visit(app, "/", { headers });
    assertEquals(response.status, 500);
    assertEquals(response.headers.get("x-content-type-options"), "nosniff");
    await response.text();
  });
});

Deno.test("the 500 of an error in `send` keeps policies, and nothing that describes the body before", async () => {
  const app = new Engine();
  const policy = "default-src 'self'";
  app.route("/", () => {
    app.response().header("content-security-policy", policy)
      .header("content-language", "de").header("cache-control", "max-age=60");
    return "text";
  });
  app.after("send", () => {
    throw new Error("broken filter");
  });
  await logOf(async () => {
    const { headers } = await visit(app, "/");
    assertEquals(headers.get("content-security-policy"), policy);
    assertEquals(headers.get("content-language"), null);
    assertEquals(headers.get("cache-control"), null);
  });
});

Deno.test("each error in `send` is a line in the log, also where the mapped one fails", async () => {
  const app = new Engine();
  app.route("/", () => "text");
  app.map("send", () => {
    throw new Error("mapped");
  });
  app.after("send", () => Promise.reject(new Error("after")));
  app.after("send", (_params, { value }) => value.headers.set("x-last", "1"));
  const log = await logOf(async () => {
    const response = await visit(app, "/");
    assertEquals(response.status, 500);
    assertEquals(response.headers.get("x-last"), "1");
  });
  assertEquals(log.length, 2);
  assertMatch(log[0]!, /GET \/ Error: mapped at /);
  assertMatch(log[1]!, /GET \/ Error: after at /);
});

Deno.test("a filter of `send` that only reads the body is an error, and one that returns `false` ends its chain", async () => {
  const app = new Engine();
  app.route("/", () => "text");
  app.after("send", async (_params, { value }) => void await value.text());
  const [line] = await logOf(async () => {
    assertEquals((await visit(app, "/")).status, 500);
  });
  assertStringIncludes(
    line!,
    "must return a web Response whose body has not been read",
  );

  const other = new Engine();
  other.route("/", () => "text");
  for (const moment of ["before", "after"] as const) {
    other[moment]("send", () => false);
    other[moment]("send", () => {
      throw new Error("never");
    });
  }
  assertEquals(await (await visit(other, "/")).text(), "text");
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

Deno.test("the 500 for a filter that fails has no body for HEAD", async () => {
  const app = new Engine();
  app.route("/", () => "text");
  app.after("send", () => {
    throw new Error("boom");
  });
  await logOf(async () => {
    const response = await visit(app, "/", { method: "HEAD" });
    assertEquals([response.status, response.body], [500, null]);
  });
});

Deno.test("each filter before `send` gets what the one before it has left, and `response()` tells of it", async () => {
  const app = new Engine();
  const seen: unknown[] = [];
  app.before("send", (params) => {
    params[0] = new Response("first", { status: 201 });
  });
  app.before("send", async ([response]) => {
    seen.push(await response.clone().text(), app.response().status());
  });
  app.after("send", () => void seen.push(app.response().length));
  app.route("/", () => "text");
  const response = await app.fetch("/");
  assertEquals([response.status, await response.text()], [201, "first"]);
  assertEquals(seen, ["first", 201, 5]);
});

Deno.test("a filter of `send` that begins to read the body is an error, and each filter runs once", async () => {
  for (const body of ["text", new Blob(["blob"]), ReadableStream.from([])]) {
    const app = new Engine();
    let count = 0;
    app.after("send", () => void count++);
    app.after("send", (_params, output) => {
      output.value.body?.getReader();
    });
    app.route("/", () => new Response(body));
    await logOf(async () => {
      assertEquals((await app.fetch("/")).status, 500);
    });
    assertEquals(count, 1);
  }
});

Deno.test("`length` in a filter of `send` is that of a page, not of what it replaces", async () => {
  const app = new Engine();
  const seen: unknown[] = [];
  app.map("error", () => {
    return "the page of it";
  });
  app.after("send", () => {
    const response = app.response();
    seen.push(response.length);
  });
  app.route("/", () => {
    throw new Error("boom");
  });
  await logOf(async () => await (await app.fetch("/")).text());
  assertEquals(seen[0], 14);
});

Deno.test("a response that a filter of `send` puts in place of that of a HEAD has its length and no body", async () => {
  const app = new Engine();
  app.after("send", (_params, output) => {
    output.value = new Response("another text");
  });
  app.route("/", () => "text");
  const response = await visit(app, "/", { method: "HEAD" });
  assertEquals(response.headers.get("content-length"), "12");
  assertEquals(response.body, null);
});
