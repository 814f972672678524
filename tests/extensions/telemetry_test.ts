/** Tests `telemetry` without OpenTelemetry. `tests/e2e/telemetry_test.ts` has the tests with spans. */

import { Engine } from "@framework/core";
import { telemetry } from "@framework/core/telemetry";
import { assertEquals } from "@std/assert";
import { visit } from "../support/forms.ts";

Deno.test("`telemetry()` changes no response without OpenTelemetry", async () => {
  const app = new Engine();
  telemetry(app);
  app.route("/@name", (name) => name);
  app.route("/failed/now", () => {
    throw new Error("failed");
  });
  assertEquals(await (await visit(app, "/Ada")).text(), "Ada");
  assertEquals((await visit(app, "/failed/now")).status, 500);
  assertEquals((await visit(app, "/no/where")).status, 404);
});
