/** Tests `framework.socket_limit`: what may wait for the client of a WebSocket. */

import { assert, assertEquals, assertLess, assertThrows } from "@std/assert";
import { Engine } from "@framework/core";
import { RawConnection } from "./raw_http.ts";
import { ServerProcess } from "./server_child.ts";

const MIB = 1024 * 1024;

const HANDSHAKE =
  "GET / HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n" +
  "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

function later(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Serves an application; the work gets its port, and the socket with the codes of its `close` events. */
async function serving(
  limit: number | null,
  work: (
    port: number,
    opened: Promise<[socket: WebSocket, closed: number[]]>,
  ) => Promise<void>,
): Promise<void> {
  const app = new Engine();
  app.set("framework.socket_limit", limit);
  const opened = Promise.withResolvers<[WebSocket, number[]]>();
  app.route("/", () => {
    const { socket, response } = app.request().upgrade();
    const closed: number[] = [];
    socket.onclose = ({ code }) => void closed.push(code);
    socket.onopen = () => opened.resolve([socket, closed]);
    return response;
  });
  const server = app.start({ port: 0, signals: false, onListen() {} });
  await work((server.addr as Deno.NetAddr).port, opened.promise);
  await server.shutdown();
}

/** Sends 300 MiB to each client; prints what has become of the socket, and by how many MiB the memory has grown. */
const SENDER = `
import { Framework } from "@framework/core";
const later = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const rss = () => Deno.memoryUsage().rss / ${MIB};
Framework.route("/", () => {
  const { socket, response } = Framework.request().upgrade();
  socket.onopen = async () => {
    const before = rss();
    for (let count = 0; count < 300; count++) {
      socket.send(new Uint8Array(${MIB}));
      if (count % 10 === 0) await later(1);
    }
    await later(50);
    console.log("grown by " + Math.round(rss() - before), socket.readyState, socket.bufferedAmount);
  };
  socket.onclose = ({ code }) => console.log("closed with " + code);
  return response;
});
Framework.start({ port: 0 });`;

Deno.test("`framework.socket_limit` closes a client that never reads with 1013, and its memory comes back", async () => {
  await using child = await ServerProcess.start(SENDER);
  using connection = await RawConnection.open(await child.port());
  await connection.send(HANDSHAKE);
  await connection.receive("\r\n\r\n");
  const [, grown, state] = await child.prints(/grown by (-?\d+) (.*)/);
  assertEquals(state, "3 0");
  assertLess(Number(grown), 150);
  await connection.receive("\x03\xf5"); // the status of the close frame
  await child.prints(/closed with 1013/);
});

Deno.test("`framework.socket_limit` lets everything through to a client that reads, in order", async () => {
  await serving(64 * MIB, async (port, opened) => {
    const client = new WebSocket(`ws://127.0.0.1:${port}/`);
    client.binaryType = "arraybuffer";
    const received: unknown[] = [];
    client.onmessage = ({ data }) =>
      received.push(
        typeof data === "string" ? data : new Uint8Array(data)[MIB / 2],
      );
    const ended = Promise.withResolvers<CloseEvent>();
    client.onclose = ended.resolve;
    const [socket, closed] = await opened;
    const bytes = new Uint8Array(MIB);
    for (let count = 0; count < 30; count++) {
      socket.send(bytes.fill(count));
      socket.send(`after ${count}`);
    }
    socket.send([1, 2] as unknown as string); // text, as in Deno
    assert(socket.bufferedAmount > 20 * MIB);
    assertThrows(() => socket.close(999), DOMException, "from 3000 to 4999");
    const tooLong = "\u00e4".repeat(62);
    assertThrows(() => socket.close(4000, tooLong), DOMException, "123 bytes");
    assertEquals(socket.readyState, WebSocket.OPEN);
    socket.close(4000, "done");
    socket.close(1000);
    assertEquals(socket.readyState, WebSocket.CLOSING);
    socket.send("too late");
    const { code, reason } = await ended.promise;
    assertEquals([code, reason], [4000, "done"]);
    const expected = Array.from({ length: 30 }, (_, count) => count)
      .flatMap((count) => [count, `after ${count}`]);
    assertEquals(received, [...expected, "1,2"]);
    while (closed.length === 0) await later(5);
    assertEquals([closed, socket.readyState], [[4000], 3]);
  });
});

Deno.test("`framework.socket_limit` bounds what waits, not what is sent", async () => {
  await serving(1000, async (port, opened) => {
    const client = new WebSocket(`ws://127.0.0.1:${port}/`);
    const ended = Promise.withResolvers<number>();
    client.onclose = ({ code }) => ended.resolve(code);
    let received = 0;
    client.onmessage = ({ data }) => void (received += data.length);
    const [socket, closed] = await opened;
    for (let count = 1; count <= 5; count++) {
      socket.send("x".repeat(2000)); // a single message may be longer
      while (received < count * 2000) await later(1);
    }
    for (let count = 0; count < 5; count++) socket.send("x".repeat(400));
    assertEquals(await ended.promise, 1013);
    assertEquals([closed, received], [[1013], 10_800]);
  });
});

Deno.test("a closed socket drops what is sent", async () => {
  await serving(null, async (port, opened) => {
    const client = new WebSocket(`ws://127.0.0.1:${port}/`);
    await new Promise((resolve) => client.onopen = resolve);
    const [socket, closed] = await opened;
    client.close(3001);
    while (closed.length === 0) await later(1);
    socket.send("too late");
    assertEquals([closed, socket.bufferedAmount], [[3001], 0]);
  });
});
