/** Names: which can be given, what unknown ones say, callbacks in all their forms, and classes found by name. */

import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Engine, Framework } from "@framework/core";
import { type App, call, onBothForms, visit } from "../support/forms.ts";

const folder = new URL("../fixtures/", import.meta.url);
const classes = new URL("classes", folder);
const more = new URL("more", folder);

/** Replaces the engine behind the static form for a while. */
function withEngine<Result>(engine: Engine, work: () => Result): Result {
  const before = Framework.app();
  Framework.app(engine);
  try {
    return work();
  } finally {
    Framework.app(before);
  }
}

Deno.test("names that JavaScript or the framework needs cannot be given", () => {
  const app = new Engine() as App;
  const names = [
    ...["then", "constructor", "prototype", "toJSON", "__proto__", "toString"],
    ...["name", "length", "call", "apply", "bind", "hasOwnProperty"],
    ...["fetch", "original", "default", "onListen", ""],
  ];
  for (const name of names) {
    assertThrows(() => app.map(name, () => 0), TypeError, "Cannot map");
    assertThrows(() => app.register(name, Map), TypeError, "Cannot register");
  }
});

Deno.test("`Framework` throws for an unknown name, and lists the near ones", () => {
  withEngine(new Engine().map("hello", () => 0), () => {
    const table = [
      ["helo", 'did you mean "hello"?'],
      ["notfound", 'did you mean "notFound"?'],
      ["reqest", 'did you mean "request"?'],
      ["use", "use before("],
      ["somethingElse", 'Cannot call "somethingElse": there is no such method'],
    ] as const;
    for (const [name, message] of table) {
      assertThrows(() => Framework[name]("x"), TypeError, message);
    }
  });
});

Deno.test("`Framework` has the names that its engine knows, and no others", () => {
  const engine = new Engine().map("hello", () => 0);
  const names = ["hello", "render", "get", "helo", "then"];
  assertEquals(Reflect.get(engine, "helo"), undefined);
  withEngine(engine, () => {
    const known = ["hello", "render", "get"];
    assertEquals(names.filter((name) => name in Framework), known);
  });
});

Deno.test("`Framework` can be looked at, compared and awaited like any class", async () => {
  assertStrictEquals(await Promise.resolve(Framework), Framework);
  assertEquals(JSON.stringify({ Framework }), "{}");
  assertStringIncludes(Deno.inspect(Framework), "class Framework");
  const probes = ["then", "toJSON", "onListen", "default", "asymmetricMatch"];
  for (const probe of probes) assertEquals(Framework[probe], undefined);
});

Deno.test("`new Framework()` does not compile, throws and names `Engine`", () => {
  // @ts-expect-error -- its constructor is private
  assertThrows(() => new Framework(), TypeError, "Engine");
});

Deno.test("`Framework.app(engine)` replaces the engine, and with it everything", async () => {
  const engine = new Engine();
  engine.set("name", "replaced");
  engine.map("onlyThere", () => "there");
  const response = await withEngine(engine, () => {
    assertStrictEquals(Framework.app(), engine);
    assertEquals(Framework.get("name"), "replaced");
    assertEquals(Framework.onlyThere(), "there");
    Framework.route("/", () => "replaced");
    return Framework.fetch("/");
  });
  assertEquals(await response.text(), "replaced");
  assertEquals(Framework.has("name"), false);
  assertThrows(() => Framework.onlyThere(), TypeError, "no such method");
});

onBothForms(
  "`fetch` is an own, bound property that takes and returns what the web has",
  async (app) => {
    assert(Object.hasOwn(app, "fetch"));
    const { fetch } = app;
    app.route("/hello/@name", (name) => `Hello, ${name}!`);
    const response = fetch(new Request("http://localhost/hello/Ada"));
    assertInstanceOf(response, Response);
    assertEquals(await response.text(), "Hello, Ada!");
  },
);

Deno.test("`fetch()` takes a path or a URL for a GET", async () => {
  const app = new Engine();
  app.route("*", () => `${app.request().method} ${app.request().raw.url}`);
  const table = [
    ["/users?a=%20b", "GET http://localhost/users?a=%20b"],
    ["//a/b", "GET http://localhost//a/b"],
    ["https://a.test/x", "GET https://a.test/x"],
    [new URL("http://a.test:81/x"), "GET http://a.test:81/x"],
  ] as const;
  for (const [request, expected] of table) {
    assertEquals(await (await app.fetch(request)).text(), expected);
  }
  for (const wrong of ["users", "", "ftp://a.test/", 1, null, undefined, {}]) {
    const get = () => app.fetch(wrong as string);
    assertThrows(get, TypeError, "Cannot fetch: the request must be");
  }
});

class Words {
  static mark = "!";
  #count = 0;
  mark = "?";
  shout(text = "hey"): string {
    return `${text}${this.mark}${++this.#count}`;
  }
  static call(text = "hey"): string {
    return `${text}${this.mark}`;
  }
}

Deno.test("a callback is a function, a method of an object or of a class, or its name", async () => {
  const app = new Engine() as App;
  app.path(classes);
  const words = new Words();
  const callbacks: [callback: unknown, results: string[]][] = [
    [(text: string) => `${text}.`, ["Ada.", "Ada."]],
    [[words, "shout"], ["Ada?1", "Ada?2"]],
    [[Words, "shout"], ["Ada?1", "Ada?1"]], // an instance for each call
    [[Words, "call"], ["Ada!", "Ada!"]],
    ["Greeting->hello", ["Hello, Ada!", "Hello, Ada!"]],
    ["Greeting::goodbye", ["Goodbye, Ada!", "Goodbye, Ada!"]],
    ["Greeting::hello", ["Hello, Ada!", "Hello, Ada!"]],
  ];
  for (const [place, [callback, results]] of callbacks.entries()) {
    app.map("greet", callback);
    app.route(`/${place}/@name`, callback as () => string);
    assertEquals(await call(app, "greet", "Ada"), results[0]);
    const response = await visit(app, `/${place}/Ada`);
    assertEquals(await response.text(), results[1]);
  }
});

Deno.test("`map()` refuses what is no callback", () => {
  const app = new Engine() as App;
  for (const callback of [undefined, null, 5, "text", class {}, [{}, "none"]]) {
    const map = () => app.map("x", callback);
    assertThrows(map, TypeError, "Cannot make the method");
  }
  const misspelled = () => app.map("x", [Words, "shot"]);
  assertThrows(misspelled, TypeError, 'did you mean "shout"?');
});

Deno.test("`register()` refuses what is no class", () => {
  const app = new Engine() as App;
  for (const type of [undefined, null, 5, {}, () => 0]) {
    const message = "it must be a class or the name of one";
    assertThrows(() => app.register("user", type), TypeError, message);
  }
});

onBothForms(
  "a class that is registered by its name is loaded when it is first called",
  async (app) => {
    app.path(classes);
    app.register(
      "users",
      "UserStore",
      ["ada"],
      (users: { names: string[] }) => void users.names.push("made"),
    );
    assertInstanceOf(call(app, "users"), Promise);
    assertEquals((await call(app, "users")).names, ["ada", "made"]);
    assertStrictEquals(await call(app, "users"), await call(app, "users"));
    assert(await call(app, "users", false) !== await call(app, "users"));
  },
);

Deno.test("folders are searched in the order in which they were added", async () => {
  const app = new Engine() as App;
  app.path(more);
  app.path(classes);
  app.map("greet", "Greeting->hello");
  assertEquals(await call(app, "greet", "Ada"), "Good day, Ada!");
});

Deno.test("`path()` takes text, relative to the working directory, or a file URL", async () => {
  const { pathname } = classes;
  const up = Deno.cwd().split("/").slice(1).map(() => "..").join("/");
  for (const path of [pathname, classes.href, classes, `${up}${pathname}/`]) {
    const app = new Engine() as App;
    app.path(path);
    app.map("greet", "Greeting->hello");
    assertEquals(await call(app, "greet", "Ada"), "Hello, Ada!", `${path}`);
  }
});

Deno.test("a class that is nowhere is an error that lists where it was looked for", async () => {
  const app = new Engine() as App;
  app.register("nobody", "NoBody");
  const nobody = () => call(app, "nobody");
  const message = "no folder was added with path()";
  await assertRejects(nobody, ReferenceError, message);
  app.path(classes);
  app.path(more);
  const places = `no NoBody.ts in ${classes.pathname}, ${more.pathname}`;
  await assertRejects(nobody, ReferenceError, places);
});

Deno.test("a file without the class, or that fails, is an error that says so", async () => {
  const app = new Engine() as App;
  app.path(classes);
  app.register("broken", "Broken");
  app.register("failing", "Failing");
  const broken = () => call(app, "broken");
  await assertRejects(broken, TypeError, "does not export it");
  const failing = () => call(app, "failing");
  await assertRejects(failing, RangeError, "this module fails");
});

Deno.test("a name that is no class name leaves no folder", async () => {
  const app = new Engine() as App;
  app.path(classes);
  for (const name of ["../more/greeting", "/etc/passwd", "a.b", "a b", ""]) {
    app.register("escape", name);
    const escape = () => call(app, "escape");
    await assertRejects(escape, TypeError, "it is not the name of a class");
  }
});

Deno.test("inside of a mapped default method its name means the default, without a request too", async () => {
  const app = new Engine();
  app.map("getUrl", (alias: string) => `${app.getUrl(alias)}?mapped`);
  app.map(
    "route",
    (...params: [string, () => string, boolean, string]) =>
      app.route(...params),
  );
  app.map("etag", (id: string) => app.etag(`mapped-${id}`));
  app.map("stop", () => app.stop(201));
  app.map("send", (response: Response) => {
    response.headers.set("x-mapped", "1");
    return app.send(response);
  });
  app.route(
    "/here",
    () => {
      app.etag("a");
      app.response().write(app.getUrl("here"));
      return app.stop();
    },
    false,
    "here",
  );
  const response = await app.fetch("/here");
  assertEquals(response.status, 201);
  assertEquals(await response.text(), "/here?mapped");
  assertEquals(response.headers.get("etag"), '"mapped-a"');
  assertEquals(response.headers.get("x-mapped"), "1");
});
