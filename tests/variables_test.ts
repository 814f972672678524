/** Variables and settings, on both forms of an application. */

import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { type App, onBothForms, onEngine, visit } from "./forms.ts";

onEngine("`set()` keeps a value of any type under a name", (app) => {
  for (const value of [1, "text", null, undefined, false, [1], { a: 1 }, Map]) {
    app.set("key", value);
    assertStrictEquals(app.get("key"), value);
  }
});

onEngine("`set()` takes a record of values", (app) => {
  app.set({ a: 1, b: 2, ["__proto__"]: 3 });
  assertEquals([app.get("a"), app.get("b"), app.get("__proto__")], [1, 2, 3]);
});

onEngine("`set()` takes names of the language", (app) => {
  for (const key of ["toString", "constructor", "__proto__", "string"]) {
    app.set(key, 1);
    assertStrictEquals(app.get(key), 1);
  }
});

onEngine("`get()` of what is not set is undefined", (app) => {
  for (const key of ["none", "toString", "constructor", "__proto__", ""]) {
    assertStrictEquals(app.get(key), undefined);
  }
});

onEngine("`has()` is false for null and undefined alone", (app) => {
  const table: [unknown, boolean][] = [
    [null, false],
    [undefined, false],
    [0, true],
    ["", true],
    [false, true],
    [NaN, true],
  ];
  assertEquals(app.has("key"), false);
  for (const [value, expected] of table) {
    app.set("key", value);
    assertEquals(app.has("key"), expected, String(value));
  }
});

onBothForms("`clear()` clears one variable, several, or all", (app) => {
  const names = ["a", "b", "c", "d", "e"];
  const left = () => names.filter((name) => app.has(name));
  for (const name of names) app.set(name, name);
  app.clear("a");
  assertEquals(left(), ["b", "c", "d", "e"]);
  app.clear(["b", "c"]);
  assertEquals(left(), ["d", "e"]);
  app.clear();
  assertEquals(left(), []);
});

onEngine(
  '`clear([])` clears all variables, `clear("")` the one without a name',
  (app) => {
    app.set({ "": 1, a: 2 });
    app.clear("");
    assertEquals([app.has(""), app.has("a")], [false, true]);
    app.clear([]);
    assertEquals(app.has("a"), false);
  },
);

onEngine("the settings are variables with the specified defaults", (app) => {
  assertEquals({
    base_url: app.get("framework.base_url"),
    case_sensitive: app.get("framework.case_sensitive"),
    handle_errors: app.get("framework.handle_errors"),
    log_errors: app.get("framework.log_errors"),
    views_path: app.get("framework.views.path"),
    views_extension: app.get("framework.views.extension"),
  }, {
    base_url: null,
    case_sensitive: false,
    handle_errors: true,
    log_errors: false,
    views_path: "./views",
    views_extension: ".php",
  });
  assertEquals(app.has("framework.base_url"), false);
});

onEngine("a setting that is cleared counts as its default", async (app) => {
  app.route("/page", () => "found");
  const status = async () => (await visit(app, "/PAGE")).status;
  app.set("framework.case_sensitive", true);
  assertEquals(await status(), 404);
  app.clear();
  assertEquals(app.has("framework.case_sensitive"), false);
  assertEquals(await status(), 200);
});

onEngine("`framework.base_url` takes a path, or a URL with a host", (app) => {
  for (
    const base of [
      "",
      "/",
      "shop",
      "/shop/",
      "//shop/",
      "/b\u00fccher",
      "/a:b",
      "/my shop",
      "http://localhost",
      "HTTPS://shop.example.com:8443/shop/",
      "http://[::1]:8000/a:b",
    ]
  ) {
    app.set("framework.base_url", base);
    assertEquals(app.get("framework.base_url"), base);
  }
});

onEngine("`framework.base_url` refuses text that gives wrong URLs", (app) => {
  for (
    const base of [
      "shop.example.com:8443/shop",
      "localhost:8000",
      "http://",
      "http:///shop",
      "https:/shop",
      "https:shop",
      "ftp://example.com/shop",
      "https://ada:secret@example.com/",
      "https://example.com:port/",
      "https://exa mple.com/",
      "https://example.com/shop?a=1",
      "https://example.com/#a",
      "/shop?a=1",
      "/shop#a",
      "\\shop",
      " /shop",
      "/shop\n",
    ]
  ) {
    assertThrows(
      () => app.set("framework.base_url", base),
      TypeError,
      'Cannot set "framework.base_url": it must be a path such as "/shop" or a URL such as "https://example.com/shop", without query and hash, got the string ',
    );
  }
  assertEquals(app.has("framework.base_url"), false);
});

onEngine(
  "a setting refuses a value of the wrong kind, and keeps the one it has",
  (app) => {
    const table: [string, unknown][] = [
      ["framework.debug", "yes"],
      ["framework.body_limit", -1],
      ["framework.body_limit", "8"],
      ["framework.views.path", 5],
      ["framework.hosts", "example.org"],
      ["framework.wait_timeout", NaN],
    ];
    for (const [key, value] of table) {
      const before = app.get(key);
      assertThrows(() => app.set(key, value), TypeError, `Cannot set "${key}"`);
      assertThrows(() => app.set({ other: 1, [key]: value }), TypeError);
      assertStrictEquals(app.get(key), before);
      assertEquals(app.has("other"), false);
    }
  },
);

onEngine("`set()` refuses what is neither a name nor a record", (app) => {
  for (const wrong of [5, null, undefined, true, Symbol("key")]) {
    const set = () => app.set(wrong as never);
    assertThrows(
      set,
      TypeError,
      "Cannot set variables: the first argument must be a name",
    );
  }
});

onEngine("`null` stands for a setting's default", async (app) => {
  app.route("/page", () => "found");
  app.set("framework.case_sensitive", null);
  assertEquals((await visit(app, "/PAGE")).status, 200);
  assertEquals(app.get("framework.case_sensitive"), undefined); // as after `clear()`
  app.set("framework.hosts", null);
  assertEquals(app.get("framework.hosts"), null);
});

/** What a handler that does something finds, and what the application has afterwards. */
async function inRequest(app: App, work: () => unknown): Promise<unknown[]> {
  app.set({ a: "application", b: "application" });
  app.route("/", () => {
    work();
    return [app.get("a") ?? null, app.get("b") ?? null];
  });
  const own = await (await visit(app, "/")).json();
  return [own, [app.get("a"), app.get("b")]];
}

onEngine(
  "inside a request, the application's variables are read and none is written",
  async (app) => {
    assertEquals(await inRequest(app, () => app.set("a", "request")), [
      ["request", "application"],
      ["application", "application"],
    ]);
  },
);

onEngine(
  "`clear(key)` inside a request hides the application's variable there",
  async (app) => {
    assertEquals(await inRequest(app, () => app.clear("a")), [
      [null, "application"],
      ["application", "application"],
    ]);
  },
);

onEngine(
  "`clear()` inside a request hides all variables there, settings too",
  async (app) => {
    app.set("framework.views.extension", ".html");
    const values = await inRequest(app, () => {
      app.clear();
      assertEquals(app.has("framework.views.extension"), false);
    });
    assertEquals(values, [[null, null], ["application", "application"]]);
    assertEquals(app.get("framework.views.extension"), ".html");
  },
);

onEngine(
  "a setting changed in a request holds for that request",
  async (app) => {
    app.route("/old", () => {
      app.set("framework.base_url", "/elsewhere");
      app.redirect("/new");
    });
    app.route("/plain", () => app.redirect("/new"));
    const target = async (path: string) =>
      (await visit(app, path)).headers.get("location");
    assertEquals(await target("/old"), "/elsewhere/new");
    assertEquals(await target("/plain"), "/new");
  },
);

onEngine("`get(path, callback)` declares a route", async (app) => {
  app.set("/page", "a variable");
  app.get("/page", () => "a route");
  assertEquals(await (await visit(app, "/page")).text(), "a route");
  assertEquals((await visit(app, "/page", { method: "POST" })).status, 404);
  assertEquals(app.get("/page"), "a variable");
});

onEngine(
  "`get(path, callback)` refuses a callback that is undefined",
  (app) => {
    const callback = undefined as unknown as () => string;
    assertThrows(() => app.get("/page", callback), TypeError, "callback");
  },
);
