/** Tests `start({ onShutdown })`: when it is called, how long it may take, and what its error does. */

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Engine } from "@framework/core";
import { secondsOf } from "./clock.ts";
import { logOf } from "./log.ts";
import { ServerProcess } from "./server_child.ts";

/** Options of a server for a test: a free port, nothing printed, no signals. */
const QUIET = { port: 0, signals: false, onListen() {} } as const;

const pause = (seconds: number) =>
  new Promise((resolve) => setTimeout(resolve, seconds * 1_000));

/** Begins a request; once it is being handled, returns the promise of its response, in a record. */
async function begin(app: Engine, server: Deno.HttpServer<Deno.Addr>) {
  const { port } = server.addr as Deno.NetAddr;
  const begun = Promise.withResolvers<void>();
  app.configure(() => app.before("start", () => begun.resolve()));
  const response = fetch(`http://127.0.0.1:${port}/`);
  await Promise.race([begun.promise, response]);
  return { response };
}

Deno.test("`shutdown()` waits for requests and deferred work, and then for `onShutdown`", async () => {
  const order: string[] = [];
  const app = new Engine();
  app.route("/", async () => {
    await pause(0.05);
    order.push("request");
    app.defer(() => void order.push("deferred"));
  });
  const server = app.start({
    ...QUIET,
    async onShutdown() {
      await pause(0.05);
      order.push("flushed");
    },
  });
  const { response } = await begin(app, server);
  await Promise.all([server.shutdown(), server.shutdown()]);
  assertEquals(await (await response).text(), "");
  await server.finished;
  assertEquals(order, ["request", "deferred", "flushed"]);
});

Deno.test("`onShutdown` is called after the signal of `start()`, too", async () => {
  let calls = 0;
  const controller = new AbortController();
  const server = new Engine().start({
    ...QUIET,
    signal: controller.signal,
    onShutdown: () => ++calls,
  });
  controller.abort();
  await server.finished;
  assertEquals(calls, 1);
});

Deno.test("`onShutdown` runs as the application itself, even when a request shuts down", async () => {
  const app = new Engine();
  const found: unknown[] = [];
  app.route("/", () => {
    server.shutdown();
    return "bye";
  });
  const server = app.start({
    ...QUIET,
    onShutdown() {
      app.set("closed", true);
      try {
        app.request();
      } catch (error) {
        found.push((error as Error).message);
      }
    },
  });
  const { response } = await begin(app, server);
  await (await response).body?.cancel();
  await server.finished;
  assertEquals(app.get("closed"), true);
  assertStringIncludes(String(found), "request()");
});

Deno.test("`shutdown()` does not wait for `onShutdown` longer than `framework.shutdown_timeout`", async () => {
  const app = new Engine();
  app.set("framework.shutdown_timeout", 0.1);
  const timer = Promise.withResolvers<void>();
  const server = app.start({ ...QUIET, onShutdown: () => timer.promise });
  let seconds = 0;
  const lines = await logOf(async () => {
    seconds = await secondsOf(() => server.shutdown());
  });
  timer.resolve();
  assertEquals(seconds >= 0.09 && seconds < 1, true, `${seconds} s`);
  assertEquals(lines, [
    "Shut down after 0.1 s with onShutdown unfinished",
  ]);
});

Deno.test("an error of `onShutdown` is in the log, and the status of the process 1", async () => {
  const server = new Engine().start({
    ...QUIET,
    onShutdown: () => Promise.reject(new Error("the disk is full")),
  });
  const lines = await logOf(() => server.shutdown());
  const status = Deno.exitCode;
  Deno.exitCode = 0;
  assertEquals(status, 1);
  assertMatch(lines.join("\n"), /^Error in onShutdown: .*the disk is full/);
});

for (const [work, status] of [["flush()", 0], ["fail()", 1]] as const) {
  Deno.test(`a signal lets \`onShutdown\` ${work}, and the process ends with ${status}`, async () => {
    await using process = await ServerProcess.start(`
      import { Engine } from "@framework/core";
      async function flush() {
        await new Promise((resolve) => setTimeout(resolve, 50));
        console.log("flushed");
      }
      async function fail() {
        await flush();
        throw new Error("the disk is full");
      }
      new Engine().start({ port: 0, onShutdown: () => ${work} });
    `);
    await process.port();
    process.kill("SIGTERM");
    assertEquals((await process.ended()).code, status);
    assertStringIncludes(process.printed, "flushed");
  });
}

Deno.test("under `deno serve`, a listener of `beforeunload` flushes after the drain", async () => {
  const source = `
    import { Engine } from "@framework/core";
    const app = new Engine();
    app.route("/", async () => {
      console.log("asked");
      await new Promise((resolve) => setTimeout(resolve, 100));
      return "late";
    });
    const flush = async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      console.log("flushed");
    };
    let isFlushed = false;
    addEventListener("beforeunload", (event) => {
      if (isFlushed) return;
      event.preventDefault(); // the process goes on until the work is done
      isFlushed = true;
      flush();
    });
    export default app;
  `;
  await using process = await ServerProcess.start(source, {
    command: ["serve", "--host=127.0.0.1", "--port=0"],
  });
  const response = fetch(`http://127.0.0.1:${await process.port()}/`);
  await process.prints(/asked/);
  process.kill("SIGTERM");
  assertEquals(await (await response).text(), "late");
  assertEquals((await process.ended()).code, 0);
  assertMatch(process.printed, /flushed\n$/);
});

Deno.test("`shutdown()` waits for work that is deferred by deferred work", async () => {
  const app = new Engine();
  const gate = Promise.withResolvers<void>();
  let isDone = false;
  app.route("/first", () => {
    app.defer(async () => {
      await gate.promise;
      await app.fetch("/second");
    });
  });
  app.route("/second", () => {
    app.defer(async () => {
      for (let turn = 0; turn < 20; turn++) {
        await new Promise((resolve) => setTimeout(resolve));
      }
      isDone = true;
    });
  });
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  await (await fetch(`http://127.0.0.1:${port}/first`)).body?.cancel();
  const down = server.shutdown();
  setTimeout(gate.resolve, 10);
  await down;
  assertEquals(isDone, true);
});
