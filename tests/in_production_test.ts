/** Tests the examples of `docs/in_production.md` that need a process or a folder; `nginx_test.ts` tests those of nginx. */

import {
  assertEquals,
  assertLess,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { Process } from "../tasks/process.ts";
import { freePort } from "./postgres.ts";
import { ServerProcess } from "./server_child.ts";

/** The example of the documentation that has a text in it. */
async function example(part: string): Promise<string> {
  const document = new URL("../docs/in_production.md", import.meta.url);
  const text = await Deno.readTextFile(document);
  const blocks = [...text.matchAll(/```ts[^\n]*\n([^]*?)```/g)];
  return blocks.map(([, block]) => block!).find((each) => each.includes(part))!;
}

/** Runs the examples under `deno serve`, with its flags. */
async function serve(
  ...flags: string[]
): Promise<[ServerProcess, origin: string]> {
  const port = freePort();
  const source = `
    import { Framework } from "@framework/core";
    let rates = 0;
    const database = {
      isClosed: false,
      now: () => Promise.resolve("noon"),
      rate: () => Promise.resolve(++rates),
      close: () => setTimeout(() => {
        database.isClosed = true;
        console.log("closed");
      }, 100),
    };
    Framework.get("/", () => \`rate \${Framework.get("rate")}\`);
    ${(await example("setInterval")).replace("60_000", "10")}
    ${await example("beforeunload")}
    export default Framework;`;
  const command = ["serve", ...flags, "--host=127.0.0.1", `--port=${port}`];
  const env = { DENO_JOBS: "2" };
  const process = await ServerProcess.start(source, { command, env });
  await process.prints(/Listening on/);
  return [process, `http://127.0.0.1:${port}`];
}

Deno.test("the examples of health, metrics and timers work under `deno serve`", async () => {
  const [process, origin] = await serve();
  await using _process = process;
  const text = async (path: string): Promise<string> =>
    await (await fetch(origin + path)).text();
  assertEquals(await text("/health"), "noon");
  assertMatch(await text("/metrics"), /^http_requests_total \d+\n$/);
  while (!/^rate \d+$/.test(await text("/"))) await later(5);
  const began = performance.now();
  process.kill("SIGTERM");
  assertEquals((await process.ended()).code, 0);
  assertLess(performance.now() - began, 5_000); // it does not wait for the timer
  assertEquals(process.printed.split("closed").length, 2);
});

Deno.test("the example of maintenance is turned on and off by a signal", async () => {
  const [process, origin] = await serve();
  await using _process = process;
  const get = async (): Promise<[number, string | null]> => {
    const response = await fetch(origin);
    await response.body?.cancel();
    return [response.status, response.headers.get("retry-after")];
  };
  assertEquals(await get(), [200, null]);
  process.kill("SIGUSR2");
  while ((await get())[0] === 200) await later(5);
  assertEquals(await get(), [503, "600"]);
  process.kill("SIGUSR2");
  while ((await get())[0] === 503) await later(5);
  assertEquals(process.printed.includes("Back in ten"), false); // no line in the log
});

Deno.test("the example of compression makes files that `files` may send", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.mkdir(`${folder}/public`);
  await Deno.writeTextFile(`${folder}/public/style.css`, "a {}".repeat(100));
  await Deno.writeTextFile(`${folder}/public/photo.png`, "no text");
  await Deno.writeTextFile(
    `${folder}/compress.ts`,
    await example("brotliCompressSync"),
  );
  {
    const permissions = ["--allow-read=public", "--allow-write=public"];
    const args = ["run", "--no-prompt", ...permissions, "compress.ts"];
    await using process = new Process([Deno.execPath(), ...args], {
      cwd: folder,
    });
    assertEquals((await process.ended()).code, 0, process.printed);
  }
  const entries = await Array.fromAsync(Deno.readDir(`${folder}/public`));
  assertEquals(entries.map(({ name }) => name).sort(), [
    "photo.png",
    "style.css",
    "style.css.br",
    "style.css.gz",
  ]);
  const { body } = new Response(
    await Deno.readFile(`${folder}/public/style.css.gz`),
  );
  const text = await new Response(
    body!.pipeThrough(new DecompressionStream("gzip")),
  ).text();
  assertStringIncludes(text, "a {}a {}");
  await Deno.remove(folder, { recursive: true });
});

function later(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
