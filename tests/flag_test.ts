/** Tests the choice between `@std` and its stand-ins, as a process of its own against registries made here. */

import { assertEquals } from "@std/assert";

const STANDINS = "--import-map=compat/import_map.json\n";

/** The one module that is asked for, as a registry serves it. */
const REGISTRY: Record<string, string> = {
  "/@std/assert/meta.json":
    `{"scope":"std","name":"assert","versions":{"1.0.0":{}}}`,
  "/@std/assert/1.0.0_meta.json": `{
    "exports": { "./assertion-error": "./mod.ts" },
    "manifest": { "/mod.ts": {
      "size": 9,
      "checksum": "sha256-f4c5cf9bb78e85f15dc27180260637cf24b2a24bc39e0788783a3accc4dde614"
    } }
  }`,
  "/@std/assert/1.0.0/mod.ts": "export {}",
};

Deno.test("`deno task flag` names nothing when the registry answers", async () => {
  await using registry = serve((request) => {
    const file = REGISTRY[new URL(request.url).pathname];
    return new Response(file ?? null, {
      status: file === undefined ? 404 : 200,
    });
  });
  assertEquals(await flag(registry.addr), "");
});

Deno.test("`deno task flag` names the stand-ins when the registry refuses", async () => {
  await using registry = serve(() => new Response("Blocked", { status: 403 }));
  assertEquals(await flag(registry.addr), STANDINS);
});

Deno.test("`deno task flag` names the stand-ins when the answer is no registry's", async () => {
  await using registry = serve(() => new Response("<h1>Please log in</h1>"));
  assertEquals(await flag(registry.addr), STANDINS);
});

Deno.test("`deno task flag` names the stand-ins when nothing comes back", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  assertEquals(await flag(listener.addr), STANDINS);
});

function serve(
  handler: (request: Request) => Response,
): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, handler);
}

/** What the choice prints, with a registry at the address and an empty cache. */
async function flag({ port }: { port: number }): Promise<string> {
  const cache = await Deno.makeTempDir();
  try {
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-q",
        "--reload",
        "--no-config",
        "--no-lock",
        "tasks/flag.ts",
      ],
      cwd: new URL("../", import.meta.url),
      env: {
        JSR_URL: `http://127.0.0.1:${port}/`,
        DENO_DIR: cache,
        NO_COLOR: "1",
      },
    }).output();
    return new TextDecoder().decode(stdout);
  } finally {
    await Deno.remove(cache, { recursive: true });
  }
}
