/** Tests what a server refuses by itself: it passes `error` and `send`, as every response does. */

import { assertEquals, assertMatch } from "@std/assert";
import { Engine } from "@framework/core";
import { guard } from "@framework/core/guard";
import { logOf } from "./log.ts";
import { RawConnection } from "./raw_http.ts";
import { ServerProcess } from "./server_child.ts";

const FOREIGN =
  "GET https://site.test/secure HTTP/1.1\r\nHost: site.test\r\nConnection: close\r\n\r\n";

function start(app: Engine): { server: Deno.HttpServer; port: number } {
  const server = app.start({ port: 0, signals: false, onListen() {} });
  return { server, port: (server.addr as Deno.NetAddr).port };
}

/** Sends bytes to a port, and returns all that comes back. */
async function exchange(port: number, sent: string): Promise<string> {
  using connection = await RawConnection.open(port);
  await connection.send(sent);
  return await connection.receive();
}

Deno.test("a target of a foreign scheme goes to `error` and `send`", async () => {
  const app = new Engine();
  app.map("error", (error: Error) => `mapped: ${error.message}`);
  guard(app);
  const { server, port } = start(app);
  const response = await exchange(port, FOREIGN);
  assertMatch(response, /^HTTP\/1.1 400 /);
  assertMatch(response, /x-content-type-options: nosniff/);
  assertMatch(response, /mapped: The request target has the wrong scheme/);
  await server.shutdown();
});

Deno.test("`deno serve` refuses a target of a foreign scheme", async () => {
  const source = `
    import { Framework } from "@framework/core";
    import { guard } from "@framework/core/guard";
    guard(Framework);
    Framework.route("/secure", () => "secure " + Framework.request().secure);
    export default Framework;
  `;
  await using process = await ServerProcess.start(source, {
    command: ["serve", "--host=127.0.0.1", "--port=0"],
    permissions: [],
  });
  const port = await process.port();
  const response = await exchange(port, FOREIGN);
  assertMatch(response, /^HTTP\/1.1 400 /);
  assertMatch(response, /x-content-type-options: nosniff/);
  const own = await exchange(port, FOREIGN.replace("https:", "http:"));
  assertMatch(own, /secure false$/);
});

Deno.test("a `Deno.serve` with TLS of the user's own, beside `start()`, is not refused", async () => {
  const app = new Engine();
  app.route("/secure", () => `secure ${app.request().secure}`);
  const { server } = start(app);
  // Without a certificate at hand: what the runtime makes of a request by TLS.
  const response = await app.fetch(new Request("https://site.test/secure"));
  assertEquals(await response.text(), "secure true");
  await server.shutdown();
});

Deno.test("a request to a server that drains is a 503 that passes `error` and `send`", async () => {
  const app = new Engine();
  app.map("error", (error: Error) => `mapped: ${error.message}`);
  guard(app);
  app.route("POST /upload", () => app.request().getBody());
  const { server, port } = start(app);
  using upload = await RawConnection.open(port);
  using waiting = await RawConnection.open(port);
  await upload.send(
    "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nab",
  );
  await new Promise((resolve) => setTimeout(resolve, 50));
  const lines = await logOf(async () => {
    const finished = server.shutdown();
    await waiting.send("GET /late HTTP/1.1\r\nHost: a\r\n\r\n");
    const response = await waiting.receive("shutting down");
    assertMatch(response, /^HTTP\/1.1 503 [^]*\r\nconnection: close\r\n/);
    assertMatch(response, /x-content-type-options: nosniff/);
    assertMatch(response, /mapped: The server is shutting down/);
    await upload.send("c");
    assertMatch(await upload.receive("abc"), /^HTTP\/1.1 200 /);
    await finished;
  });
  assertEquals(lines.length, 1);
  assertMatch(lines[0]!, /^\w{8} GET \/late HttpError: The server is shutting/);
});

Deno.test("a body that is refused with its rest unread says `connection: close` once", async () => {
  const app = new Engine();
  app.set("framework.body_limit", 10);
  app.set("framework.body_timeout", 0.1);
  app.route("POST /", () => app.request().getBody());
  const { server, port } = start(app);
  const head = "POST / HTTP/1.1\r\nHost: a\r\n";
  const requests: [status: number, request: string][] = [
    [413, `${head}Content-Length: 300000\r\n\r\nx`],
    [413, `${head}Connection: close\r\nContent-Length: 300000\r\n\r\nx`],
    [413, `${head}Content-Length: 11\r\n\r\n01234567890`],
    [413, `${head}Transfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n`],
    [408, `${head}Content-Length: 5\r\n\r\nx`],
    [408, `${head}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n`],
    [400, `${head}Content-Length: 5\r\n\r\nx`],
    [400, `${head}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n`],
  ];
  for (const [status, request] of requests) {
    using connection = await RawConnection.open(port);
    await connection.send(request);
    if (status === 400) await connection.end();
    const response = await connection.receive("</main>");
    assertMatch(response, new RegExp(`^HTTP/1.1 ${status} `));
    assertEquals(response.match(/connection: close/gi)?.length, 1, response);
  }
  await server.shutdown();
});

Deno.test("a request that the program makes itself is handled also while its server drains", async () => {
  const app = new Engine();
  const arrived = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  app.route("/slow", () => {
    arrived.resolve();
    return gate.promise;
  });
  app.route("/own", () => "own");
  const { server, port } = start(app);
  const slow = fetch(`http://127.0.0.1:${port}/slow`);
  await arrived.promise;
  const down = server.shutdown();
  assertEquals(await (await app.fetch("/own")).text(), "own");
  gate.resolve();
  await (await slow).body?.cancel();
  await down;
});

Deno.test("a server that drains no longer listens once the bodies of its requests were read", async () => {
  const app = new Engine();
  const arrived = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  app.post("/slow", () => {
    arrived.resolve();
    return gate.promise;
  });
  const { server, port } = start(app);
  const origin = `http://127.0.0.1:${port}`;
  const slow = fetch(`${origin}/slow`, { method: "POST", body: "a" });
  await arrived.promise;
  const down = server.shutdown();
  let isListening = true;
  for (let turn = 0; turn < 100 && isListening; turn++) {
    isListening = await fetch(`${origin}/${turn}`)
      .then((response) => response.body!.cancel())
      .then(() => true, () => false);
  }
  gate.resolve();
  await (await slow).body?.cancel();
  await down;
  assertEquals(isListening, false);
});

Deno.test("a body that a mounted engine has read is no upload any more", async () => {
  const [outer, inner] = [new Engine(), new Engine()];
  outer.set("framework.shutdown_timeout", 0.1);
  const arrived = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  inner.post("/", () => {
    arrived.resolve();
    return gate.promise;
  });
  outer.mount("/in", inner);
  const { server, port } = start(outer);
  const url = `http://127.0.0.1:${port}/in`;
  const response = fetch(url, { method: "POST", body: "read" })
    .then((each) => each.body?.cancel(), () => {});
  await arrived.promise;
  const log = await logOf(() => server.shutdown());
  assertEquals(log.at(-1), "Shut down after 0.1 s with 1 request unfinished");
  gate.resolve();
  await response;
});

Deno.test("a server that shuts down names the uploads that are unfinished", async () => {
  const app = new Engine();
  app.set("framework.shutdown_timeout", 0.1);
  const arrived = Promise.withResolvers<void>();
  app.post("/", () => {
    arrived.resolve();
    return app.request().raw.text();
  }).streamed();
  const { server, port } = start(app);
  using connection = await RawConnection.open(port);
  await connection.send(
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nbeginning",
  );
  await arrived.promise;
  const log = await logOf(() => server.shutdown());
  // The handler's error, as the connection ends, may come before the end of the log, or not.
  const lines = log.filter((line) => line.startsWith("Shut down"));
  assertEquals(lines, ["Shut down after 0.1 s with 1 upload unfinished"]);
});
