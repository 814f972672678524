/** Tests `log` on a process whose standard output is read late. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { SlowlyRead } from "../support/slow_reader.ts";

/** How many requests it takes to fill the pipe and what is kept for its reader. */
const MANY = 300;

Deno.test("`log()` holds no request up for a reader that stalls, and tells how many lines it dropped", async () => {
  await using process = await SlowlyRead.start(`
    import { Engine } from "@framework/core";
    import { log } from "@framework/core/log";

    const app = new Engine();
    log(app);
    app.route("/*", () => "text");
    app.start({ port: 0 });
  `);
  const [origin] = /http:\/\/[\d.:]+/.exec(await process.read(/\n/))!;
  for (let index = 0; index < MANY; index++) {
    const response = await fetch(`${origin}/${"a".repeat(8_000)}`);
    assertEquals(await response.text(), "text");
  }
  const dropped = /Dropped (\d+) log lines/;
  const text = await process.read(dropped);
  const lines = text.match(/ 200 [\d.]+ ms 4 B$/gm)!.length;
  assertEquals(lines + Number(dropped.exec(text)![1]), MANY);
  await (await fetch(`${origin}/after`)).text();
  assertStringIncludes(await process.read(/after/), "GET /after 200");
  assertEquals(await process.end("SIGTERM"), 0);
});
