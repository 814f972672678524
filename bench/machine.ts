/** Owns the description of a run: the machine, the runtime, the method, and the versions of peers. */

import { CONTENDERS } from "./contenders.ts";
import type { Plan } from "./plan.ts";

/** The machine, the runtime, and how the figures were measured. */
export async function describeMachine(plan: Plan): Promise<string> {
  const { rounds, laps, requests, starts } = plan;
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

Medians, with the lower and upper quartile in parentheses; ≈ marks a ratio whose spread, from quartile to quartile, is larger than its distance from 1. All contenders take turns within one run: ${rounds} rounds of ${requests} requests over 32 kept connections, shared among ${laps} sets of fresh processes; ${starts} starts. A ratio divides by the other contender's measurement of the same round. CPU time is that of the whole server process, user and kernel, all threads; latency is seen by the client.`;
}

/** The versions of the peers. */
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
