/** Measures what a request costs: the CPU time of the server process, and latency. */

import { type Case, CASES } from "./cases.ts";
import type { Child, Script } from "./child.ts";
import { BASE, CONTENDERS, OURS, RIVALS, withServers } from "./contenders.ts";
import { pin, unpin } from "./cores.ts";
import { send } from "./load.ts";
import { withNeighbour } from "./neighbour.ts";
import type { Plan } from "./plan.ts";
import { figure, ratios, show, showRatio, table } from "./statistics.ts";
import { type Figures, type Mode, timesBase } from "./targets.ts";

/** The measurements of one contender, by round. */
export interface Samples {
  /** Microseconds a request. */
  readonly cpu: number[];
  /** Milliseconds. */
  readonly p99: number[];
  /** Requests a second. */
  readonly rate: number[];
}

const CONNECTIONS = 32;

/** Measures cases by name, of all contenders on a quiet machine. */
export async function measureQuiet(
  names: readonly string[],
  plan: Plan,
  figures: Figures,
): Promise<string> {
  return await measureCases(names, "quiet", plan, figures);
}

/** Measures cases by name, of a few contenders beside a neighbour that thrashes memory. */
export async function measureBusy(
  names: readonly string[],
  plan: Plan,
  figures: Figures,
): Promise<string> {
  return await withNeighbour(() => measureCases(names, "busy", plan, figures));
}

async function measureCases(
  names: readonly string[],
  mode: Mode,
  plan: Plan,
  figures: Figures,
): Promise<string> {
  const contenders = mode === "quiet" ? CONTENDERS : RIVALS;
  const parts: string[] = [];
  pin(Deno.pid, "load");
  for (const name of names) {
    const samples = await measureCase(CASES[name]!, contenders, plan);
    record(samples, name, mode, figures);
    parts.push(`### ${name}, ${mode}\n\n${print(samples)}`);
    console.log(`\n${parts.at(-1)}`);
  }
  unpin(Deno.pid);
  return parts.join("\n\n");
}

/** Measures one case with several sets of fresh processes: no two processes are quite as fast. */
export async function measureCase(
  wanted: Case,
  contenders: Readonly<Record<string, Script>>,
  plan: Plan,
): Promise<ReadonlyMap<string, Samples>> {
  const scripts = Object.fromEntries(
    Object.entries(contenders).map((
      [name, { args = [], ...script }],
    ) => [name, {
      ...script,
      args: wanted.filtered ? [...args, "filtered"] : args,
      pinned: true,
    }]),
  );
  const samples = new Map<string, Samples>();
  for (let lap = 0; lap < plan.laps; lap++) {
    await withServers(
      scripts,
      (servers) => takeTurns(servers, wanted, plan, samples),
    );
  }
  return samples;
}

/** Warms servers up, then loads one after the other, in alternating order; adds to the samples. */
export async function takeTurns(
  servers: ReadonlyMap<string, Child>,
  wanted: Case,
  { rounds, laps, requests, warmup }: Plan,
  samples: Map<string, Samples>,
): Promise<void> {
  for (const [name, { port }] of servers) {
    if (!samples.has(name)) samples.set(name, newSamples());
    const load = { requests: warmup, connections: CONNECTIONS };
    await send(port, [wanted], load);
  }
  const order = [...servers];
  for (let round = 0; round < rounds / laps; round++) {
    for (const [name, server] of order) {
      await takeTurn(server, wanted, requests, samples.get(name)!);
    }
    order.reverse();
  }
}

/** Loads a server, and adds to its samples. */
export async function takeTurn(
  server: Child,
  wanted: Case,
  requests: number,
  { cpu, p99, rate }: Samples,
): Promise<void> {
  const before = server.cpu();
  const load = { requests, connections: CONNECTIONS };
  const latency = await send(server.port, [wanted], load);
  cpu.push((server.cpu() - before) / (requests + 1));
  p99.push(latency.p99);
  rate.push(requests / (latency.total / 1_000));
}

/** Samples without measurements. */
export function newSamples(): Samples {
  return { cpu: [], p99: [], rate: [] };
}

/** Keeps this framework's ratios to all others, for the targets, and all ratios to the base, for the picture. */
function record(
  samples: ReadonlyMap<string, Samples>,
  name: string,
  mode: Mode,
  figures: Figures,
): void {
  const ours = samples.get(OURS)!;
  const base = samples.get(BASE)!;
  for (const [other, { cpu, p99 }] of samples) {
    if (mode === "quiet") {
      figures.set(timesBase(name, other), ratios(cpu, base.cpu));
    }
    figures.set(`${name} / ${other}, ${mode}`, ratios(ours.cpu, cpu));
    figures.set(`${name}, p99 / ${other}, ${mode}`, ratios(ours.p99, p99));
  }
}

function print(samples: ReadonlyMap<string, Samples>): string {
  const base = samples.get(BASE)!;
  const ours = samples.get(OURS)!;
  return table(
    ["", "CPU µs a request", "× bare", "framework × it", "p99 ms", "× bare"],
    [...samples].map(([name, { cpu, p99 }]) => [
      name,
      show(figure(cpu), 1),
      showRatio(ratios(cpu, base.cpu)),
      showRatio(ratios(ours.cpu, cpu)),
      show(figure(p99), 2),
      showRatio(ratios(p99, base.p99)),
    ]),
  );
}
