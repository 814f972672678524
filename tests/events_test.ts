/** Tests server-sent events: what is sent, heartbeats, and that their source ends with its client. */

import {
  assert,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Engine, html, type ServerSentEvent } from "@framework/core";
import { secondsOf } from "./clock.ts";
import { type App, onEngine, visit } from "./forms.ts";
import { logOf } from "./log.ts";
import { RawConnection, sendRaw } from "./raw_http.ts";
import { ServerProcess } from "./server_child.ts";

function later(milliseconds = 0): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** The events given, and then none, without an end. */
class Endless implements AsyncIterable<ServerSentEvent> {
  /** Settles with the first call of `return()`. */
  readonly ended = Promise.withResolvers<void>();
  returned = 0;

  constructor(readonly events: ServerSentEvent[] = []) {}

  [Symbol.asyncIterator](): AsyncIterator<ServerSentEvent> {
    return {
      next: () => {
        const value = this.events.shift();
        return value === undefined
          ? new Promise(() => {})
          : Promise.resolve({ done: false, value });
      },
      return: () => {
        this.returned++;
        this.ended.resolve();
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }
}

onEngine(
  "`events()` sends each event, in the scope of its request",
  async (app) => {
    app.route("/", () => {
      app.set("user", "ada");
      return app.response().events(events());
    });
    async function* events(): AsyncGenerator<ServerSentEvent> {
      yield { data: "a\nb", event: "news", id: 7, retry: 100 };
      await later();
      yield { data: String(app.get("user")) };
      yield { comment: "end" };
    }
    const response = await visit(app, "/");
    assertEquals(
      Object.fromEntries(response.headers),
      {
        "cache-control": "no-store",
        "content-type": "text/event-stream",
        "x-accel-buffering": "no",
      },
    );
    assertEquals(
      await response.text(),
      "event: news\ndata: a\ndata: b\nid: 7\nretry: 100\n\ndata: ada\n\n: end\n\n",
    );
  },
);

onEngine(
  "`events()` sends a heartbeat every 15 seconds where no event comes, and loses none",
  async (app) => {
    app.route("/", () => app.response().events(slow()));
    async function* slow(): AsyncGenerator<ServerSentEvent> {
      await later(40_000);
      yield { data: "at last" };
    }
    await secondsOf(async () =>
      assertEquals(
        await (await visit(app, "/")).text(),
        ": heartbeat\n\n: heartbeat\n\ndata: at last\n\n",
      )
    );
  },
);

onEngine(
  "`events()` ends its source when the client leaves, though no event comes",
  async (app) => {
    for (const heartbeat of [0, 1_000]) {
      const source = new Endless();
      app.init();
      app.route("/", () => app.response().events(source, { heartbeat }));
      const reader = (await visit(app, "/")).body!.getReader();
      const read = reader.read();
      await later();
      assertEquals(source.returned, 0);
      await reader.cancel();
      assertEquals([source.returned, (await read).done], [1, true]);
    }
  },
);

onEngine(
  "`events()` ends its source in the scope of its request",
  async (app) => {
    let ended: unknown;
    app.route("/", () => {
      app.set("user", "ada");
      return app.response().events(events());
    });
    async function* events(): AsyncGenerator<ServerSentEvent> {
      try {
        while (true) {
          yield { data: "x" };
          await later();
        }
      } finally {
        await later();
        ended = app.get("user");
      }
    }
    const reader = (await visit(app, "/")).body!.getReader();
    await reader.read();
    await reader.cancel();
    assertEquals(ended, "ada");
  },
);

Deno.test("`events()` of a stream cancels it when the client leaves, while it waits for an event", async () => {
  const app = new Engine();
  const cancelled = Promise.withResolvers<string>();
  app.route("/", () =>
    app.response().events(
      new ReadableStream<ServerSentEvent>({
        start: (controller) => controller.enqueue({ data: "first" }),
        cancel: () => cancelled.resolve(app.request().url),
      }),
    ));
  await using server = app.start({ port: 0, signals: false, onListen() {} });
  {
    const { port } = server.addr as Deno.NetAddr;
    using connection = await RawConnection.open(port);
    await connection.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await connection.receive("data: first");
  }
  assertEquals(await cancelled.promise, "/");
});

Deno.test("a heartbeat of `events()` leaves nothing in memory", async () => {
  const source = `
    import { Engine } from "@framework/core";
    const app = new Engine();
    const endless = { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) };
    app.route("/", () => app.response().events(endless, { heartbeat: 1e-6 }));
    const reader = (await app.fetch("/")).body.getReader();
    const used = async (count) => {
      for (let n = 0; n < count; n++) await reader.read();
      gc();
      return Deno.memoryUsage().heapUsed;
    };
    const before = await used(500);
    console.log("grown by " + ((await used(2_000)) - before) + " bytes");
  `;
  const command = ["run", "--v8-flags=--expose-gc"];
  await using child = await ServerProcess.start(source, { command });
  const [, bytes] = await child.prints(/grown by (-?\d+) bytes/);
  assert(Number(bytes) < 2 ** 20, bytes);
});

for (const heartbeat of [0, 0.01]) {
  Deno.test(`\`events()\` with a heartbeat of ${heartbeat} s ends its source when the client leaves its socket`, async () => {
    const app = new Engine();
    const source = new Endless([{ data: "first" }]);
    app.route("/", () => app.response().events(source, { heartbeat }));
    await using server = app.start({ port: 0, signals: false, onListen() {} });
    const { port } = server.addr as Deno.NetAddr;
    using connection = await Deno.connect({ hostname: "127.0.0.1", port });
    const request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    await connection.write(new TextEncoder().encode(request));
    const decoder = new TextDecoder();
    let text = "";
    while (!text.includes("data: first\n\n")) {
      const buffer = new Uint8Array(1024);
      const length = await connection.read(buffer);
      text += decoder.decode(buffer.subarray(0, length ?? 0));
    }
    connection.close();
    await source.ended.promise;
    assertEquals(source.returned, 1);
  });
}

Deno.test("`signal` of the request ends a generator of `events()` that waits for others", async () => {
  const app = new Engine();
  const ended = Promise.withResolvers<void>();
  app.route("/", () => app.response().events(events()));
  async function* events(): AsyncGenerator<ServerSentEvent> {
    const { signal } = app.request();
    const left = new Promise((resolve) =>
      signal.addEventListener("abort", resolve)
    );
    try {
      while (!signal.aborted) {
        yield { data: "first" };
        await left; // as for an event that nobody sends
      }
    } finally {
      ended.resolve();
    }
  }
  await using server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const response = await fetch(`http://127.0.0.1:${port}/`);
  const reader = response.body!.getReader();
  await reader.read();
  await reader.cancel();
  await ended.promise;
});

onEngine(
  "`events()` ends its source after an event that cannot be sent",
  async (app) => {
    let ended = false;
    app.route("/", () => app.response().events(events()));
    async function* events(): AsyncGenerator<ServerSentEvent> {
      try {
        yield { event: "two\nlines", data: "x" };
        await later();
      } finally {
        ended = true;
      }
    }
    const log = await logOf(async () => {
      const error = await (await visit(app, "/")).text().catch(String);
      assertStringIncludes(error, "SyntaxError");
    });
    assertEquals([ended, log], [true, []]);
  },
);

onEngine("`events()` ends a source that is never read", async (app) => {
  const ways: Record<string, (app: App, source: Endless) => unknown> = {
    HEAD: (app, source) => app.response().events(source),
    GET: (app, source) => {
      app.json(1);
      return app.response().events(source);
    },
  };
  for (const [method, way] of Object.entries(ways)) {
    const source = new Endless();
    app.init();
    app.route("/", () => way(app, source));
    const response = await visit(app, "/", { method });
    await response.body?.cancel();
    assertEquals(source.returned, 1, method);
  }
});

onEngine(
  "`events()` takes a list, and refuses what is no iterable",
  async (app) => {
    app.route("/", () => {
      assertThrows(() => app.response().events(42 as never), TypeError);
      return app.response().events([{ data: "a" }, { data: "b" }]);
    });
    const response = await visit(app, "/");
    assertEquals(await response.text(), "data: a\n\ndata: b\n\n");
  },
);

onEngine("`events()` refuses a heartbeat that is no time", async (app) => {
  app.route("/", () => {
    for (const heartbeat of [-1, NaN, "soon" as never]) {
      assertThrows(
        () => app.response().events(new Endless(), { heartbeat }),
        RangeError,
        `the heartbeat must be 0 seconds or more, got "${heartbeat}"`,
      );
    }
  });
  assertEquals((await visit(app, "/")).status, 200);
});

Deno.test("`events()` keeps the first space of each value", async () => {
  const app = new Engine();
  const events = [{ data: " a\n b", event: " c", id: " d" }, { data: "" }];
  app.route("/", () => app.response().events(events));
  assertEquals(
    await (await visit(app, "/")).text(),
    "event:  c\ndata:  a\ndata:  b\nid:  d\n\ndata: \n\n",
  );
});

Deno.test("`events()` takes `html` as the text of an event", async () => {
  const app = new Engine();
  app.route("/", () => app.response().events([{ data: html`<b>${"<"}</b>` }]));
  assertEquals(
    await (await visit(app, "/")).text(),
    "data: <b>&lt;</b>\n\n",
  );
});

const NO_EVENTS: [event: unknown, message: string][] = [
  [
    "text",
    'it must be a record such as { data: "text" }, got the string "text"',
  ],
  [null, 'it must be a record such as { data: "text" }, got null'],
  [["a"], 'it must be a record such as { data: "text" }, got [ "a" ]'],
  [
    { text: 1 },
    'it must be a record such as { data: "text" }, got { text: 1 }',
  ],
  [{ data: 42 }, "its data must be text, got 42"],
  [{ data: { a: 1 } }, "its data must be text, got { a: 1 }"],
  [{ data: null }, "its data must be text, got null"],
  [{ event: 1 }, "its event must be text, got 1"],
  [
    { data: "", retry: -1 },
    "retry must be a number of milliseconds, at least 0, got -1",
  ],
];

for (const [event, message] of NO_EVENTS) {
  Deno.test(`\`events()\` refuses ${JSON.stringify(event)}`, async () => {
    const app = new Engine();
    app.route("/", () => app.response().events([event] as ServerSentEvent[]));
    const error = await (await visit(app, "/")).text().catch(String);
    assertEquals(error, `TypeError: Cannot send the event: ${message}`);
  });
}

/** Options of a server for a test: a free port, nothing printed, no signals. */
const QUIET = { port: 0, signals: false, onListen() {} } as const;

/** An application whose events never end, mounted in another; what it has cleaned up, and in which scope. */
function mountedEvents(): { app: Engine; cleaned: unknown[] } {
  const [app, inner] = [new Engine(), new Engine()];
  const cleaned: unknown[] = [];
  app.mount("/inner", inner);
  inner.route("/events/@name", (name) => {
    inner.set("name", name);
    return inner.response().events(events());
  });
  async function* events(): AsyncGenerator<ServerSentEvent> {
    const { signal } = inner.request();
    const left = new Promise((resolve) =>
      signal.addEventListener("abort", resolve)
    );
    try {
      yield { data: "first" };
      await left;
    } finally {
      cleaned.push(inner.get("name"));
    }
  }
  return { app, cleaned };
}

Deno.test("`shutdown()` ends `events()` at once, of a mounted engine too", async () => {
  const { app, cleaned } = mountedEvents();
  const server = app.start(QUIET);
  const { port } = server.addr as Deno.NetAddr;
  const url = `http://127.0.0.1:${port}/inner/events/ada`;
  const log = await logOf(async () => {
    const waited = await secondsOf(async () => {
      const response = await fetch(url);
      await server.shutdown();
      assertEquals(await response.text(), "data: first\n\n");
    });
    assertEquals(waited, 0);
  });
  assertEquals([cleaned, log], [["ada"], []]);
});

Deno.test("`shutdown()` waits for what `events()` of a mounted engine clean up, before `onShutdown`", async () => {
  const [app, inner] = [new Engine(), new Engine()];
  const done: string[] = [];
  async function* events(): AsyncGenerator<ServerSentEvent> {
    try {
      for (;;) {
        yield { data: "again" };
        await later(10);
      }
    } finally {
      await later(50);
      done.push("cleaned up");
    }
  }
  inner.route("/", () => inner.response().events(events()));
  app.mount("/inner", inner);
  const onShutdown = () => done.push("shut down");
  const server = app.start({ ...QUIET, onShutdown });
  const { port } = server.addr as Deno.NetAddr;
  const response = await fetch(`http://127.0.0.1:${port}/inner`);
  await server.shutdown();
  await response.text();
  assertEquals(done, ["cleaned up", "shut down"]);
});

Deno.test("`shutdown()` ends `events()` that a running request begins later", async () => {
  const app = new Engine();
  const [begun, go] = [Promise.withResolvers(), Promise.withResolvers()];
  app.route("/", async () => {
    begun.resolve(null);
    await go.promise;
    return app.response().events(new Endless());
  });
  const server = app.start(QUIET);
  const { port } = server.addr as Deno.NetAddr;
  const response = fetch(`http://127.0.0.1:${port}/`);
  await begun.promise;
  const ended = server.shutdown();
  go.resolve(null);
  assertEquals(await (await response).text(), "");
  await ended;
});

Deno.test("`shutdown()` ends `events()` once it listens no more: after a 503, clients would not connect again", async () => {
  const app = new Engine();
  const source = new Endless([{ data: "first" }]);
  app.route("GET /", () => app.response().events(source));
  app.route("POST /", () => app.request().getBody());
  const server = app.start(QUIET);
  const { port } = server.addr as Deno.NetAddr;
  const response = await fetch(`http://127.0.0.1:${port}/`);
  using upload = await RawConnection.open(port);
  await upload.send(
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nha",
  );
  await upload.receive("100 Continue");
  const ended = server.shutdown();
  const get = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  await logOf(async () => {
    assertEquals((await sendRaw(port, get)).status, 503);
  });
  assertEquals(source.returned, 0);
  await upload.send("lf");
  await upload.receive("half");
  assertEquals(await response.text(), "data: first\n\n");
  await ended;
  assertEquals(source.returned, 1);
});

for (
  const [name, end, command] of [
    ["`start()`", "Framework.start({ port: 0 });", ["run"]],
    ["`deno serve`", "export default Framework;", [
      "serve",
      "--host=127.0.0.1",
      "--port=0",
    ]],
  ] as const
) {
  Deno.test(`${name} ends \`events()\` on SIGTERM, long before the time to drain is over`, async () => {
    const source = `
      import { Framework } from "@framework/core";
      Framework.set("framework.shutdown_timeout", 3600);
      Framework.route("/", () => Framework.response().events(
        new ReadableStream({ start: (events) => events.enqueue({ data: "first" }) }),
      ));
      ${end}
    `;
    await using process = await ServerProcess.start(source, { command });
    const response = await fetch(`http://127.0.0.1:${await process.port()}/`);
    process.kill("SIGTERM");
    assertEquals(await response.text(), "data: first\n\n");
    assertEquals((await process.ended()).code, 0);
  });
}

Deno.test("a server shuts down after `events()` that have ended by themselves", async () => {
  const app = new Engine();
  app.route("/", () => void app.response().events([{ data: "a" }]));
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const response = await fetch(`http://127.0.0.1:${port}/`);
  assertEquals(await response.text(), "data: a\n\n");
  await server.shutdown();
});
