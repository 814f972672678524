/** The routing rules of the framework, each on both forms of an application. */

import { assertEquals, assertThrows } from "@std/assert";
import { Engine, HttpError, type Router } from "@framework/core";
import { type App, onBothForms, onEngine, visit } from "./forms.ts";
import { logOf } from "./log.ts";

/** The text of a response, or its status when that is not 200. */
async function text(
  app: App,
  path: string,
  method = "GET",
): Promise<string> {
  const response = await visit(app, path, { method });
  const body = await response.text();
  return response.status === 200 ? body : `${response.status}`;
}

onEngine(
  "`route()` calls the first match in definition order",
  async (app) => {
    app.route("/user/@id", (id) => `first ${id}`);
    app.route("/user/me", () => "second");
    assertEquals(await text(app, "/user/me"), "first me");
  },
);

onEngine("`route()` without methods takes every method", async (app) => {
  app.route("/x", () => app.request().method);
  for (
    const method of ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"]
  ) {
    assertEquals(await text(app, "/x", method), method);
  }
});

onEngine("`route()` with methods takes only those", async (app) => {
  app.route("GET|POST /x", () => "both");
  app.route("PUT /x", () => "put");
  assertEquals(await text(app, "/x"), "both");
  assertEquals(await text(app, "/x", "POST"), "both");
  assertEquals(await text(app, "/x", "PUT"), "put");
  assertEquals(await text(app, "/x", "DELETE"), "404");
});

onEngine("`route()` matches regular expressions", async (app) => {
  app.route(
    "/user/[0-9]+",
    (...values: unknown[]) => `number ${values.length}`,
  );
  assertEquals(await text(app, "/user/42"), "number 0");
  assertEquals(await text(app, "/user/x"), "404");
});

onEngine(
  "`route()` passes named parameters in order of appearance",
  async (app) => {
    app.route("/@name/@id", (name, id) => `${name}, ${id}`);
    assertEquals(await text(app, "/bob/123"), "bob, 123");
    assertEquals(await text(app, "/b%C3%B6b%2F1/a%20b"), "böb/1, a b");
  },
);

onEngine("`route()` matches a parameter's own expression", async (app) => {
  app.route("/@name/@id:[0-9]{3}", (name, id) => `${name} ${id}`);
  assertEquals(await text(app, "/bob/123"), "bob 123");
  assertEquals(await text(app, "/bob/12345"), "404");
});

onEngine(
  "`route()` passes null for an optional part that is absent",
  async (app) => {
    app.route(
      "/blog(/@year(/@month(/@day)))",
      (year, month, day) => [year, month, day],
    );
    const rows: [string, unknown[]][] = [
      ["/blog", [null, null, null]],
      ["/blog/2012", ["2012", null, null]],
      ["/blog/2012/12", ["2012", "12", null]],
      ["/blog/2012/12/10", ["2012", "12", "10"]],
    ];
    for (const [path, values] of rows) {
      assertEquals(await (await visit(app, path)).json(), values);
    }
  },
);

onEngine("`route()` with a star matches several segments", async (app) => {
  app.route("/blog/*", () => "blog");
  app.route("/a/*/z", () => "middle");
  assertEquals(await text(app, "/blog/2000/02/01"), "blog");
  assertEquals(await text(app, "/blog"), "blog");
  assertEquals(await text(app, "/blogger"), "404");
  assertEquals(await text(app, "/a/b/c/z"), "middle");
});

onEngine("`route()` with only a star matches everything", async (app) => {
  app.route("*", () => "all");
  for (const path of ["/", "/a", "/a/b/c/", "/%20"]) {
    assertEquals(await text(app, path), "all", path);
  }
});

onEngine(
  "`route()` passes on when its callback returns true",
  async (app) => {
    app.route("/user/@name", (name) => name !== "bob");
    app.route("/user/*", () => Promise.resolve(true));
    app.route("/user/@name", (name) => `last ${name}`);
    assertEquals(await text(app, "/user/ann"), "last ann");
    assertEquals(await text(app, "/user/bob"), "");
  },
);

onEngine(
  "`notFound()` is called when all matching routes pass on",
  async (app) => {
    app.route("*", () => {
      app.response().write("dropped");
      return true;
    });
    const response = await visit(app, "/x");
    assertEquals(response.status, 404);
    assertEquals((await response.text()).includes("dropped"), false);
  },
);

onEngine(
  "a route for every path that passes leaves other methods their responses",
  async (app) => {
    app.route("*", () => true);
    app.route("GET /x", () => "x");
    app.route("POST /y", () => true);
    const sent = async (method: string, path: string) => {
      const { status, headers } = await visit(app, path, { method });
      return [status, headers.get("allow")];
    };
    assertEquals(await sent("POST", "/x"), [404, "GET, HEAD, OPTIONS"]);
    assertEquals(await sent("OPTIONS", "/x"), [204, "GET, HEAD, OPTIONS"]);
    assertEquals(await sent("POST", "/y"), [404, null]);
    assertEquals(await sent("POST", "/z"), [404, null]);
    app.set("framework.method_not_allowed", true);
    assertEquals(await sent("POST", "/x"), [405, "GET, HEAD, OPTIONS"]);
    assertEquals(await sent("POST", "/y"), [404, null]);
    assertEquals(await sent("HEAD", "/x"), [200, null]);
  },
);

onEngine(
  "a route that a filter of `start` declares for its request is among those that match",
  async (app) => {
    app.route("GET /page", () => true);
    app.before("start", () => {
      app.route("HEAD /page", () => app.response().header("x-route", "HEAD"));
    });
    const { headers } = await visit(app, "/page", { method: "HEAD" });
    assertEquals(headers.get("x-route"), "HEAD");
  },
);

onEngine("`route()` passes on only for `true`", async (app) => {
  for (const [place, value] of [1, "yes", {}, [], undefined, null].entries()) {
    app.route(`/${place}`, () => value);
    app.route(`/${place}`, () => "next");
    assertEquals((await text(app, `/${place}`)).includes("next"), false);
  }
});

onEngine("`route()` with `passRoute` passes the route last", async (app) => {
  app.route(
    "GET|POST /files/@id/*",
    (id, route) => [
      id,
      route.methods,
      route.params,
      route.splat,
      route.regex.test("/files/1/2"),
      route.pattern,
      route.alias,
    ],
    true,
    "files",
  );
  assertEquals(await (await visit(app, "/files/7/a/b")).json(), [
    "7",
    ["GET", "POST"],
    { id: "7" },
    "a/b",
    true,
    "/files/@id/*",
    "files",
  ]);
});

onBothForms("`group()` prefixes its routes, and groups nest", async (app) => {
  app.group("/api", (router: Router) => {
    router.group("/v1", () => {
      app.route("GET /users", () => "users");
      router.get("/posts/@id", (id) => `post ${id}`);
      router.post("/posts", () => "created");
      app.post("/comments", () => "commented");
      app.put("/comments/@id", (id) => `put ${id}`);
    });
  });
  app.route("/after", () => "after");
  assertEquals(await text(app, "/api/v1/users"), "users");
  assertEquals(await text(app, "/api/v1/users", "POST"), "404");
  assertEquals(await text(app, "/api/v1/posts/3"), "post 3");
  assertEquals(await text(app, "/api/v1/posts", "POST"), "created");
  assertEquals(await text(app, "/api/v1/comments", "POST"), "commented");
  assertEquals(await text(app, "/api/v1/comments/4", "PUT"), "put 4");
  assertEquals(await text(app, "/after"), "after");
});

onEngine("`group()` needs a string for its prefix", (app) => {
  for (const prefix of [undefined, null, 5, {}]) {
    assertThrows(
      () => app.group(prefix as string, () => {}),
      TypeError,
      "prefix",
    );
  }
});

onEngine("`group()` needs a list of middleware", (app) => {
  const guard = () => true;
  assertThrows(
    () => app.group("/z", () => {}, guard as never),
    TypeError,
    'Cannot make the group "/z": the middleware must be a list, got [Function: guard]',
  );
});

onEngine(
  "`group()` of a request guards what `configure()` declares in it",
  async (app) => {
    app.route("/declare", () => {
      app.group("/admin", (router) => {
        app.configure(() => router.get("/secret", () => "secret"));
      }, [() => false]);
      return "declared";
    });
    assertEquals(await text(app, "/declare"), "declared");
    assertEquals(await text(app, "/admin/secret"), "403");
    assertEquals(await text(app, "/secret"), "404");
  },
);

onEngine(
  "`group()` restores the prefix when its callback throws",
  async (app) => {
    assertThrows(() =>
      app.group("/a", () => {
        throw new Error("oh");
      })
    );
    app.route("/b", () => "b");
    assertEquals(await text(app, "/b"), "b");
  },
);

onBothForms(
  "`get()` with one argument reads a variable, with two declares",
  async (app) => {
    app.set("/x", "variable");
    app.get("/x", () => "route");
    assertEquals(app.get("/x"), "variable");
    assertEquals(await text(app, "/x"), "route");
  },
);

onBothForms("`getUrl()` fills the pattern of an alias", (app) => {
  app.route("/users/@id", () => {}, false, "user");
  app.group("/api", () => {
    app.route("GET /post/@id:[0-9]+(/@part)", () => {}, false, "post");
  });
  assertEquals(app.getUrl("user", { id: "a b/c" }), "/users/a%20b%2Fc");
  assertEquals(app.getUrl("post", { id: 5 }), "/api/post/5");
  assertEquals(app.getUrl("post", { id: 5, part: "x" }), "/api/post/5/x");
  assertThrows(() => app.getUrl("post", { id: "x" }), RangeError);
  assertThrows(() => app.getUrl("post"), TypeError);
  assertThrows(() => app.getUrl("pst"), ReferenceError, '"post"');
});

onEngine("`getUrl()` puts the base in front", async (app) => {
  app.set("framework.base_url", "/sub");
  app.route("/users/@id", (id) => id, false, "user");
  assertEquals(app.getUrl("user", { id: 1 }), "/sub/users/1");
  assertEquals(await text(app, app.getUrl("user", { id: 1 })), "1");
});

onBothForms("`notFound()` is called when no route matches", async (app) => {
  app.map("notFound", () => app.response().write("nothing here"));
  const response = await visit(app, "/x");
  assertEquals([response.status, await response.text()], [404, "nothing here"]);
});

onEngine("HEAD takes the GET route, without a body", async (app) => {
  app.route("GET /x", () => "text");
  app.route("GET /y/", () => "other");
  app.route("HEAD /y", () => app.response().header("X-Own", "yes"));
  app.route("GET /user/@name", () => "other");
  app.route("HEAD /user/@id", () => app.response().header("X-Own", "yes"));
  const response = await visit(app, "/x", { method: "HEAD" });
  assertEquals([response.status, await response.text()], [200, ""]);
  for (const path of ["/y", "/y/", "/user/1"]) {
    const own = await visit(app, path, { method: "HEAD" });
    assertEquals(own.headers.get("x-own"), "yes", path);
  }
});

onEngine(
  "HEAD passes each guard that GET passes, though a route behind it names HEAD",
  async (app) => {
    app.route(
      "GET /api/*",
      () => app.request().query.user ? true : app.halt(401),
    );
    app.route("GET|HEAD /api/data", () => "secret");
    app.route("GET|HEAD /*", () => true);
    app.route("GET /page", () => "page");
    const statuses: number[] = [];
    for (const path of ["/api/data", "/api/data?user=1", "/page"]) {
      for (const method of ["GET", "HEAD"]) {
        statuses.push((await visit(app, path, { method })).status);
      }
    }
    assertEquals(statuses, [401, 401, 200, 200, 200, 200]);
  },
);

onEngine("OPTIONS gets the allowed methods", async (app) => {
  app.route("GET /x", () => "text");
  app.route("POST /x", () => "text");
  const response = await visit(app, "/x", { method: "OPTIONS" });
  assertEquals(response.status, 204);
  assertEquals(response.headers.get("allow"), "GET, POST, HEAD, OPTIONS");
  assertEquals(await text(app, "/y", "OPTIONS"), "404");
});

onEngine(
  "another method is a 404 with an Allow header, or a 405 when that is set",
  async (app) => {
    app.route("GET /x", () => "text");
    const response = await visit(app, "/x", { method: "PUT" });
    assertEquals(response.status, 404);
    assertEquals(response.headers.get("allow"), "GET, HEAD, OPTIONS");
    app.set("framework.method_not_allowed", true);
    assertEquals(await text(app, "/x", "PUT"), "405");
  },
);

onEngine(
  "`framework.case_sensitive` is read for each request",
  async (app) => {
    app.route("/About", () => "about");
    assertEquals(await text(app, "/aBOUT"), "about");
    app.set("framework.case_sensitive", true);
    assertEquals(await text(app, "/aBOUT"), "404");
    assertEquals(await text(app, "/About"), "about");
  },
);

onEngine(
  "what a filter of `start` sets or registers for its request decides which route is called",
  async (app) => {
    app.route("/About", () => "about");
    app.route("/site/About", () => "whole path");
    const other = new Engine();
    other.route("/About", () => "another router");
    const changes: Record<string, () => void> = {
      "/aBOUT 404": () => app.set("framework.case_sensitive", true),
      "/site/About about": () => app.set("framework.base_url", "/site"),
      "/About another router": () =>
        void app.map("router", () => other.router()),
      "/About about": () => app.set("visits", 1),
    };
    let change: (() => void) | undefined;
    app.before("start", () => change?.());
    for (const [expected, each] of Object.entries(changes)) {
      const [path] = expected.split(" ");
      change = each;
      assertEquals(`${path} ${await text(app, path!)}`, expected);
      change = undefined;
      const unchanged = path === "/site/About" ? "whole path" : "about";
      assertEquals(await text(app, path!), unchanged);
    }
  },
);

onEngine(
  "a slash at the end of path or pattern does not matter",
  async (app) => {
    app.route("/a", () => "a");
    app.route("/b/", () => "b");
    assertEquals([await text(app, "/a/"), await text(app, "/b")], ["a", "b"]);
  },
);

onEngine("a malformed escape is a 400", async (app) => {
  app.route("*", () => "all");
  for (const path of ["/%zz", "/%", "/a/%ff"]) {
    assertEquals(await text(app, path), "400", path);
  }
});

onEngine(
  "`route()` takes the methods of classes and objects",
  async (app) => {
    let made = 0;
    class Greeting {
      name = ++made;
      hello(who: string): string {
        return `${who} ${this.name}`;
      }
      static bye(who: string): string {
        return `bye ${who}`;
      }
    }
    app.route("/class/@who", [Greeting, "hello"]);
    app.route("/static/@who", [Greeting, "bye"]);
    app.route("/object/@who", [new Greeting(), "hello"]);
    assertEquals(await text(app, "/class/ann"), "ann 2");
    assertEquals(await text(app, "/class/ann"), "ann 3");
    assertEquals(await text(app, "/object/ann"), "ann 1");
    assertEquals(await text(app, "/static/ann"), "bye ann");
  },
);

onEngine("`route()` takes methods of autoloaded classes", async (app) => {
  const folder = await Deno.makeTempDir();
  const source = `export class Hello {
    say(who: string): string { return "hello " + who; }
    static all(): string { return "everybody"; }
  }`;
  await Deno.writeTextFile(`${folder}/Hello.ts`, source);
  app.path(folder);
  app.route("/say/@who", "Hello->say");
  app.route("/all", "Hello::all");
  assertEquals(await text(app, "/say/ann"), "hello ann");
  assertEquals(await text(app, "/all"), "everybody");
  await Deno.remove(folder, { recursive: true });
});

onBothForms(
  "`route()` inside a request is that request's alone",
  async (app) => {
    app.route("GET /first", () => {
      app.route("/own", () => "own");
      return `${app.router().routes().length}`;
    });
    assertEquals(await text(app, "/first"), "2");
    assertEquals(await text(app, "/own"), "404");
    assertEquals(app.router().routes().length, 1);
  },
);

onEngine(
  "`addMiddleware()` runs around the callback, `after` in reverse",
  async (app) => {
    const log: string[] = [];
    const guard = (name: string) => ({
      before: ({ id }: Record<string, string | null>) =>
        void log.push(`+${name}${id}`),
      after: () => Promise.resolve().then(() => log.push(`-${name}`)),
    });
    app.group("/g", () => {
      app.route("/@id", () => {
        log.push("callback");
        return "done";
      }).addMiddleware(guard("c"));
    }, [guard("a"), guard("b")]);
    assertEquals(await text(app, "/g/1"), "done");
    assertEquals(log, ["+a1", "+b1", "+c1", "callback", "-c", "-b", "-a"]);
  },
);

onEngine(
  "`addMiddleware()` guards the matched route, however its path is spelled",
  async (app) => {
    app.route("/admin/@page", () => "secret").addMiddleware(() => false);
    for (
      const path of ["/admin/x", "/ADMIN/x/", "/%61dmin/x", "/a/../admin/x"]
    ) {
      assertEquals(await text(app, path), "403", path);
    }
  },
);

onEngine(
  "`before` that returns false, also by a promise, is a 403",
  async (app) => {
    let called = false;
    app.route("/x", () => void (called = true)).addMiddleware({
      before: () => Promise.resolve(false),
    });
    assertEquals([await text(app, "/x"), called], ["403", false]);
  },
);

onEngine(
  "`before` that seals the response skips the callback",
  async (app) => {
    let called = false;
    app.route("/x", () => void (called = true))
      .addMiddleware(() => void app.redirect("/login"));
    const response = await visit(app, "/x");
    assertEquals([response.status, called], [303, false]);
  },
);

onEngine(
  "`before` that seals the response and returns false is no 403 and logs nothing",
  async (app) => {
    let called = false;
    app.set("framework.log_errors", true);
    app.route("/x", () => void (called = true)).addMiddleware(() => {
      app.redirect("/login");
      return false;
    });
    const lines = await logOf(async () => {
      const response = await visit(app, "/x");
      assertEquals(response.status, 303);
      assertEquals(response.headers.get("location"), "/login");
    });
    assertEquals([lines, called], [[], false]);
  },
);

/** A guard whose `error` returns text and keeps its calls. */
const catching = (calls: unknown[], returned: unknown = "caught") => ({
  after: () => void calls.push("after"),
  error: (thrown: unknown, params: Record<string, string | null>) => {
    calls.push((thrown as Error).message, { ...params });
    return returned;
  },
});

onEngine(
  "`error` of middleware responds to what its callback throws",
  async (app) => {
    const calls: unknown[] = [];
    app.group("/g", (router) => {
      router.get("/@id", (id) => {
        app.response().write("dropped").header("content-type", "image/png");
        throw new HttpError(409, id, { headers: { "X-Why": "because" } });
      });
    }, [catching(calls)]);
    const response = await visit(app, "/g/7");
    assertEquals([response.status, await response.text()], [409, "caught"]);
    assertEquals(response.headers.get("x-why"), "because");
    assertEquals(
      response.headers.get("content-type"),
      "text/html; charset=utf-8",
    );
    assertEquals(calls, ["7", { id: "7" }, "after"]);
  },
);

onEngine(
  "`error` of middleware catches rejections, other middleware and values that JSON carries",
  async (app) => {
    const rejects = (): Promise<string> => Promise.reject(new Error("later"));
    app.route("/a", rejects).addMiddleware(catching([]));
    app.route("/b", () => "b").addMiddleware(catching([]), () => {
      throw new Error("before");
    });
    app.route("/c", () => "c").addMiddleware(catching([]), {
      after: () => Promise.reject(new Error("after")),
    });
    app.route("/d", rejects).addMiddleware(catching([], { code: 1 }));
    app.route("/e", rejects).addMiddleware({
      error: () => Promise.resolve("caught"),
    });
    for (const path of ["/a", "/b", "/c", "/e"]) {
      const response = await visit(app, path);
      assertEquals([response.status, await response.text()], [500, "caught"]);
    }
    const response = await visit(app, "/d");
    assertEquals([response.status, await response.json()], [500, { code: 1 }]);
  },
);

onEngine(
  "`error` of middleware may write, set the status, seal or halt",
  async (app) => {
    const fails = (): string => {
      throw new Error("oh");
    };
    const ways: Record<string, () => unknown> = {
      write: () => void app.response().status(502).write("caught"),
      json: () => void app.json("caught", 502),
      halt: () => app.halt(502, "caught"),
      redirect: () => void app.redirect("/caught"),
    };
    for (const [name, error] of Object.entries(ways)) {
      app.route(`/${name}`, fails).addMiddleware({ error });
    }
    assertEquals(await text(app, "/write"), "502");
    assertEquals(await (await visit(app, "/json")).json(), "caught");
    assertEquals(await (await visit(app, "/halt")).text(), "caught");
    assertEquals(await text(app, "/redirect"), "303");
  },
);

onEngine(
  "`error` of middleware that does not respond passes the error on, outwards",
  async (app) => {
    const calls: unknown[] = [];
    app.map("error", (thrown: Error) => `mapped ${thrown.message}`);
    app.group("/g", (router) => {
      router.get("/x", () => {
        throw new Error("oh");
      }).addMiddleware(catching(calls, false), {
        error: () => void calls.push("observed"),
      });
    }, [catching(calls, null), { after: () => void calls.push("never") }]);
    const response = await visit(app, "/g/x");
    assertEquals([response.status, await response.text()], [500, "mapped oh"]);
    assertEquals(calls, ["observed", "oh", {}, "oh", {}]);
  },
);

onEngine(
  "`error` of middleware runs neither for its own `before` nor for a stop",
  async (app) => {
    const calls: unknown[] = [];
    app.route("/a", () => "").addMiddleware({
      ...catching(calls),
      before: () => {
        throw new Error("own");
      },
    });
    app.route("/b", () => app.halt(403, "b")).addMiddleware(catching(calls));
    app.route("/c", () => {
      app.redirect("/d");
      throw new Error("after the redirect");
    }).addMiddleware(catching(calls));
    assertEquals(await text(app, "/a"), "500");
    assertEquals(await text(app, "/b"), "403");
    assertEquals(calls, []);
    await logOf(async () => assertEquals(await text(app, "/c"), "303"));
    assertEquals(calls, ["after the redirect", {}]);
  },
);

onEngine(
  "`error` of middleware leaves its error in the log under `framework.log_errors`",
  async (app) => {
    app.set("framework.log_errors", true);
    app.route("/x", () => {
      throw new Error("oh");
    }).addMiddleware(catching([]));
    const lines = await logOf(() => visit(app, "/x"));
    assertEquals(lines.length, 1);
    assertEquals(lines[0]!.includes("oh"), true);
  },
);

onEngine(
  "`splat` never has a segment `..`, however it was encoded",
  async (app) => {
    app.route("/f/*", (route) => `<${route.splat}>`, true);
    app.route("/g/*", () => "unread");
    for (const path of ["/f/..%2Fx", "/f/a/%2e%2e%2Fb", "/f/x%5c..%5cy"]) {
      assertEquals(await text(app, path), "400", path);
      assertEquals(await text(app, path.replace("f", "g")), "unread", path);
    }
    assertEquals(await text(app, "/f/a..b/...%2Fc"), "<a..b/.../c>");
  },
);

onEngine("a class of middleware is made for each request", async (app) => {
  class Timer {
    #calls = 0;
    before(): void {
      this.#calls++;
    }
    after(): void {
      app.response().header("X-Calls", `${this.#calls}`);
    }
  }
  app.route("/x", () => "done").addMiddleware(Timer);
  for (const response of [await visit(app, "/x"), await visit(app, "/x")]) {
    assertEquals(response.headers.get("x-calls"), "1");
  }
});

onEngine(
  "`router().resource()` routes the actions of a controller",
  async (app) => {
    class Posts {
      index(): string {
        return "all";
      }
      show(id: string): string {
        return `post ${id}`;
      }
    }
    app.router().resource("/posts", Posts, { only: ["index", "show"] });
    assertEquals(await text(app, "/posts"), "all");
    assertEquals(await text(app, "/posts/3"), "post 3");
    assertEquals(app.getUrl("posts.show", { id: 3 }), "/posts/3");
  },
);

onEngine(
  "a class of callbacks is made once for each request",
  async (app) => {
    let made = 0;
    class Counter {
      readonly number = ++made;
      pass() {
        return true;
      }
      show() {
        return `${this.number}`;
      }
    }
    app.route("/", [Counter, "pass"]);
    app.route("/", [Counter, "show"]);
    assertEquals([await text(app, "/"), await text(app, "/")], ["1", "2"]);
  },
);

onEngine(
  "`route()` takes a dot with a quantifier as an expression",
  async (app) => {
    app.route("/any/.+", () => "any");
    app.route("/rest/@name:[^/]+/@more:.*", (...values: string[]) => values);
    assertEquals(await text(app, "/any/abc"), "any");
    assertEquals(await text(app, "/rest/a/b"), '["a","b"]');
    assertEquals((await visit(app, "/any/a/b")).status, 404);
  },
);

Deno.test("`getUrl()` appends a query of a record, in which a list repeats its name", async () => {
  const app = new Engine();
  app.set("framework.base_url", "/shop");
  app.route(
    "/search(/@kind)",
    () => {
      return [app.request().queryAll("tag"), app.request().query.word];
    },
    false,
    "search",
  );
  const query = { tag: ["a b", 2, null], word: "é&=", page: undefined };
  const url = app.getUrl("search", { kind: "new" }, query);
  assertEquals(url, "/shop/search/new?tag=a+b&tag=2&word=%C3%A9%26%3D");
  assertEquals(await (await app.fetch(url)).json(), [["a b", "2"], "é&="]);
  const empty = { tag: [], page: null };
  assertEquals(app.getUrl("search", {}, empty), "/shop/search");
});

Deno.test("`getUrl()` throws for a query that no URL can carry", () => {
  const app = new Engine();
  app.route("/", () => {}, false, "home");
  for (const query of [{ a: {} }, { a: [[]] }, { a: () => {} }, "a=1", []]) {
    assertThrows(
      () => app.getUrl("home", {}, query as never),
      TypeError,
      "Cannot make the query of a URL",
    );
  }
});

Deno.test("a mapped `router` is asked for each request", async () => {
  const app = new Engine();
  const others = [new Engine(), new Engine()];
  others.forEach((each, n) => each.route("/", () => `${n}`));
  let n = 0;
  app.map("router", () => others[n]!.router());
  assertEquals(await (await app.fetch("/")).text(), "0");
  n = 1;
  assertEquals(await (await app.fetch("/")).text(), "1");
});

Deno.test("the methods of routes that a filter of `start` declares are those of the path, too", async () => {
  const app = new Engine();
  app.route("GET /", () => "get");
  app.before("start", () => void app.route("PUT /", () => "put"));
  const init = { method: "OPTIONS" };
  const { headers } = await app.fetch(new Request("http://localhost/", init));
  assertEquals(headers.get("allow"), "GET, PUT, HEAD, OPTIONS");
});

Deno.test("a route with middleware passes on, too, by a callback that returns true", async () => {
  const app = new Engine();
  const later = () => Promise.resolve(true as const);
  for (const passing of [() => true as const, later]) {
    app.route("*", passing).addMiddleware({ before() {}, after() {} });
  }
  app.route("/", () => "next");
  assertEquals(await (await app.fetch("/")).text(), "next");
});

Deno.test("a response that is sealed before the routes run out is no 405 behind that", async () => {
  for (const isFilter of [false, true]) {
    const app = new Engine();
    app.set("framework.method_not_allowed", true);
    const redirect = () => app.redirect("/there");
    if (isFilter) app.before("start", redirect);
    else {
      app.route("*", () => {
        redirect();
        return true;
      });
    }
    app.route("POST /", () => "posted");
    const log = await logOf(async () => {
      assertEquals((await app.fetch("/")).status, 303);
    });
    assertEquals(log, []);
  }
});

Deno.test("a method whose name begins with `class` is a function, and no class", async () => {
  const app = new Engine();
  const { classify } = { classify: () => "classified" };
  const shelf = {
    classed() {
      return "classed";
    },
  };
  app.route("/arrow", classify);
  app.route("/method", shelf.classed);
  assertEquals(await text(app, "/arrow"), "classified");
  assertEquals(await text(app, "/method"), "classed");
});

Deno.test("`[target, name]` of a class is the method of its instances, where there is a static one, too", async () => {
  class Both {
    static show() {
      return "static";
    }
    static only() {
      return "only static";
    }
    show() {
      return "instance";
    }
  }
  const app = new Engine();
  app.route("/show", [Both, "show"]);
  app.route("/only", [Both, "only"]);
  assertEquals(await text(app, "/show"), "instance");
  assertEquals(await text(app, "/only"), "only static");
});

Deno.test("a list that is no target with the name of a method is refused as a callback", () => {
  const app = new Engine();
  const target = { show: () => "", 0: () => "" };
  const wrong: unknown[] = [[], [target], [target, "show", 1], [null, "show"], [
    target,
    0,
  ]];
  for (const callback of wrong) {
    assertThrows(
      () => app.route("/", callback as never),
      TypeError,
      "the callback must be a function, [target,",
    );
  }
});

Deno.test("a parameter takes the same texts, however its route is matched", async () => {
  const app = new Engine();
  app.route("/one/@text", (text) => [text]);
  app.route("/part/@text(/@more)", (text) => [text]);
  app.group("/exact", (router) => {
    router.get("/@text:.+", (text) => [text]);
  });
  for (const text of [" ", "\t", "\u00a0", "%", "a/b", "..a", "\u0130"]) {
    for (const prefix of ["/one", "/part", "/exact"]) {
      const path = `${prefix}/${encodeURIComponent(text)}`;
      for (const caseSensitive of [false, true]) {
        app.set("framework.case_sensitive", caseSensitive);
        const response = await app.fetch(path);
        assertEquals(await response.json(), [text], path);
      }
    }
  }
});
