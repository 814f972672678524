/** Tests the workers of `deno serve --parallel`: that each of them drains, and that none outlives the others. */

import { assertEquals, assertLess } from "@std/assert";
import { freePort } from "./ports.ts";
import { RawConnection, sendRaw } from "./raw_http.ts";
import { ServerProcess } from "./server_child.ts";

/** Starts two workers. */
async function start(source: string, port: number): Promise<ServerProcess> {
  return await ServerProcess.start(
    `import { Framework } from "@framework/core";
    ${source}
    export default Framework;`,
    {
      command: ["serve", "--parallel", "--host=127.0.0.1", `--port=${port}`],
      env: { DENO_JOBS: "2" },
    },
  );
}

/** Visits `/` on a connection of its own, until there is a response. */
async function visit(port: number): Promise<string> {
  const text = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  for (;;) {
    const response = await sendRaw(port, text).catch(refused);
    if (response !== null) return response.body;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function refused(error: unknown): null {
  if (error instanceof Deno.errors.ConnectionRefused) return null;
  throw error;
}

/** Tells both workers to end; returns after how many milliseconds the process has. */
async function end(process: ServerProcess): Promise<number> {
  const began = performance.now();
  process.kill("SIGTERM");
  assertEquals((await process.ended()).code, 0, process.printed);
  return performance.now() - began;
}

Deno.test("`deno serve --parallel` refuses another scheme in every worker", async () => {
  const port = freePort();
  const source = `
    const worker = crypto.randomUUID();
    Framework.route("/", () => worker);
  `;
  await using _process = await start(source, port);
  const workers = new Set<string>();
  while (workers.size < 2) workers.add(await visit(port));
  const head =
    "GET https://a/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  for (let visits = 0; visits < 20; visits++) {
    assertEquals((await sendRaw(port, head)).status, 400);
  }
});

const STREAMING = `
  Framework.set("framework.shutdown_timeout", 0.3);
  const worker = crypto.randomUUID();
  Framework.route("/", async function* () {
    for (;;) {
      yield worker;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  });
`;

Deno.test("`deno serve --parallel` aborts endless streams of all workers when the time to drain is over", async () => {
  const port = freePort();
  await using process = await start(STREAMING, port);
  await process.prints(/Listening on/);
  const streams = new Map<string, RawConnection>();
  while (streams.size < 2) {
    const connection = await RawConnection.open(port);
    await connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const chunk = /\r\n\r\n\d+\r\n(.{36})/;
    let text = "";
    while (!chunk.test(text)) text += await connection.receive("\r\n");
    const [, worker] = chunk.exec(text)!;
    if (streams.has(worker!)) connection[Symbol.dispose]();
    else streams.set(worker!, connection);
  }
  assertLess(await end(process), 5_000);
  for (const connection of streams.values()) connection[Symbol.dispose]();
});

/** One worker, the first or the second to begin, takes a second to load. Which of them is the main one is chance. */
function loadingSlowly(isFirst: boolean, gate: number): string {
  return `
    let isFirst = true;
    try {
      Deno.listen({ hostname: "127.0.0.1", port: ${gate} }).unref();
    } catch {
      isFirst = false;
    }
    if (isFirst === ${isFirst}) {
      console.log("still loading");
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
    Framework.route("/", () => "served");
  `;
}

for (const [which, isFirst] of [["first", true], ["second", false]] as const) {
  Deno.test(`\`deno serve --parallel\` ends on a signal that comes while the ${which} worker is still loading`, async () => {
    const port = freePort();
    await using process = await start(loadingSlowly(isFirst, freePort()), port);
    await process.prints(/still loading/);
    assertEquals(await visit(port), "served"); // by the other one
    assertLess(await end(process), 5_000);
  });
}

Deno.test("`deno serve --parallel` drains a worker that comes up while another one drains", async () => {
  const port = freePort();
  const slow = `
    Framework.route("/slow", async () => {
      console.log("asked");
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      return "slow";
    });
    addEventListener("unload", () => console.log("ended"));
  `;
  await using process = await start(
    `${slow} ${loadingSlowly(false, freePort())} console.log("loaded");`,
    port,
  );
  await process.prints(/still loading/);
  await visit(port);
  const response = fetch(`http://127.0.0.1:${port}/slow`);
  await process.prints(/asked/);
  const ended = end(process);
  assertEquals(await (await response).text(), "slow");
  assertLess(await ended, 5_000);
  assertEquals(process.printed.split("ended").length, 3); // both workers in good order
});
