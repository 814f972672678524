/** WebSockets on a real server: whose state their handlers see, and for how long. */

import { Engine } from "@framework/core";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { sendRaw } from "../support/raw_http.ts";
import { serving } from "../support/serving.ts";

const KEY = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const UPGRADE = "connection: upgrade, close\r\nupgrade: websocket\r\n";
const VERSION = "sec-websocket-version: 13\r\n";

/** Connects, sends the texts one by one, and returns what came back until the socket closed. */
async function talk(url: string, texts: readonly string[]): Promise<string[]> {
  const received: string[] = [];
  const socket = new WebSocket(url);
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.onclose = () => resolve();
  socket.onopen = () => socket.send(texts[0]!);
  socket.onmessage = ({ data }) => {
    received.push(data);
    const next = texts[received.length];
    if (next === undefined) socket.close();
    else socket.send(next);
  };
  await promise;
  return received;
}

Deno.test("`upgrade()` keeps the request open for the handlers of its socket", async () => {
  const app = new Engine();
  const closed: Promise<string>[] = [];
  app.route("/talk/@name", (name) => {
    const { socket, response } = app.request().upgrade();
    app.set("name", name);
    app.set("count", 0);
    socket.onmessage = async ({ data }) => {
      await null;
      app.set("count", app.get<number>("count")! + 1);
      const { url } = app.request();
      socket.send(`${url} ${app.get("count")}: ${data}`);
    };
    const { promise, resolve } = Promise.withResolvers<string>();
    socket.onclose = () => resolve(app.get<string>("name")!);
    closed.push(promise);
    return response;
  });
  await serving(app, async (port) => {
    const origin = `ws://127.0.0.1:${port}/talk`;
    const [ada, bob] = await Promise.all([
      talk(`${origin}/ada`, ["a", "b"]),
      talk(`${origin}/bob`, ["x"]),
    ]);
    assertEquals(ada, ["/talk/ada 1: a", "/talk/ada 2: b"]);
    assertEquals(bob, ["/talk/bob 1: x"]);
    assertEquals((await Promise.all(closed)).toSorted(), ["ada", "bob"]);
  });
  assertEquals(app.has("name"), false);
});

Deno.test("a response of `Deno.upgradeWebSocket()` that a callback returns is sent as plain Deno does", async () => {
  const app = new Engine();
  app.route("/", () => {
    const { socket, response } = Deno.upgradeWebSocket(app.request().raw);
    socket.onmessage = ({ data }) => socket.send(`echo ${data}`);
    return response;
  });
  await serving(app, async (port) => {
    const received = await talk(`ws://127.0.0.1:${port}/`, ["a", "b"]);
    assertEquals(received, ["echo a", "echo b"]);
  });
});

/** Handshakes of clients, and the statuses that they get. */
const HANDSHAKES: [what: string, lines: string, number][] = [
  ["no upgrade", "connection: close\r\n", 426],
  ["another version", `${UPGRADE}sec-websocket-version: 8\r\n${KEY}`, 426],
  ["no key", UPGRADE + VERSION, 400],
];

for (const [what, lines, expected] of HANDSHAKES) {
  Deno.test(`\`upgrade()\` gives a handshake with ${what} the status ${expected}`, async () => {
    const app = new Engine();
    app.route("/", () => app.request().upgrade().response);
    await serving(app, async (port) => {
      const { status, head } = await sendRaw(
        port,
        `GET / HTTP/1.1\r\nhost: a\r\n${lines}\r\n`,
      );
      assertEquals(status, expected, head);
      if (status === 426) assertStringIncludes(head, "upgrade: websocket");
    });
  });
}

Deno.test("`shutdown()` closes sockets with 1001 at once, while requests finish", async () => {
  const app = new Engine();
  const asked = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<number>();
  app.route("/talk", () => {
    const { socket, response } = app.request().upgrade();
    socket.onopen = () => socket.send("welcome");
    return response;
  });
  app.route("/slow", async () => {
    asked.resolve();
    return `closed with ${await closed.promise}`;
  });
  let response: Promise<Response> | undefined;
  await serving(app, async (port) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/talk`);
    socket.onclose = ({ code }) => closed.resolve(code);
    await new Promise((resolve) => socket.onmessage = resolve);
    response = fetch(`http://127.0.0.1:${port}/slow`);
    await asked.promise;
  });
  assertEquals(await (await response!).text(), "closed with 1001");
});
