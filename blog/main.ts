/**
 * Starts the blog on http://127.0.0.1:8000, with a line in the log for each request. Another port, as in
 * `--port=8001`, needs its permission, too: `--allow-net=127.0.0.1:8001`.
 */

import { Framework } from "@framework/core";
import { log } from "@framework/core/log";
import "./app.ts";

const [port = 8000] = Deno.args.filter((arg) => arg.startsWith("--port="))
  .map((arg) => Number(arg.slice("--port=".length)));

log(Framework);
Framework.start({ port });
