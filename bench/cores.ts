/**
 * Owns which cores processes run on: a server has the first, what sends requests to it has the
 * second, and a neighbour the last. Without `taskset`, or with one core, the kernel decides.
 */

/** Who has a core of its own. */
export type Role = "server" | "load" | "neighbour";

const count = Deno.readTextFileSync("/proc/cpuinfo")
  .match(/^processor\b/gm)?.length ?? 1;

const CORES: Readonly<Record<Role, string>> = {
  server: "0",
  load: "1",
  neighbour: String(count - 1),
};

/** Moves all threads of a process to the core of its role. */
export function pin(pid: number, role: Role): void {
  if (count > 1) move(pid, CORES[role]);
}

/** Lets all threads of a process run on every core. */
export function unpin(pid: number): void {
  if (count > 1) move(pid, `0-${count - 1}`);
}

function move(pid: number, cores: string): void {
  try {
    new Deno.Command("taskset", {
      args: ["--all-tasks", "--cpu-list", "--pid", cores, String(pid)],
      stdout: "null",
    }).outputSync();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
