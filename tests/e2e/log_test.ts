/** Tests `log` on a process whose standard output is read late. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { absoluteImports } from "../support/import_map.ts";

/** How many requests it takes to fill the pipe, which has room for 64 KiB, and what is kept for its reader. */
const MANY = 300;

const SOURCE = `
  import { Engine } from "@framework/core";
  import { log } from "@framework/core/log";

  const app = new Engine();
  log(app);
  app.route("/*", () => "text");
  app.start({ port: 0 });
`;

Deno.test("`log()` holds no request up for a reader that stalls, and tells how many lines it dropped", async () => {
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(file, SOURCE);
  const map = JSON.stringify({ imports: await absoluteImports() });
  const imports = `data:application/json,${encodeURIComponent(map)}`;
  const flags = ["--no-config", "--no-lock", "--allow-net=127.0.0.1"];
  await using child = new Deno.Command(Deno.execPath(), {
    args: ["run", `--import-map=${imports}`, ...flags, file],
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const decoded = child.stdout.pipeThrough(new TextDecoderStream());
  const reader = decoded.getReader();
  const readUntil = async (expression: RegExp): Promise<string> => {
    let text = "";
    while (!expression.test(text)) {
      const { value, done } = await reader.read();
      if (done) break;
      text += value;
    }
    return text;
  };
  const [origin] = /http:\/\/[\d.:]+/.exec(await readUntil(/\n/))!;
  for (let index = 0; index < MANY; index++) {
    const response = await fetch(`${origin}/${"a".repeat(8_000)}`);
    assertEquals(await response.text(), "text");
  }
  const dropped = /Dropped (\d+) log lines/;
  const text = await readUntil(dropped);
  const lines = text.match(/ 200 [\d.]+ ms 4 B$/gm)!.length;
  assertEquals(lines + Number(dropped.exec(text)![1]), MANY);
  await (await fetch(`${origin}/after`)).text();
  assertStringIncludes(await readUntil(/after/), "GET /after 200");
  child.kill("SIGTERM");
  assertEquals((await child.status).code, 0);
  await reader.cancel();
  await Deno.remove(file);
});
