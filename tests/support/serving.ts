/** Owns serving an application on a free port of 127.0.0.1 for as long as a test needs it. */

import type { Engine } from "@framework/core";

/** Serves an application while the work runs; then it drains. */
export async function serving(
  app: Pick<Engine, "start">,
  work: (port: number) => unknown,
): Promise<void> {
  const server = app.start({ port: 0, signals: false, onListen() {} });
  try {
    await work((server.addr as Deno.NetAddr).port);
  } finally {
    await server.shutdown();
  }
}
