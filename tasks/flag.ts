/**
 * Owns the choice between the standard library and its stand-ins: prints the flags that carry it out, for
 * the blog, for the blog over PostgreSQL, or for everything that is developed here.
 *
 *     deno run --allow-read --allow-write=.cache --allow-run --reload --no-config --no-lock tasks/flag.ts [blog|postgres] [seconds]
 *
 * The real library is taken where the cache holds it, or where JSR responds at once and delivers the rest
 * within 30 seconds, or as many as are given. A network that drops packets, or stalls, would otherwise hold
 * a command up for minutes. The repository's lock file has no packages of JSR: where they are taken, Deno
 * gets a copy of it to write them into.
 */

/** A program, with what it needs of JSR and npm. */
interface Program {
  /** The lock file: the blog's visitors download none of the packages that tests need. */
  readonly lock: string;
  /** What imports all that it needs. */
  readonly modules: readonly string[];
  /** Whether the choice is told; it says nothing to someone who wants to see the blog. */
  readonly isTold: boolean;
}

const EVERYTHING: Program = {
  lock: "tests/deno.lock",
  modules: ["mod.ts", "blog/main.ts", "tests/"],
  isTold: true,
};
const BLOG: Program = {
  lock: "deno.lock",
  modules: ["blog/main.ts"],
  isTold: false,
};
const BLOG_OVER_POSTGRES: Program = {
  lock: "blog/postgres/deno.lock",
  modules: ["blog/postgres/main.ts", "blog/postgres/import.ts"],
  isTold: false,
};
const NAMED: Readonly<Record<string, Program>> = {
  blog: BLOG,
  postgres: BLOG_OVER_POSTGRES,
};

/** How many seconds JSR has to deliver one small module, and then everything else. */
const PROBE_TIME = 1.5;
const DOWNLOAD_TIME = Number(Deno.args.find((arg) => /^\d+$/.test(arg)) ?? 30);

const MODULE = "jsr:@std/http@1/status";
const CACHE = ".cache";

const program = NAMED[Deno.args[0] ?? ""] ?? EVERYTHING;
const copy = await copyOf(program.lock);
if (await loads(["--cached-only"])) {
  tell("@std from the cache");
  console.log(`--lock=${copy}`);
} else if (await responds() && await loads([])) {
  tell("@std from JSR");
  console.log(`--lock=${copy}`);
} else {
  tell("the stand-ins of compat/, because JSR is unreachable");
  console.log("--import-map=compat/import_map.json");
  if (program !== BLOG) console.log(`--lock=${program.lock}`);
}
Deno.exit(); // whatever the probe still waits for

function tell(choice: string): void {
  if (program.isTold) console.error(`Standard library: ${choice}`);
}

/** Copies a lock file to an ignored folder; returns its path there. */
async function copyOf(lock: string): Promise<string> {
  const copy = `${CACHE}/${lock.replaceAll("/", "-")}`;
  const fresh = `${copy}.${Deno.pid}`;
  await Deno.mkdir(CACHE, { recursive: true });
  await Deno.copyFile(lock, fresh);
  await Deno.rename(fresh, copy);
  return copy;
}

/** Whether JSR delivers a module in time. */
async function responds(): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  setTimeout(() => resolve(false), PROBE_TIME * 1000);
  const module = import(MODULE).then(() => true, () => false);
  return await Promise.race([module, late]);
}

/** Whether the program's modules are loaded in time, none of them run. */
async function loads(flags: readonly string[]): Promise<boolean> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "test",
      "-q",
      "--no-run",
      "--no-check",
      `--lock=${copy}`,
      ...flags,
      ...program.modules,
    ],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const limit = DOWNLOAD_TIME * 1000;
  const timer = setTimeout(() => child.kill("SIGKILL"), limit);
  const { success } = await child.status;
  clearTimeout(timer);
  return success;
}
