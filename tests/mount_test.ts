/** Tests `mount()`: which requests another application gets, and what it sees of them. */

import { assertEquals, assertThrows } from "@std/assert";
import { Engine } from "@framework/core";
import { onBothForms, visit } from "./forms.ts";

/** Says what it was asked for. */
async function echo(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const body = await request.text();
  return new Response(`${request.method} ${pathname}${search} ${body}`.trim());
}

onBothForms(
  "`mount()` hands the path below the prefix on, with the query and the body",
  async (app) => {
    app.mount("/shop", echo);
    const paths: Record<string, string> = {
      "/shop": "GET /",
      "/shop/": "GET /",
      "/shop/a%2Fb/c?x=1": "GET /a%2Fb/c?x=1",
    };
    for (const [path, seen] of Object.entries(paths)) {
      assertEquals(await (await visit(app, path)).text(), seen, path);
    }
    const init = { method: "POST", body: "data" };
    const response = await visit(app, "/shop/cart", init);
    assertEquals(await response.text(), "POST /cart data");
    assertEquals((await visit(app, "/shopping")).status, 404);
  },
);

onBothForms(
  "`mount()` takes a function, an object with `fetch`, and an engine",
  async (app) => {
    const other = new Engine();
    other.route("/hello/@name", (name) => `Hello, ${name}`);
    app.mount("/function", echo);
    app.mount("/object", { fetch: echo });
    app.mount("/engine", other);
    const texts = ["/function/x", "/object/x", "/engine/hello/Ada"]
      .map(async (path) => await (await visit(app, path)).text());
    assertEquals(await Promise.all(texts), ["GET /x", "GET /x", "Hello, Ada"]);
    assertEquals((await visit(app, "/engine/nowhere")).status, 404);
  },
);

onBothForms(
  "`mount()` stands in the order of declaration, in groups and below the base",
  async (app) => {
    app.set("framework.base_url", "/app");
    app.route("/shop/own", () => "own");
    app.group("/v1", (router) => void router.get("/x", () => "x"));
    app.mount("/shop", echo);
    app.route("/shop/late", () => "late");
    assertEquals(await (await visit(app, "/app/shop/own")).text(), "own");
    assertEquals(
      await (await visit(app, "/app/shop/late")).text(),
      "GET /late",
    );
  },
);

onBothForms(
  "`mount()` adds the collected headers, and keeps the state of both apart",
  async (app) => {
    const other = new Engine();
    other.route("/", () => {
      other.set("name", "inner");
      return `${other.get("name")}`;
    });
    app.before("start", () => {
      app.set("name", "outer");
      app.response().header("x-outer", "1");
    });
    app.after("start", () => {
      app.response().header("x-name", String(app.get("name")));
    });
    app.mount("/inner", other);
    const response = await visit(app, "/inner");
    assertEquals(await response.text(), "inner");
    assertEquals(response.headers.get("x-outer"), "1");
    assertEquals(response.headers.get("x-name"), "outer");
  },
);

onBothForms("`mount()` refuses what is not an application", (app) => {
  const wrong: unknown[] = [undefined, {}, "app", class {}];
  for (const value of wrong) {
    assertThrows(() => app.mount("/x", value as Engine), TypeError, "mount");
  }
  assertThrows(() => app.mount("/x(/y)", echo), TypeError, "prefix");
});
