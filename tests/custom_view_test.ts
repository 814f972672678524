/** Another template engine in place of the default view. */

import { Engine } from "@framework/core";
import { assertEquals, assertThrows } from "@std/assert";
import { Eta } from "npm:eta@^4.6.0";

/** An application whose views are Eta's, over a folder with one template. */
async function withEta(test: (app: Engine) => Promise<void>): Promise<void> {
  const views = await Deno.makeTempDir({ prefix: "eta" });
  await Deno.writeTextFile(
    `${views}/hello.eta`,
    "<p>Hello, <%= it.name %></p>",
  );
  const app = new Engine();
  app.register("view", Eta, [{ views }]);
  app.map(
    "render",
    async (template: string, data: Record<string, unknown> = {}) => {
      app.response().write(await app.view<Eta>().renderAsync(template, data));
    },
  );
  app.route("/hello/@name", (name) => app.render("hello", { name }));
  try {
    await test(app);
  } finally {
    await Deno.remove(views, { recursive: true });
  }
}

Deno.test("`register()` replaces the view by another engine, and a mapped `render()` uses it", async () => {
  await withEta(async (app) => {
    const response = await app.fetch(
      new Request("http://localhost/hello/Tom%20%26%20Ann"),
    );
    assertEquals(await response.text(), "<p>Hello, Tom &amp; Ann</p>");
  });
});

Deno.test("`view()` returns the one shared instance of the registered class", async () => {
  await withEta((app) => {
    assertEquals(app.view<Eta>() instanceof Eta, true);
    assertEquals(app.view<Eta>(), app.view<Eta>());
    return Promise.resolve();
  });
});

Deno.test("`notFound()` mapped over renders with the registered engine and stays a 404", async () => {
  await withEta(async (app) => {
    app.map("notFound", () => app.render("hello", { name: "nobody" }));
    const response = await app.fetch(new Request("http://localhost/nowhere"));
    assertEquals([response.status, await response.text()], [
      404,
      "<p>Hello, nobody</p>",
    ]);
  });
});

Deno.test("`render()` takes what a registered view fetches, at once or later", async () => {
  for (const html of ["<b>", Promise.resolve("<b>")]) {
    const app = new Engine();
    app.register(
      "view",
      class {
        fetch(): unknown {
          return html;
        }
      },
    );
    app.route("/", () => app.render("any"));
    const response = await app.fetch(new Request("http://localhost/"));
    assertEquals(await response.text(), "<b>");
  }
});

Deno.test("`render()` with a registered view that cannot fetch says what to do", async () => {
  const app = new Engine().register("view", class Bare {});
  app.map("error", (error: Error) => error.message);
  app.route("/", () => app.render("home"));
  const response = await app.fetch(new Request("http://localhost/"));
  assertEquals(
    await response.text(),
    'Cannot render "home": the registered view has no method "fetch": add one, or map "render"',
  );
});

Deno.test("`render()` waits for a view that is autoloaded", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(
    `${folder}/Loaded.ts`,
    `export class Loaded {
      kept = {};
      fetch(file) { return file + JSON.stringify(this.kept); }
      set(key, value) { this.kept[key] = String(value); }
    }`,
  );
  const app = new Engine();
  app.path(folder);
  app.register("view", "Loaded");
  app.route("/", () => {
    app.render("first", {}, "part");
    app.render("second");
  });
  assertEquals(
    await (await app.fetch("/")).text(),
    'second{"part":"first{}"}',
  );
  await Deno.remove(folder, { recursive: true });
});

Deno.test("`register()` refuses the name of a class for the router, which routes need at once", () => {
  assertThrows(
    () => new Engine().register("router", "Loaded"),
    TypeError,
    'Cannot register "router": it must be a class',
  );
});
