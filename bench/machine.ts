/** Owns what is said about where a result comes from. */

import { CONTENDERS } from "./contenders.ts";
import type { Plan } from "./plan.ts";

/** The machine, the runtime, and how the figures came about. */
export async function describeMachine(plan: Plan): Promise<string> {
  const { rounds, requests, starts } = plan;
  const cpu = await Deno.readTextFile("/proc/cpuinfo");
  const [model = "unknown"] = /(?<=^model name\s*: ).*/m.exec(cpu) ?? [];
  const cores = cpu.match(/^processor\b/gm)?.length ?? 1;
  const memory = await Deno.readTextFile("/proc/meminfo");
  const kilobytes = Number(/(?<=^MemTotal:\s*)\d+/m.exec(memory)?.[0]);
  const [kernel] = (await Deno.readTextFile("/proc/version")).match(
    /(?<=version )\S+/,
  ) ?? [];
  const [busy] = (await Deno.readTextFile("/proc/loadavg")).split(" ");
  const { deno, v8 } = Deno.version;
  return `${
    new Date().toISOString().slice(0, 10)
  }, Deno ${deno}, V8 ${v8}, Linux ${kernel}, ${cores} × ${model}, ${
    (kilobytes / 1_024 ** 2).toFixed(0)
  } GB; load ${busy} before the first run.

Medians, with the lowest and the highest in parentheses. All contenders take turns within one run: ${rounds} turns of ${requests} requests over 32 kept connections, ${starts} starts. A ratio compares a contender with the bare server of the same turn. CPU time is that of the whole server process, user and kernel, all threads; latency is seen by the client, which has the other core and saturates the server.`;
}

/** The versions of what is measured. */
export async function describePeers(): Promise<string> {
  const files = new Set(Object.values(CONTENDERS).map(({ file }) => file));
  const found = new Set<string>();
  for (const file of [...files, "servers/page.ts"]) {
    const text = await Deno.readTextFile(new URL(file, import.meta.url));
    for (const [, name] of text.matchAll(/"npm:([^@/]+@[\d.]+)/g)) {
      found.add(name!);
    }
  }
  return `Measured against ${[...found].sort().join(", ")}.`;
}
