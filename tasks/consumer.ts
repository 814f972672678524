/**
 * Owns the rehearsal of the package's first day with somebody else: in an empty folder, with an empty cache
 * and a registry of this machine, everything that README and `docs/` say works with the package as published.
 */

import { deno, type Outcome } from "./command.ts";
import { publish } from "./package.ts";
import { Process } from "./process.ts";
import { Registry } from "./registry.ts";
import { standins } from "./standins.ts";

/** The first program of README. */
const PROGRAM = /```ts\n(.*?)```/s;

/** How README's program starts, and how it does here: on a free port, or under `deno serve`. */
const START = "if (import.meta.main) Framework.start();";
const START_ON_A_FREE_PORT = "Framework.start({ port: 0 });";
const SERVE = "export default Framework;";

/** The folder of a new site. */
const SITE = "site";

/** A handler that must not compile: the parameter may be missing. */
const MISTAKE = `
import { Framework } from "@framework/core";
Framework.route("/post(/@slug)", (slug) => slug.length);
`;
const COMPLAINT = "TS18047"; // 'slug' is possibly 'null'

const ADDRESS = /Listening on (http:\/\/[\d.]+:\d+)/;

/** A folder of its own, with a cache of its own. */
interface Consumer {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

type Step = (consumer: Consumer) => Promise<Outcome>;

/** What is tried, in order; what fails ends it. */
const STEPS: Readonly<Record<string, Step>> = {
  "deno add": (consumer) =>
    deno(["add", "jsr:@framework/core", "jsr:@std/assert"], consumer),
  "the first program compiles": async (consumer) => {
    const program = await firstProgram();
    await write(consumer, "main.ts", program);
    const start = program.replace(START, START_ON_A_FREE_PORT);
    await write(consumer, "start.ts", start);
    await write(consumer, "serve.ts", program.replace(START, SERVE));
    return await deno(["check", "main.ts", "start.ts", "serve.ts"], consumer);
  },
  "the first program runs": (consumer) =>
    responds(consumer, ["run", "--allow-net=127.0.0.1", "start.ts"]),
  "deno serve": (consumer) =>
    responds(consumer, ["serve", "--host=127.0.0.1", "--port=0", "serve.ts"]),
  "a mistake does not compile": async (consumer) => {
    await write(consumer, "mistake.ts", MISTAKE);
    const outcome = await deno(["check", "mistake.ts"], consumer);
    return { ...outcome, success: outcome.report.includes(COMPLAINT) };
  },
  "deno create": (consumer) =>
    deno(["create", "-y", "jsr:@framework/core", "--", SITE], consumer),
  "a new site is formatted": (consumer) =>
    deno(["fmt", "--check"], siteOf(consumer)),
  "a new site compiles": (consumer) => deno(["check"], siteOf(consumer)),
  "the test of a new site passes": (consumer) =>
    deno(["task", "test"], siteOf(consumer)),
  "a new site runs": async (consumer) => {
    const site = siteOf(consumer);
    const main = await Deno.readTextFile(`${site.cwd}/main.ts`);
    await write(site, "start.ts", main.replace(START, START_ON_A_FREE_PORT));
    const permissions = ["--allow-net=127.0.0.1:0", "--allow-read=views"];
    return await responds(site, ["run", ...permissions, "start.ts"]);
  },
  "every export": async (consumer) => {
    await write(consumer, "exports.ts", await useOfExports());
    return await deno(["run", "--check", "-A", "exports.ts"], consumer);
  },
  "every example": async (consumer) => {
    const pages = [...Deno.readDirSync("docs")].map(({ name }) =>
      `docs/${name}`
    );
    await Deno.mkdir(`${consumer.cwd}/docs`);
    for (const page of ["README.md", ...pages]) {
      await write(consumer, page, await Deno.readTextFile(page));
    }
    return await deno(["test", "--doc", "-A", "README.md", "docs"], consumer);
  },
};

/** Publishes the package to a registry of its own, filled with the stand-ins or otherwise, and uses it. */
export async function rehearse(
  fill: (registry: Registry) => Promise<void> = addStandins,
): Promise<Outcome> {
  await using registry = new Registry();
  await fill(registry);
  const published = await publish(registry);
  if (!published.success) return published;
  const cwd = await Deno.makeTempDir({ prefix: "framework-consumer-" });
  const cache = await Deno.makeTempDir({ prefix: "framework-cache-" });
  const consumer = { cwd, env: { JSR_URL: registry.url, DENO_DIR: cache } };
  try {
    return await use(consumer);
  } finally {
    await Deno.remove(cwd, { recursive: true });
    await Deno.remove(cache, { recursive: true });
  }
}

/** The same surroundings, in the folder of the new site. */
function siteOf({ cwd, env }: Consumer): Consumer {
  return { cwd: `${cwd}/${SITE}`, env };
}

async function addStandins(registry: Registry): Promise<void> {
  const root = new URL(`file://${Deno.cwd()}/`);
  for (const release of await standins(root)) registry.add(release);
}

async function use(consumer: Consumer): Promise<Outcome> {
  for (const [name, step] of Object.entries(STEPS)) {
    const { success, output, report } = await step(consumer);
    if (success) continue;
    return { success, output, report: `Cannot use it: ${name}\n${report}` };
  }
  return { success: true, output: "", report: "" };
}

/** Whether a program responds as README says. */
async function responds(
  { cwd, env }: Consumer,
  args: readonly string[],
): Promise<Outcome> {
  await using server = new Process([Deno.execPath(), ...args], { cwd, env });
  const [, origin] = await server.prints(ADDRESS);
  const output = await (await fetch(`${origin}/hello/Ada`)).text();
  return {
    success: output.includes("Hello, Ada!"),
    output,
    report: server.printed + output,
  };
}

async function firstProgram(): Promise<string> {
  const [, program] = PROGRAM.exec(await Deno.readTextFile("README.md")) ?? [];
  if (program?.includes(START)) return program;
  throw new Error(`Cannot find a program with "${START}" in README.md`);
}

/** A program that imports every export, and ends with 1 when one exports nothing. */
async function useOfExports(): Promise<string> {
  const { name, exports } = JSON.parse(await Deno.readTextFile("deno.json"));
  const lines = Object.keys(exports).map((path, index) => {
    const specifier = JSON.stringify(name + path.slice(1));
    return `import * as module${index} from ${specifier};
if (Object.keys(module${index}).length === 0) throw new Error(${specifier});`;
  });
  return lines.join("\n");
}

async function write(
  { cwd }: Consumer,
  name: string,
  text: string,
): Promise<void> {
  await Deno.writeTextFile(`${cwd}/${name}`, text);
}
