/** Isolation: requests that interleave get the responses that they get one after the other. */

import { assertEquals, assertThrows } from "@std/assert";
import { Engine } from "@framework/core";
import { busyText, declareBusy } from "../support/busy.ts";
import { type App, call, visit } from "../support/forms.ts";

const COUNT = 1_000;

Deno.test("interleaved requests never see each other's state", async () => {
  const app = new Engine() as App;
  declareBusy(app);
  const respond = async (seed: number) => {
    const response = await visit(app, `/user${seed}/${seed}`);
    assertEquals(response.status, 200 + seed % 2);
    assertEquals(response.headers.get("x-name"), `user${seed}`);
    assertEquals(await response.text(), busyText(`user${seed}`, seed));
  };
  await Promise.all(Array.from({ length: COUNT }, (_, seed) => respond(seed)));
  // The application is as it was declared.
  assertEquals([app.has("name"), app.view().has("title")], [false, false]);
  assertEquals(call(app, "who", "hello"), "hello nobody");
  assertEquals(call(app, "box").name, "shared");
  assertEquals(app.router().routes().length, 1);
  assertThrows(() => app.getUrl("own"), ReferenceError);
});
