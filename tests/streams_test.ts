/** Tests bodies that are streams: they run in the scope of their request, and end when nobody reads them. */

import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { ServerSentEventStream } from "@std/http/server-sent-event-stream";
import { Engine, html, HttpError } from "@framework/core";
import { since29 } from "./deno_version.ts";
import { type App, limitTime, onEngine, visit } from "./forms.ts";
import { logOf } from "./log.ts";
import { ServerProcess } from "./server_child.ts";

function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** Three chunks, each with a variable of the request that is read while the stream runs. */
async function* chunks(app: App): AsyncGenerator<string> {
  for (let count = 0; count < 3; count++) {
    await later();
    yield `${app.get("user")}${count} `;
  }
}

/** A stream with a `pull` of its own, which would otherwise run in the context of its reader. */
function pulled(app: App): ReadableStream<Uint8Array> {
  let count = 0;
  return new ReadableStream({
    async pull(controller) {
      await later();
      const text = `${app.get("user")}${count++} `;
      controller.enqueue(new TextEncoder().encode(text));
      if (count === 3) controller.close();
    },
  }, { highWaterMark: 0 });
}

const STREAMS: Record<string, (app: App) => unknown> = {
  "an async iterable": chunks,
  "a stream": pulled,
  "a piped stream": (app) =>
    ReadableStream.from(chunks(app)).pipeThrough(new TextEncoderStream()),
  "a Response of a stream": (app) => new Response(pulled(app)),
  "a Response of a stream that says JSON": (app) =>
    new Response(pulled(app), {
      headers: { "content-type": "application/json" },
    }),
  "a Response of a stream that knows its length": (app) =>
    new Response(pulled(app), { headers: { "content-length": "15" } }),
  "a Response with collected headers": (app) => {
    app.response().header("x-a", "1");
    return new Response(pulled(app));
  },
};

onEngine("`route()` streams in the scope of its request", async (app) => {
  for (const [name, stream] of Object.entries(STREAMS)) {
    app.init();
    app.route("/@user", (user) => {
      app.set("user", user);
      return stream(app);
    });
    app.route("/later/@user", async (user) => {
      await later();
      app.set("user", user);
      return stream(app);
    });
    for (const path of ["", "/later"]) {
      const [ada, bob] = await Promise.all([
        visit(app, `${path}/ada`),
        visit(app, `${path}/bob`),
      ]);
      assertEquals(await Promise.all([ada.text(), bob.text()]), [
        "ada0 ada1 ada2 ",
        "bob0 bob1 bob2 ",
      ], name);
    }
  }
});

since29.test("`start()` streams in the scope of its request on a socket", async () => {
  const app = new Engine() as App;
  for (const [name, stream] of Object.entries(STREAMS)) {
    app.route(`/${encodeURIComponent(name)}/@user`, async (user) => {
      await later();
      app.set("user", user);
      return stream(app);
    });
  }
  await serving(app, async (origin) => {
    for (const name of Object.keys(STREAMS)) {
      const url = `${origin}/${encodeURIComponent(name)}`;
      const users = ["ada", "bob", "eve"];
      const texts = users.map(async (user) =>
        await (await fetch(`${url}/${user}`)).text()
      );
      const expected = users.map((user) => `${user}0 ${user}1 ${user}2 `);
      assertEquals(await Promise.all(texts), expected, name);
    }
  });
});

Deno.test("`start()` sends a returned `Response` of a value with its Content-Length, not in chunks", async () => {
  const app = new Engine() as App;
  const html = { headers: { "content-type": "text/html; charset=utf-8" } };
  const values: Record<string, () => Response> = {
    "/text": () => new Response("abc"),
    "/html": () => new Response("abc", html),
    "/status": () => new Response("abc", { ...html, status: 404 }),
    "/headers": () =>
      new Response("abc", { headers: { "x-a": "1", "x-b": "2" } }),
    "/json": () => Response.json(1),
    "/bytes": () => new Response(new Uint8Array(3), html),
  };
  for (const [path, value] of Object.entries(values)) {
    app.route(path, value);
    app.route(`/more${path}`, () => {
      app.response().cookie("a", "1");
      return value();
    });
  }
  await serving(app, async (origin) => {
    for (const path of Object.keys(values)) {
      for (const prefix of ["", "/more"]) {
        const response = await fetch(origin + prefix + path);
        const length = String((await response.bytes()).length);
        assertEquals(response.headers.get("content-length"), length, path);
      }
    }
  });
});

onEngine("`route()` streams server-sent events", async (app) => {
  app.route("/events", () => {
    app.set("user", "ada");
    app.response().header("content-type", "text/event-stream").cache(false);
    return ReadableStream.from(events()).pipeThrough(
      new ServerSentEventStream(),
    );
  });
  async function* events(): AsyncGenerator<{ id: number; data: string }> {
    for (let id = 1; id <= 2; id++) {
      await later();
      yield { id, data: String(app.get("user")) };
    }
  }
  const response = await visit(app, "/events");
  assertEquals(response.headers.get("content-type"), "text/event-stream");
  assertEquals(response.headers.get("cache-control"), "no-store");
  const text = await response.text();
  assertEquals(text.match(/^(id|data):.*/gm), [
    "data:ada",
    "id:1",
    "data:ada",
    "id:2",
  ]);
});

onEngine(
  "`route()` leaves the bytes of a stream as they are",
  async (app) => {
    const pixel = new Uint8Array([1, 2, 3]);
    app.route("/", async function* () {
      yield pixel;
      await later();
      yield pixel.subarray(1);
      yield new Uint8Array();
    });
    for (let count = 0; count < 2; count++) {
      const bytes = await (await visit(app, "/")).bytes();
      assertEquals([...bytes], [1, 2, 3, 2, 3]);
    }
  },
);

onEngine(
  "`route()` reads a stream no faster than its client",
  async (app) => {
    let made = 0;
    app.route("/", async function* () {
      for (; made < 100; made++) yield "x";
      await later();
    });
    const response = await visit(app, "/");
    await later();
    assert(made <= 2, `${made} chunks were made`);
    await response.body!.cancel();
  },
);

onEngine(
  "`route()` ends its stream when the client leaves, in the request's scope",
  async (app) => {
    let ended: unknown;
    app.route("/", async function* () {
      app.set("user", "ada");
      try {
        while (true) {
          await later();
          yield "x";
        }
      } finally {
        ended = app.get("user");
      }
    });
    const reader = (await visit(app, "/")).body!.getReader();
    await reader.read();
    await reader.cancel();
    assertEquals(ended, "ada");
  },
);

/** Streams whose sources wait for ever after their first chunk, and what is kept once clients have left. */
const ABANDONED = `
  import { Engine } from "@framework/core";

  const app = new Engine();
  const requests = [];
  const waiting = []; // as a list of listeners would: it keeps each source
  app.route("/", async function* () {
    requests.push(new WeakRef(app.request()));
    yield "first";
    await new Promise((resolve) => waiting.push(resolve));
  });
  const server = app.start({ port: 0 });
  for (let count = 0; count < 20; count++) {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: server.addr.port });
    await connection.write(new TextEncoder().encode("GET / HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n"));
    let text = "";
    const decoder = new TextDecoder();
    const buffer = new Uint8Array(1024);
    while (!text.includes("first")) {
      text += decoder.decode(buffer.subarray(0, await connection.read(buffer)));
    }
    connection.close();
  }
  const kept = () => requests.filter((request) => request.deref() !== undefined).length;
  for (let round = 0; round < 100 && kept() > 0; round++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    gc();
  }
  console.log(\`\${waiting.length} sources wait, \${kept()} requests are kept\`);
  Deno.exit();
`;

Deno.test("`route()` lets go of a stream's request when its client leaves, though its source still waits", async () => {
  const command = ["run", "--v8-flags=--expose-gc"];
  await using process = await ServerProcess.start(ABANDONED, { command });
  const [, kept] = await process.prints(/wait, (\d+) requests are kept/);
  assertEquals(kept, "0", process.printed);
  assertStringIncludes(process.printed, "20 sources wait");
});

Deno.test("a stream that a route returns once its request is over is cancelled", async () => {
  const [app, engine] = [new Engine(), new Engine()];
  const ran = limitTime(app as App);
  const cancelled: string[] = [];
  const slow = (name: string) => async () => {
    await new Promise((resolve) => setTimeout(resolve, 10));
    return new ReadableStream({ cancel: () => void cancelled.push(name) });
  };
  app.route("/first", slow("first"));
  app.route("/next", () => true);
  app.route("/next", slow("next"));
  app.mount("/in", engine);
  engine.route("/x", slow("mounted"));
  for (const path of ["/first", "/next", "/in/x"]) {
    assertEquals((await app.fetch(path)).status, 503, path);
  }
  await ran;
  await new Promise((resolve) => setTimeout(resolve, 20));
  assertEquals(cancelled, ["first", "next", "mounted"]);
});

onEngine(
  "`route()` logs what a stream's clean-up throws after its client has left",
  async (app) => {
    app.route("/", async function* () {
      try {
        yield "x";
        await later();
      } finally {
        await Promise.reject(new Error("no clean-up"));
      }
    });
    const log = await logOf(async () => {
      const reader = (await visit(app, "/")).body!.getReader();
      await reader.read();
      await reader.cancel();
    });
    assertEquals(log.length, 1);
    assertMatch(
      log[0]!,
      /^\w+ GET \/ Error at the end of a stream: Error: no clean-up\n/,
    );
  },
);

onEngine(
  "`route()` gives the client the error of a stream, and lets its request end",
  async (app) => {
    app.route("/", async function* () {
      yield "half a page";
      await later();
      throw new Error("boom");
    });
    app.route("/strange", async function* () {
      yield 42;
      await later();
    });
    const log = await logOf(async () => {
      await assertRejects(
        async () => await (await visit(app, "/")).text(),
        Error,
        "boom",
      );
      await assertRejects(
        async () => await (await visit(app, "/strange")).text(),
        TypeError,
        "a chunk must be bytes, text or html, got 42",
      );
    });
    assertEquals(log, []);
  },
);

Deno.test("`start()` breaks the connection when a stream fails, logs it, and goes on", async () => {
  const app = new Engine() as App;
  app.route("/", async function* () {
    yield "half a page";
    await later();
    throw new Error("boom");
  });
  app.route("/fine", () => "fine");
  const log = await logOf(() =>
    serving(app, async (origin) => {
      await assertRejects(async () => await (await fetch(origin)).text());
      assertEquals(await (await fetch(`${origin}/fine`)).text(), "fine");
    })
  );
  assertStringIncludes(log.join(), "boom");
});

Deno.test("`start()` logs the error of a stream once, whole, with its request, also where an engine is mounted", async () => {
  const app = new Engine();
  const inner = new Engine();
  const outer = new Engine();
  app.mount("/shop", inner);
  outer.mount("/all", app);
  inner.route("/", async function* () {
    yield "half a page";
    await later();
    throw new HttpError(404, "gone");
  });
  inner.route("/first", () =>
    new ReadableStream({
      pull() {
        throw new TypeError("boom");
      },
    }));
  const errors = { "": "HttpError: gone", "/first": "TypeError: boom" };
  for (const [path, error] of Object.entries(errors)) {
    const log = await logOf(() =>
      serving(outer as App, async (origin) => {
        const response = await fetch(`${origin}/all/shop${path}`);
        await assertRejects(() => response.text());
      })
    );
    assertEquals(log.length, 1);
    const [line, place] = log[0]!.split("\n");
    assertEquals(
      line!.replace(/^\w{8} /, ""),
      `GET /all/shop${path} Error in a stream: ${error}`,
    );
    assertStringIncludes(place!, "streams_test.ts");
  }
});

Deno.test("`start()` breaks the connection of a stream that does not fit its `Content-Length`, and logs it", async () => {
  const app = new Engine() as App;
  async function* parts(sizes: string): AsyncGenerator<Uint8Array> {
    for (const size of sizes.split("-")) {
      yield new Uint8Array(Number(size));
      await later();
    }
  }
  app.route("/@length/@sizes", (length, sizes) => {
    app.response().header("content-length", length);
    return parts(sizes);
  });
  app.route("/5/@sizes/response", (sizes) => {
    app.response().header("content-length", 5);
    return new Response(ReadableStream.from(parts(sizes)));
  });
  app.mount("/5/mounted", (request: Request) => {
    const sizes = request.url.slice(request.url.lastIndexOf("/") + 1);
    const headers = { "content-length": "5" };
    return new Response(ReadableStream.from(parts(sizes)), { headers });
  });
  const fates = {
    "/6/6": "fits",
    "/6/2-4-0": "fits",
    "/0/0": "fits",
    "/2/6": "it has 6 bytes or more, but Content-Length says 2",
    "/2/2-0-4": "it has 6 bytes or more, but Content-Length says 2",
    "/50/1-2": "it has 3 bytes, but Content-Length says 50",
    "/5/2-3/response": "fits",
    "/5/2-4/response": "it has 6 bytes or more, but Content-Length says 5",
    "/5/mounted/5": "fits",
    "/5/mounted/3": "it has 3 bytes, but Content-Length says 5",
  };
  for (const [path, fate] of Object.entries(fates)) {
    const log = await logOf(() =>
      serving(app, async (origin) => {
        const response = await fetch(origin + path);
        const text = response.text();
        if (fate === "fits") assertEquals((await text).length, +path[1]!);
        else await assertRejects(() => text);
      })
    );
    assertEquals(
      log.map((line) => line.split("\n")[0]!.replace(/^\w{8} /, "")),
      fate === "fits" ? [] : [
        `GET ${path} Error in a stream: RangeError: Cannot send the stream: ${fate}`,
      ],
    );
  }
});

Deno.test("`start()` logs no error of a stream whose source fails because its client leaves", async () => {
  const app = new Engine() as App;
  let hasFailed = false;
  app.route("/", async function* () {
    const { signal } = app.request();
    yield "first";
    const { promise, reject } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => reject(signal.reason));
    await promise.finally(() => hasFailed = true);
  });
  const log = await logOf(() =>
    serving(app, async (origin) => {
      const reader = (await fetch(origin)).body!.getReader();
      await reader.read();
      await reader.cancel();
      while (!hasFailed) await later();
    })
  );
  assertEquals(log, []);
});

Deno.test("`start()` logs that `stop()` and `halt()` break the connection of a stream", async () => {
  const app = new Engine() as App;
  for (const name of ["stop", "halt"] as const) {
    app.route(`/${name}`, async function* () {
      yield "half a page";
      await later();
      app[name]();
    });
    const log = await logOf(() =>
      serving(app, async (origin) => {
        const response = await fetch(`${origin}/${name}`);
        await assertRejects(() => response.text());
      })
    );
    assertEquals(log.length, 1);
    assertStringIncludes(
      log.join(),
      "Cannot call stop() or halt() in a stream: the response has already been made",
    );
  }
});

/** What keeps a returned stream from being sent, done in the callback or after it. */
const UNSENT: Record<
  string,
  {
    method?: string;
    within?: (app: App) => unknown;
    after?: (app: App) => unknown;
  }
> = {
  "a HEAD request": { method: "HEAD" },
  "a seal": { within: (app) => app.json(1) },
  "a status without a body": { within: (app) => app.response().status(204) },
  "an error": { after: () => Promise.reject(new Error("x")) },
  "a page": { after: (app) => app.notFound() },
  "a halt": { after: (app) => app.halt() },
  "another body": { after: (app) => void app.response().clearBody() },
};

onEngine(
  "`route()` cancels a stream that nobody will read",
  async (app) => {
    for (
      const [name, { method = "GET", within, after }] of Object.entries(UNSENT)
    ) {
      app.init();
      let given = false;
      app.route("/", () => {
        within?.(app);
        return new ReadableStream({ cancel: () => void (given = true) });
      });
      if (after) app.after("start", () => after(app));
      await visit(app, "/", { method });
      assert(given, name);
    }
  },
);

onEngine(
  "`route()` cancels the stream of a `Response` that nobody will read",
  async (app) => {
    let given = 0;
    const stream = (): ReadableStream =>
      new ReadableStream({ cancel: () => void given++ });
    app.route("/", () => new Response(stream()));
    app.route("/sealed", () => {
      app.json(1);
      return new Response(stream());
    });
    await visit(app, "/", { method: "HEAD" });
    await visit(app, "/sealed");
    assertEquals(given, 2);
  },
);

onEngine(
  "`route()` makes an error of a stream that something else is reading",
  async (app) => {
    const locked = new ReadableStream();
    const reader = locked.getReader();
    app.route("/", () => locked);
    const response = await visit(app, "/");
    assertEquals(response.status, 500);
    reader.releaseLock();
  },
);

Deno.test("`start()` sends the stream of a file, which the runtime can do by itself", async () => {
  const path = await Deno.makeTempFile();
  await Deno.writeTextFile(path, "x".repeat(100_000));
  const app = new Engine() as App;
  let file: ReadableStream | undefined;
  app.route("/", async () => {
    return file = (await Deno.open(path)).readable;
  });
  const response = await visit(app, "/");
  assertEquals(response.body === file, true);
  await response.body!.cancel();
  await serving(app, async (origin) => {
    assertEquals((await (await fetch(origin)).text()).length, 100_000);
  });
  await Deno.remove(path);
});

Deno.test("`route()` streams the markup that a generator yields", async () => {
  const app = new Engine();
  app.route("/", async function* () {
    yield html`<p>${"<b>"}</p>`;
    yield "!";
  });
  const response = await app.fetch("/");
  assertEquals(await response.text(), "<p>&lt;b&gt;</p>!");
});

Deno.test("`route()` streams a plain object that is an async iterable", async () => {
  const app = new Engine();
  app.route("/", () => ({
    async *[Symbol.asyncIterator]() {
      yield "a";
      await later();
      yield "b";
    },
  }));
  const response = await visit(app, "/");
  assertEquals(await response.text(), "ab");
});

Deno.test("`start()` closes the connection when a stream throws what cannot be looked at", async () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const app = new Engine();
  app.route("/", () => {
    return new ReadableStream({
      pull() {
        throw proxy;
      },
    });
  });
  await logOf(() =>
    serving(app, async (origin) => {
      const signal = AbortSignal.timeout(3_000);
      const reading = fetch(origin, { signal }).then((sent) => sent.text());
      const error = await assertRejects(() => reading);
      assertEquals(error instanceof DOMException, false); // no time-out
    })
  );
});

async function serving(
  app: App,
  work: (origin: string) => Promise<void>,
): Promise<void> {
  const server = app.start({ port: 0, signals: false, onListen() {} });
  try {
    await work(`http://127.0.0.1:${(server.addr as Deno.NetAddr).port}`);
  } finally {
    await server.shutdown();
  }
}

onEngine(
  "`defer()` runs at once what a body defers while it streams",
  async (app) => {
    const done: string[] = [];
    app.route("/", async function* () {
      app.defer(() => void done.push("deferred"));
      while (done.length === 0) await later();
      yield done.join();
    });
    assertEquals(await (await visit(app, "/")).text(), "deferred");
  },
);

Deno.test("a stream that a filter of `send` cancels ends no request whose response is still being made", async () => {
  const app = new Engine();
  app.route("/", () => void app.response().events([{ data: "a" }]));
  app.after("send", async (_params, output) => {
    await output.value.body.cancel();
    await later();
    output.value = new Response(app.request().url);
  });
  const response = await app.fetch("/");
  assertEquals([response.status, await response.text()], [200, "/"]);
});

Deno.test("a stream that a filter of `start`, a guard or a mapped `send` returns where it cannot is cancelled", async () => {
  const cancelled: string[] = [];
  const declared: Readonly<
    Record<string, (app: Engine, stream: ReadableStream) => void>
  > = {
    filter: (app, stream) => app.before("start", () => new Response(stream)),
    guard: (app, stream) => {
      const guard = (() => stream) as unknown as () => boolean;
      app.route("/", () => "in").addMiddleware(guard);
    },
    send: (app, stream) => {
      app.map("send", () => stream);
      app.route("/", () => "in");
    },
  };
  for (const [name, declare] of Object.entries(declared)) {
    const app = new Engine();
    declare(
      app,
      new ReadableStream({ cancel: () => void cancelled.push(name) }),
    );
    await logOf(async () => {
      assertEquals((await app.fetch("/")).status, 500, name);
    });
  }
  assertEquals(cancelled, Object.keys(declared));
});

Deno.test("a stream that a hook of middleware returns once the response is sealed is cancelled", async () => {
  const cancelled: string[] = [];
  const body = (name: string) =>
    new ReadableStream({ cancel: () => void cancelled.push(name) });
  const [hook, guard] = [new Engine(), new Engine()];
  hook.route("/", () => {
    hook.json({});
    throw new Error("boom");
  }).addMiddleware({ error: () => new Response(body("hook")) });
  guard.route("/", () => "in").addMiddleware(
    (() => {
      guard.redirect("/a");
      return body("guard");
    }) as unknown as () => boolean,
  );
  await logOf(async () => {
    for (const app of [hook, guard]) await app.fetch("/");
  });
  assertEquals(cancelled, ["hook", "guard"]);
});
