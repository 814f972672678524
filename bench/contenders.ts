/** Owns what is measured: the bare server that everything is divided by, this framework, and others. */

import { Child, type Script } from "./child.ts";

/** The names in the tables of the base, of this framework, and of those with targets of their own. */
export const BASE = "bare Deno.serve";
export const OURS = "framework";
export const HONO = "Hono";
export const HONO_STORAGE = "Hono, contextStorage";

/** The script of each contender. */
export const CONTENDERS: Readonly<Record<string, Script>> = {
  [BASE]: { file: "servers/bare.ts" },
  [OURS]: { file: "servers/framework.ts" },
  [HONO]: { file: "servers/hono.ts" },
  [HONO_STORAGE]: { file: "servers/hono.ts", args: ["context"] },
  "h3": { file: "servers/h3.ts" },
  "Express": { file: "servers/express.js" },
  "Fastify": { file: "servers/fastify.js" },
};

/** Those that targets name, for what takes long. */
export const RIVALS: Readonly<Record<string, Script>> = Object.fromEntries(
  [BASE, OURS, HONO, HONO_STORAGE].map((name) => [name, CONTENDERS[name]!]),
);

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
