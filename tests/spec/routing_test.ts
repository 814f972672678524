/** SPEC.md, "B. Routing rules of the framework" and "Route object": rules 1 to 12, in their order. */

import { assertEquals, assertThrows } from "@std/assert";
import type { Route, Router } from "@framework/core";
import { type App, onBothForms, visit } from "../support/forms.ts";

/** The text of a response, or its status when that is not 200. */
async function text(app: App, path: string, method = "GET"): Promise<string> {
  const response = await visit(app, path, { method });
  const body = await response.text();
  return response.status === 200 ? body : `${response.status}`;
}

onBothForms("`route()` takes every form of callable", async (app) => {
  class Greeting {
    hello(who: string): string {
      return `hello ${who}`;
    }
    static bye(who: string): string {
      return `bye ${who}`;
    }
  }
  function greet(who: string): string {
    return `function ${who}`;
  }
  app.route("/function/@who", greet);
  app.route("/closure/@who", (who) => `closure ${who}`);
  app.route("/class/@who", [Greeting, "hello"]);
  app.route("/static/@who", [Greeting, "bye"]);
  app.route("/object/@who", [new Greeting(), "hello"]);
  const rows: [string, string][] = [
    ["/function/ann", "function ann"],
    ["/closure/ann", "closure ann"],
    ["/class/ann", "hello ann"],
    ["/static/ann", "bye ann"],
    ["/object/ann", "hello ann"],
  ];
  for (const [path, expected] of rows) {
    assertEquals(await text(app, path), expected);
  }
});

onBothForms(
  "`route()` calls the first match in definition order",
  async (app) => {
    app.route("/user/@id", (id) => `first ${id}`);
    app.route("/user/me", () => "second");
    assertEquals(await text(app, "/user/me"), "first me");
  },
);

onBothForms("`route()` without methods matches every method", async (app) => {
  app.route("/x", () => app.request().method);
  const methods = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"];
  for (const method of methods) {
    assertEquals(await text(app, "/x", method), method);
  }
});

onBothForms("`route()` with methods matches only those", async (app) => {
  app.route("GET|POST /x", () => "both");
  app.route("PUT /x", () => "put");
  assertEquals(await text(app, "/x"), "both");
  assertEquals(await text(app, "/x", "POST"), "both");
  assertEquals(await text(app, "/x", "PUT"), "put");
  assertEquals(await text(app, "/x", "DELETE"), "404");
});

onBothForms("`route()` matches regular expressions", async (app) => {
  app.route("/user/[0-9]+", (...values: unknown[]) => `${values.length}`);
  assertEquals(await text(app, "/user/42"), "0");
  assertEquals(await text(app, "/user/x"), "404");
});

onBothForms("`route()` passes named parameters in order", async (app) => {
  app.route("/@name/@id", (name, id) => `${name}, ${id}`);
  assertEquals(await text(app, "/bob/123"), "bob, 123");
});

onBothForms("`route()` matches a parameter's own expression", async (app) => {
  app.route("/@name/@id:[0-9]{3}", (name, id) => `${name} ${id}`);
  assertEquals(await text(app, "/bob/123"), "bob 123");
  assertEquals(await text(app, "/bob/12345"), "404");
});

onBothForms(
  "`route()` passes null for an optional parameter that is absent",
  async (app) => {
    app.route("/blog(/@year(/@month(/@day)))", (...dates) => dates);
    const rows: [string, unknown[]][] = [
      ["/blog", [null, null, null]],
      ["/blog/2012", ["2012", null, null]],
      ["/blog/2012/12", ["2012", "12", null]],
      ["/blog/2012/12/10", ["2012", "12", "10"]],
    ];
    for (const [path, dates] of rows) {
      assertEquals(await (await visit(app, path)).json(), dates);
    }
  },
);

onBothForms("a parameter matches one segment, a `*` several", async (app) => {
  app.route("/one/@id", () => "one");
  app.route("/blog/*", () => "blog");
  assertEquals(await text(app, "/one/a"), "one");
  assertEquals(await text(app, "/one/a/b"), "404");
  assertEquals(await text(app, "/blog/2000/02/01"), "blog");
});

onBothForms("`*` alone matches every request", async (app) => {
  app.route("*", () => "all");
  for (const path of ["/", "/a", "/a/b/c/", "/%20"]) {
    assertEquals(await text(app, path), "all", path);
  }
  assertEquals(await text(app, "/a", "DELETE"), "all");
});

onBothForms(
  "a callback that returns true passes on to the next match",
  async (app) => {
    app.route("/user/@name", (name) => name !== "bob");
    app.route("/user/*", () => Promise.resolve(true));
    app.route("/other", () => "never");
    app.route("/user/@name", (name) => `last ${name}`);
    assertEquals(await text(app, "/user/ann"), "last ann");
    assertEquals(await text(app, "/user/bob"), "");
  },
);

onBothForms("`passRoute` passes the route object last", async (app) => {
  const show = (id: string, { methods, params, regex, splat }: Route) => {
    return { id, methods, params, matches: regex.test("/files/1/2"), splat };
  };
  app.route("GET|POST /files/@id/*", show, true);
  assertEquals(await (await visit(app, "/files/7/a/b")).json(), {
    id: "7",
    methods: ["GET", "POST"],
    params: { id: "7" },
    matches: true,
    splat: "a/b",
  });
});

onBothForms("`group()` prefixes the routes inside, and nests", async (app) => {
  app.group("/api", (router: Router) => {
    router.group("/v1", () => {
      app.route("GET /users", () => "users");
      router.get("/posts/@id", () => "post");
      router.post("/posts", () => "created");
      app.post("/comments", () => "commented");
      app.put("/comments/@id", () => "changed");
    });
  });
  app.route("/after", () => "after");
  const rows: [string, string, string][] = [
    ["GET", "/api/v1/users", "users"],
    ["POST", "/api/v1/users", "404"],
    ["GET", "/api/v1/posts/3", "post"],
    ["POST", "/api/v1/posts", "created"],
    ["POST", "/api/v1/comments", "commented"],
    ["PUT", "/api/v1/comments/4", "changed"],
    ["GET", "/users", "404"],
    ["GET", "/after", "after"],
  ];
  for (const [method, path, expected] of rows) {
    assertEquals(await text(app, path, method), expected, `${method} ${path}`);
  }
});

onBothForms("`get()` with one argument reads a variable", async (app) => {
  app.set("/x", "variable");
  app.get("/x", () => "route");
  assertEquals(app.get("/x"), "variable");
  assertEquals(await text(app, "/x"), "route");
});

onBothForms(
  "`getUrl()` makes the path of an alias, with the prefixes of groups",
  (app) => {
    app.route("/users/@id", () => {}, false, "user");
    app.group("/api", (router: Router) => {
      app.route("GET /posts/@id(/@part)", () => {}, false, "post");
      router.group("/v1", () => {
        router.get("/tags/@tag", () => {}, false, "tag");
      });
    });
    assertEquals(app.getUrl("user", { id: 5 }), "/users/5");
    assertEquals(app.getUrl("post", { id: 5 }), "/api/posts/5");
    assertEquals(app.getUrl("post", { id: 5, part: "x" }), "/api/posts/5/x");
    assertEquals(app.getUrl("tag", { tag: "a" }), "/api/v1/tags/a");
    assertThrows(() => app.getUrl("pots", {}), ReferenceError, '"post"');
  },
);
