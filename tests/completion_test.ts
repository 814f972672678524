/** Tests what an editor offers where an application writes a name: asked of `deno lsp`. */

import { assertEquals } from "@std/assert";
import { completions } from "./language_server.ts";

const SOURCE = `
import { Engine, Framework } from "@framework/core";
declare module "@framework/core" {
  interface Engine {
    greet(name: string): string;
  }
  interface Variables {
    user: { name: string };
  }
}
const app = new Engine();
app.get("‸");
app.set("‸", true);
app.set({ "‸": true });
app.has("‸");
app.clear("‸");
Framework.get("‸");
app.before("‸", () => {});
Framework.after("‸", () => {});
Framework.map("‸", () => {});
app.register("‸", Date);
app.original("‸");
`;

const VARIABLES = ["framework.debug", "framework.views.path", "user"];
const FILTERED = ["render", "send", "notFound", "greet"];
const DEFAULTS = ["render", "send", "notFound"];

Deno.test("an editor offers the names of settings, variables, methods and filters", async () => {
  const found = await completions(SOURCE);
  const calls = SOURCE.split("\n").filter((line) => line.includes("‸"));
  assertEquals(found.length, calls.length);
  for (const [place, call] of calls.entries()) {
    const names = found[place]!.map((name) => name.replace(/\?$/, ""));
    const wanted = /get|set|has|clear/.test(call)
      ? VARIABLES
      : /before|after/.test(call)
      ? FILTERED
      : DEFAULTS;
    assertEquals(wanted.filter((name) => !names.includes(name)), [], call);
    assertEquals(names.includes("charAt"), false, call);
  }
});
