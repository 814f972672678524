/** Tests `Router`: which routes match in which order, groups, resources, aliases and near routes. */

import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Engine, HttpError, Router } from "@framework/core";
import { longestText, TooComplex, Work } from "../src/routing/backtracking.ts";
import { Path } from "../src/routing/path.ts";
import { declarationOf } from "../src/routing/route.ts";
import { routesOf } from "../src/routing/router.ts";
import { milliseconds } from "./clock.ts";
import { firstMatch } from "./routes.ts";

/** A router with these routes; the alias of each is its place. */
function routerOf(...patterns: string[]): Router {
  const router = new Router();
  for (const [place, pattern] of patterns.entries()) {
    router.route(pattern, () => {}, false, String(place));
  }
  return router;
}

/** The aliases of all matches, in the order of passing on. */
function matches(router: Router, method: string, path: string): string[] {
  const found: string[] = [];
  let match = firstMatch(router, path, method);
  for (; match; match = routesOf(router).next(match)) {
    found.push(match.declaration.alias);
  }
  return found;
}

Deno.test("`Routes.first()` finds the first route in the order of definition", () => {
  const router = routerOf("/a/@x", "/a/b", "/*", "/@x/b", "/a/(?:b|c)", "/a/b");
  assertEquals(matches(router, "GET", "/a/b"), ["0", "1", "2", "3", "4", "5"]);
  assertEquals(matches(router, "GET", "/x/b"), ["2", "3"]);
});

Deno.test("`Routes.first()` takes the methods before the path, or every method", () => {
  const router = routerOf("GET|POST /x", "/x", "PUT /x");
  assertEquals(matches(router, "GET", "/x"), ["0", "1"]);
  assertEquals(matches(router, "PUT", "/x"), ["1", "2"]);
  assertEquals(matches(router, "BREW", "/x"), ["1"]);
});

Deno.test("`Routes.first()` takes HEAD for GET, unless a route for the path names HEAD", () => {
  const router = routerOf("GET /x", "/x", "HEAD /y", "GET /y", "HEAD /@a/z");
  assertEquals(matches(router, "HEAD", "/x"), ["0", "1"]);
  assertEquals(matches(router, "HEAD", "/y"), ["2"]);
});

Deno.test("`Routes.first()` finds routes that were declared after a look-up", () => {
  const router = routerOf("GET /x", "/y");
  assertEquals(matches(router, "GET", "/x"), ["0"]);
  assertEquals(matches(router, "POST", "/x"), []);
  router.route("/@any", () => {}, false, "2");
  assertEquals(matches(router, "GET", "/x"), ["0", "2"]);
  assertEquals(matches(router, "POST", "/x"), ["2"]);
});

Deno.test("`Routes.first()` takes its case sensitivity from each call", () => {
  const router = routerOf("/About", "/about", "/ABOUT/@x");
  assertEquals(
    firstMatch(router, "/aBOUT")
      ?.declaration
      .alias,
    "0",
  );
  assertEquals(
    firstMatch(router, "/about", "GET", true)
      ?.declaration
      .alias,
    "1",
  );
  assertEquals(
    firstMatch(router, "/aBOUT", "GET", true),
    undefined,
  );
  assertEquals(
    firstMatch(router, "/about/X")
      ?.values,
    ["X"],
  );
});

Deno.test("`Routes.first()` tells texts with the same hash apart", () => {
  const router = routerOf("/a~", "/b_", "/c_/@id");
  assertEquals(matches(router, "GET", "/a~"), ["0"]);
  assertEquals(matches(router, "GET", "/B_"), ["1"]);
  assertEquals(matches(router, "GET", "/b~/1"), []);
  assertEquals(matches(routerOf("/a~"), "GET", "/b_"), []);
});

Deno.test("`Routes.first()` tells similar texts apart", () => {
  const router = routerOf("/a_/x", "/b\\@/x", "/@any/x", "/b`/y");
  assertEquals(matches(router, "GET", "/a_/x"), ["0", "2"]);
  assertEquals(matches(router, "GET", "/B@/x"), ["1", "2"]);
  assertEquals(matches(router, "GET", "/b`/x"), ["2"]);
  assertEquals(matches(router, "GET", "/B`/y"), ["3"]);
  assertEquals(matches(router, "GET", "/a_/y"), []);
});

Deno.test("`Routes.first()` finds a text with a percent sign; half a surrogate pair matches no path", () => {
  const router = routerOf("/\\%", "/\ud800", "/100\\%");
  assertEquals(matches(router, "GET", "/%25"), ["0"]);
  assertEquals(matches(router, "GET", "/100%25"), ["2"]);
});

Deno.test("`Routes.first()` throws a 400 for a malformed escape, whatever routes there are", () => {
  for (const router of [routerOf(), routerOf("/a"), routerOf("*")]) {
    for (const path of ["/%zz", "/a/%", "/a%2", "/%ff", "/x/%c3%28/y"]) {
      const error = assertThrows(
        () => firstMatch(router, path),
        HttpError,
      );
      assertEquals(error.status, 400, path);
      assertThrows(
        () => routesOf(router).methods(new Path(path, false)),
        HttpError,
      );
    }
  }
});

Deno.test("`Routes.next()` continues on its own path after a malformed one", () => {
  const router = routerOf("/a/@x", "/a/*");
  const match = firstMatch(router, "/a/b")!;
  assertThrows(
    () => firstMatch(router, "/longer/%"),
    HttpError,
  );
  assertEquals(
    routesOf(router).next(match)?.declaration.alias,
    "1",
  );
});

Deno.test("`Routes.next()` continues from its own match, whatever was matched in between", () => {
  const router = routerOf("/@a", "/@b", "/x");
  const match = firstMatch(router, "/x")!;
  firstMatch(router, "/a/b/c", "POST", true);
  const next = routesOf(router).next(match)!;
  assertEquals([next.declaration.alias, next.values], ["1", ["x"]]);
});

Deno.test("`Routes.first()` tries the routes of a request after those of the application", async () => {
  const app = new Engine();
  app.get("/a", () => "", false, "a");
  app.route("HEAD /b", () => "", false, "b");
  app.get("/test", () => {
    app.get("/@own", () => "", false, "own");
    const router = app.router();
    return {
      get: matches(router, "GET", "/a"),
      head: [matches(router, "HEAD", "/b"), matches(router, "HEAD", "/c")],
      routes: router.routes().map((route) => route.alias),
      url: router.getUrl("own", { own: 1 }),
    };
  });
  const response = await app.fetch(new Request("http://localhost/test"));
  assertEquals(await response.json(), {
    get: ["a", "own"],
    head: [["b", "own"], ["own"]],
    routes: ["a", "b", "", "own"],
    url: "/1",
  });
});

Deno.test("`call()` passes the values in order, null for a part that is absent", () => {
  const router = new Router();
  router.route("/@a(/@b(/@c))", (...values) => values);
  assertEquals(
    firstMatch(router, "/1/2")?.call(),
    [
      "1",
      "2",
      null,
    ],
  );
});

Deno.test("`call()` passes a new route object last under `passRoute`", () => {
  const router = new Router();
  router.route("GET|POST /f/@id/*", (_id, route) => route, true, "files");
  const match = firstMatch(router, "/F/7/a%20b/c", "POST")!;
  const [first, second] = [match.toRoute(), match.toRoute()];
  assertEquals({ ...first.params }, { id: "7" });
  assertEquals([first.methods, first.splat], [["GET", "POST"], "a b/c"]);
  assertEquals([first.pattern, first.alias], ["/f/@id/*", "files"]);
  assert(first.regex.test("/F/7/x"));
  assert(first !== second && first.params !== second.params);
});

Deno.test("`Routes.methods()` lists the methods that the routes for the path name", () => {
  const router = routerOf("GET /x", "POST /@a", "/any", "HEAD /h", "PUT /x/*");
  const rows: [string, string[]][] = [
    ["/x", ["GET", "POST", "PUT", "HEAD"]],
    ["/y", ["POST"]],
    ["/h", ["POST", "HEAD"]],
    ["/x/y", ["PUT"]],
    ["/any", ["POST"]],
    ["/a/b/c", []],
  ];
  for (const [path, methods] of rows) {
    assertEquals(
      routesOf(router).methods(new Path(path, false)),
      methods,
      path,
    );
  }
});

Deno.test("`Routes.isTaken()` tells whether a route matches the path by any method", () => {
  const router = routerOf("GET /x", "/any");
  const taken = (path: string) =>
    routesOf(router).isTaken(new Path(path, false));
  assertEquals(["/x", "/any", "/y"].map(taken), [true, true, false]);
});

Deno.test("`route()` throws for a callback of no known form, naming the pattern", () => {
  class Page {
    show(): void {}
    static list(): void {}
  }
  // deno-lint-ignore no-explicit-any -- what the compiler refuses must be refused at run time too
  const route = (callback: any) => new Router().route("/x", callback);
  const wrong = [null, 1, "show", "a b->c", [], [Page], [Page, 1], Page, {}];
  for (const callback of [...wrong, [Page, "shows"], [new Page(), "list"]]) {
    assertThrows(() => route(callback), TypeError, 'the route "/x"');
  }
  assertThrows(() => route([Page, "shows"]), TypeError, 'did you mean "show"?');
  const page = { list() {} };
  assertThrows(() => route([page, "lst"]), TypeError, 'did you mean "list"?');
});

Deno.test("`route()` throws for middleware in place of `passRoute`, since it would guard nothing", () => {
  const router = new Router();
  for (const given of [[() => false], () => false, 1, "alias"]) {
    assertThrows(
      // @ts-expect-error -- neither true nor false
      () => router.get("/a", () => "a", given),
      TypeError,
      "passRoute must be true or false",
    );
  }
  assertEquals(router.routes(), []);
});

Deno.test("`route()` throws for the alias of another path", () => {
  const router = routerOf("GET /a");
  router.route("POST /a", () => {}, false, "0");
  assertThrows(() => router.route("/b", () => {}, false, "0"), Error, '"0"');
  assertEquals(router.routes().length, 2);
});

Deno.test("`route()` makes an instance of a class for each call", () => {
  let made = 0;
  class Page {
    number = ++made;
    show(id: string): string {
      return `${this.number}:${id}`;
    }
    static list(): string {
      return "static";
    }
  }
  const router = new Router();
  router.route("/@id", [Page, "show"]);
  router.route("/p/list", [Page, "list"]);
  assertEquals(made, 0);
  assertEquals(
    firstMatch(router, "/a")?.call(),
    "1:a",
  );
  assertEquals(
    firstMatch(router, "/b")?.call(),
    "2:b",
  );
  assertEquals(
    firstMatch(router, "/p/list")
      ?.call(),
    "static",
  );
});

Deno.test("`route()` takes the method of an object, and of an autoloaded class", async () => {
  class Page {
    show(id: string): string {
      return `instance ${id}`;
    }
    static show(id: string): string {
      return `static ${id}`;
    }
  }
  const router = new Router(undefined, {
    find: (name) =>
      name === "Page" ? Promise.resolve(Page) : Promise.reject(new Error(name)),
    make: (type) => new type(),
  });
  router.route("/o/@id", [new Page(), "show"]);
  router.route("/i/@id", "Page->show");
  router.route("/s/@id", "Page::show");
  router.route("/m/@id", "Page->missing");
  const call = (path: string) => firstMatch(router, path)!.call();
  assertEquals(call("/o/1"), "instance 1");
  assertEquals(await call("/i/1"), "instance 1");
  assertEquals(await call("/s/1"), "static 1");
  await assertRejects(async () => await call("/m/1"), TypeError, '"missing"');
});

Deno.test("`group()` puts its prefix in front, with one slash between", () => {
  const router = new Router();
  router.group("/api/", (api) => {
    api.route("", () => {}, false, "empty");
    api.route("GET /", () => {}, false, "slash");
    api.route("GET|POST users", () => {});
    api.group("v1", (v1) => {
      v1.get("/@id", () => {});
      v1.delete("*", () => {});
      v1.route("(/@lang)/x/", () => {});
      v1.group("/", (same) => same.put("z", () => {}));
    });
  });
  router.get("/after", () => {});
  const declared = router.routes().map((one) =>
    `${one.methods} ${one.pattern}`
  );
  assertEquals(declared, [
    "* /api",
    "GET /api",
    "GET,POST /api/users",
    "GET /api/v1/@id",
    "DELETE /api/v1/*",
    "* /api/v1(/@lang)/x/",
    "PUT /api/v1/z",
    "GET /after",
  ]);
});

Deno.test("a route that code of a group declares later has its prefix and middleware", async () => {
  const router = new Router();
  const guard = (): boolean => false;
  const declareLater = async (routes: Router): Promise<void> => {
    await null;
    routes.get("/late", () => {});
    routes.group("/inner", (inner) => inner.get("/later", () => {}));
  };
  let late: Promise<void> | undefined;
  router.group("/admin", (admin) => void (late = declareLater(admin)), [guard]);
  router.get("/outside", () => {});
  await late;
  const declarations = router.routes().map(declarationOf);
  assertEquals(
    declarations.map((
      { pattern, middleware },
    ) => [pattern.path, ...middleware]),
    [["/outside"], ["/admin/late", guard], ["/admin/inner/later", guard]],
  );
});

Deno.test("`group()` restores the prefix when its callback throws", () => {
  const router = new Router();
  assertThrows(
    () =>
      router.group("/a", (a) => {
        a.get("/kept", () => {});
        throw new Error("oh");
      }),
    Error,
    "oh",
  );
  router.get("/b", () => {});
  const patterns = router.routes().map((route) => route.pattern);
  assertEquals(patterns, ["/a/kept", "/b"]);
});

Deno.test("`group()` throws `TypeError` for a wrong prefix or callback", () => {
  const router = new Router();
  for (const prefix of [undefined, null, 1, ["/a"]]) {
    // @ts-expect-error -- the prefix must be a string
    assertThrows(() => router.group(prefix, () => {}), TypeError, "prefix");
  }
  assertThrows(
    // @ts-expect-error -- a callback is needed
    () => router.group("/a"),
    TypeError,
    'the group "/a": the callback must be a function, got undefined',
  );
  assertThrows(
    () => router.group("/a", async () => {}),
    TypeError,
    "asynchronous",
  );
  assertThrows(() => router.group("GET /a", () => {}), SyntaxError, "GET");
  assertThrows(() => router.get("POST /a", () => {}), SyntaxError, "POST");
});

Deno.test("`getUrl()` includes the prefix of groups", () => {
  const router = new Router();
  router.group("/@lang:en|fr", (group) => {
    group.get("/post(/@id)", () => {}, false, "post");
  });
  assertEquals(
    router.getUrl("post", { lang: "fr", id: "a/b" }),
    "/fr/post/a%2Fb",
  );
  assertEquals(router.getUrl("post", { lang: "en" }), "/en/post");
  assertThrows(() => router.getUrl("post", { lang: "de" }), RangeError, '"de"');
});

Deno.test("`getUrl()` suggests aliases for an unknown one", () => {
  const router = new Router();
  router.get("/", () => {}, false, "home");
  router.get("/posts", () => {}, false, "posts");
  assertThrows(
    () => router.getUrl("hom"),
    ReferenceError,
    'did you mean "home"?',
  );
  assertThrows(() => router.getUrl(""), ReferenceError);
});

Deno.test("`resource()` declares seven routes with their aliases", () => {
  const router = new Router();
  const controller = Object.fromEntries(
    ["index", "create", "store", "show", "edit", "update", "destroy"]
      .map((action) => [action, (id = "") => `${action} ${id}`]),
  );
  router.resource("/admin/posts", controller);
  const rows: [string, string, string][] = [
    ["GET", "/admin/posts", "index "],
    ["GET", "/admin/posts/create", "create "],
    ["POST", "/admin/posts", "store "],
    ["GET", "/admin/posts/7", "show 7"],
    ["GET", "/admin/posts/7/edit", "edit 7"],
    ["PUT", "/admin/posts/7", "update 7"],
    ["PATCH", "/admin/posts/7", "update 7"],
    ["DELETE", "/admin/posts/7", "destroy 7"],
  ];
  for (const [method, path, outcome] of rows) {
    assertEquals(
      firstMatch(router, path, method)?.call(),
      outcome,
    );
  }
  assertEquals(router.getUrl("posts.edit", { id: 7 }), "/admin/posts/7/edit");
});

Deno.test("`resource()` declares only the actions that its options name", () => {
  class Posts {
    index(): void {}
    show(): void {}
  }
  const router = new Router();
  router.resource("/a", Posts, { only: ["index", "show"] });
  router.resource("/b", Posts, { only: ["index", "show"], except: ["show"] });
  const aliases = router.routes().map((route) => route.alias);
  assertEquals(aliases, ["a.index", "a.show", "b.index"]);
  // @ts-expect-error -- there is no such action
  const misspelled = () => router.resource("/d", Posts, { only: ["shows"] });
  assertThrows(misspelled, TypeError, 'did you mean "show"?');
});

Deno.test("`resource()` says what a controller lacks, and how to name what it has", () => {
  class Posts {
    index(): void {}
    static show(): void {}
    udpate(): void {}
  }
  const { message } = assertThrows(
    () => new Router().resource("/posts", Posts, { except: ["edit"] }),
    TypeError,
  );
  assertEquals(
    message,
    'Cannot make the resource "/posts": the controller does not have "create", "store", "update", "destroy"' +
      ': did you mean "udpate"? (to leave out the missing actions, pass only: ["index", "show"])',
  );
  const misspelled = () =>
    new Router().resource("/posts", new Posts(), { only: ["update"] });
  assertThrows(misspelled, TypeError, 'did you mean "udpate"?');
});

Deno.test("`resource()` begins the aliases with `as`", () => {
  const router = new Router();
  const posts = { index() {}, show() {} };
  const only = ["index", "show"] as const;
  router.resource("/posts", posts, { only });
  router.group("/admin", (admin) => {
    admin.resource("/posts", posts, { only, as: "admin.posts" });
  });
  assertEquals(router.getUrl("posts.show", { id: 7 }), "/posts/7");
  assertEquals(router.getUrl("admin.posts.show", { id: 7 }), "/admin/posts/7");
  assertThrows(
    // @ts-expect-error -- no name
    () => router.resource("/x", posts, { only, as: 1 }),
    TypeError,
    '"as" must be a string',
  );
});

/** The near routes on the page of a 404, each with what keeps it from matching. */
async function nearRoutes(
  path: string,
  ...patterns: string[]
): Promise<string[]> {
  const app = new Engine();
  app.set("framework.debug", true);
  for (const pattern of patterns) app.route<string>(pattern, () => {});
  const response = await app.fetch(new Request(`http://localhost${path}`));
  assertEquals(response.status, 404);
  const [, list = ""] = (await response.text()).split("nearly match</h2>");
  return [...list.matchAll(/<li>(.*)<\/li>/g)]
    .map(([, item]) => item!.replaceAll("&quot;", '"'));
}

Deno.test("the page of a 404 says what keeps near routes from matching", async () => {
  const near = await nearRoutes(
    "/blog/x",
    "/blog/@id:[0-9]+",
    "POST /blog/x/",
    "/blog/x/edit",
    "/a",
  );
  assertEquals(near, [
    "POST /blog/x/: the method GET is not POST",
    '/blog/x/edit: the path ends before "/edit"',
    '/blog/@id:[0-9]+: the segment "x" does not match "@id:[0-9]+"',
  ]);
  const app = new Engine();
  app.set("framework.debug", true);
  app.route("PATCH|DELETE /x", () => {});
  const post = new Request("http://localhost/x", { method: "POST" });
  assertStringIncludes(
    await (await app.fetch(post)).text(),
    "the method POST is not PATCH or DELETE (a form can name that method in its _method field if framework.method_override is set)",
  );
  app.route("/passed", () => true);
  assertStringIncludes(
    await (await app.fetch("/passed")).text(),
    "it matches, but may pass the request on to a later route",
  );
  const beyond = await nearRoutes("/a/b", "/a");
  assertEquals(beyond, ['/a: the path continues with "/b"']);
});

Deno.test("the page of a 404 finds routes with a misspelling in any segment", async () => {
  const near = (path: string) =>
    nearRoutes(path, "/about", "/posts/@id/edit", "/posts/@id", "/users");
  assertEquals(await near("/psots/7"), [
    '/posts/@id: the segment "psots" does not match "posts"',
    '/posts/@id/edit: the segment "psots" does not match "posts"',
  ]);
  assertEquals(await near("/abuot"), [
    '/about: the segment "abuot" does not match "about"',
  ]);
  const [edit] = await near("/posts/7/edti");
  assertStringIncludes(edit!, '"edti" does not match "edit"');
  assertEquals(await near("/x"), []);
});

Deno.test("the page of a 404 names the routes for which a segment is too long", async () => {
  const others = Array.from({ length: 200 }, (_, n) => `/page${n}/@a-@b/*/x`);
  const [only, ...more] = await nearRoutes(
    `/${"x-".repeat(3_000)}!`,
    ...others,
    "/@type-@slug-@id:[0-9]+",
    "/@id:[0-9]+",
  );
  assertStringIncludes(
    only!,
    "/@type-@slug-@id:[0-9]+: a segment of 6001 characters",
  );
  assertEquals(more, []);
});

/** Looks a path up, with all routes that pass and the methods of the path. */
function lookUp(router: Router, path: string): void {
  let match = firstMatch(router, path, "HEAD");
  for (; match; match = routesOf(router).next(match));
  routesOf(router).methods(new Path(path, false));
}

Deno.test("`Routes.first()` takes about as long among thousands of routes as among ten", async () => {
  const kinds: [(n: number) => string, string][] = [
    [(n) => `/page${n}`, "/page7"],
    [(n) => `/thing${n}/@id/x`, "/thing7/42/x"],
    [(n) => `/blog${n}(/@year(/@month))`, "/blog7/2024"],
    [(n) => `/files${n}/*`, "/files7/a/b"],
    [(n) => `/@name/of${n}`, "/x/of7"],
    [(n) => `/thing${n}`, "/other"],
  ];
  for (const [pattern, path] of kinds) {
    const timeAmong = async (length: number): Promise<number> => {
      const router = routerOf(...Array.from({ length }, (_, n) => pattern(n)));
      return await milliseconds(() => {
        for (let n = 0; n < 2_000; n++) firstMatch(router, path);
      });
    };
    const [few, many] = [await timeAmong(10), await timeAmong(3_000)];
    assert(
      many < few * 10 + 10,
      `${path}: ${few} ms, and ${many} among many`,
    );
  }
});

Deno.test("`Routes.first()` takes time in proportion to a hostile path", async () => {
  const router = routerOf(
    "/@a(/@b(/@c(/@d(/@e))))/end",
    "/*/a/*/a/*/a/*/b",
    "/*/@x-@y/*/@z/*/end",
    "/*/a(/*/a(/*/a))/*/x",
    "/@a-@b-@c-@d-@e.x",
    "/@a@b@c@d!",
    "/a(/a)(/a)(/a)(/a)(/a)/*/x",
    "/*/[a-z]+/*/@w:[a-z]+/*/q",
  );
  for (
    const shape of [
      "/a",
      "/",
      "a",
      "-",
      "/a-",
      "/%61",
      "a-.",
      "/a-a/a",
      "%C3%89",
    ]
  ) {
    const path = `/${shape.repeat(60_000 / shape.length)}`;
    const time = await milliseconds(() => lookUp(router, path));
    assert(time < 500, `${shape}: ${time} ms`); // what grows with the square takes many seconds
  }
});

Deno.test("`Routes.first()` reads a long segment once for hundreds of routes", async () => {
  const items = Array.from({ length: 200 }, (_, n) => `/item${n}-@id`);
  const passing = Array.from({ length: 500 }, () => "/@id");
  const router = routerOf(...items, ...passing, "/@id-x");
  const path = `/${encodeURI("É".repeat(1_300))}-X`;
  assertEquals(matches(router, "HEAD", path).length, 501);
  const time = await milliseconds(() => lookUp(router, path));
  assert(time < 50, `${time} ms`);
});

Deno.test("`Routes.first()` tells long segments apart that begin alike", () => {
  const start = "x".repeat(100);
  const router = routerOf(`/${start}a`, `/${start}b/c`, `/${start}c/`);
  const found = (path: string) =>
    firstMatch(router, path)
      ?.declaration.alias;
  assertEquals(found(`/${start}a`), "0");
  assertEquals(found(`/${start}A/`), "0");
  assertEquals(found(`/${start}b/c`), "1");
  assertEquals(found(`/${start}c`), "2");
  assertEquals(found(`/${start}d`), undefined);
  assertEquals(found(`/${start}`), undefined);
});

/** Expressions that need at most some million steps for 255 characters. */
const QUICK = [
  "[0-9]+",
  "[a-z0-9]+(?:-[a-z0-9]+)*",
  "\\d{4}-\\d{2}-\\d{2}",
  "[0-9]{4}[0-9]{2}[0-9]{2}",
  "v?\\d+(?:\\.\\d+){0,3}(?:-[\\w.]+)?",
  "[\\w.-]+\\.(?:jpg|png)",
  "(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z]{2,63}",
  "[^@]+\\@[^@]+\\.[a-z]+",
  "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{12}",
  "(?:en|fr)+",
  "(?=.*x).*y",
  "(?:a?){3}a{30}",
  ".*a.{10}",
  ".+-.+x",
  "a*b?a*",
  "\\cA+",
  "[a-z]+(?<!-.*)",
  "[a-z]+(?<!-)",
];

/** Expressions that need more, and the parts for which they are refused. */
const SLOW: readonly (readonly [expression: string, ...parts: string[]])[] = [
  ["(?:[a-z0-9]+-?)+", "(?:[a-z0-9]+-?)+"],
  ["(?:(?:(?:\\w?)+)+)*-", "(?:(?:\\w?)+)+"],
  ["x(?:a+)+y", "(?:a+)+"],
  ["(?:a*)*b", "(?:a*)*"],
  ["(?:a|ab|b)+", "(?:a|ab|b)+"],
  ["(?:a{1,2}){30}", "(?:a{1,2}){30}"],
  ["(?:a?){30}a{30}", "(?:a?){30}"],
  ["(?:.*,){11}P", "(?:.*,){11}"],
  ["[a-z]+[a-z]+[a-z]+", "[a-z]+", "[a-z]+", "[a-z]+"],
  ["[^/]+-\\D+-.+", "[^/]+", "\\D+", ".+"],
  ["\\w+(?<!a.*b.*)", "\\w+", ".*", ".*"],
];

Deno.test("`longestText()` bounds an expression that is slow in one case only", () => {
  // With case, "A" fits both parts; without, no character does.
  assert(longestText("[A-Z]+[^a-z]*") < 5_000);
  for (const expression of ["(?:[A-Z]|[^a-z])+x", "(?:a|(?-i:[^a]))+x"]) {
    assert(longestText(expression) < 255, expression);
  }
});

Deno.test("`longestText()` bounds an expression that reads back from each place", () => {
  for (const expression of ["[a-z]+(?<!-.*)", "(?:a(?<!b.*))*"]) {
    assert(longestText(expression) < 5_000, expression);
  }
  for (const expression of ["[a-z]+(?<!-)", "[a-z]+(?<!a.{0,10})"]) {
    assert(longestText(expression) > 100_000, expression);
  }
});

Deno.test("`route()` refuses an expression that is slow on 255 characters, naming what repeats", () => {
  for (const [expression, ...parts] of SLOW) {
    const { message } = assertThrows(
      () => routerOf(`/@p:${expression}`),
      SyntaxError,
      "in too many ways at ",
    );
    const named = parts.map((part) => `"${part}"`).join(" and ");
    assertStringIncludes(message, `repeats ${named}, which can match 255`);
  }
  const optional = () => routerOf(`/@p:${"a?".repeat(30)}`);
  assertThrows(
    optional,
    SyntaxError,
    "has an expression, which can match 255 characters in too many ways at 1: " +
      "make sure that no character fits both a repeated part and what follows it",
  );
  const three = () => routerOf("/@a-@b:[0-9-]+-@c:[a-z-]+");
  assertThrows(three, SyntaxError, 'repeats "@a" and "[0-9-]+" and "[a-z-]+"');
});

/** Expressions of which it would take seconds, or for ever, to tell whether they are slow. */
const COMPLEX = [
  "(?:".repeat(6) + "\\b" + "){64}".repeat(6),
  "\\p{L}{2}-{0,9}\\p{L}{0,9}[a-z]+?(?:\\p{L}{1,60}|[a-z]{2}[^a][bcd]?)",
  `(?:${Array.from({ length: 3_000 }, (_, n) => `a${n}`).join("|")})+`,
];

Deno.test("`route()` refuses an expression that is too complex for its running time to be estimated", () => {
  for (const expression of COMPLEX) {
    assertThrows(
      () => routerOf(`/@id/@p:${expression}`),
      SyntaxError,
      "has an expression at 5 that is too complex for its running time to be estimated: " +
        "use fewer repetitions, or check the value in the callback",
    );
  }
});

const ATOMS = "a [a-z] [^a] . \\d \\w - [aeiou] \\p{L} \\b".split(" ");
const QUANTIFIERS = "{2} {2,5} {0,9} {1,60} {64} * + ?".split(" ");

/** An expression of atoms and groups that repeat in every way, from a source of numbers below a limit. */
function someExpression(below: (limit: number) => number, depth = 3): string {
  const part = () => {
    const atom = depth > 0 && below(3) === 0
      ? `(?:${someExpression(below, depth - 1)}|${
        someExpression(below, depth - 1)
      })`
      : ATOMS[below(ATOMS.length)]!;
    const quantified = below(2) === 0 && atom !== "\\b";
    return atom + (quantified ? QUANTIFIERS[below(QUANTIFIERS.length)] : "");
  };
  return Array.from({ length: 1 + below(5) }, part).join("");
}

Deno.test("telling how slow an expression is takes a bounded number of steps", () => {
  let seed = 1;
  const below = (limit: number) => (seed = seed * 48_271 % 0x7fffffff) % limit;
  let refused = 0;
  for (let n = 0; n < 25; n++) {
    const expression = someExpression(below);
    const work = new Work();
    try {
      longestText(expression, work);
      assert(work.done <= 5_000_000, `${expression}: ${work.done} steps`);
    } catch (error) {
      if (!(error instanceof TooComplex)) throw error;
      refused++;
    }
  }
  assert(refused > 0);
});

Deno.test("`route()` accepts a quick expression, and tries it on long segments in little time", async () => {
  const shapes = ["-", "a", "-a", "x-", "1", "a.", "A1_", "a@a.", "aA.-"];
  for (const expression of QUICK) {
    const router = routerOf(`/@p:${expression}!`);
    for (const shape of shapes) {
      for (const length of [255, 2_000, 30_000]) {
        const path = `/${shape.repeat(length / shape.length)}?`;
        const time = await milliseconds(() => firstMatch(router, path));
        assert(
          time < 100,
          `${expression} on ${length} of ${shape}: ${time} ms`,
        );
      }
    }
  }
});

Deno.test("`Routes.first()` tries every expression on segments of any ordinary length", () => {
  const router = routerOf(
    "/@y:[0-9]{4}-@m:[0-9]{2}-@slug",
    "/@slug-@id:[0-9]+",
    "/@id:[0-9]+",
    "/post/@slug:[a-z0-9]+(?:-[a-z0-9]+)*",
    "/@year-@month-@slug:[a-z]+(?:-[a-z]+)*",
  );
  const found = (path: string) =>
    firstMatch(router, path)
      ?.declaration.alias;
  assertEquals(found(`/2024-05-${"x".repeat(60_000)}`), "0");
  assertEquals(found(`/${"x-".repeat(500)}1`), "1");
  assertEquals(found(`/${"7".repeat(60_000)}`), "2");
  assertEquals(found(`/post/${"my-".repeat(20_000)}post`), "3");
  assertEquals(found(`/${"a-".repeat(127)}b`), "4");
  assertEquals(found(`/${"x-".repeat(500)}!`), undefined);
});
