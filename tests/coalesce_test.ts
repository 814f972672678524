/** Texts of a middle length are sent in one write with their head, as one chunk. */

import { assertEquals, assertFalse, assertMatch } from "@std/assert";
import { Engine } from "@framework/core";
import { since29 } from "./deno_version.ts";

const TEXT = "x".repeat(4_096);

/** The response of a server to the lines of a request, as it is sent. */
async function sent(request: string, coalesce = true): Promise<string> {
  const app = new Engine();
  app.set("framework.coalesce", coalesce);
  app.route("/", () => TEXT);
  app.route("/short", () => "short");
  app.route("/long", () => TEXT.repeat(9));
  await using server = app.start({
    port: 0,
    signals: false,
    onListen: () => {},
  });
  const { port } = server.addr as Deno.NetAddr;
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const lines = `${request}\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
  await connection.write(new TextEncoder().encode(lines));
  const chunks = await Array.fromAsync(connection.readable);
  return await new Blob(chunks).text();
}

Deno.test("`framework.coalesce` sends a text of 4 KB in one chunk", async () => {
  const response = await sent("GET / HTTP/1.1");
  assertMatch(response, /\r\ntransfer-encoding: chunked\r\n/i);
  assertFalse(/\r\ncontent-length:/i.test(response));
  assertEquals(
    response.split("\r\n\r\n")[1],
    `1000\r\n${TEXT}\r\n0`,
  );
});

Deno.test("`framework.coalesce` set to false sends the length", async () => {
  const response = await sent("GET / HTTP/1.1", false);
  assertMatch(response, /\r\ncontent-length: 4096\r\n/i);
  assertFalse(/\r\ntransfer-encoding:/i.test(response));
});

for (
  const [request, length] of [
    ["HEAD / HTTP/1.1", 4096],
    ["GET / HTTP/1.0", 4096],
    ["GET /short HTTP/1.1", 5],
    ["GET /long HTTP/1.1", 36_864],
  ] as const
) {
  const { test } = request.startsWith("HEAD") ? since29 : Deno;
  test(`\`framework.coalesce\` leaves the length to ${request}`, async () => {
    const response = await sent(request);
    assertMatch(response, new RegExp(`\r\ncontent-length: ${length}\r\n`, "i"));
  });
}
