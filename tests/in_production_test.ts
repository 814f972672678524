/**
 * Tests the examples of `docs/in_production.md` that need a process or a folder, and the recipe for several workers;
 * `proxies_test.ts` tests those of nginx and Caddy.
 */

import {
  assertEquals,
  assertLess,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { Process } from "../tasks/process.ts";
import { example } from "./examples.ts";
import { freePort } from "./ports.ts";
import { sendRaw } from "./raw_http.ts";
import { ServerProcess } from "./server_child.ts";

const RECIPES = new URL("../docs/recipes.md", import.meta.url);

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
    const worker = crypto.randomUUID();
    Framework.get("/worker", () => worker);
    Framework.get("/", () => \`rate \${Framework.get("rate")}\`);
    ${
    (await example("docs/in_production.md", "setInterval"))
      .replace("60_000", "10")
  }
    ${await example("docs/in_production.md", "beforeunload")}
    export default Framework;`;
  const command = ["serve", ...flags, "--host=127.0.0.1", `--port=${port}`];
  const env = { DENO_JOBS: "2" };
  const process = await ServerProcess.start(source, { command, env });
  await process.prints(/Listening on/);
  return [process, `http://127.0.0.1:${port}`];
}

Deno.test("the examples of health, metrics and timers work under `deno serve --parallel`", async () => {
  const [process, origin] = await serve("--parallel");
  await using _process = process;
  const text = async (path: string): Promise<string> =>
    await (await fetch(origin + path)).text();
  assertEquals(await text("/health"), "noon");
  assertMatch(await text("/metrics"), /^http_requests_total \d+\n$/);
  while (!/^rate \d+$/.test(await text("/"))) await later(5);
  const workers = new Set<string>();
  while (workers.size < 2) {
    const head = "GET /worker HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    workers.add((await sendRaw(Number(new URL(origin).port), head)).body);
  }
  const began = performance.now();
  process.kill("SIGTERM");
  assertEquals((await process.ended()).code, 0);
  assertLess(performance.now() - began, 9_000); // it does not wait for the timer
  assertEquals(process.printed.split("closed").length, 3); // by both workers
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
    await example("docs/in_production.md", "brotliCompressSync"),
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

Deno.test("the recipe of a message reaches every worker of `deno serve`, and does not hold up its exit", async () => {
  const recipe = await example("docs/recipes.md", "BroadcastChannel");
  const [imports, code] = recipe.split("\n\n"); // up to the lines that try it
  const page = await Deno.readTextFile(RECIPES);
  const close = /by `(Deno\.addSignalListener\(.*\))`/.exec(page)![1];
  const source = `
    ${imports}
    const worker = crypto.randomUUID();
    const cache = new Map([["rate", 1.08]]);
    ${code}
    ${close}
    Framework.get("/", () => [worker, cache.size]);
    export default Framework;`;
  const port = freePort();
  const command = ["serve", "--parallel", "--host=127.0.0.1", `--port=${port}`];
  const env = { DENO_JOBS: "3" };
  await using process = await ServerProcess.start(source, { command, env });
  await process.prints(/Listening on/);
  const url = `http://127.0.0.1:${port}/`;
  const workers = new Map<string, number>();
  const ask = async () => {
    const response = await fetch(url, { headers: { connection: "close" } });
    const [worker, size] = await response.json();
    workers.set(worker, size);
  };
  while (workers.size < 3) await ask();
  assertEquals([...workers.values()], [1, 1, 1]);
  const cleared = await fetch(`${url}clear`, { method: "POST" });
  await cleared.body?.cancel();
  while ([...workers.values()].some((size) => size > 0)) await ask();
  const began = performance.now();
  process.kill("SIGTERM");
  assertEquals((await process.ended()).code, 0, process.printed);
  assertLess(performance.now() - began, 9_000);
});

function later(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
