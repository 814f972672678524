/**
 * Owns an application whose handler sets everything that can be set, and reads it back after pauses:
 * what another request set meanwhile would show in the response.
 */

import type { Engine } from "@framework/core";

/** What the application is declared on. */
type Declarable =
  & Pick<
    Engine,
    | "after"
    | "before"
    | "get"
    | "getUrl"
    | "request"
    | "response"
    | "route"
    | "set"
    | "view"
  >
  & {
    map(name: string, callback: (...params: string[]) => string): unknown;
    register(name: string, type: typeof Box, params: string[]): unknown;
  };

class Box {
  constructor(readonly name: string) {}
}

/** Declares the route `/@name/@seed`, and what its requests change for themselves. */
export function declareBusy(app: Declarable): void {
  // deno-lint-ignore no-explicit-any -- mapped names are not in the type
  const named = app as any;
  app.map("who", (greeting) => `${greeting} nobody`);
  app.register("box", Box, ["shared"]);
  app.route("/@name/@seed:\\d+", async (name, seed) => {
    const pause = pauses(Number(seed));
    app.set("name", name);
    await pause();
    app.view().set("title", `title of ${name}`);
    await pause();
    app.map("who", (greeting) => `${greeting} ${name}`);
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
      named.who("hello"),
      named[`only_${name}`](),
      named.box().name,
      named.box() === named.box(),
      app.getUrl("own"),
    ];
  });
}

/** The text that the application responds with. */
export function busyText(name: string, seed: number): string {
  return JSON.stringify([
    name,
    `title of ${name}`,
    `hello from ${seed} to ${name}!${name}`,
    name,
    name,
    true,
    `/base-${name}/own/${name}`,
  ]);
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
