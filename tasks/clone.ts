/**
 * Owns the rehearsal of the first day with a clone: README's two commands work with JSR and without, and
 * `git status` is clean after each.
 */

import { deno, type Outcome } from "./command.ts";
import { Process } from "./process.ts";
import { ProjectCopy } from "./project_copy.ts";
import { Registry } from "./registry.ts";
import { standins } from "./standins.ts";

/** Where nothing listens: JSR out of reach. */
const NOWHERE = "http://127.0.0.1:9/";

/** Quick tests, in place of all of them. */
const QUICK_TESTS = "tests/process_test.ts";

const ADDRESS = /Listening on (http:\/\/[\d.]+:\d+)/;

interface Clone {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Runs both commands with JSR and without. */
export async function runCommands(): Promise<Outcome> {
  await using registry = new Registry();
  const root = new URL(`file://${Deno.cwd()}/`);
  for (const release of await standins(root)) registry.add(release);
  for (const url of [registry.url, NOWHERE]) {
    const outcome = await runBoth(url);
    if (!outcome.success) return outcome;
  }
  return { success: true, output: "", report: "" };
}

async function runBoth(registry: string): Promise<Outcome> {
  const cache = await Deno.makeTempDir({ prefix: "framework-cache-" });
  await using copy = await ProjectCopy.make();
  const clone = {
    cwd: copy.folder,
    env: { JSR_URL: registry, DENO_DIR: cache },
  };
  try {
    await linkPackages(cache);
    const port = await commit(clone);
    await visitBlog(clone, port);
    const blog = await changes(clone, "deno task blog");
    if (!blog.success) return blog;
    const test = await deno(["task", "test", "--no-check", QUICK_TESTS], clone);
    return test.success ? await changes(clone, "deno task test") : test;
  } finally {
    await Deno.remove(cache, { recursive: true });
  }
}

/** Commits the copy, whose blog listens on a free port; returns the port. */
async function commit(clone: Clone): Promise<number> {
  const [file, port] = [`${clone.cwd}/deno.json`, freePort()];
  const text = await Deno.readTextFile(file);
  await Deno.writeTextFile(
    file,
    text.replaceAll("127.0.0.1:8000", `127.0.0.1:${port}`),
  );
  await git(clone, ["init", "-q"]);
  await git(clone, ["add", "--all"]);
  const author = ["-c", "user.name=ok", "-c", "user.email=ok@localhost"];
  await git(clone, [...author, "commit", "-q", "-m", "Begin"]);
  return port;
}

/** Writes a post in the blog, as visitors do. */
async function visitBlog(clone: Clone, port: number): Promise<void> {
  const command = [Deno.execPath(), "task", "blog", `--port=${port}`] as const;
  await using blog = new Process(command, clone);
  const [, origin] = await blog.prints(ADDRESS);
  const body = new URLSearchParams({ title: "First", content: "Words" });
  const home = await fetch(`${origin}/create`, { method: "POST", body });
  if (!(await home.text()).includes("First")) {
    throw new Error(`Cannot write a post in the blog: ${blog.printed}`);
  }
}

/** What git says has changed, which must be nothing. */
async function changes(clone: Clone, command: string): Promise<Outcome> {
  const output = await git(clone, ["status", "--porcelain"]);
  const report = `\`${command}\` with JSR_URL=${clone.env.JSR_URL}:\n${output}`;
  return { success: output === "", output, report };
}

async function git({ cwd }: Clone, args: readonly string[]): Promise<string> {
  const command = new Deno.Command("git", { args: [...args], cwd });
  const { success, stdout, stderr } = await command.output();
  const [output, errors] = [stdout, stderr].map((bytes) =>
    new TextDecoder().decode(bytes)
  );
  if (success) return output!;
  throw new Error(`Cannot run git ${args.join(" ")}: ${errors}`);
}

/** Lets a cache use the packages of npm that this machine has downloaded. */
async function linkPackages(cache: string): Promise<void> {
  const { output } = await deno(["info", "--json"]);
  await Deno.symlink(JSON.parse(output).npmCache, `${cache}/npm`);
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
