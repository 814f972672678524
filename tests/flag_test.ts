/**
 * Tests the choice between `@std` and its stand-ins, as a process in a copy of the project, against
 * registries made here.
 */

import { assertEquals } from "@std/assert";
import { Registry } from "../tasks/registry.ts";
import { standins } from "../tasks/standins.ts";
import { ProjectCopy } from "../tasks/project_copy.ts";

const STANDINS = "--import-map=compat/import_map.json\n";
const ROOT = new URL("../", import.meta.url);

Deno.test("`deno task flag` names a copy of the lock file where the registry has everything", async () => {
  await using registry = new Registry();
  for (const release of await standins(ROOT)) registry.add(release);
  assertEquals(await flag(registry.url), "--lock=.cache/deno.lock\n");
});

/** Registries that are of no use, by what they do. */
const USELESS: Record<string, (request: Request) => Response> = {
  "refuses": () => new Response("Blocked", { status: 403 }),
  "is a page to log in": () => new Response("<h1>Please log in</h1>"),
  "has no such package": () => new Response(null, { status: 404 }),
};

for (const [name, respond] of Object.entries(USELESS)) {
  Deno.test(`\`deno task flag\` names the stand-ins when the registry ${name}`, async () => {
    await using registry = serve(respond);
    assertEquals(await flag(addressOf(registry)), STANDINS);
  });
}

Deno.test("`deno task flag` names the stand-ins when nothing comes back", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  assertEquals(
    await flag(`http://127.0.0.1:${listener.addr.port}/`),
    STANDINS,
  );
});

Deno.test("`deno task flag` names the stand-ins when the registry stalls after the first module", async () => {
  await using registry = new Registry();
  for (const release of await standins(ROOT)) registry.add(release);
  const { promise: never, resolve } = Promise.withResolvers<Response>();
  await using stalling = serve((request) => {
    const { pathname } = new URL(request.url);
    return /meta\.json|status/.test(pathname)
      ? fetch(new URL(pathname.slice(1), registry.url))
      : never;
  });
  assertEquals(await flag(addressOf(stalling), ["2"]), STANDINS);
  resolve(new Response());
});

Deno.test("`deno task flag` names the lock file of the tests, unless the blog alone is to run", async () => {
  await using registry = serve(() => new Response(null, { status: 404 }));
  assertEquals(
    await flag(addressOf(registry), [], []),
    `${STANDINS}--lock=tests/deno.lock\n`,
  );
});

Deno.test("`deno.lock` has what the blog imports from npm, since all of it is downloaded for the blog", async () => {
  const { specifiers } = await json("deno.lock");
  const { imports } = await json("deno.json");
  const npm = Object.values(imports!).filter((target) =>
    target.startsWith("npm:")
  );
  // Whoever runs `deno test` or `deno check` without `$(deno task -q flag)` adds all other packages.
  assertEquals(Object.keys(specifiers!), npm);
});

function serve(
  handler: (request: Request) => Response | Promise<Response>,
): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, handler);
}

function addressOf({ addr }: Deno.HttpServer<Deno.NetAddr>): string {
  return `http://127.0.0.1:${addr.port}/`;
}

/** What the choice prints, with a registry at the address and an empty cache of JSR. */
async function flag(
  registry: string,
  time: readonly string[] = [],
  program: readonly string[] = ["blog"],
): Promise<string> {
  const cache = await Deno.makeTempDir();
  await using copy = await ProjectCopy.make();
  try {
    await Deno.symlink(await npmCache(), `${cache}/npm`);
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["task", "-q", "flag", ...program, ...time],
      cwd: copy.folder,
      env: { JSR_URL: registry, DENO_DIR: cache, NO_COLOR: "1" },
    }).output();
    return new TextDecoder().decode(stdout);
  } finally {
    await Deno.remove(cache, { recursive: true });
  }
}

async function json(
  file: string,
): Promise<Record<string, Record<string, string>>> {
  return JSON.parse(await Deno.readTextFile(new URL(file, ROOT)));
}

/** Where this machine keeps packages of npm, which are downloaded once. */
async function npmCache(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json"],
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).npmCache;
}
