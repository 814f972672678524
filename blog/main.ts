/**
 * Starts the sample blog on http://127.0.0.1:8000, or on the port given as `--port=…`.
 *
 * It needs permission to listen on that address, to read its own folder, and to write to the folders of its
 * posts and of its compiled templates.
 */

import { Framework } from "@framework/core";
import "./serve.ts";

const HOSTNAME = "127.0.0.1";
const PORT = 8000;

// A test that imports this module wants the blog, not a server.
if (import.meta.main) start();

function start(): void {
  try {
    Framework.start({ hostname: HOSTNAME, port: portOf(Deno.args) });
  } catch (error) {
    const isTaken = error instanceof Error &&
      error.cause instanceof Deno.errors.AddrInUse;
    if (!isTaken) throw error;
    console.error(error.message);
    Deno.exit(1);
  }
}

function portOf(args: readonly string[]): number {
  const given = args.find((arg) => arg.startsWith("--port="));
  return given === undefined ? PORT : Number(given.slice("--port=".length));
}
