/** Owns the neighbour: a process that thrashes memory on the last core, as on a busy machine. */

import { pin } from "./cores.ts";

/** Works while the neighbour runs. */
export async function withNeighbour<Result>(
  work: () => Promise<Result>,
): Promise<Result> {
  const script = new URL("thrash.ts", import.meta.url).pathname;
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-lock", script],
    stdin: "null",
  }).spawn();
  try {
    pin(process.pid, "neighbour");
    return await work();
  } finally {
    process.kill("SIGKILL");
    await process.status;
  }
}
