/**
 * Starts the blog on http://127.0.0.1:8000, with a line in the log for each request. `--port=8001` takes another port;
 * one that the task does not permit needs its permission, too.
 */

import { Framework } from "@framework/core";
import { log } from "@framework/core/log";
import "./app.ts";

const [port = 8000] = Deno.args.filter((arg) => arg.startsWith("--port="))
  .map((arg) => Number(arg.slice("--port=".length)));

log(Framework);
Framework.start({ port });
