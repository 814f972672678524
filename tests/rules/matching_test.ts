/** DESIGN 5, "Matching" and "HEAD"; DESIGN 4, rows `route`, `group`, `getUrl`, `Route` and `resource`. */

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { Engine, type Route, type UrlParameters } from "@framework/core";
import { visit } from "../support/forms.ts";

/** Declares a route with a pattern that the compiler cannot read. */
function declare(pattern: string): Route {
  return new Engine().route(pattern, () => {});
}

/** What a pattern reads from a path: the values and, when there is one, the splat; undefined when it does not match. */
async function read(
  pattern: string,
  path: string,
): Promise<unknown> {
  const app = new Engine();
  app.route(pattern, (...passed: unknown[]) => {
    const { splat } = passed.pop() as Route;
    return splat === "" ? passed : [...passed, { splat }];
  }, true);
  const response = await visit(app, path);
  const body = await response.text();
  return response.status === 200 ? JSON.parse(body) : undefined;
}

/** Pattern, path, and the values that are read, or undefined for no match. */
const MATCHES: Record<string, [string, string, unknown][]> = {
  "literals as they stand": [
    ["/", "/", []],
    ["/about", "/aboutus", undefined],
    ["/a.b", "/a.b", []],
    ["/a.b", "/axb", undefined],
    ["/Übung", "/%C3%BCbung", []],
    ["/\\@home", "/@home", []],
    ["/\\(x\\)", "/(x)", []],
    ["/\\*", "/*", []],
    ["/\\:id/\\{id}", "/:id/{id}", []],
  ],
  "with one trailing slash or without": [
    ["/about", "/about/", []],
    ["/about/", "/about", []],
    ["/about", "/about//", undefined],
  ],
  "segments that are decoded once": [
    ["/@a", "/a%20b%2Fc%25", ["a b/c%"]],
    ["/@a", "/%2525", ["%25"]],
    ["/@a", "/a+b", ["a+b"]],
    ["/@a", "/%F0%9F%90%99", ["🐙"]],
    ["/a/b", "/a%2Fb", undefined],
  ],
  "no empty segment by a parameter": [
    ["/post/@id", "/post/", undefined],
    ["/@a/@b", "/x//y", undefined],
    ["/@x:.*", "/", undefined],
    ["/@a-@b", "/-b", undefined],
  ],
  "several parameters in a segment": [
    ["/@slug-@id", "/my-post-12", ["my-post", "12"]],
    ["/@name.@ext", "/a.tar.gz", ["a.tar", "gz"]],
    ["/v@major", "/V2", ["2"]],
  ],
  "expressions within one segment": [
    ["/@lang:en|fr/x", "/en/x", ["en"]],
    ["/@lang:(?:en|fr)(-@b)", "/en-GB", ["en", "GB"]],
    ["/@w:\\p{Lu}+", "/ÄÖ", ["ÄÖ"]],
    ["/@x:.+", "/a/b", undefined],
    ["/@y:[0-9]{4}-@m:[0-9]{2}", "/2024-05", ["2024", "05"]],
    ["/(?!admin)@page", "/admin2", undefined],
  ],
  "quantifiers behind literals": [
    ["/colou?r", "/color", []],
    ["/colou?r", "/colour", []],
    ["/a+b", "/aaab", []],
    ["/a{2}b", "/aab", []],
  ],
  "optional groups": [
    ["(/@lang)/about", "/de/about", ["de"]],
    ["/a(/b)(/@c)", "/a/b", [null]],
    ["/a(/b)(/@c)", "/a/b/x", ["x"]],
    ["/@a(.@b)", "/x.y", ["x", "y"]],
  ],
  "stars": [
    ["*", "/a/b", [{ splat: "a/b" }]],
    ["/blog/*", "/blog", []],
    ["/blog/*", "/blog/a/b/", [{ splat: "a/b/" }]],
    ["/f/*", "/f/a%20b/c", [{ splat: "a b/c" }]],
    ["/a/*/b", "/a/b", []],
    ["/a/*/b", "/a/x/y/b", [{ splat: "x/y" }]],
    ["/a/*/@b", "/a/x/y", ["y", { splat: "x" }]],
  ],
};

for (const [what, rows] of Object.entries(MATCHES)) {
  Deno.test(`a pattern matches ${what}`, async () => {
    for (const [pattern, path, values] of rows) {
      assertEquals(await read(pattern, path), values, `${pattern} on ${path}`);
    }
  });
}

Deno.test("`splat` never has a segment `..`, however it was encoded", async () => {
  const app = new Engine();
  app.route("/f/*", (route) => `<${route.splat}>`, true);
  for (const path of ["/f/..%2Fx", "/f/a/%2e%2e%2Fb", "/f/x%5c..%5cy"]) {
    assertEquals((await visit(app, path)).status, 400, path);
  }
  const response = await visit(app, "/f/a..b/...%2Fc");
  assertEquals(await response.text(), "<a..b/.../c>");
});

Deno.test("a pattern's own expression is tried on a segment of at most 255 characters", async () => {
  assertEquals(await read("/@id:[0-9]+", `/${"7".repeat(255)}`), [
    "7".repeat(255),
  ]);
  assertEquals(await read("/@id:[0-9]+", `/${"7".repeat(256)}`), undefined);
  const long = "x".repeat(60_000);
  assertEquals(await read("/@text", `/${long}`), [long]);
});

Deno.test("a long path is matched by no search that grows with its square", async () => {
  // Grown with the square, these would take minutes.
  const app = new Engine();
  const patterns = [
    "/@a(/@b(/@c(/@d(/@e))))/end",
    "/*/a/*/a/*/a/*/b",
    "/*/@x-@y/*/@z/*/end",
    "/@a-@b-@c-@d-@e.x",
    "/@a@b@c@d!",
    "/*/[a-z]+/*/@w:[a-z]+/*/q",
  ];
  for (const pattern of patterns) app.route<string>(pattern, () => "");
  for (const shape of ["/a", "/", "a", "-", "/a-", "/%61", "a-.", "%C3%89"]) {
    const path = `/${shape.repeat(60_000 / shape.length)}`;
    assertEquals((await visit(app, path)).status, 404, shape);
  }
});

/** Wrong patterns, and the end of each message. */
const MISTAKES: [string, string][] = [
  ["/a(", "has an unclosed parenthesis at 2"],
  ["/@a/x/@a", 'uses the name "a" a second time at 6'],
  ["/@id:[a/b]", 'has "[a/b]" inside an expression at 5'],
  ["/@", 'has a misplaced "@" at 1; did you mean \\@?'],
  ["/a|b", 'has a misplaced "|" at 2; did you mean \\|?'],
  ["/ab*", "has a * that is not a whole segment at 3"],
  ["/c++", 'has a misplaced "+" at 3; did you mean \\+?'],
  ["GET", "has no path after its methods at 3"],
  ["GTE /x", 'has the unknown method "GTE" at 0; did you mean GET?'],
];

Deno.test("`route()` quotes a mistake in a pattern, with its position", () => {
  for (const [pattern, problem] of MISTAKES) {
    const { message } = assertThrows(() => declare(pattern), SyntaxError);
    const start = `Cannot make a route: the pattern "${pattern}"`;
    assertEquals(message, `${start} ${problem}`);
  }
});

Deno.test("`route()` refuses an expression that JavaScript cannot read", () => {
  for (const pattern of ["/@a:[z-a]", "/@a:+", "/@a:\\q", "/(?<n>"]) {
    assertThrows(() => declare(pattern), SyntaxError, pattern);
  }
});

/** Notations of other frameworks, and ours. */
const NOTATIONS: [string, string][] = [
  ["/user/:id", "did you mean @id?"],
  ["/user/:id?", "did you mean (/@id)?"],
  ["/user/@id?", "did you mean (/@id)?"],
  ["/user/{id}", "did you mean @id?"],
  ["/user/<id>", "did you mean @id?"],
  ["/user/[id]", "did you mean @id?"],
  ["/user/@id{[0-9]+}", "did you mean @id:[0-9]+?"],
  ["/user/@id(\\d+)", "did you mean @id:\\d+?"],
  ["/files/**", "did you mean *?"],
  ["/files/[...path]", "did you mean *?"],
];

for (const [pattern, meant] of NOTATIONS) {
  Deno.test(`\`route()\` refuses "${pattern}" and names the notation that is meant`, () => {
    assertThrows(() => declare(pattern), SyntaxError, meant);
  });
}

Deno.test("`route()` refuses an expression in which a quantifier repeats a part that repeats", () => {
  const expressions = [
    ...["(a+)+", "(?:a+)+b", "(?:a*)*b", "(?:a+){2,}", "x(?:a+)+y"],
    ...["(?:[a-z0-9]+-?)+", "(?:(?:\\w+)?b)*", "(?:.*,)+P"],
  ];
  for (const expression of expressions) {
    for (const pattern of [`/@x:${expression}`, `/(?:${expression})`]) {
      assertThrows(
        () => declare(pattern),
        SyntaxError,
        `Cannot make a route: the pattern "${pattern}"`,
      );
    }
  }
  const slug = "[a-z0-9]+(?:-[a-z0-9]+)*";
  const plain = ["(?:en|fr)+", "[a+*]+", "(?:\\+|-)+", "a+b+", slug];
  for (const expression of plain) {
    declare(`/@x:${expression}`);
  }
});

Deno.test("`route()` refuses what is neither true nor false for `passRoute`, since middleware there guards nothing", () => {
  for (const given of [[() => false], () => false, 1, "alias"]) {
    assertThrows(
      () => new Engine().get("/a", () => "a", given as never),
      TypeError,
      "passRoute must be true or false",
    );
  }
});

Deno.test("`route()` refuses the alias of another path, and takes it for another method", () => {
  const app = new Engine();
  app.route("GET /a", () => {}, false, "a");
  app.route("POST /a", () => {}, false, "a");
  assertThrows(() => app.route("/b", () => {}, false, "a"), Error, '"a"');
});

Deno.test("a route that passes keeps what was written, `notFound()` drops it", async () => {
  const app = new Engine();
  app.route("*", () => {
    app.response().header("x-seen", "yes").write("kept ");
    return true;
  });
  app.route("/page", () => "page");
  assertEquals(await (await visit(app, "/page")).text(), "kept page");
  const response = await visit(app, "/none");
  assertEquals([response.status, response.headers.get("x-seen")], [404, "yes"]);
  assertEquals((await response.text()).includes("kept"), false);
});

Deno.test("a callback passes on only for `true`", async () => {
  for (const value of ["yes", {}, [], undefined, null, false]) {
    const app = new Engine();
    app.route("/", () => value);
    app.route("/", () => "next");
    assertEquals(
      (await (await visit(app, "/")).text()).includes("next"),
      false,
    );
  }
});

Deno.test("HEAD uses the GET route: the same headers, no body", async () => {
  const app = new Engine();
  app.route("GET /x", () => {
    app.response().header("x-own", "yes");
    return "text";
  });
  const response = await visit(app, "/x", { method: "HEAD" });
  assertEquals([response.status, await response.text()], [200, ""]);
  assertEquals(response.headers.get("x-own"), "yes");
  const get = await visit(app, "/x");
  await get.body?.cancel();
  response.headers.delete("content-length"); // the server adds it to GET
  assertEquals([...response.headers], [...get.headers]);
});

Deno.test("HEAD passes each guard that GET passes, though a route behind it names HEAD", async () => {
  const app = new Engine();
  app.route("GET /api/*", () => app.halt(401));
  app.route("GET|HEAD /api/data", () => "secret");
  for (const method of ["GET", "HEAD"]) {
    assertEquals((await visit(app, "/api/data", { method })).status, 401);
  }
});

Deno.test("OPTIONS gets 204 with the allowed methods when no route takes it", async () => {
  const app = new Engine();
  app.route("GET /x", () => "");
  app.route("POST /x", () => "");
  app.route("OPTIONS /own", () => "own");
  const response = await visit(app, "/x", { method: "OPTIONS" });
  assertEquals(response.status, 204);
  assertEquals(response.headers.get("allow"), "GET, POST, HEAD, OPTIONS");
  const init = { method: "OPTIONS" };
  assertEquals(await (await visit(app, "/own", init)).text(), "own");
  assertEquals((await visit(app, "/y", init)).status, 404);
});

Deno.test("another method is a 404 with `Allow`, and a 405 under `framework.method_not_allowed`", async () => {
  const app = new Engine();
  app.route("GET /x", () => "");
  for (const status of [404, 405]) {
    const response = await visit(app, "/x", { method: "PUT" });
    assertEquals(response.status, status);
    assertEquals(response.headers.get("allow"), "GET, HEAD, OPTIONS");
    app.set("framework.method_not_allowed", true);
  }
  const unknown = await visit(app, "/y", { method: "PUT" });
  assertEquals([unknown.status, unknown.headers.get("allow")], [404, null]);
});

Deno.test("`Route` of a request shares nothing that the request can change", async () => {
  const app = new Engine();
  const seen: Route[] = [];
  const declared = app.get("/@a", (_a, route) => {
    seen.push(route);
    route.methods.push("PUT");
    route.params.a = "changed";
  }, true);
  await visit(app, "/x");
  await visit(app, "/y");
  assertEquals(seen[0] === seen[1], false);
  assertEquals(declared.methods, ["GET"]);
  assertEquals((await visit(app, "/x", { method: "PUT" })).status, 404);
});

Deno.test("`group()` joins prefix and pattern with one slash", () => {
  const app = new Engine();
  app.group("/api/", (api) => {
    api.route("", () => {});
    api.route("GET|POST users", () => {});
    api.group("v1", (v1) => {
      v1.delete("*", () => {});
      v1.route("(/@lang)/x/", () => {});
    });
  });
  const declared = app.router().routes()
    .map(({ methods, pattern }) => `${methods} ${pattern}`);
  assertEquals(declared, [
    "* /api",
    "GET,POST /api/users",
    "DELETE /api/v1/*",
    "* /api/v1(/@lang)/x/",
  ]);
});

Deno.test("`group()` refuses a prefix that is no string, and an asynchronous callback", () => {
  const app = new Engine();
  for (const prefix of [undefined, null, 5, {}]) {
    const group = () => app.group(prefix as never, () => {});
    assertThrows(group, TypeError, "prefix");
  }
  const group = () => app.group("/a", async () => {});
  assertThrows(group, TypeError, 'the group "/a"');
  assertThrows(() => app.group("GET /a", () => {}), SyntaxError, "GET");
});

Deno.test("the router of a group passes the parameters of its prefix first", async () => {
  const app = new Engine();
  app.group("/accounts/@account", (accounts) => {
    accounts.group("/items", (items) => {
      items.get("/@item", (...values: unknown[]) => values);
    });
  });
  const response = await visit(app, "/accounts/7/items/3");
  assertEquals(await response.json(), ["7", "3"]);
});

Deno.test("a route of `app` in a group is refused where its callback names some, but not all parameters", () => {
  const app = new Engine();
  app.group("/accounts/@account", () => {
    const { message } = assertThrows(
      () => app.get("/items/@item", (item) => item),
      TypeError,
    );
    assertStringIncludes(message, "/accounts/@account/items/@item");
    assertStringIncludes(message, "router.get(");
    app.get("/none/@item", () => "");
    app.get("/rest/@item", (...values: unknown[]) => values);
    app.get(
      "/all/@item",
      ((account: string, item: string) => account + item) as never,
    );
  });
});

Deno.test("a group's router and its resources refuse a callback that names some, but not all parameters", () => {
  const app = new Engine();
  app.group("/accounts/@account", (router) => {
    const remove = (item: string) => item;
    assertThrows(
      () => router.delete("/items/@item", remove),
      TypeError,
      "takes 1 of 2 values",
    );
    const wrong = { show: (id: string) => id };
    const only = ["show"] as const;
    assertThrows(
      () => router.resource("/items", wrong, { only }),
      TypeError,
      "takes 1 of 2 values",
    );
    const right = { show: (account: string, id: string) => account + id };
    router.resource("/items", right, { only });
  });
});

/** Pattern, values, and the path that `getUrl()` makes of them. */
const URLS: [string, UrlParameters, string][] = [
  ["/", {}, "/"],
  [
    "/post/@slug",
    { slug: "C/C++ & 100%?" },
    "/post/C%2FC%2B%2B%20%26%20100%25%3F",
  ],
  ["/blog(/@y(/@m))", {}, "/blog"],
  ["/blog(/@y:[0-9]+)(/p-@p)", { y: null, p: 3 }, "/blog/p-3"],
  ["/@y:[0-9]{4}-@m", { y: "2024", m: "5" }, "/2024-5"],
  ["/ü/@a:é", { a: "é" }, "/%C3%BC/%C3%A9"],
  ["/files/*", {}, "/files"],
  ["/files/*", { "*": "a b/c" }, "/files/a%20b/c"],
];

/** The URL that a pattern makes of values. */
function urlOf(pattern: string, values: UrlParameters): string {
  const app = new Engine();
  app.route(pattern, () => {}, false, "it");
  return app.getUrl("it", values);
}

Deno.test("`getUrl()` encodes values and leaves out optional parts", () => {
  for (const [pattern, values, url] of URLS) {
    assertEquals(urlOf(pattern, values), url, pattern);
  }
});

Deno.test("`getUrl()` throws for a value that is missing, or has no name", () => {
  const rows: [string, Record<string, unknown>, string][] = [
    ["/@a/@b", { b: "x" }, 'the value of "a" is missing'],
    ["/x(/@a(/@b))", { b: "x" }, 'the value of "a" is missing'],
    ["/a/[0-9]+", {}, '"[0-9]+" has no name'],
  ];
  for (const [pattern, values, problem] of rows) {
    assertThrows(() => urlOf(pattern, values as never), TypeError, problem);
  }
});

Deno.test("`getUrl()` throws for a value that its route would not read back", () => {
  const rows: [string, Record<string, string>][] = [
    ["/@a", { a: "" }],
    ["/@a", { a: ".." }],
    ["/@a", { a: "\ud800" }],
    ["/@a:[0-9]+", { a: "x" }],
    ["/@a-@b", { a: "1", b: "2-3" }],
    ["/f/*", { "*": "a/../b" }],
    ["/*", { "*": "/other.example" }],
  ];
  for (const [pattern, values] of rows) {
    assertThrows(() => urlOf(pattern, values), RangeError);
  }
});

Deno.test("`getUrl()` puts the base in front and appends a query, in which a list repeats its name", async () => {
  const app = new Engine();
  app.set("framework.base_url", "/shop");
  const query = () => [app.request().queryAll("tag"), app.request().query.word];
  app.route("/search(/@kind)", query, false, "search");
  const values = { tag: ["a b", 2, null], word: "é&=", page: undefined };
  const url = app.getUrl("search", { kind: "new" }, values);
  assertEquals(url, "/shop/search/new?tag=a+b&tag=2&word=%C3%A9%26%3D");
  assertEquals(await (await app.fetch(url)).json(), [["a b", "2"], "é&="]);
  assertEquals(app.getUrl("search", {}, { tag: [] }), "/shop/search");
});

/** A controller with every action. */
const POSTS = Object.fromEntries(
  ["index", "create", "store", "show", "edit", "update", "destroy"]
    .map((action) => [action, (id = "") => `${action} ${id}`]),
);

Deno.test("`resource()` declares seven routes with their aliases", async () => {
  const app = new Engine();
  app.router().resource("/admin/posts", POSTS);
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
  for (const [method, path, expected] of rows) {
    assertEquals(await (await visit(app, path, { method })).text(), expected);
  }
  assertEquals(app.getUrl("posts.edit", { id: 7 }), "/admin/posts/7/edit");
});

Deno.test("`resource()` declares the actions of `only`, under the aliases of `as`", () => {
  const app = new Engine();
  const only = ["index", "show"] as const;
  app.router().resource("/posts", POSTS, { only });
  app.group("/admin", (admin) => {
    admin.resource("/posts", POSTS, { only, as: "admin.posts" });
  });
  const aliases = app.router().routes().map(({ alias }) => alias);
  const names = ["posts.index", "posts.show"];
  assertEquals(aliases, [...names, ...names.map((name) => `admin.${name}`)]);
  assertEquals(app.getUrl("admin.posts.show", { id: 7 }), "/admin/posts/7");
});

Deno.test("a route that sets a status of 400 or above still passes on", async () => {
  const app = new Engine();
  app.route("/*", () => {
    app.response().status(404);
    return true;
  });
  app.route("/a", () => "found");
  const response = await app.fetch("/a");
  assertEquals([response.status, await response.text()], [404, "found"]);
});
