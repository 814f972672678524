/**
 * The file descriptors of a server. It keeps none of clients that have left. When it is out of them, the runtime stops
 * accepting connections, and the server listens again, or the process ends with status 1.
 */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { since29 } from "./deno_version.ts";
import { RawConnection, upgradeHead } from "./raw_http.ts";
import { type ChildOptions, ServerProcess } from "./server_child.ts";

/** Few enough to use up in a moment. */
const FEW: ChildOptions = { descriptors: 64 };

const STOPPED =
  /stopped accepting connections \(.*Too many open files.*\) and will listen again/;

/** Opens idle connections until the process has no descriptors left, and closes them at the end. */
async function exhausted(
  process: ServerProcess,
  work: () => Promise<unknown> = async () => {},
): Promise<void> {
  const port = await process.port();
  using connections = new DisposableStack();
  for (let count = 0; count < 64; count++) {
    try {
      connections.use(await RawConnection.open(port));
    } catch {
      break; // refused or reset: the next line says whether for this reason
    }
  }
  await process.prints(/Too many open files/);
  await work();
}

async function text(process: ServerProcess, path: string): Promise<string> {
  const url = `http://127.0.0.1:${await process.port()}${path}`;
  return await (await fetch(url)).text();
}

Deno.test("`start()` listens again when the process was out of descriptors, and goes on with what runs", async () => {
  await using process = await ServerProcess.start(
    `
    import { Engine } from "@framework/core";
    const app = new Engine();
    const { promise, resolve } = Promise.withResolvers();
    app.route("/slow", () => {
      console.log("asked");
      return promise;
    });
    app.route("/", () => resolve("late") ?? "Hello");
    app.start({ port: 0 });
  `,
    FEW,
  );
  const slow = text(process, "/slow");
  await process.prints(/asked/);
  await exhausted(process, async () => {
    await process.prints(/is accepting connections again/);
    assertEquals(await text(process, "/"), "Hello");
    assertEquals(await slow, "late");
  });
  assertMatch(process.printed, STOPPED);
  process.kill("SIGTERM");
  assertEquals((await process.ended()).code, 0);
});

since29.test("`start()` listens again as often as it must, also on the socket of a path", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/socket`;
  const permissions = [
    `--allow-read=${path}`,
    `--allow-write=${path}`,
    `--allow-net=unix:${path}`,
  ];
  await using process = await ServerProcess.start(
    `
    import { Engine } from "@framework/core";
    new Engine().start({ path: ${JSON.stringify(path)} });
  `,
    { ...FEW, permissions },
  );
  await process.prints(/Listening/);
  for (let round = 1; round <= 2; round++) {
    await using _client = await ServerProcess.start(
      `
      const options = { transport: "unix", path: ${JSON.stringify(path)} };
      for (let count = 0; count < 64; count++) await Deno.connect(options);
      await new Promise(() => setInterval(() => {}, 1000));
    `,
      { permissions },
    );
    await process.prints(new RegExp(`(?:connections again[^]*){${round}}`));
  }
  process.kill("SIGTERM");
  assertEquals((await process.ended()).code, 0);
  await Deno.remove(folder, { recursive: true });
});

/** A server that cannot listen again: it gives its permission up. */
function stranded(options: string, finished = ""): string {
  return `
    import { Engine } from "@framework/core";
    const app = new Engine();
    app.set("framework.shutdown_timeout", 0.2);
    const server = app.start({ port: 0, ${options} });
    console.log("Listening on http://127.0.0.1:" + server.addr.port + "/");
    Deno.permissions.revokeSync({ name: "net", host: "127.0.0.1" });
    const timer = setInterval(() => {}, 1000);
    ${finished}
  `;
}

Deno.test("`start()` ends the process with status 1 when it cannot listen again", async () => {
  await using process = await ServerProcess.start(stranded(""), FEW);
  await exhausted(process);
  assertEquals((await process.ended()).code, 1);
  assertMatch(process.printed, /could not listen again: .*the permission/);
  assertEquals(/Uncaught|nobody/.test(process.printed), false);
});

Deno.test("`start()` with `signals: false` rejects `finished` when it cannot listen again, and leaves the process to its program", async () => {
  const source = stranded(
    "signals: false, onListen() {}",
    `server.finished.catch((error) => {
      console.log("rejected:", error.message);
      clearInterval(timer);
    });`,
  );
  await using process = await ServerProcess.start(source, FEW);
  await exhausted(process);
  assertEquals((await process.ended()).code, 0);
  assertMatch(process.printed, /rejected: Cannot listen on 127\.0\.0\.1:/);
});

Deno.test("`start()` with `signals: false` leaves a rejected `finished` that nobody handles to Deno", async () => {
  const source = stranded("signals: false, onListen() {}");
  await using process = await ServerProcess.start(source, FEW);
  await exhausted(process);
  assertEquals((await process.ended()).code, 1);
  assertMatch(process.printed, /Uncaught \(in promise\) .*Cannot listen on/);
});

Deno.test("`deno serve` ends with status 1 when the process is out of descriptors, after what runs", async () => {
  await using process = await ServerProcess.start(
    `
    import { Framework } from "@framework/core";
    setInterval(() => {}, 1000);
    Framework.route("/slow", async () => {
      console.log("asked");
      await new Promise((resolve) => setTimeout(resolve, 500));
      return "late";
    });
    export default Framework;
  `,
    {
      ...FEW,
      command: ["serve", "--host=127.0.0.1", "--port=0"],
      permissions: [],
    },
  );
  const slow = text(process, "/slow");
  await process.prints(/asked/);
  await exhausted(process);
  assertEquals(await slow, "late");
  assertEquals((await process.ended()).code, 1);
  assertMatch(process.printed, /is ending with status 1: a server failed/);
});

Deno.test({
  name:
    "`upgrade()` keeps neither request nor descriptor of a client that leaves during its handshake",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const source = `
      import { Engine } from "@framework/core";
      const app = new Engine();
      let held = 0;
      app.route("/socket", () => {
        const { socket, response } = app.request().upgrade();
        held += 1;
        const end = new AbortController();
        const { signal } = end;
        signal.onabort = () => held -= 1;
        socket.addEventListener("close", () => end.abort(), { signal });
        socket.addEventListener("error", () => end.abort(), { signal });
        return response;
      });
      app.route("/", () => {
        const descriptors = [...Deno.readDirSync("/proc/self/fd")].length;
        return JSON.stringify({ held, descriptors });
      });
      app.start({ port: 0 });
    `;
    const permissions = ["--allow-all"]; // Deno demands all of them for /proc
    await using process = await ServerProcess.start(source, { permissions });
    const port = await process.port();
    const before = JSON.parse(await text(process, "/"));
    for (let count = 0; count < 300; count++) {
      using connection = await RawConnection.open(port);
      await connection.send(upgradeHead("GET"));
      await new Promise((resolve) => setTimeout(resolve, count % 10));
    }
    let after = before;
    const most = before.descriptors + 10;
    for (let turn = 0; turn < 100; turn++) {
      after = JSON.parse(await text(process, "/"));
      // On a busy machine, the last connections close later.
      if (after.held === 0 && after.descriptors < most) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assertEquals(after.held, 0);
    const { descriptors } = after;
    assert(descriptors < most, `${descriptors} descriptors`);
    process.kill("SIGTERM");
    assertEquals((await process.ended()).code, 0);
    assertEquals(/unfinished/.test(process.printed), false);
  },
});
