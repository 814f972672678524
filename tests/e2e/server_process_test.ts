/** A server as a process: signals, the status it ends with, uncaught errors, Unix sockets, TLS and `deno serve`. */

import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { Engine } from "@framework/core";
import { certificate } from "../support/certificate.ts";
import { RawConnection, untilRefused } from "../support/raw_http.ts";
import { type ChildOptions, ServerProcess } from "../support/server_child.ts";

/** Slow in every way: a request, deferred work, and a handler that never returns. */
const SLOW = `
  import { Framework } from "@framework/core";
  const gate = Promise.withResolvers();
  Framework.set("framework.shutdown_timeout", SECONDS);
  Framework.route("/slow", async () => {
    Framework.defer(() => console.log("deferred"));
    console.log("asked");
    await gate.promise;
    return "late";
  });
  Deno.addSignalListener("SIGUSR1", () => gate.resolve());
  Framework.route("/never", () => {
    console.log("asked");
    return new Promise(() => {});
  });
`;

/** The module of a slow server with so many seconds to shut down. */
function slow(seconds: number, start = "Framework.start({ port: 0 });") {
  return SLOW.replace("SECONDS", `${seconds}`) + start;
}

const SERVE: ChildOptions = {
  command: ["serve", "--host=127.0.0.1", "--port=0"],
  permissions: [],
};

async function visit(process: ServerProcess, path: string): Promise<Response> {
  return await fetch(`http://127.0.0.1:${await process.port()}${path}`);
}

async function textOf(process: ServerProcess, path: string): Promise<string> {
  return await (await visit(process, path)).text();
}

/** Ends a process by SIGTERM and returns its status. */
async function end(process: ServerProcess): Promise<number> {
  process.kill("SIGTERM");
  return (await process.ended()).code;
}

Deno.test("`start()` prints its address once, and nothing else", async () => {
  await using process = await ServerProcess.start(slow(10));
  await process.port();
  assertEquals(await end(process), 0);
  assertMatch(
    process.printed,
    /^Listening on http:\/\/127\.0\.0\.1:\d+\/ \(press Ctrl\+C to stop\)\n$/,
  );
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.test(`\`start()\` drains on ${signal}: requests and deferred work are done, the status is 0`, async () => {
    await using process = await ServerProcess.start(slow(60));
    const text = textOf(process, "/slow");
    await process.prints(/asked/);
    process.kill(signal);
    await untilRefused(await process.port());
    process.kill("SIGUSR1");
    assertEquals(await text, "late");
    assertEquals((await process.ended()).code, 0);
    assertMatch(process.printed, /deferred/);
  });
}

Deno.test("`start()` ends at once on a second signal", async () => {
  await using process = await ServerProcess.start(slow(60));
  const response = visit(process, "/never");
  await process.prints(/asked/);
  process.kill("SIGINT");
  await untilRefused(await process.port());
  const timer = setInterval(() => process.kill("SIGINT"), 20);
  await assertRejects(() => response);
  clearInterval(timer);
  assertEquals((await process.ended()).code, 130);
});

Deno.test("`start()` gives up a request after `framework.shutdown_timeout`, and says so", async () => {
  await using process = await ServerProcess.start(slow(0.2));
  const text = textOf(process, "/never");
  await process.prints(/asked/);
  process.kill("SIGTERM");
  await assertRejects(() => text);
  assertEquals((await process.ended()).code, 0);
  const said = "after 0.2 s with work unfinished\n";
  assertStringIncludes(process.printed, said);
});

Deno.test("`start()` with `signals: false` leaves the signals to Deno", async () => {
  const start = "Framework.start({ port: 0, signals: false });";
  await using process = await ServerProcess.start(slow(10, start));
  await process.port();
  process.kill("SIGTERM");
  assertEquals((await process.ended()).signal, "SIGTERM");
});

Deno.test("`start()` serves on a Unix socket, and says what to do with one that is in use", async () => {
  const folder = await Deno.makeTempDir();
  const source = `
    import { Engine } from "@framework/core";
    const app = new Engine();
    app.route("*", () => app.request().url + " over the socket");
    const path = ${JSON.stringify(`${folder}/socket`)};
    app.start({ path });
    const connection = await Deno.connect({ transport: "unix", path });
    await connection.write(new TextEncoder().encode(
      "GET /b?c HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n",
    ));
    console.log(await new Response(connection.readable).text());
    try {
      new Engine().start({ path });
    } catch ({ message }) {
      console.log(message);
    }
    Deno.exit();
  `;
  const permissions = ["read", "write", "net=unix:"].map((name) =>
    `--allow-${name}${name.startsWith("net") ? "" : "="}${folder}/socket`
  );
  await using process = await ServerProcess.start(source, { permissions });
  assertEquals((await process.ended()).code, 0, process.printed);
  assertMatch(process.printed, /\/b\?c over the socket/);
  assertMatch(process.printed, /socket: it is in use; remove the file/);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("`start()` with a certificate serves TLS", async () => {
  const { cert, key } = await certificate();
  const app = new Engine();
  app.route("*", () => `${app.request().scheme} ${app.request().secure}`);
  const quiet = { port: 0, signals: false, onListen() {} };
  await using server = app.start({ ...quiet, cert, key });
  const { port } = server.addr as Deno.NetAddr;
  using client = Deno.createHttpClient({ caCerts: [cert] });
  const response = await fetch(`https://127.0.0.1:${port}/`, { client });
  assertEquals(await response.text(), "https true");
});

/** Errors that come after the response, each on a route of its own. */
const LATE: Readonly<Record<string, string>> = {
  timer: `setTimeout(() => { throw new Error("late") });`,
  microtask: `queueMicrotask(() => { throw new Error("late") });`,
  rejection: `setTimeout(() => Promise.reject(new Error("late")));`,
  abort: `AbortSignal.timeout(1).onabort = () => { throw new Error("late") };`,
};

/** An application with a route for each late error. */
const FAILING = `
  import { Framework } from "@framework/core";
  ${
  Object.entries(LATE).map(([name, code]) =>
    `Framework.route("/${name}", () => { ${code} return "responded"; });`
  ).join("\n")
}`;

for (
  const [name, last, options] of [
    ["`start()`", "Framework.start({ port: 0 });", {}],
    ["`deno serve`", "export default Framework;", SERVE],
  ] as const
) {
  Deno.test(`${name} outlives uncaught errors, with a line in the log for each`, async () => {
    await using process = await ServerProcess.start(FAILING + last, options);
    for (const [index, kind] of Object.keys(LATE).entries()) {
      assertMatch(await textOf(process, `/${kind}`), /responded|500/);
      await process.prints(new RegExp(`(?:Error: late[^]*){${index + 1}}`));
    }
    assertEquals((await visit(process, "/none").then(bodyless)).status, 404);
    assertEquals(await end(process), 0);
  });
}

/** How a main module fails once its server listens. */
const FAILING_MAIN: Readonly<Record<string, string>> = {
  "throws": `throw new Error("no database");`,
  "fails late": `
    await new Promise((resolve) => setTimeout(resolve, 50));
    throw new Error("no database");`,
};

for (const [what, code] of Object.entries(FAILING_MAIN)) {
  Deno.test(`the process ends with 1 when its main module ${what} after \`start()\``, async () => {
    await using process = await ServerProcess.start(`
      import { Framework } from "@framework/core";
      Framework.start({ port: 0 });
      ${code}
    `);
    assertEquals((await process.ended()).code, 1);
    assertStringIncludes(process.printed, "no database");
  });
}

Deno.test("`start()` says that the runtime stopped accepting, and the process ends with 1", async () => {
  const source = `
    import { Framework } from "@framework/core";
    setInterval(() => {}, 1_000); // keeps a process going that does not end by itself
    Framework.start({ port: 0 });`;
  const options = { descriptors: 64, limit: 20 };
  await using process = await ServerProcess.start(source, options);
  const port = await process.port();
  using connections = new DisposableStack();
  for (let count = 0; count < 64; count++) {
    try {
      connections.use(await RawConnection.open(port));
    } catch {
      break; // no longer accepted
    }
  }
  await process.prints(/Too many open files/);
  assertEquals((await process.ended()).code, 1);
});

const SERVED = `
  import { Framework } from "@framework/core";
  Framework.route("/hello/@name", (name) => "Hello, " + name + "!");
  Framework.route("/slow", async () => {
    console.log("asked");
    await new Promise((resolve) => setTimeout(resolve, 100));
    return "late";
  });
  export default Framework;
`;

Deno.test("`deno serve` serves `Framework` as the default export, without a permission, and drains it", async () => {
  await using process = await ServerProcess.start(SERVED, SERVE);
  assertEquals(await textOf(process, "/hello/Ada"), "Hello, Ada!");
  assertEquals((await visit(process, "/%zz").then(bodyless)).status, 400);
  const text = textOf(process, "/slow");
  await process.prints(/asked/);
  process.kill("SIGTERM");
  assertEquals(await text, "late");
  assertEquals((await process.ended()).code, 0);
});

async function bodyless(response: Response): Promise<Response> {
  await response.body?.cancel();
  return response;
}
