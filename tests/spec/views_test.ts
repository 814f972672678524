/** SPEC, behaviour rules 10 to 12: views, layouts, and another view engine. */

import { assertEquals } from "@std/assert";
import { Folder } from "../support/folder.ts";
import { type App, onBothForms, visit } from "../support/forms.ts";

type Files = Record<string, string>;

/** Puts templates into a folder of their own, and makes it the views folder while the test runs. */
async function withViews(
  app: App,
  files: Files,
  test: (folder: string) => Promise<void>,
): Promise<void> {
  await using folder = new Folder(files);
  app.set("framework.views.path", folder.path);
  await test(folder.path);
}

onBothForms(
  "`render()` gives the data to the template as local variables",
  async (app) => {
    const files = { "hello.php": "{{ greeting }}, {{ name }}!" };
    await withViews(app, files, async () => {
      app.route(
        "/@name",
        (name) => app.render("hello", { greeting: "Hi", name }),
      );
      const response = await visit(app, "/Ada");
      assertEquals(await response.text(), "Hi, Ada!");
      assertEquals(
        response.headers.get("content-type"),
        "text/html; charset=utf-8",
      );
    });
  },
);

onBothForms(
  "`render()` takes a name with or without the extension",
  async (app) => {
    await withViews(app, { "a.php": "php", "b.html": "html" }, async () => {
      app.route("/@name", (name) => app.render(name));
      assertEquals(await (await visit(app, "/a")).text(), "php");
      assertEquals(await (await visit(app, "/a.php")).text(), "php");
      app.set("framework.views.extension", ".html");
      assertEquals(await (await visit(app, "/b")).text(), "html");
    });
  },
);

onBothForms("`view().set()` gives a variable to all views", async (app) => {
  const files = { "a.php": "a of {{ site }}", "b.php": "b of {{ site }}" };
  await withViews(app, files, async () => {
    app.view().set("site", "Blog");
    app.route("/@name", (name) => app.render(name));
    assertEquals(await (await visit(app, "/a")).text(), "a of Blog");
    assertEquals(await (await visit(app, "/b")).text(), "b of Blog");
  });
});

onBothForms(
  "`render()` with a key keeps the output for a layout, and sends nothing itself",
  async (app) => {
    const files = {
      "head.php": "<h1>{{ title }}</h1>",
      "body.php": "<p>{{ text }}</p>",
      "layout.php": "<title>{{ title }}</title>{{ head }}{{ body }}",
    };
    await withViews(app, files, async () => {
      app.route("/", () => {
        app.render("head", { title: "A & B" }, "head");
        app.render("body", { text: "<" }, "body");
        app.render("layout", { title: "Home" });
      });
      assertEquals(
        await (await visit(app, "/")).text(),
        "<title>Home</title><h1>A &amp; B</h1><p>&lt;</p>",
      );
    });
  },
);

/** A view engine in the manner of PHP's: it is assigned data, and displays a template. */
class OtherView {
  #data: Record<string, unknown> = {};

  constructor(readonly folder: string) {}

  assign(data: Record<string, unknown>): this {
    this.#data = { ...this.#data, ...data };
    return this;
  }

  async display(template: string): Promise<string> {
    const text = await Deno.readTextFile(`${this.folder}/${template}`);
    return text.replace(/\$(\w+)/g, (_, name) => String(this.#data[name]));
  }
}

onBothForms(
  "a class registered as `view` replaces the view engine, and a mapped `render` uses it",
  async (app) => {
    await withViews(app, { "hello.txt": "Hello, $name" }, async (folder) => {
      app.register("view", OtherView, [folder]);
      app.map(
        "render",
        async (template: string, data: Record<string, unknown>) => {
          const view = app.view<OtherView>();
          app.response().write(await view.assign(data).display(template));
        },
      );
      app.route("/@name", (name) => app.render("hello.txt", { name }));
      assertEquals(app.view<OtherView>() instanceof OtherView, true);
      assertEquals(await (await visit(app, "/Ada")).text(), "Hello, Ada");
    });
  },
);
