/** Memory: requests that are over leave nothing behind. */

import { assert } from "@std/assert";
import { ServerProcess } from "../support/server_child.ts";

Deno.test("requests that are over leave nothing in memory", async () => {
  const source = `
    import { Engine } from "@framework/core";
    const app = new Engine();
    app.map("json", async (data) => {
      await null;
      app.response().write(JSON.stringify(data));
    });
    app.before("start", () => app.set("visit", crypto.randomUUID()));
    app.route("/late", () => app.json({ a: 1 }));
    app.route("/text", () => "text");
    const used = async (count) => {
      for (; count > 0; count--) {
        for (const path of ["/late", "/text", "/none"]) {
          await (await app.fetch(path)).text();
        }
      }
      await new Promise((resolve) => setTimeout(resolve));
      globalThis.gc();
      return Deno.memoryUsage().heapUsed;
    };
    const before = await used(500);
    console.log("grown by " + (await used(3_000) - before) + " bytes");
  `;
  const command = ["run", "--v8-flags=--expose-gc"];
  await using child = await ServerProcess.start(source, { command });
  const [, bytes] = await child.prints(/grown by (-?\d+) bytes/);
  assert(Number(bytes) < 2 ** 20, bytes);
});
