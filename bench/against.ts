/**
 * Compares the work tree with a commit in one interleaved run, so that a change can show its price: the same
 * servers, once with the framework as it is here and once as it was there.
 */

import { CASES } from "./cases.ts";
import type { Script } from "./child.ts";
import { BASE, CONTENDERS, OURS } from "./contenders.ts";
import { pin, unpin } from "./cores.ts";
import type { Plan } from "./plan.ts";
import { sampleMemory } from "./memory.ts";
import { measureCase } from "./requests.ts";
import { figure, ratios, show, showRatio, table } from "./statistics.ts";

const HERE = "here";

/** Returns a table of CPU time, latency and memory, with the ratios of the work tree to the commit. */
export async function compareWith(
  commit: string,
  names: readonly string[],
  plan: Plan,
): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "against-" });
  try {
    await checkOut(commit, folder);
    return await measure(names, plan, {
      [BASE]: CONTENDERS[BASE]!,
      [commit]: { ...CONTENDERS[OURS]!, root: `${folder}/` },
      [HERE]: CONTENDERS[OURS]!,
    }, commit);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Puts the files of a commit into a folder, with the servers and cases of the work tree. */
async function checkOut(commit: string, folder: string): Promise<void> {
  const root = new URL("..", import.meta.url).pathname;
  const archive = `${folder}/tree.tar`;
  await run("git", ["-C", root, "archive", "-o", archive, commit]);
  await run("tar", ["-xf", archive, "-C", folder]);
  await Deno.remove(`${folder}/bench`, { recursive: true });
  await run("cp", ["-r", `${root}bench`, `${folder}/bench`]);
}

async function run(command: string, args: string[]): Promise<void> {
  const { success } = await new Deno.Command(command, {
    args,
    stderr: "inherit",
  }).output();
  if (!success) throw new Error(`Cannot compare: ${command} has failed`);
}

async function measure(
  names: readonly string[],
  plan: Plan,
  contenders: Readonly<Record<string, Script>>,
  commit: string,
): Promise<string> {
  const times = `here × ${commit}`;
  const head = ["CPU µs a request", BASE, commit, HERE, times, `p99, ${times}`];
  const rows: string[][] = [];
  const add = (row: string[]): void => {
    rows.push(row);
    console.log(row.join("  "));
  };
  pin(Deno.pid, "load");
  for (const name of names) {
    const samples = await measureCase(CASES[name]!, contenders, plan);
    const [, there, here] = [...samples.values()];
    add([
      name,
      ...[...samples.values()].map(({ cpu }) => show(figure(cpu), 1)),
      showRatio(ratios(here!.cpu, there!.cpu)),
      showRatio(ratios(here!.p99, there!.p99)),
    ]);
  }
  unpin(Deno.pid);
  const memory = [...(await sampleMemory(contenders, plan)).values()]
    .map(({ end }) => end);
  const [, there, here] = memory;
  add([
    "memory, MB",
    ...memory.map((end) => show(figure(end), 0)),
    showRatio(ratios(here!, there!)),
    "",
  ]);
  return table(head, rows);
}
