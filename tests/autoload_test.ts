/** Classes that are found by their names, on both forms of an application. */

import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { AsyncLocalStorage } from "node:async_hooks";
import { Engine } from "@framework/core";
import { call, onBothForms, onEngine, visit } from "./forms.ts";

const folder = new URL("fixtures/", import.meta.url);
const classes = new URL("classes", folder);
const more = new URL("more", folder);

onBothForms(
  "`register()` with a name loads the class when it is first called",
  async (app) => {
    app.path(classes);
    app.register("users", "UserStore", ["ada", "grace"]);
    assertInstanceOf(call(app, "users"), Promise);
    assertEquals((await call(app, "users")).names, ["ada", "grace"]);
    assertStrictEquals(await call(app, "users"), await call(app, "users"));
    assert(await call(app, "users", false) !== await call(app, "users"));
  },
);

onEngine(
  "the class `HTTPClient` is found in `http_client.ts`",
  async (app) => {
    app.path(classes);
    app.register("client", "HTTPClient");
    assertEquals((await call(app, "client")).constructor.name, "HTTPClient");
  },
);

onEngine("the callback runs for an autoloaded class too", async (app) => {
  app.path(classes);
  app.register("users", "UserStore", [], (users: { names: string[] }) => {
    users.names.push("made");
  });
  assertEquals((await call(app, "users")).names, ["made"]);
});

onEngine(
  '`"Class->method"` and `"Class::method"` are callbacks of routes and methods',
  async (app) => {
    app.path(classes);
    app.route("/hello/@name", "Greeting->hello");
    app.route("/goodbye/@name", "Greeting::goodbye");
    app.map("greet", "Greeting->hello");
    assertEquals(await (await visit(app, "/hello/Ada")).text(), "Hello, Ada!");
    assertEquals(
      await (await visit(app, "/goodbye/Ada")).text(),
      "Goodbye, Ada!",
    );
    assertEquals(await call(app, "greet", "Grace"), "Hello, Grace!");
  },
);

onEngine(
  "folders are searched in the order in which they were added",
  async (app) => {
    app.path(more);
    app.path(classes);
    app.map("greet", "Greeting->hello");
    assertEquals(await call(app, "greet", "Ada"), "Good day, Ada!");
  },
);

onEngine(
  "`path()` takes a path as text, relative ones from the working directory",
  async (app) => {
    const { pathname } = classes;
    const up = Deno.cwd().split("/").slice(1).map(() => "..").join("/");
    for (const path of [pathname, classes.href, `${up}${pathname}/`]) {
      app.init();
      app.path(path);
      app.map("greet", "Greeting->hello");
      assertEquals(await call(app, "greet", "Ada"), "Hello, Ada!", path);
    }
  },
);

onEngine("`path()` refuses what is no folder of this machine", (app) => {
  const refused = [
    "",
    "https://example.org/classes",
    new URL("data:,x"),
    "jsr:@x/y",
  ];
  for (const path of refused) {
    assertThrows(() => app.path(path), TypeError, "it must be a folder");
  }
});

onEngine(
  "a class that is nowhere is an error that lists where it was looked for",
  async (app) => {
    app.register("nobody", "NoBody");
    await assertRejects(
      () => call(app, "nobody"),
      ReferenceError,
      'Cannot load the class "NoBody": no folder was added with path(); pass an imported class without quotes',
    );
    app.path(classes);
    app.path(more);
    const error = await assertRejects(
      () => call(app, "nobody"),
      ReferenceError,
    );
    for (
      const place of [
        `${classes.pathname}/NoBody.ts`,
        `${more.pathname}/no_body.ts`,
      ]
    ) {
      assertStringIncludes(error.message, `"${place}" does not exist`);
    }
  },
);

onEngine("a class that was not found is looked for again", async (app) => {
  app.map("greet", "Greeting->hello");
  await assertRejects(() => call(app, "greet", "Ada"), ReferenceError);
  app.path(classes);
  assertEquals(await call(app, "greet", "Ada"), "Hello, Ada!");
});

onEngine(
  "a file without the class, or that fails, is an error that says so",
  async (app) => {
    app.path(classes);
    app.register("broken", "Broken");
    app.register("failing", "Failing");
    await assertRejects(
      () => call(app, "broken"),
      TypeError,
      "exports no class of that name",
    );
    await assertRejects(
      () => call(app, "failing"),
      RangeError,
      "this module fails",
    );
  },
);

onEngine("a name that is no class name leaves no folder", async (app) => {
  app.path(classes);
  for (const name of ["../more/greeting", "/etc/passwd", "a.b", "a b", ""]) {
    app.register("escape", name);
    await assertRejects(
      () => call(app, "escape"),
      TypeError,
      `Cannot load the class "${name}": it is not the name of a class`,
    );
  }
});

onEngine(
  "a link that leads outside its folder is not followed",
  async (app) => {
    const place = await Deno.makeTempDir();
    try {
      await Deno.symlink(
        new URL("classes/greeting.ts", folder),
        `${place}/outsider.ts`,
      );
      app.path(place);
      app.register("outsider", "Outsider");
      await assertRejects(
        () => call(app, "outsider"),
        ReferenceError,
        "leads outside its folder",
      );
    } finally {
      await Deno.remove(place, { recursive: true });
    }
  },
);

onEngine(
  "a method that the class has not is an error with the near ones",
  async (app) => {
    app.path(classes);
    app.map("greet", "Greeting->helo");
    await assertRejects(
      () => call(app, "greet"),
      TypeError,
      'has no method "helo": did you mean "hello"?',
    );
  },
);

onEngine(
  "a class that a route does not find is an error of its requests alone",
  async (app) => {
    app.route("/", "NoBody->index");
    app.route("/works", () => "works");
    assertEquals((await visit(app, "/")).status, 500);
    assertEquals(await (await visit(app, "/works")).text(), "works");
  },
);

Deno.test("a class that a request loads leaves nothing of that request to the next one", async () => {
  const storage = new AsyncLocalStorage<string>();
  const classes = await Deno.makeTempDir({ prefix: "classes" });
  await Deno.writeTextFile(`${classes}/Late.ts`, "export class Late {}");
  const app = new Engine().register("late", "Late");
  app.path(classes);
  app.route("/", () => storage.run("Ada", async () => void await app.late()));
  app.route("/next", () => String(storage.getStore()));
  await using server = app.start({ port: 0, signals: false, onListen() {} });
  const origin = `http://127.0.0.1:${(server.addr as Deno.NetAddr).port}`;
  assertEquals(await (await fetch(origin)).text(), "");
  const response = await fetch(`${origin}/next`);
  assertEquals(await response.text(), "undefined");
  await Deno.remove(classes, { recursive: true });
});

Deno.test({
  name: "loading a class without the permission is an error that names it",
  permissions: { read: false },
  async fn() {
    const app = new Engine().register("greeting", "Greeting");
    app.path(classes);
    await assertRejects(
      () => app.greeting(),
      ReferenceError,
      `needs the permission --allow-read=${classes.pathname}`,
    );
  },
});

Deno.test('`"Class::method"` is a method of instances where there is no static one', async () => {
  const app = new Engine();
  app.path(classes);
  app.route("/hello/@name", "Greeting::hello");
  assertEquals(await (await visit(app, "/hello/Ada")).text(), "Hello, Ada!");
});
