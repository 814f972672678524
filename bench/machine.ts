/** Owns the description of a run: when, on what machine, against which versions. */

import { deno, jsonOf } from "./command.ts";

const PEERS = ["find-my-way", "hono", "iron-webcrypto", "ventojs", "zod"];

/** The date, the machine and the runtime. */
export async function describeMachine(): Promise<string> {
  const cpu = await Deno.readTextFile("/proc/cpuinfo");
  const [model = "unknown"] = /(?<=^model name\s*: ).*/m.exec(cpu) ?? [];
  const memory = Deno.systemMemoryInfo().total / 1_024 ** 3;
  const [load] = Deno.loadavg();
  return [
    new Date().toISOString().slice(0, 10),
    `Deno ${Deno.version.deno}, V8 ${Deno.version.v8}`,
    `Linux ${Deno.osRelease()}`,
    `${navigator.hardwareConcurrency} × ${model}, ${memory.toFixed(0)} GB`,
    `load ${load!.toFixed(2)} before`,
    await describePeers(),
  ].join("; ");
}

/** The versions of the packages that take part. */
async function describePeers(): Promise<string> {
  const found = new Set<string>();
  for (
    const file of [
      "contenders/site_by_hand.ts",
      "router_process.ts",
      "contenders/schema.ts",
    ]
  ) {
    const { pathname } = new URL(file, import.meta.url);
    const graph = await jsonOf(deno("info", "--json", pathname));
    const { npmPackages } = graph as { npmPackages: Record<string, unknown> };
    for (const name in npmPackages) found.add(name);
  }
  return [...found].sort()
    .filter((each) => PEERS.some((name) => each.startsWith(`${name}@`)))
    .join(", ");
}
