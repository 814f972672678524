/** Memory that a body takes: a client cannot make it many times the size of what was sent. */

import { assert, assertStringIncludes } from "@std/assert";
import { RawConnection } from "../support/raw_http.ts";
import { ServerProcess } from "../support/server_child.ts";

const MIB = 2 ** 20;

/** Responds to a body with how many bytes of memory it took. */
const COUNTER = `
import { Framework } from "@framework/core";
const before = Deno.memoryUsage().rss;
Framework.route("POST /", async () => {
  const { length } = await Framework.request().raw.bytes();
  return length + " took " + (Deno.memoryUsage().rss - before) + " bytes.";
});
Framework.start({ port: 0 });`;

/** Sends a body in chunks of one byte and returns how many bytes of memory it took in a new process. */
async function memoryOf(count: number): Promise<number> {
  await using child = await ServerProcess.start(COUNTER);
  using connection = await RawConnection.open(await child.port());
  await connection.send(
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
  );
  for (let sent = 0; sent < count; sent += 100) {
    await connection.send("1\r\nx\r\n".repeat(100));
  }
  await connection.send("0\r\n\r\n");
  const response = await connection.receive(" bytes.");
  assertStringIncludes(response, "200 OK");
  return Number(/took (\d+) bytes\./.exec(response)![1]);
}

Deno.test("a body in one-byte chunks takes little memory", async () => {
  const taken = await memoryOf(9_900); // more of them are refused
  assert(taken <= 48 * MIB, `${taken}`); // 600 MiB where each chunk was kept
});
