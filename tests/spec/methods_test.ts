/** The framework's methods: SPEC.md, section C, and behaviour rules 1 to 5, on both forms. */

import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { Engine, Framework, Router } from "@framework/core";
import { call, onBothForms, visit } from "../support/forms.ts";

const CORE = [
  ...["map", "register", "before", "after", "path", "configure"],
  ...["get", "set", "has", "clear", "init", "app"],
];

const EXTENSIBLE = [
  ...["start", "stop", "halt", "route", "group", "redirect", "render"],
  ...["error", "notFound", "etag", "lastModified", "json", "jsonp", "getUrl"],
  ...["post", "put", "patch", "delete", "defer", "send", "mount"],
];

const COMPONENTS = ["request", "response", "router", "view"];

class User {
  readonly params: unknown[];
  tag = "";
  constructor(...params: unknown[]) {
    this.params = params;
  }
}

Deno.test("`Engine` and `Framework` have the same methods", () => {
  const names = [...CORE, ...EXTENSIBLE, ...COMPONENTS, "fetch", "original"];
  const engine = new Engine();
  for (const name of names) {
    assertEquals(typeof Reflect.get(engine, name), "function", name);
    assertEquals(typeof Reflect.get(Framework, name), "function", name);
  }
});

Deno.test("`app()` returns the engine behind either form", () => {
  const engine = new Engine();
  assertStrictEquals(engine.app(), engine);
  assertInstanceOf(Framework.app(), Engine);
});

onBothForms(
  "core methods can be neither mapped, registered over nor filtered",
  (app) => {
    for (const name of CORE) {
      const attempts = [
        () => app.map(name, () => 0),
        () => app.register(name, Map),
        () => app.before(name, () => {}),
        () => app.after(name, () => {}),
      ];
      for (const attempt of attempts) {
        assertThrows(attempt, TypeError, `"${name}": it is a core method`);
      }
    }
  },
);

onBothForms(
  "each extensible method can be overridden and filtered",
  (app) => {
    for (const name of EXTENSIBLE) {
      app.map(name, () => `my ${name}`);
      app.after(name, (_params, output) => void (output.value += "!"));
      if (name === "start") continue; // it listens; what was mapped runs for each request
      assertEquals(call(app, name), `my ${name}!`);
    }
  },
);

onBothForms("`map()` makes a method that is called by its name", (app) => {
  app.map("add", (a: number, b: number) => a + b);
  assertEquals(call(app, "add", 2, 3), 5);
});

onBothForms(
  "`map()` with `passRoute` gives the method the matched route last",
  async (app) => {
    app.map("where", (...params: unknown[]) => params, true);
    app.route("/user/@name", () => {
      const [greeting, route] = call(app, "where", "hello");
      return [greeting, route.params];
    });
    const response = await visit(app, "/user/ada");
    assertEquals(await response.json(), ["hello", { name: "ada" }]);
    assertEquals(call(app, "where", "hello"), ["hello", null]);
  },
);

onBothForms(
  "`register()` makes a name that returns an instance, with the parameters",
  (app) => {
    app.register("user", User, ["ada", 36]);
    assertInstanceOf(call(app, "user"), User);
    assertEquals(call(app, "user").params, ["ada", 36]);
    assertEquals(call(app, "user", false).params, ["ada", 36]);
  },
);

onBothForms(
  "`register()` runs the callback at once after each construction, with the object alone",
  (app) => {
    const seen: unknown[][] = [];
    app.register("user", User, [], (...given: User[]) => {
      given[0]!.tag = "made";
      seen.push(given);
    });
    assertEquals(seen, []);
    const shared = call(app, "user");
    call(app, "user");
    const other = call(app, "user", false);
    assertEquals(seen, [[shared], [other]]);
    assertEquals([shared.tag, other.tag], ["made", "made"]);
  },
);

onBothForms(
  "a registered class is shared, and `false` returns a new instance",
  (app) => {
    app.register("user", User);
    const first = call(app, "user", false);
    const shared = call(app, "user");
    assert(first !== shared);
    assert(call(app, "user", false) !== first);
    assertStrictEquals(call(app, "user"), shared);
    assertStrictEquals(call(app, "user", true), shared);
  },
);

onBothForms(
  "a mapped method wins over a registered class of its name",
  (app) => {
    app.map("first", () => "mapped");
    app.register("first", User);
    app.register("second", User);
    app.map("second", () => "mapped");
    assertEquals(call(app, "first"), "mapped");
    assertEquals(call(app, "second"), "mapped");
  },
);

onBothForms(
  "`map()` replaces a default method, and the framework calls the new one",
  async (app) => {
    app.map("notFound", () => "nothing here");
    app.map("error", (error: Error) => `sorry: ${error.message}`);
    app.map("render", (file: string) => `<${file}>`);
    app.route("/boom", () => {
      throw new Error("boom");
    });
    app.route("/home", () => app.render("home"));
    const table = [
      ["/none", 404, "nothing here"],
      ["/boom", 500, "sorry: boom"],
      ["/home", 200, "<home>"],
    ] as const;
    for (const [path, status, text] of table) {
      const response = await visit(app, path);
      assertEquals([response.status, await response.text()], [status, text]);
    }
  },
);

onBothForms("`map()` replaces the way a request is handled", async (app) => {
  app.map("start", () => "closed for repairs");
  assertEquals(await (await visit(app, "/")).text(), "closed for repairs");
});

onBothForms(
  "`original()` is the framework's own method, for an override to call",
  async (app) => {
    app.map(
      "json",
      (data: unknown, ...rest: unknown[]) =>
        app.original("json")({ data }, ...rest),
    );
    app.route("/", () => app.json([1], 201));
    const response = await visit(app, "/");
    assertEquals(response.status, 201);
    assertEquals(await response.json(), { data: [1] });
  },
);

onBothForms(
  "`register()` under the name `router` replaces the router",
  async (app) => {
    class Shop extends Router {
      override getUrl(alias: string): string {
        return `/shop/${alias}`;
      }
    }
    app.register("router", Shop);
    app.route("/", () => app.getUrl("cart"));
    assertEquals(await (await visit(app, "/")).text(), "/shop/cart");
  },
);

onBothForms("`set()` stores a value of any type under any name", (app) => {
  for (const value of [1, "text", null, undefined, false, [1], { a: 1 }, Map]) {
    app.set("key", value);
    assertStrictEquals(app.get("key"), value);
  }
  for (const key of ["toString", "constructor", "__proto__", ""]) {
    assertStrictEquals(app.get(key), undefined, key);
    app.set(key, 1);
    assertStrictEquals(app.get(key), 1, key);
  }
});

onBothForms("`set()` takes a record of values", (app) => {
  app.set({ a: 1, b: 2, ["__proto__"]: 3 });
  assertEquals([app.get("a"), app.get("b"), app.get("__proto__")], [1, 2, 3]);
});

onBothForms("`has()` is false for null and undefined alone", (app) => {
  assertEquals(app.has("key"), false);
  const table = [
    [null, false],
    [undefined, false],
    [0, true],
    ["", true],
    [false, true],
    [NaN, true],
  ] as const;
  for (const [value, expected] of table) {
    app.set("key", value);
    assertEquals(app.has("key"), expected, String(value));
  }
});

onBothForms("`clear()` clears one variable, several, or all", (app) => {
  const names = ["", "a", "b", "c", "d", "e"];
  const left = () => names.filter((name) => app.has(name));
  for (const name of names) app.set(name, name);
  app.set("framework.views.extension", ".html");
  app.clear("a");
  app.clear("");
  assertEquals(left(), ["b", "c", "d", "e"]);
  app.clear(["b", "c"]);
  assertEquals(left(), ["d", "e"]);
  app.clear();
  assertEquals(left(), []);
  assertEquals(app.has("framework.views.extension"), false);
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
  assertEquals(app.view().has("title"), false);
  for (const name of ["hello", "users"]) {
    assertThrows(() => call(app, name), TypeError);
  }
  assertEquals((await visit(app, "/")).status, 404);
  app.route("/json", () => app.json(1));
  assertEquals(await (await visit(app, "/json")).text(), "1");
});
