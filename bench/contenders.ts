/** Owns who is measured: this framework first, then what it is measured against. */

import { Child, type Script } from "./child.ts";

/** The name of this framework in the tables, and of what all others are divided by. */
export const OURS = "framework";
export const BASE = "bare Deno.serve";

/** The script of each contender. */
export const CONTENDERS: Readonly<Record<string, Script>> = {
  [BASE]: { file: "servers/bare.ts" },
  [OURS]: { file: "servers/framework.ts" },
  "Hono": { file: "servers/hono.ts" },
  "Hono, contextStorage": { file: "servers/hono.ts", args: ["context"] },
  "h3": { file: "servers/h3.ts" },
  "Express": { file: "servers/express.js" },
  "Fastify": { file: "servers/fastify.js" },
};

/** Starts servers, works with them by name, and ends them. */
export async function withServers<Result>(
  scripts: Readonly<Record<string, Script>>,
  work: (servers: ReadonlyMap<string, Child>) => Promise<Result>,
): Promise<Result> {
  await using stack = new AsyncDisposableStack();
  const servers = new Map<string, Child>();
  for (const [name, script] of Object.entries(scripts)) {
    servers.set(name, stack.use(await Child.start(script)));
  }
  return await work(servers);
}
