/** Reading bodies off real connections: what it keeps in memory, and how it ends. */

import { assert, assertStringIncludes } from "@std/assert";
import { Engine, type Server } from "@framework/core";
import { RawConnection } from "./raw_http.ts";
import { ServerProcess } from "./server_child.ts";

const MIB = 2 ** 20;

/** Counts the bytes of each body; a GET gives the growth of its memory since the one before. */
const COUNTER = `
import { Framework } from "@framework/core";
const rss = () => Deno.memoryUsage().rss;
let base = rss(), peak = base;
setInterval(() => peak = Math.max(peak, rss()), 2);
Framework.route("POST /", () => {
  peak = Math.max(peak, rss());
  return String(Framework.request().getBytes().length);
});
Framework.route("GET /", () => {
  const growth = peak - base;
  base = peak = rss();
  return String(growth);
});
Framework.start({ port: 0 });`;

/** What a GET gives: how many bytes the memory has grown, or holds. */
async function growth(port: number): Promise<number> {
  return Number(await (await fetch(`http://127.0.0.1:${port}/`)).text());
}

/** Sends a chunked body in pieces of so many bytes; returns the response. */
async function sendChunks(
  port: number,
  size: number,
  count: number,
): Promise<string> {
  using connection = await RawConnection.open(port);
  await connection.send(head("Transfer-Encoding: chunked"));
  const chunk = `${size.toString(16)}\r\n${"x".repeat(size)}\r\n`;
  const batch = 100;
  for (let sent = 0; sent < count; sent += batch) {
    await connection.send(chunk.repeat(Math.min(batch, count - sent)));
  }
  await connection.send("0\r\n\r\n");
  return await connection.receive(`${size * count}`);
}

function head(header: string): string {
  return `POST / HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n`;
}

Deno.test("a body in one-byte chunks takes little memory", async () => {
  await using child = await ServerProcess.start(COUNTER);
  const port = await child.port();
  await sendChunks(port, 1, 10);
  await growth(port);
  assertStringIncludes(await sendChunks(port, 1, 15_000), "200 OK");
  const grown = await growth(port);
  assert(grown <= 32 * MIB, `${grown}`);
});

Deno.test("a chunked upload takes about its size in memory", async () => {
  await using child = await ServerProcess.start(COUNTER);
  const port = await child.port();
  await sendChunks(port, 1_460, 10);
  await growth(port);
  assertStringIncludes(await sendChunks(port, 1_460, 5_700), "200 OK");
  const grown = await growth(port);
  assert(grown <= 48 * MIB, `${grown}`); // it took 94 MiB where each chunk was kept
});

Deno.test("a declared length takes no memory before it has arrived", async () => {
  await using child = await ServerProcess.start(COUNTER);
  const port = await child.port();
  await growth(port);
  await using idle = new AsyncDisposableStack();
  for (let count = 0; count < 100; count++) {
    const connection = idle.use(await RawConnection.open(port));
    await connection.send(head("Content-Length: 8000000") + "abc");
  }
  await growth(port);
  await new Promise((resolve) => setTimeout(resolve, 100));
  const grown = await growth(port);
  assert(grown <= 64 * MIB, `${grown}`); // read natively, it takes 700 MiB
});

/** Serves an application that counts the bytes of each body. */
function serve(
  settings: Record<string, unknown>,
): { server: Server; port: number } {
  const app = new Engine();
  app.set(settings);
  app.route("POST /", () => `${app.request().getBytes().length} bytes`);
  const server = app.start({ port: 0, signals: false, onListen: () => {} });
  return { server, port: (server.addr as Deno.NetAddr).port };
}

/** Heads of bodies that are read natively, and as a stream, each with a part of the body. */
const PARTS = [
  head("Content-Length: 10") + "abc",
  head("Content-Length: 100000") + "abc",
  head("Transfer-Encoding: chunked") + "3\r\nabc\r\n",
];

Deno.test("a body that does not arrive in time is a 408", async () => {
  const { server, port } = serve({ "framework.body_timeout": 0.05 });
  await using _server = server;
  for (const part of PARTS) {
    using connection = await RawConnection.open(port);
    await connection.send(part);
    const response = await connection.receive("</main>");
    assertStringIncludes(response, "408 Request Timeout", part);
    assertStringIncludes(response, "within 0.05 seconds", part);
    assertStringIncludes(response, "connection: close", part);
  }
});

Deno.test("a body that is too large is a 413, which says no more than once that the connection closes", async () => {
  const { server, port } = serve({ "framework.body_limit": 9 });
  await using _server = server;
  const chunk = "a\r\n0123456789\r\n";
  for (const part of [PARTS[0]!, PARTS[1]!, PARTS[2]! + chunk]) {
    using connection = await RawConnection.open(port);
    await connection.send(part);
    const response = await connection.receive("</main>");
    assertStringIncludes(response, "413 Payload Too Large", part);
    const closing = response.match(/^connection: close\r$/gim) ?? [];
    assert(closing.length <= 1, response);
  }
});

Deno.test("a body that does not arrive in time leaves nothing in memory", async () => {
  await using child = await ServerProcess.start(
    `
import { Framework } from "@framework/core";
Framework.set("framework.body_timeout", 0.05);
Framework.route("POST /", () => "unreached");
Framework.route("GET /", () => {
  globalThis.gc();
  return String(Deno.memoryUsage().external);
});
Framework.start({ port: 0 });`,
    { command: ["run", "--v8-flags=--expose-gc"] },
  );
  const port = await child.port();
  const before = await growth(port);
  await Promise.all(Array.from({ length: 100 }, async () => {
    using connection = await RawConnection.open(port);
    await connection.send(PARTS[2]!);
    assertStringIncludes(await connection.receive("</main>"), "408");
  }));
  // The server learns a little later that its clients have left.
  let grown = await growth(port) - before;
  for (let wait = 0; wait < 100 && grown > 2 * MIB; wait++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    grown = await growth(port) - before;
  }
  assert(grown <= 2 * MIB, `${grown}`); // it took 6 MiB where the read was cancelled
});

Deno.test("a body that the client ends early is a 400", async () => {
  const { server, port } = serve({});
  await using _server = server;
  for (const part of PARTS) {
    using connection = await RawConnection.open(port);
    await connection.send(part);
    await connection.end();
    const response = await connection.receive();
    assertStringIncludes(response, "400 Bad Request", part);
    assertStringIncludes(response, "it ended early", part);
  }
});

Deno.test("a body whose chunks are malformed is a 400", async () => {
  const { server, port } = serve({});
  await using _server = server;
  using connection = await RawConnection.open(port);
  await connection.send(PARTS[2]!);
  await new Promise((resolve) => setTimeout(resolve, 20));
  await connection.send("zz\r\n");
  const response = await connection.receive("\r\n\r\n");
  assertStringIncludes(response, "400 Bad Request");
});

Deno.test("a body that takes a while is whole, however its length is told", async () => {
  const { server, port } = serve({});
  await using _server = server;
  const rests = ["d".repeat(7), "d".repeat(99_997), "2\r\nde\r\n0\r\n\r\n"];
  const sizes = [10, 100_000, 5];
  for (const [at, part] of PARTS.entries()) {
    using connection = await RawConnection.open(port);
    await connection.send(part);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await connection.send(rests[at]!);
    const response = await connection.receive(" bytes");
    assertStringIncludes(response, `\r\n\r\n${sizes[at]} bytes`, part);
  }
});

Deno.test("an upload is finished while the server shuts down", async () => {
  const { server, port } = serve({});
  using connection = await RawConnection.open(port);
  await connection.send(PARTS[1]!);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const finished = server.shutdown();
  await connection.send("d".repeat(99_997));
  assertStringIncludes(await connection.receive(" bytes"), "100000 bytes");
  await finished;
});

Deno.test("an upload that outlasts the shutdown is a 503, not the client's fault", async () => {
  for (const part of PARTS) {
    const { server, port } = serve({ "framework.shutdown_timeout": 0.1 });
    using connection = await RawConnection.open(port);
    await connection.send(part);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const [response] = await Promise.all([
      connection.receive("</main>"),
      server.shutdown(),
    ]);
    assertStringIncludes(response, "503 Service Unavailable", part);
    assertStringIncludes(response, "the server is shutting down", part);
    assertStringIncludes(response, "connection: close", part);
  }
});

Deno.test("a body with the length 0 is none, and a GET has none", async () => {
  const { server, port } = serve({});
  await using _server = server;
  using connection = await RawConnection.open(port);
  await connection.send(head("Content-Length: 0"));
  assertStringIncludes(await connection.receive(" bytes"), "\r\n0 bytes");
  await connection.send(
    "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
  );
  const response = await connection.receive("</main>");
  assertStringIncludes(response, "404 Not Found");
});
