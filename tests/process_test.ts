/** Tests that no process outlives the test or the runner that started it. */

import { assertEquals } from "@std/assert";
import { Process } from "../tasks/process.ts";
import { untilRefused } from "./raw_http.ts";

const DENO = Deno.execPath();
const SERVER =
  `Deno.serve({ port: 0, hostname: "127.0.0.1" }, () => new Response())`;

/** A shell that starts a server as a process of its own, as a task does. */
const TASK: [string, ...string[]] = [
  "sh",
  "-c",
  `'${DENO}' eval '${SERVER}' & wait`,
];

Deno.test("a disposed `Process` takes what it has started with it", async () => {
  await using task = new Process(TASK);
  const port = await portOf(task);
  await task[Symbol.asyncDispose]();
  await untilRefused(port);
});

Deno.test("a disposed `Process` ends although what it prints goes elsewhere", async () => {
  const command = "echo ready; exec sleep 10 >/dev/null 2>&1";
  await using process = new Process(["sh", "-c", command]);
  await process.prints(/ready/);
  await new Promise((resolve) => setTimeout(resolve, 200)); // until it has closed its output
  await process[Symbol.asyncDispose]();
  assertEquals((await process.ended()).signal, "SIGKILL");
});

Deno.test("a `Process` does not outlive a runner that is killed", async () => {
  const module = new URL("../tasks/process.ts", import.meta.url);
  const runner = `
    import { Process } from ${JSON.stringify(module)};
    const task = new Process(${JSON.stringify(TASK)});
    console.log((await task.prints(/Listening on .*/))[0]);
    await task.ended();
  `;
  const args = ["--no-config", "--no-lock", "--ext=ts", runner];
  await using process = new Process([DENO, "eval", ...args]);
  const port = await portOf(process);
  process.kill("SIGKILL");
  await untilRefused(port);
});

async function portOf(process: Process): Promise<number> {
  return Number((await process.prints(/Listening on http:.*:(\d+)/))[1]);
}
