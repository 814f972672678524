/** Isolation: requests that interleave get the responses that they get one after the other. */

import { assertEquals, assertThrows } from "@std/assert";
import { Engine } from "@framework/core";
import { type App, call, visit } from "../support/forms.ts";

const COUNT = 1_000;

class Box {
  constructor(readonly name: string) {}
}

/** Declares the route `/@name/@seed`: a request sets everything that can be set, and reads it back after pauses. */
function declareBusy(app: App): void {
  app.map("who", (greeting: string) => `${greeting} nobody`);
  app.register("box", Box, ["shared"]);
  app.route("/@name/@seed:\\d+", async (name, seed) => {
    const pause = pauses(Number(seed));
    app.set("name", name);
    await pause();
    app.view().set("title", `title of ${name}`);
    await pause();
    app.map("who", (greeting: string) => `${greeting} ${name}`);
    app.map(`only_${name}`, () => name);
    await pause();
    app.before("who", (params) => void (params[0] += ` from ${seed} to`));
    app.after("who", (_params, output) => void (output.value += `!${name}`));
    await pause();
    app.register("box", Box, [name]);
    app.route(`/own/${name}`, () => name, false, "own");
    app.set("framework.base_url", `/base-${name}`);
    await pause();
    app.response().header("x-name", name).status(200 + Number(seed) % 2);
    await pause();
    return [
      app.get("name"),
      app.view().get("title"),
      call(app, "who", "hello"),
      call(app, `only_${name}`),
      call(app, "box").name,
      call(app, "box") === call(app, "box"),
      app.getUrl("own"),
    ];
  });
}

/** Pauses that depend on the seed alone: a microtask, or sometimes a turn of the event loop. */
function pauses(seed: number): () => Promise<void> {
  let state = seed;
  return async () => {
    state = (state * 48271 + 11) % 2147483647;
    if (state % 10 === 0) await new Promise((resolve) => setTimeout(resolve));
    else await undefined;
  };
}

Deno.test("interleaved requests never see each other's state", async () => {
  const app = new Engine() as App;
  declareBusy(app);
  const respond = async (seed: number) => {
    const name = `user${seed}`;
    const response = await visit(app, `/${name}/${seed}`);
    assertEquals(response.status, 200 + seed % 2);
    assertEquals(response.headers.get("x-name"), name);
    assertEquals(await response.json(), [
      name,
      `title of ${name}`,
      `hello from ${seed} to ${name}!${name}`,
      name,
      name,
      true,
      `/base-${name}/own/${name}`,
    ]);
  };
  await Promise.all(Array.from({ length: COUNT }, (_, seed) => respond(seed)));
  // The application is as it was declared.
  assertEquals([app.has("name"), app.view().has("title")], [false, false]);
  assertEquals(call(app, "who", "hello"), "hello nobody");
  assertEquals(call(app, "box").name, "shared");
  assertEquals(app.router().routes().length, 1);
  assertThrows(() => app.getUrl("own"), ReferenceError);
});
