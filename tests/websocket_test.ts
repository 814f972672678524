/** Tests WebSockets over a real server: whose state their handlers see, and for how long. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { Engine } from "@framework/core";
import { settled } from "@framework/core/testing";
import { type App, limitTime } from "./forms.ts";
import { logOf } from "./log.ts";
import { RawConnection, sendRaw } from "./raw_http.ts";

const KEY = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/** The head of a request that asks for a WebSocket, with further lines. */
function handshake(connection = "upgrade", path = "/", lines = ""): string {
  return `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: ${connection}\r\n` +
    `Upgrade: websocket\r\n${lines}${KEY}\r\n`;
}

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

Deno.test("`upgrade()` keeps the request for the handlers of its socket, until that closes", async () => {
  const app = new Engine();
  const closed: string[] = [];
  app.route("/talk/@name", (name) => {
    const { socket, response } = app.request().upgrade();
    app.set("name", name);
    app.set("count", 0);
    socket.onmessage = async ({ data }) => {
      await null;
      app.set("count", app.get<number>("count")! + 1);
      socket.send(`${app.get("name")} ${app.get("count")}: ${data}`);
    };
    socket.onclose = () => void closed.push(app.get<string>("name")!);
    return response;
  });
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const origin = `ws://127.0.0.1:${port}/talk`;
  const [ada, grace] = await Promise.all([
    talk(`${origin}/ada`, ["a", "b", "c"]),
    talk(`${origin}/grace`, ["x", "y"]),
  ]);
  assertEquals(ada, ["ada 1: a", "ada 2: b", "ada 3: c"]);
  assertEquals(grace, ["grace 1: x", "grace 2: y"]);
  while (closed.length < 2) await new Promise((done) => setTimeout(done, 5));
  await server.shutdown();
  assertEquals(closed.toSorted(), ["ada", "grace"]);
  assertEquals(app.has("name"), false);
});

Deno.test("`upgrade()` keeps the headers, and what deferred work throws is logged under `framework.trust_proxy`", async () => {
  const app = new Engine();
  app.set("framework.trust_proxy", true);
  const ran: string[] = [];
  app.route("/talk", () => {
    const { socket, response } = app.request().upgrade();
    const known = () => {
      const request = app.request();
      const { cookies, ip, scheme } = request;
      return [ip, scheme, cookies.a, request.getHeader("host")].join();
    };
    socket.onmessage = () => {
      app.defer(() => {
        throw new Error("boom");
      });
      app.defer(() => void ran.push("second"));
      try {
        socket.send(known());
      } catch (error) {
        socket.send(`${error}`);
      }
    };
    return response;
  });
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const lines = await logOf(async () => {
    const url = `ws://127.0.0.1:${port}/talk`;
    const received = await talk(url, ["a"]);
    assertEquals(received, [`127.0.0.1,http,,127.0.0.1:${port}`]);
    await server.shutdown();
  });
  assertEquals(ran, ["second"]);
  assertEquals(lines.length, 1);
  assertStringIncludes(lines[0]!, "Error in deferred work: Error: boom");
});

Deno.test("`Deno.upgradeWebSocket()` leaves deferred work the headers of the request", async () => {
  const app = new Engine();
  app.set("framework.trust_proxy", true);
  const seen: string[] = [];
  app.route("/", () => {
    app.defer(() => void seen.push(app.request().ip));
    app.defer(() => Promise.reject(new Error("boom")));
    app.defer(() => void seen.push(app.request().getHeader("x-a")));
    return Deno.upgradeWebSocket(app.request().raw).response;
  });
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const connection = await RawConnection.open(port);
  await connection.send(
    handshake("upgrade", "/", "X-A: 1\r\nX-Forwarded-For: 192.0.2.7\r\n"),
  );
  const lines = await logOf(async () => {
    await connection.receive("\r\n\r\n");
    await settled(app);
    connection[Symbol.dispose]();
    await server.shutdown();
  });
  assertEquals(seen, ["192.0.2.7", "1"]);
  assertEquals(lines.length, 1, lines.join("\n"));
  assertStringIncludes(lines[0]!, "Error in deferred work: Error: boom");
});

Deno.test("the handlers of a mounted engine's socket, and its deferred work, can use the engine around it", async () => {
  const [outer, inner] = [new Engine(), new Engine()];
  outer.set("name", "outer");
  const deferred: unknown[] = [];
  const known = () => [outer.get("name"), outer.request().getHeader("host")];
  inner.route("/talk", () => {
    const { socket, response } = inner.request().upgrade();
    socket.onmessage = async () => {
      await null;
      try {
        socket.send(`${known()}`);
      } catch (error) {
        socket.send(`${error}`);
      }
    };
    return response;
  });
  inner.route("/defer", () => {
    inner.defer(async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      deferred.push(known()[0]);
    });
  });
  outer.mount("/in", inner);
  outer.route("/called", () => inner.fetch("/defer"));
  const server = outer.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const received = await talk(`ws://127.0.0.1:${port}/in/talk`, ["a"]);
  assertEquals(received, [`outer,127.0.0.1:${port}`]);
  for (const path of ["/in/defer", "/called"]) {
    await (await fetch(`http://127.0.0.1:${port}${path}`)).body?.cancel();
  }
  await server.shutdown();
  assertEquals(deferred, ["outer", "outer"]);
});

Deno.test("a socket of an engine that a callback calls opens with the callback's response alone", async () => {
  const [outer, inner] = [new Engine(), new Engine()];
  const seen: string[] = [];
  inner.route("/", () => {
    const { socket, response } = inner.request().upgrade();
    socket.onopen = () => void seen.push("open");
    socket.onerror = () => void seen.push("error");
    return response;
  });
  outer.route("/", async () => {
    await inner.fetch(outer.request().raw);
    throw new Error("boom");
  });
  const server = outer.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const lines = await logOf(async () => {
    const { status } = await sendRaw(
      port,
      handshake("upgrade, close"),
    );
    assertEquals(status, 500);
    await server.shutdown();
  });
  assertEquals(seen, ["error"]);
  assertEquals(lines.length, 1, lines.join("\n"));
});

Deno.test("a socket that a mounted engine asks for after a time-out gets an error", async () => {
  const [outer, inner] = [new Engine(), new Engine()];
  const ended = Promise.withResolvers<string>();
  inner.route("/talk", async () => {
    await new Promise((resolve) => setTimeout(resolve, 30));
    const { socket, response } = inner.request().upgrade();
    socket.onerror = ({ type }) => ended.resolve(type);
    return response;
  });
  outer.mount("/in", inner);
  const routes = limitTime(outer as App);
  const server = outer.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const { status } = await sendRaw(
    port,
    handshake("upgrade, close", "/in/talk"),
  );
  assertEquals(status, 503);
  assertEquals(await ended.promise, "error");
  await routes;
  await server.shutdown();
});

Deno.test("`upgrade()` works in an engine that is mounted in another one", async () => {
  const [app, middle, inner] = [new Engine(), new Engine(), new Engine()];
  app.mount("/middle", middle);
  middle.mount("/inner", inner);
  inner.route("/talk/@name", (name) => {
    const { socket, response } = inner.request().upgrade();
    inner.set("name", name);
    socket.onmessage = ({ data }) =>
      socket.send(`${inner.get("name")}: ${data}`);
    return response;
  });
  inner.route("/members", () => {
    inner.request().upgrade();
    inner.halt(403, "Members only");
  });
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const url = `ws://127.0.0.1:${port}/middle/inner`;
  assertEquals(await talk(`${url}/talk/ada`, ["a", "b"]), ["ada: a", "ada: b"]);
  assertEquals(await talk(`${url}/members`, ["a"]), []);
  await server.shutdown();
});

Deno.test("`shutdown()` closes WebSockets with 1001 at once, while requests finish", async () => {
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
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const socket = new WebSocket(`ws://127.0.0.1:${port}/talk`);
  socket.onclose = ({ code }) => closed.resolve(code);
  await new Promise((resolve) => socket.onmessage = resolve);
  const response = fetch(`http://127.0.0.1:${port}/slow`);
  await asked.promise;
  const ended = server.shutdown();
  assertEquals(await (await response).text(), "closed with 1001");
  await ended;
});

Deno.test("`upgrade()` is a 426 for a client that asks for no WebSocket", async () => {
  const app = new Engine();
  app.route("/talk", () => app.request().upgrade().response);
  await using server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  for (const headers of [{}, { upgrade: "h2c" }]) {
    const init = { headers };
    const made = new Request("http://localhost/talk", init);
    const responses = [
      await app.fetch(made),
      await fetch(`http://127.0.0.1:${port}/talk`),
    ];
    for (const response of responses) {
      assertEquals(response.status, 426);
      assertEquals(response.headers.get("upgrade"), "websocket");
      await response.body?.cancel();
    }
  }
});

Deno.test("`upgrade()` is a 426 for a method other than GET, with which no socket opens", async () => {
  const app = new Engine();
  app.route("/talk", () => app.request().upgrade().response);
  await using server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  for (const method of ["POST", "DELETE", "HEAD"]) {
    const { status } = await sendRaw(
      port,
      `${method} /talk HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade, close\r\n` +
        "upgrade: websocket\r\nsec-websocket-version: 13\r\n" +
        "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    assertEquals([method, status], [method, 426]);
  }
});

Deno.test("`upgrade()` is a 426 that names the version for a client of another one", async () => {
  const app = new Engine();
  app.route("/talk", () => app.request().upgrade().response);
  const headers = {
    connection: "upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "8",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
  };
  const response = await app.fetch(
    new Request("http://localhost/talk", { headers }),
  );
  assertEquals(response.status, 426);
  assertEquals(response.headers.get("sec-websocket-version"), "13");
});

/** Handshakes of a client that takes the protocol `chat`, and their statuses. */
const HANDSHAKES: [what: string, headers: string, status: number][] = [
  ["no key", "connection: upgrade\r\nsec-websocket-protocol: chat\r\n", 400],
  ["no Connection", `${KEY}sec-websocket-protocol: chat\r\n`, 400],
  ["a Connection to keep", `${KEY}connection: keep-alive\r\n`, 400],
  ["no protocol", `${KEY}connection: upgrade\r\n`, 400],
  [
    "another protocol",
    `${KEY}connection: upgrade\r\nsec-websocket-protocol: chatter\r\n`,
    400,
  ],
  [
    "a list of both",
    `${KEY}connection: keep-alive, Upgrade\r\nsec-websocket-protocol: a, chat\r\n`,
    101,
  ],
];

for (const [what, headers, expected] of HANDSHAKES) {
  Deno.test(`\`upgrade()\` gives a handshake with ${what} the status ${expected}`, async () => {
    const app = new Engine();
    app.route("/", () => {
      const options = { protocol: "chat", idleTimeout: 1 };
      return app.request().upgrade(options).response;
    });
    const server = app.start({ port: 0, signals: false, onListen() {} });
    const { port } = server.addr as Deno.NetAddr;
    using connection = await Deno.connect({ port });
    const head = "GET / HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\n";
    await connection.write(new TextEncoder().encode(`${head}${headers}\r\n`));
    const received = new Uint8Array(4096);
    const length = await connection.read(received) ?? 0;
    const text = new TextDecoder().decode(received.subarray(0, length));
    assertEquals(text.split(" ", 2), ["HTTP/1.1", String(expected)]);
    connection.close();
    await server.shutdown();
  });
}

Deno.test("`upgrade()` without a protocol opens the socket of a client that offers some", async () => {
  const app = new Engine();
  app.route("/", () => {
    const { socket, response } = app.request().upgrade();
    socket.onmessage = ({ data }) => socket.send(data);
    return response;
  });
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const connection = await RawConnection.open(port);
  await connection.send(
    handshake("upgrade", "/", "Sec-WebSocket-Protocol: chat, news\r\n"),
  );
  const head = await connection.receive("\r\n\r\n");
  assertEquals(head.split("\r\n")[0], "HTTP/1.1 101 Switching Protocols");
  connection[Symbol.dispose]();
  await server.shutdown();
});

/** The URL of the current request, or the message of the error without one. */
function urlOf(app: Engine): string {
  try {
    return app.request().url;
  } catch (error) {
    return (error as Error).message;
  }
}

Deno.test("a request is over once its socket has closed", async () => {
  const app = new Engine();
  const late = Promise.withResolvers<string>();
  app.route("/", () => {
    const { socket, response } = app.request().upgrade();
    socket.onclose = () => void setTimeout(() => late.resolve(urlOf(app)));
    return response;
  });
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const client = new WebSocket(`ws://127.0.0.1:${port}/`);
  const closed = new Promise((resolve) => client.onclose = resolve);
  client.onopen = () => client.close();
  assertStringIncludes(await late.promise, "has ended");
  await closed;
  await server.shutdown();
});

Deno.test("a socket in whose place `send` puts another response gets an error, and the client that response", async () => {
  const app = new Engine();
  app.set("framework.shutdown_timeout", 1);
  let hasFailed = false;
  const late = Promise.withResolvers<string>();
  app.route("/", () => {
    const { socket, response } = app.request().upgrade();
    socket.onerror = () => {
      hasFailed = true;
      setTimeout(() => late.resolve(urlOf(app)));
    };
    return response;
  });
  app.after("send", (_params, output) => {
    output.value = new Response("no", { status: 403 });
  });
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const { status } = await sendRaw(
    port,
    handshake("upgrade, close"),
  );
  assertEquals([status, hasFailed], [403, true]);
  assertStringIncludes(await late.promise, "has ended");
  assertEquals(await logOf(() => server.shutdown()), []);
});

Deno.test("deferred work outlives a socket whose connection breaks", async () => {
  const app = new Engine();
  const seen: string[] = [];
  const done = Promise.withResolvers<void>();
  app.route("/", () => {
    const { socket, response } = app.request().upgrade();
    const closed = Promise.withResolvers<void>();
    socket.onerror = () => void seen.push("error");
    socket.onclose = () => closed.resolve();
    app.defer(async () => {
      await closed.promise;
      await new Promise((resolve) => setTimeout(resolve));
      seen.push(urlOf(app));
      done.resolve();
    });
    return response;
  });
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const connection = await RawConnection.open(port);
  await connection.send(
    handshake(),
  );
  await connection.receive("\r\n\r\n");
  connection[Symbol.dispose]();
  await done.promise;
  assertEquals(seen, ["error", "/"]);
  await server.shutdown();
});
