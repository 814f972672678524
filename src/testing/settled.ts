/** Owns waiting for deferred work. No public name shows that, so it asks the application. Only for tests. */

import type { Engine } from "../../mod.ts";
import { applicationOf } from "../engine.ts";

/**
 * Waits until the work that requests have deferred is done, including what that work has deferred itself. Errors of
 * deferred work are in the log; they do not reject. The work of a request begins with its response.
 *
 * @example
 * ```ts
 * import { Engine } from "@framework/core";
 * import { settled } from "@framework/core/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const sent: string[] = [];
 * const app = new Engine();
 * app.route("POST /orders", () => {
 *   app.defer(async () => {
 *     await Promise.resolve();
 *     sent.push("confirmation");
 *   });
 *   return "Thank you";
 * });
 *
 * await app.fetch(new Request("http://localhost/orders", { method: "POST" }));
 * await settled(app);
 * assertEquals(sent, ["confirmation"]);
 * ```
 */
export async function settled(app: { app(): Engine }): Promise<void> {
  const { deferred } = applicationOf(app.app());
  while (deferred.size > 0) await Promise.all(deferred);
}
