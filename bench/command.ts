/** Owns how other Deno processes are run: in the root of the repository, with the flags of this run, unlocked. */

const ROOT = new URL("..", import.meta.url).pathname;

/** The import map that this run was given, if any. */
const FLAGS = Deno.args.filter((arg) => arg.startsWith("--import-map="));

/** A command that runs a script of this folder. */
export function script(file: string, ...args: readonly string[]): Deno.Command {
  const path = `${ROOT}bench/${file}`;
  return deno("run", "--no-check", "--allow-all", path, ...args);
}

/** A command of Deno; its flags and arguments follow its name. */
export function deno(name: string, ...args: readonly string[]): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    args: [name, "--quiet", "--no-lock", ...FLAGS, ...args],
    cwd: ROOT,
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  });
}

/** Runs a command to its end and parses the JSON that it prints. */
export async function jsonOf(command: Deno.Command): Promise<unknown> {
  const { success, stdout } = await command.output();
  if (!success) throw new Error("Cannot measure: a process failed");
  return JSON.parse(new TextDecoder().decode(stdout));
}
