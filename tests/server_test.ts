/** The server: what it listens on, what it refuses, and how it ends. */

import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { assertSpyCalls, spy } from "@std/testing/mock";
import { Engine, HttpRequest, type StartOptions } from "@framework/core";
import { secondsOf } from "./clock.ts";
import { since29 } from "./deno_version.ts";
import { logOf } from "./log.ts";
import { RawConnection, untilRefused } from "./raw_http.ts";

/** Options of a server for a test: a free port, nothing printed, no signals. */
const QUIET = { port: 0, signals: false, onListen() {} } as const;

/** Where a server of a test listens. */
function originOf(server: Deno.HttpServer<Deno.Addr>): string {
  const { port } = server.addr as Deno.NetAddr;
  return `http://127.0.0.1:${port}`;
}

Deno.test("`start()` listens where it is told, and responds", async () => {
  const app = new Engine();
  app.route("/", () => "Hello");
  await using server = app.start(QUIET);
  assertEquals((server.addr as Deno.NetAddr).hostname, "127.0.0.1");
  assertEquals(await (await fetch(originOf(server))).text(), "Hello");
});

Deno.test("`start()` tells the address to `onListen` once", async () => {
  const onListen = spy((_address: Deno.Addr) => {});
  await using server = new Engine().start({ ...QUIET, onListen });
  assertSpyCalls(onListen, 1);
  assertEquals(onListen.calls[0]!.args, [server.addr]);
});

Deno.test("`start()` does not go on listening when `onListen` throws", async () => {
  const app = new Engine();
  const ports: number[] = [];
  const onListen = (address: Deno.Addr) => {
    ports.push((address as Deno.NetAddr).port);
    throw new Error("not here");
  };
  assertThrows(() => app.start({ ...QUIET, onListen }), Error, "not here");
  await untilRefused(ports[0]!);
});

Deno.test("`start()` serves when it is called again after `onListen` has thrown", async () => {
  const app = new Engine();
  app.route("/", () => "Hello");
  const onListen = () => {
    throw new Error("not here");
  };
  assertThrows(() => app.start({ ...QUIET, onListen }), Error, "not here");
  await using server = app.start(QUIET);
  assertEquals(await (await fetch(originOf(server))).text(), "Hello");
});

Deno.test("`start()` a second time is an error, and after `shutdown()` works again", async () => {
  const app = new Engine();
  const server = app.start(QUIET);
  assertThrows(() => app.start(QUIET), Error, "it is already listening");
  await server.shutdown();
  await app.start(QUIET).shutdown();
});

Deno.test("`start()` inside a request is an error", async () => {
  const app = new Engine();
  app.route("/", () => {
    assertThrows(() => app.start(QUIET), Error, "a request is being handled");
    return "refused";
  });
  const response = await app.fetch(new Request("http://localhost/"));
  assertEquals(await response.text(), "refused");
});

/** Malformed options that the compiler lets pass, with what the error says of them. */
const MALFORMED: readonly (readonly [StartOptions, message: string])[] = [
  [{ port: 65_536 }, "Cannot listen on 127.0.0.1:65536: Invalid port"],
  [{ port: -1 }, "Cannot listen on 127.0.0.1:-1: Invalid port"],
  [{ port: 80.5 }, "Cannot listen on 127.0.0.1:80.5: Invalid port"],
  [{ port: 0, hostname: "" }, "Cannot listen on :0: invalid empty host"],
  [
    { path: "socket", port: 80 },
    'the option "path" cannot be combined with "port"',
  ],
  [
    { path: "socket", cert: "x" },
    'the option "path" cannot be combined with "cert"',
  ],
  [{ port: 0, cert: "x" }, "Both 'cert' and 'key' must be provided"],
  [{ port: 0, key: "x" }, "Both 'cert' and 'key' must be provided"],
  [{ port: 0, cert: "x", key: "y" }, "Cannot listen on 127.0.0.1:0: "],
  [{ signal: AbortSignal.abort() }, "its signal is already aborted"],
];

Deno.test("`start()` refuses malformed options, and can start with others then", async () => {
  const app = new Engine();
  for (const [options, message] of MALFORMED) {
    assertThrows(() => app.start(options), Error, message);
  }
  await app.start(QUIET).shutdown();
});

Deno.test("`start()` takes an option that is undefined for one that is not given", async () => {
  const options = { ...QUIET, signal: undefined, path: undefined };
  await new Engine().start(options as object).shutdown();
});

Deno.test("`start()` names the address that is taken, and can start elsewhere then", async () => {
  using listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = listener.addr;
  const app = new Engine();
  assertThrows(
    () => app.start({ ...QUIET, port }),
    Deno.errors.AddrInUse,
    `Cannot listen on 127.0.0.1:${port}: Address already in use`,
  );
  await app.start(QUIET).shutdown();
});

Deno.test({
  name: "`start()` names the permission that is missing",
  permissions: { net: false },
  fn: () => {
    const app = new Engine();
    const flags = {
      "127.0.0.1": "--allow-net=127.0.0.1:8123",
      "localhost": "--allow-net=localhost:8123",
      "::1": "--allow-net=[::1]:8123",
    };
    for (const [hostname, flag] of Object.entries(flags)) {
      assertThrows(
        () => app.start({ hostname, port: 8123 }),
        Deno.errors.NotCapable,
        flag,
      );
    }
  },
});

Deno.test("`shutdown()` lets a running request finish and takes no new one", async () => {
  const app = new Engine();
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const { promise: text, resolve } = Promise.withResolvers<string>();
  app.route("/", () => {
    ask();
    return text;
  });
  const server = app.start(QUIET);
  const response = fetch(originOf(server));
  await asked;
  const ended = server.shutdown();
  await assertRejects(() => fetch(originOf(server)), TypeError);
  resolve("late");
  assertEquals(await (await response).text(), "late");
  await ended;
});

Deno.test("`shutdown()` closes idle connections", async () => {
  const server = new Engine().start(QUIET);
  const { port } = server.addr as Deno.NetAddr;
  using connection = await RawConnection.open(port);
  await connection.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
  await connection.receive("\r\n\r\n");
  await server.shutdown();
  await connection.receive();
});

Deno.test("`shutdown()` drains once, however often and by whom it is called", async () => {
  const app = new Engine();
  app.set("framework.shutdown_timeout", 0);
  app.route("/", () => app.defer(() => new Promise(() => {})));
  const controller = new AbortController();
  const server = app.start({ ...QUIET, signal: controller.signal });
  await (await fetch(originOf(server))).text();
  const log = await logOf(async () => {
    controller.abort();
    const others = [server.shutdown(), server[Symbol.asyncDispose]()];
    await Promise.all([server.finished, ...others]);
  });
  assertEquals(log, [
    "Shut down after 0 s with 1 deferred task unfinished",
  ]);
});

Deno.test("`shutdown()` waits for deferred work", async () => {
  const app = new Engine();
  const done: string[] = [];
  app.route("/", () => {
    app.defer(async () => {
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      done.push("first");
      app.defer(() => void done.push("second"));
    });
    return "Hello";
  });
  const server = app.start(QUIET);
  await secondsOf(async () => {
    await (await fetch(originOf(server))).text();
    assertEquals(done, []);
    await server.shutdown();
  });
  assertEquals(done, ["first", "second"]);
});

Deno.test("`shutdown()` waits for the deferred work of a mounted engine", async () => {
  const [app, inner] = [new Engine(), new Engine()];
  app.mount("/", inner);
  const done: string[] = [];
  inner.route("/", () =>
    inner.defer(async () => {
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      done.push("deferred");
    }));
  const server = app.start(QUIET);
  await secondsOf(async () => {
    await (await fetch(originOf(server))).text();
    await server.shutdown();
  });
  assertEquals(done, ["deferred"]);
});

Deno.test("`shutdown()` does not wait for deferred work longer than `framework.shutdown_timeout`", async () => {
  const app = new Engine();
  app.route("/", () => app.defer(() => new Promise(() => {})));
  const server = app.start(QUIET);
  await (await fetch(originOf(server))).text();
  let waited = 0;
  const log = await logOf(async () => {
    waited = await secondsOf(() => server.shutdown());
  });
  assertEquals(waited, 10);
  assertEquals(log, [
    "Shut down after 10 s with 1 deferred task unfinished",
  ]);
});

Deno.test("`shutdown()` aborts an endless stream at `framework.shutdown_timeout`", async () => {
  const app = new Engine();
  const reasons: unknown[] = [];
  app.route("/", () =>
    new ReadableStream({
      start: (controller) => controller.enqueue("beginning"),
      cancel: (reason) => void reasons.push(reason),
    }));
  const server = app.start(QUIET);
  const response = await fetch(originOf(server));
  let waited = 0;
  const log = await logOf(async () => {
    waited = await secondsOf(() => server.shutdown());
  });
  assertEquals(waited, 10);
  await assertRejects(() => response.text());
  assertEquals(reasons.map(String), ["Interrupted: The server has shut down"]);
  assertEquals(log, [
    "Shut down after 10 s with 1 open stream unfinished",
  ]);
});

Deno.test("`shutdown()` waits until a stream that it aborts has cleaned up", async () => {
  const app = new Engine();
  const cleaned: unknown[] = [];
  app.set("framework.shutdown_timeout", 0);
  app.route("/", async function* () {
    app.set("name", "Ada");
    try {
      for (;;) {
        yield "again ";
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    } finally {
      cleaned.push(app.get("name"));
    }
  });
  const server = app.start(QUIET);
  const response = await fetch(originOf(server));
  await logOf(() => server.shutdown());
  assertEquals(cleaned, ["Ada"]);
  await assertRejects(() => response.text());
});

Deno.test("`shutdown()` waits until a stream whose client leaves meanwhile has cleaned up", async () => {
  const app = new Engine();
  const pause = () => new Promise((resolve) => setTimeout(resolve, 50));
  let isClean = false;
  app.route("/", async function* () {
    try {
      for (;;) {
        yield "again ";
        await pause();
      }
    } finally {
      await pause();
      isClean = true;
    }
  });
  const server = app.start(QUIET);
  const response = await fetch(originOf(server));
  const ended = server.shutdown();
  await response.body?.cancel();
  await ended;
  assertEquals(isClean, true);
});

Deno.test("`shutdown()` leaves a stream that ends in time whole", async () => {
  const app = new Engine();
  app.route("/", async function* () {
    yield "one ";
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    yield "two";
  });
  const server = app.start(QUIET);
  await secondsOf(async () => {
    const response = await fetch(originOf(server));
    const [text] = await Promise.all([response.text(), server.shutdown()]);
    assertEquals(text, "one two");
  });
});

Deno.test("`shutdown()` waits as long as it takes when the time has no end", async () => {
  const app = new Engine();
  app.set("framework.shutdown_timeout", Infinity);
  const running = Promise.withResolvers<void>();
  app.route("/", () => {
    running.resolve();
    return new Promise((resolve) => setTimeout(resolve, 20_000, "late"));
  });
  const server = app.start(QUIET);
  const log = await logOf(() =>
    secondsOf(async () => {
      const response = fetch(originOf(server));
      await running.promise;
      await server.shutdown();
      assertEquals(await (await response).text(), "late");
    })
  );
  assertEquals(log, []);
});

Deno.test("`start()` and `shutdown()` leave nothing behind, signal listeners included", async () => {
  const app = new Engine();
  for (let round = 0; round < 20; round++) {
    await using server = app.start({ port: 0, onListen() {} });
    assertEquals((await fetch(originOf(server)).then(bodyless)).status, 404);
  }
});

Deno.test("`start()` responds with 500 and logs when the application does not handle an error", async () => {
  const app = new Engine();
  app.set("framework.handle_errors", false);
  app.route("/", () => {
    throw new Error("unhandled here");
  });
  await using server = app.start(QUIET);
  const log = await logOf(async () => {
    assertEquals((await fetch(originOf(server)).then(bodyless)).status, 500);
  });
  assertStringIncludes(log.join(), "unhandled here");
});

since29.test("`framework.body_timeout` refuses a body that does not come", async () => {
  const app = new Engine();
  app.route("POST /", () => "never");
  await using server = app.start(QUIET);
  let head = "";
  const waited = await secondsOf(async () => {
    head = await beginBody(server, 10);
  });
  assertEquals(waited, 30);
  assertMatch(head, /^HTTP\/1\.1 408 /);
  assertMatch(head, /connection: close/i);
});

Deno.test("`framework.body_limit` refuses a body that is too large before it comes", async () => {
  const app = new Engine();
  app.set("framework.body_limit", 1_000);
  app.route("POST /", () => "taken");
  await using server = app.start(QUIET);
  assertMatch(await beginBody(server, 1_001), /^HTTP\/1\.1 413 /);
});

/** Sends the head of a request and the beginning of its body, and returns the head of the response. */
async function beginBody(
  server: Deno.HttpServer<Deno.Addr>,
  length: number,
): Promise<string> {
  const { port } = server.addr as Deno.NetAddr;
  using connection = await RawConnection.open(port);
  await connection.send(
    `POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${length}\r\n\r\nhalf`,
  );
  return await connection.receive("\r\n\r\n");
}

/** The response without its body. */
async function bodyless(response: Response): Promise<Response> {
  await response.body?.cancel();
  return response;
}

Deno.test("`request()` stays readable after the response", async () => {
  const app = new Engine();
  const { promise, resolve } = Promise.withResolvers<unknown>();
  app.route("/", () => {
    const request = app.request();
    setTimeout(() => resolve([request.getHeader("x-a"), request.ip]), 20);
    return "Hello";
  });
  await using server = app.start(QUIET);
  const headers = { "x-a": "1" };
  await (await fetch(originOf(server), { headers })).text();
  assertEquals(await promise, ["1", "127.0.0.1"]);
});

Deno.test("`defer()` may read the request, which Deno drops after the response", async () => {
  const app = new Engine();
  const told: unknown[] = [];
  app.route("/", () => {
    app.defer(() => {
      const { ip, cookies } = app.request();
      told.push(app.request().getHeader("x-a"), ip, cookies.b);
    });
    return "Hello";
  });
  const server = app.start(QUIET);
  const headers = { "x-a": "1", cookie: "b=2" };
  await (await fetch(originOf(server), { headers })).text();
  await server.shutdown();
  assertEquals(told, ["1", "127.0.0.1", "2"]);
});

/** What every getter of a request tells but those that change, or hand on the body. */
function toldBy(request: HttpRequest): Record<string, unknown> {
  const told: Record<string, unknown> = {};
  const members = Object.getOwnPropertyDescriptors(HttpRequest.prototype);
  for (const [name, { get }] of Object.entries(members)) {
    if (["elapsed", "json", "raw", "signal"].includes(name)) continue;
    if (get !== undefined) told[name] = get.call(request);
  }
  return structuredClone(told);
}

Deno.test("`request()` tells the same after the response as before", async () => {
  const app = new Engine();
  app.set("framework.trust_proxy", true);
  const told: Record<string, unknown>[] = [];
  app.route("POST /", () => {
    told.push(toldBy(app.request()));
    app.defer(() => void told.push(toldBy(app.request())));
    return "Hello";
  });
  const server = app.start(QUIET);
  const { port } = server.addr as Deno.NetAddr;
  const lines = [
    "POST http://other.test/?a=1 HTTP/1.1",
    "Host: example.com",
    "User-Agent: test",
    "Referer: http://example.com/form",
    "Accept: text/html",
    "Accept-Language: de",
    "X-Requested-With: XMLHttpRequest",
    "X-Forwarded-For: 192.0.2.1",
    "X-Forwarded-Proto: https",
    "X-Request-Id: abc",
    "Cookie: a=b",
    "Content-Type: application/x-www-form-urlencoded",
    "Content-Length: 3",
    "",
    "q=1",
  ];
  using connection = await RawConnection.open(port);
  await connection.send(lines.join("\r\n"));
  await connection.receive("Hello");
  await server.shutdown();
  const [before, after, ...more] = told;
  assertEquals(after, before);
  assertEquals([before!.host, before!.id, more], ["example.com", "abc", []]);
});

Deno.test("`route()` responds with the response of an upgrade", async () => {
  const app = new Engine();
  app.route("/", () => {
    const { socket, response } = Deno.upgradeWebSocket(app.request().raw);
    socket.onmessage = ({ data }) => socket.send(`${data}!`);
    return response;
  });
  await using server = app.start(QUIET);
  const socket = new WebSocket(originOf(server).replace("http", "ws"));
  const { promise, resolve } = Promise.withResolvers<unknown>();
  socket.onopen = () => socket.send("Hello");
  socket.onmessage = ({ data }) => resolve(data);
  assertEquals(await promise, "Hello!");
  const closed = new Promise((resolve) => socket.onclose = resolve);
  socket.close();
  await closed;
});

Deno.test("`defer()` of work that defers itself lets requests run", async () => {
  const app = new Engine();
  let done = false;
  const again = () => {
    if (!done) app.defer(again);
  };
  app.route("/", () => app.defer(again));
  app.route("/other", () => "Hello");
  await using server = app.start(QUIET);
  await (await fetch(originOf(server))).text();
  for (let visits = 0; visits < 3; visits++) {
    const response = await fetch(`${originOf(server)}/other`);
    assertEquals(await response.text(), "Hello");
  }
  done = true;
});

Deno.test("a request is not nested in one whose context Deno leaked", async () => {
  const app = new Engine();
  const other = new Engine();
  const { promise: seen, resolve } = Promise.withResolvers<void>();
  const { promise: loaded, resolve: load } = Promise.withResolvers<void>();
  app.route("/", async () => {
    app.set("user", "Ada");
    await import(`data:text/javascript,export default ${Date.now()}`);
    load();
    await seen;
  });
  other.route("/", () => String(app.get("user")));
  await using server = app.start(QUIET);
  await using another = other.start(QUIET);
  const first = fetch(originOf(server));
  await loaded;
  const response = await fetch(originOf(another));
  assertEquals(await response.text(), "undefined");
  resolve();
  await (await first).text();
});

Deno.test("`fetch()` of another engine inside a request is a part of it, with the connection too", async () => {
  const app = new Engine();
  const inner = new Engine();
  const remoteAddr: Deno.NetAddr = {
    transport: "tcp",
    hostname: "::1",
    port: 1,
  };
  inner.route("/", () => {
    app.set("user", "Ada");
    return String(app.get("user"));
  });
  app.route("/", () => inner.fetch(app.request().raw, { remoteAddr }));
  await using server = app.start(QUIET);
  assertEquals(await (await fetch(originOf(server))).text(), "Ada");
  assertEquals(app.get("user"), undefined);
});

Deno.test("a `start()` that fails leaves the application as it was", async () => {
  const app = new Engine();
  app.route("/", () => "served");
  const invalid = { port: 0, cert: "none", key: "none" };
  assertThrows(() => app.start({ ...invalid, signals: false }));
  const onListen = (): never => {
    throw new Error("no address");
  };
  assertThrows(() => app.start({ port: 0, onListen }), Error, "no address");
  const options = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
  const server = Deno.serve(options, app.fetch);
  const url = `http://127.0.0.1:${server.addr.port}/`;
  const response = await fetch(url);
  assertEquals([response.status, await response.text()], [200, "served"]);
  await server.shutdown();
});
