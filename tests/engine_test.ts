/** The two forms of an application: their names, their doors, and that engines share nothing. */

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
import { call, onBothForms, onEngine, visit } from "./forms.ts";

/** The specified methods, and those that the framework adds. */
const NAMES = [
  ...["map", "register", "before", "after", "path"],
  ...["get", "set", "has", "clear", "init", "app"],
  ...["start", "stop", "halt", "route", "group", "redirect", "render", "error"],
  ...["notFound", "etag", "lastModified", "json", "jsonp", "getUrl"],
  ...["post", "put", "patch", "delete", "defer", "original", "fetch"],
  ...["configure", "send", "mount"],
  ...["request", "response", "router", "view"],
];

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

Deno.test("both forms have the same names", () => {
  const own = Object.getOwnPropertyNames;
  const ofEngine = [...own(new Engine()), ...own(Engine.prototype)]
    .filter((name) => !["constructor", "onListen"].includes(name));
  withEngine(new Engine(), () => {
    const ofFramework = own(Framework)
      .filter((name) => !["length", "name", "prototype"].includes(name));
    assertEquals(ofEngine.sort(), [...NAMES].sort());
    assertEquals(
      ofFramework.filter((name) => NAMES.includes(name)).sort(),
      [...NAMES].sort(),
    );
  });
});

onBothForms(
  "`fetch()` takes a web request and returns a web response",
  async (app) => {
    app.route("/hello/@name", (name) => `Hello, ${name}!`);
    const response = await app.fetch(new Request("http://localhost/hello/Ada"));
    assertInstanceOf(response, Response);
    assertEquals(await response.text(), "Hello, Ada!");
  },
);

onBothForms(
  "`fetch` needs no `this`, and returns a response at once where nothing waits",
  (app) => {
    const { fetch } = app;
    app.route("/", () => "now");
    assertInstanceOf(fetch(new Request("http://localhost/")), Response);
  },
);

onEngine("`fetch()` rejects when errors are not handled", async (app) => {
  app.set("framework.handle_errors", false);
  app.route("/", () => {
    throw new RangeError("mine");
  });
  await assertRejects(() => visit(app, "/"), RangeError, "mine");
});

onBothForms("`init()` sets everything back to the defaults", async (app) => {
  app.set({ "framework.debug": true, name: "ada" });
  app.map("json", () => "mapped");
  app.map("hello", () => "hello");
  app.before("start", () => app.halt(503));
  app.register("users", Map);
  app.route("/", () => "route");
  app.view().set("title", "old");
  app.init();
  assertEquals([app.get("framework.debug"), app.has("name")], [false, false]);
  assertEquals((await visit(app, "/")).status, 404);
  assertEquals(app.view().has("title"), false);
  for (const name of ["hello", "users"]) {
    assertThrows(() => call(app, name), TypeError, "there is no such method");
  }
  app.route("/json", () => app.json(1));
  assertEquals(await (await visit(app, "/json")).text(), "1");
});

onEngine("`init()` is refused while a request is handled", async (app) => {
  app.route("/", () => assertThrows(() => app.init(), Error).message);
  assertEquals(
    await (await visit(app, "/")).text(),
    "Cannot initialize: a request is being handled",
  );
});

onEngine("`start()` is refused while a request is handled", async (app) => {
  app.route("/", () => assertThrows(() => app.start(), Error).message);
  assertEquals(
    await (await visit(app, "/")).text(),
    "Cannot start the server: a request is being handled",
  );
});

Deno.test("`app()` returns the engine behind either form", () => {
  const engine = new Engine();
  assertStrictEquals(engine.app(), engine);
  withEngine(engine, () => assertStrictEquals(Framework.app(), engine));
});

Deno.test("a method that was taken off its engine says how to pass it on", () => {
  for (const name of ["getUrl", "json", "view"] as const) {
    const method = new Engine()[name] as () => unknown;
    assertThrows(
      () => method(),
      TypeError,
      `Cannot call ${name}() on its own: pass (...params) => app.${name}(...params) instead of app.${name}`,
    );
  }
});

Deno.test("`Framework.app(engine)` replaces the engine, and with it everything", async () => {
  const engine = new Engine();
  engine.set("name", "replaced");
  engine.map("onlyThere", () => "there");
  const response = await withEngine(engine, () => {
    assertEquals(Framework.get("name"), "replaced");
    assertEquals(Framework.onlyThere(), "there");
    Framework.route("/", () => "replaced");
    return Framework.fetch(new Request("http://localhost/"));
  });
  assertEquals(await response.text(), "replaced");
  assertEquals(Framework.has("name"), false);
  assertThrows(
    () => Framework.onlyThere(),
    TypeError,
    "there is no such method",
  );
});

Deno.test("`Framework.get()` returns an engine that is a variable as it is", () => {
  const engine = new Engine();
  withEngine(engine, () => {
    Framework.set("engine", engine);
    assertStrictEquals(Framework.get("engine"), engine);
  });
});

Deno.test("`Framework.app()` refuses what is no engine", () => {
  for (const other of [null, {}, Engine]) {
    assertThrows(
      () => Framework.app(other as unknown as Engine),
      TypeError,
      "Cannot replace the engine: it must be an Engine",
    );
  }
});

Deno.test("engines share nothing", async () => {
  const [first, second] = [new Engine(), new Engine()];
  first.set({ name: "first", "framework.base_url": "/first" });
  first.map("hello", () => "first");
  first.register("users", Map);
  first.before("start", () => void first.response().header("x-by", "first"));
  first.route("/", () => "first", false, "home");
  first.view().set("title", "first");
  assertEquals([second.has("name"), second.has("framework.base_url")], [
    false,
    false,
  ]);
  assertEquals([call(first, "hello"), Reflect.get(second, "hello")], [
    "first",
    undefined,
  ]);
  assertEquals(Reflect.get(second, "users"), undefined);
  assertEquals(second.view().has("title"), false);
  assertThrows(() => second.getUrl("home"), ReferenceError);
  const response = await visit(second, "/");
  assertEquals([response.status, response.headers.get("x-by")], [404, null]);
});

Deno.test("`Framework` throws for an unknown name, and lists the near ones", () => {
  withEngine(new Engine().map("hello", () => 0), () => {
    const table: [string, string][] = [
      ["helo", 'did you mean "hello"?'],
      ["notfound", 'did you mean "notFound"?'],
      ["reqest", 'did you mean "request"?'],
      ["resource", "it is a method of the router: router().resource()"],
      ["use", 'Cannot call "use": there is no such method: filter every'],
      ["all", 'route("/path", ...) handles every method'],
      ["listen", "there is no such method: use start()"],
      ["somethingElse", 'Cannot call "somethingElse": there is no such method'],
    ];
    for (const [name, message] of table) {
      assertThrows(() => Framework[name]("x"), TypeError, message);
    }
  });
});

onBothForms(
  "`error()` and `notFound()` tell who declares what responds to call `map()`",
  async (app) => {
    const respond = () => "sorry";
    assertThrows(
      () => app.error(respond as never),
      TypeError,
      'Cannot call error() with a function: use map("error", ...) to set its handler',
    );
    const notFound: (...params: unknown[]) => unknown = app.notFound.bind(app);
    assertThrows(
      () => notFound(respond),
      TypeError,
      'use map("notFound", ...)',
    );
    assertThrows(() => notFound(), Error, "no request is being handled");
    app.route("/", () => void notFound(respond));
    assertEquals((await visit(app, "/")).status, 404);
  },
);

Deno.test("an engine has the names that it knows, and no others", () => {
  const engine = new Engine().map("hello", () => 0);
  assertEquals(engine.hello(), 0);
  assertEquals(["hello", "helo"].map((name) => name in engine), [true, false]);
  assertEquals(Reflect.get(engine, "helo"), undefined);
  assert(engine instanceof Object);
});

Deno.test("`Framework` has the names that its engine knows, and no others", () => {
  withEngine(new Engine().map("hello", () => 0), () => {
    const names = ["hello", "render", "get", "helo", "then"];
    const has = names.filter((name) => name in Framework);
    assertEquals(has, ["hello", "render", "get"]);
  });
});

Deno.test("`Framework` can be looked at, compared and awaited like any class", async () => {
  assertStrictEquals(await Promise.resolve(Framework), Framework);
  assertEquals(Framework, Framework);
  assertEquals(JSON.stringify({ Framework }), "{}");
  assertEquals(`${Framework}`.startsWith("class Framework"), true);
  assertStringIncludes(Deno.inspect(Framework), "class Framework");
  assert(Framework instanceof Function);
  const probes = ["then", "toJSON", "onListen", "default", "asymmetricMatch"];
  for (const probe of probes) assertEquals(Framework[probe], undefined);
});

Deno.test("`Framework.configure()` returns the engine when its work does", () => {
  assertStrictEquals(
    Framework.configure(() => Framework.app()),
    Framework.app(),
  );
});

Deno.test("both forms can be served by the runtime", () => {
  const servers: Deno.ServeDefaultExport[] = [Framework, new Engine()];
  for (const server of servers) assertEquals(typeof server.fetch, "function");
});

Deno.test("a class that extends `Engine` works, also behind `Framework`", async () => {
  class Shop extends Engine {
    readonly currency = "EUR";
    override notFound(): void {
      this.response().status(404).write(`no such thing for ${this.currency}`);
    }
    price(amount: number): string {
      return `${amount} ${this.currency}`;
    }
  }
  const shop = new Shop();
  shop.route("/@amount", (amount) => shop.price(Number(amount)));
  shop.route("/none/at/all", () => shop.notFound());
  assertEquals(await (await visit(shop, "/5")).text(), "5 EUR");
  const response = await withEngine(shop, () => {
    Framework.route("/static/form", () => Framework.notFound());
    return Framework.fetch(new Request("http://localhost/none/at/all"));
  });
  assertEquals(await response.text(), "no such thing for EUR");
});

onEngine(
  "`map()` of a page or of `render` works outside a request too",
  (app) => {
    app.map("notFound", () => "lost");
    app.map("error", (error: Error) => error.message);
    app.map("render", (file: string) => `<${file}>`);
    assertEquals(call(app, "notFound"), "lost");
    assertEquals(call(app, "error", new Error("no")), "no");
    assertEquals(call(app, "render", "home"), "<home>");
  },
);

onEngine(
  "a mapped `render` returns its value, for the callback to return",
  async (app) => {
    app.map("render", (file: string) => `<${file}>`);
    app.after("render", (_params, output) => void (output.value += "!"));
    app.route("/", () => app.render("home"));
    assertEquals(await (await visit(app, "/")).text(), "<home>!");
  },
);

onEngine("a mapped `start` may return what is sent", async (app) => {
  app.map("start", () => "closed for repairs");
  assertEquals(await (await visit(app, "/")).text(), "closed for repairs");
});

onEngine("`fetch()` takes a path or a URL for a GET", async (app) => {
  app.route("*", () => {
    const { method, raw, url } = app.request();
    return [method, raw.url, url].join(" ");
  });
  const table = [
    ["/users?a=%20b", "GET http://localhost/users?a=%20b /users?a=%20b"],
    ["//a/b", "GET http://localhost//a/b //a/b"],
    ["https://a.test/x", "GET https://a.test/x /x"],
    [new URL("http://a.test:81/x"), "GET http://a.test:81/x /x"],
  ] as const;
  for (const [request, expected] of table) {
    assertEquals(await (await app.fetch(request)).text(), expected);
  }
});

onEngine(
  "`fetch()` refuses a path with dot segments, as one that a client sends",
  async (app) => {
    app.route("/*", () => "taken");
    for (const path of ["/pub/../admin", "/%2e%2E", "/./x", "/a/..?b=1"]) {
      const response = await app.fetch(path);
      assertEquals([path, response.status], [path, 400]);
      await response.body?.cancel();
    }
    assertEquals((await app.fetch("/a..b?c=/../d")).status, 200);
  },
);

Deno.test("`fetch()` throws for what is no request, URL or path", () => {
  const app = new Engine();
  for (
    const request of ["users", "", "ftp://a.test/", 1, null, undefined, {}]
  ) {
    assertThrows(
      () => app.fetch(request as string),
      TypeError,
      'Cannot fetch: the request must be a web Request, an http or https URL, or a path such as "/users", got ',
    );
  }
});

onEngine(
  "`configure()` and `defer()` refuse what is no function",
  async (app) => {
    const reason = "must be a function";
    assertThrows(() => call(app, "configure", "now"), TypeError, reason);
    app.route("/", () => {
      assertThrows(() => call(app, "defer", "now"), TypeError, reason);
      return "fine";
    });
    assertEquals(await (await visit(app, "/")).text(), "fine");
  },
);
