/** Measures the router in a process of its own, since it is all computation. */

import type { Plan } from "./plan.ts";

/** Runs `bench/router.ts` and returns the tables that it prints. */
export async function measureRouter({ rounds }: Plan): Promise<string> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-check",
      "--no-lock",
      ...Deno.args.filter((arg) => arg.startsWith("--import-map=")),
      "--allow-env",
      "--v8-flags=--expose-gc",
      new URL("router.ts", import.meta.url).pathname,
      String(rounds),
    ],
    stdin: "null",
    stderr: "inherit",
  }).output();
  if (!success) {
    throw new Error("Cannot measure the router: its process failed");
  }
  return new TextDecoder().decode(stdout).trim();
}
