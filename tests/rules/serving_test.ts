/** `start()` in this process: DESIGN 4, row `start`, and DESIGN 5 "Serving". What takes a process is in `e2e/`. */

import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Engine, type StartOptions } from "@framework/core";
import { secondsOf } from "../support/clock.ts";
import { logOf } from "../support/log.ts";
import { RawConnection, untilRefused } from "../support/raw_http.ts";

type Server = Deno.HttpServer<Deno.Addr>;

/** Options of a server for a test: a free port, nothing printed, no signals. */
const QUIET = { port: 0, signals: false, onListen() {} } as const;

function portOf(server: Server): number {
  return (server.addr as Deno.NetAddr).port;
}

async function visit(server: Server, path = "/"): Promise<Response> {
  return await fetch(`http://127.0.0.1:${portOf(server)}${path}`);
}

/** Begins a request; resolves once it is being handled, with the promise of its text in a list. */
async function begin(app: Engine, server: Server): Promise<[Promise<string>]> {
  const begun = Promise.withResolvers<void>();
  app.configure(() => app.before("start", () => begun.resolve()));
  const text = visit(server).then((response) => response.text());
  await Promise.race([begun.promise, text]);
  return [text];
}

const pause = (seconds: number) =>
  new Promise((resolve) => setTimeout(resolve, seconds * 1_000));

Deno.test("`start()` listens on 127.0.0.1, and responds", async () => {
  const app = new Engine();
  app.route("/", () => "Hello");
  await using server = app.start(QUIET);
  assertEquals((server.addr as Deno.NetAddr).hostname, "127.0.0.1");
  assertEquals(await (await visit(server)).text(), "Hello");
});

Deno.test("`start()` a second time is an error, and works again after `shutdown()`", async () => {
  const app = new Engine();
  const server = app.start(QUIET);
  assertThrows(() => app.start(QUIET), Error, "while it is listening");
  await server.shutdown();
  await app.start(QUIET).shutdown();
});

/** Options that the compiler lets pass, and what the error says of them. */
const MALFORMED: readonly (readonly [StartOptions, message: string])[] = [
  [{ port: 65_536 }, "65536"],
  [{ port: 0, cert: "x" }, "Both 'cert' and 'key' must be provided"],
  [{ port: 0, cert: "x", key: "y" }, ""],
  [{ signal: AbortSignal.abort() }, "signal has been aborted"],
];

Deno.test("`start()` refuses malformed options, and can start with others then", async () => {
  const app = new Engine();
  app.route("/", () => "served");
  for (const [options, message] of MALFORMED) {
    assertThrows(() => app.start(options), Error, message);
  }
  await using server = app.start(QUIET);
  assertEquals(await (await visit(server)).text(), "served");
});

Deno.test("`start()` on a port that is taken says how to take another", () => {
  using listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = listener.addr;
  const error = assertThrows(
    () => new Engine().start({ ...QUIET, port }),
    Deno.errors.AddrInUse,
  );
  assertStringIncludes(error.message, `127.0.0.1:${port}`);
  assertMatch(error.message, /\bport\b/);
});

Deno.test("`start()` responds with 500 and logs when `framework.handle_errors` is false", async () => {
  const app = new Engine();
  app.set("framework.handle_errors", false);
  app.route("/", () => {
    throw new Error("unhandled here");
  });
  await using server = app.start(QUIET);
  const log = await logOf(async () => {
    const response = await visit(server);
    assertEquals(response.status, 500);
    assertEquals((await response.text()).includes("unhandled"), false);
  });
  assertStringIncludes(log.join(), "unhandled here");
});

Deno.test("`shutdown()` lets a running request finish and takes no new one", async () => {
  const app = new Engine();
  const finish = Promise.withResolvers<string>();
  app.route("/", () => finish.promise);
  const server = app.start(QUIET);
  const [text] = await begin(app, server);
  const ended = server.shutdown();
  await assertRejects(() => visit(server), TypeError);
  finish.resolve("late");
  assertEquals(await text, "late");
  await ended;
});

Deno.test("`shutdown()` closes idle connections", async () => {
  const server = new Engine().start(QUIET);
  using connection = await RawConnection.open(portOf(server));
  await connection.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
  await connection.receive("\r\n\r\n");
  await server.shutdown();
  await connection.receive();
});

Deno.test("the signal of `start()` drains as `shutdown()` does", async () => {
  const app = new Engine();
  const finish = Promise.withResolvers<string>();
  app.route("/", () => finish.promise);
  const controller = new AbortController();
  const server = app.start({ ...QUIET, signal: controller.signal });
  const [text] = await begin(app, server);
  controller.abort();
  finish.resolve("late");
  assertEquals(await text, "late");
  await server.finished;
  await untilRefused(portOf(server));
});

Deno.test("`shutdown()` waits for deferred work, and for what that defers", async () => {
  const app = new Engine();
  const done: string[] = [];
  app.route("/", () => {
    app.defer(async () => {
      await pause(2);
      done.push("first");
      app.defer(() => void done.push("second"));
    });
    return "Hello";
  });
  const server = app.start(QUIET);
  await secondsOf(async () => {
    await (await visit(server)).text();
    assertEquals(done, []);
    await server.shutdown();
  });
  assertEquals(done, ["first", "second"]);
});

Deno.test("`shutdown()` aborts an endless stream after `framework.shutdown_timeout`, and says so", async () => {
  const app = new Engine();
  const cleaned: string[] = [];
  app.route("/", () =>
    new ReadableStream({
      start: (controller) => controller.enqueue("beginning"),
      cancel: () => void cleaned.push("stream"),
    }));
  const server = app.start(QUIET);
  const response = await visit(server);
  let waited = 0;
  const log = await logOf(async () => {
    waited = await secondsOf(() => server.shutdown());
  });
  assertEquals(waited, 10);
  await assertRejects(() => response.text());
  assertEquals(cleaned, ["stream"]);
  assertEquals(log, ["Shut down after 10 s with work unfinished"]);
});

const never = new Promise<void>(() => {});

/** What outlasts a drain: what the log says, what a handler does, and the options of the server. */
const UNFINISHED: Readonly<
  Record<string, [says: string, (app: Engine) => void, StartOptions?]>
> = {
  "deferred work": [
    "Shut down after 3 s with work unfinished",
    (app) => app.defer(() => never),
  ],
  "`onShutdown`": ["Shut down with onShutdown unfinished", () => {}, {
    onShutdown: () => never,
  }],
};

for (const [what, [says, work, options]] of Object.entries(UNFINISHED)) {
  Deno.test(`\`shutdown()\` gives up ${what} after \`framework.shutdown_timeout\`, and says so`, async () => {
    const app = new Engine();
    app.set("framework.shutdown_timeout", 3);
    app.route("/", () => work(app));
    const server = app.start({ ...QUIET, ...options });
    await (await visit(server)).text();
    let waited = 0;
    const log = await logOf(async () => {
      waited = await secondsOf(() => server.shutdown());
    });
    assertEquals(waited, 3);
    assertEquals(log, [says]);
  });
}

Deno.test("`onShutdown` is awaited once, after requests and deferred work", async () => {
  const order: string[] = [];
  const app = new Engine();
  app.route("/", async () => {
    await pause(0);
    order.push("request");
    app.defer(() => void order.push("deferred"));
  });
  const onShutdown = async () => {
    await pause(0);
    order.push("flushed");
  };
  const server = app.start({ ...QUIET, onShutdown });
  const [text] = await begin(app, server);
  await Promise.all([server.shutdown(), server.shutdown()]);
  assertEquals(await text, "");
  assertEquals(order, ["request", "deferred", "flushed"]);
});

Deno.test("an error of `onShutdown` is in the log, and makes the status of the process 1", async () => {
  const onShutdown = () => Promise.reject(new Error("the disk is full"));
  const server = new Engine().start({ ...QUIET, onShutdown });
  const lines = await logOf(() => server.shutdown());
  const status = Deno.exitCode;
  Deno.exitCode = 0;
  assertEquals(status, 1);
  assertMatch(lines.join("\n"), /onShutdown: .*the disk is full/);
});

Deno.test("`start()` and `shutdown()` leave nothing behind, signal listeners included", async () => {
  const app = new Engine();
  for (let round = 0; round < 10; round++) {
    await using server = app.start({ port: 0, onListen() {} });
    const response = await visit(server);
    await response.body?.cancel();
    assertEquals(response.status, 404);
  }
});

Deno.test("a request is never nested in another one whose context the runtime leaked", async () => {
  const [app, other] = [new Engine(), new Engine()];
  const loaded = Promise.withResolvers<void>();
  const seen = Promise.withResolvers<void>();
  app.route("/", async () => {
    app.set("user", "Ada");
    // After an import inside of a request, Deno runs the next event in its context.
    await import(`data:text/javascript,export default ${Date.now()}`);
    loaded.resolve();
    await seen.promise;
  });
  other.route("/", () => String(app.get("user")));
  await using server = app.start(QUIET);
  await using another = other.start(QUIET);
  const first = visit(server);
  await loaded.promise;
  assertEquals(await (await visit(another)).text(), "undefined");
  seen.resolve();
  await (await first).text();
});
