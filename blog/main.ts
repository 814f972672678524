/**
 * Serves the sample blog on http://127.0.0.1:8000, or on the port given as `--port=…`.
 *
 * It needs the network for that address, may read its own folder, and may write the folders of its
 * posts and of its compiled templates.
 */

import { Framework } from "@framework/core";
import { join } from "@std/path/join";
import { declareBlog } from "./routes.ts";

const HOSTNAME = "127.0.0.1";
const PORT = 8000;

const folder = import.meta.dirname!;

declareBlog(Framework.app(), {
  posts: join(folder, "data", "posts.json"),
  views: join(folder, "views"),
  cache: join(folder, "cache"),
  public: join(folder, "public"),
});

try {
  Framework.start({ hostname: HOSTNAME, port: portOf(Deno.args) });
} catch (error) {
  const taken = error instanceof Error &&
    error.cause instanceof Deno.errors.AddrInUse;
  if (!taken) throw error;
  console.error(error.message);
  Deno.exit(1);
}

function portOf(args: readonly string[]): number {
  const given = args.find((arg) => arg.startsWith("--port="))?.slice(
    "--port=".length,
  );
  return given === undefined ? PORT : Number(given);
}
