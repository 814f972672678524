/** Tests `router().check()`: which routes it warns of before a request comes. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Engine, Router } from "@framework/core";
import { milliseconds } from "./clock.ts";

/** The warnings for routes that are declared in this order. */
function check(...patterns: string[]): Promise<string[]> {
  const router = new Router();
  for (const pattern of patterns) router.route<string>(pattern, () => {});
  return router.check();
}

/** An earlier route, and a later one that it hides. */
const hidden: [earlier: string, later: string][] = [
  ["/posts/@id", "/posts/new"],
  ["/posts/@id", "GET /posts/@slug:[a-z]+"],
  ["GET|POST /posts", "POST /posts"],
  ["GET /@any", "HEAD /posts"],
  ["/a", "/a/"],
  ["/@a:[0-9]+", "/@b:[0-9]+"],
  ["/@n:[0-9]+", "/2024"],
  ["/@a-@b", "/x-y"],
  ["/blog(/@y(/@m))", "/blog/@year"],
  ["/a/*/b", "/a/*/b"],
  ["/a(/b)", "/a(/b)"],
  ["/a/*/z", "/a/b/z"],
  ["/a/*/z", "/a/z"],
  ["/*/b/*/z", "/a/b/c/@d/z"],
  ["/About", "/about"],
  ["/@a:[a-z]+/É", "/N/é"],
];

/** Routes that can all be reached. */
const reachable: string[][] = [
  ["/posts/new", "/posts/@id"],
  ["GET /posts", "/posts"],
  ["GET /posts", "HEAD /posts"],
  ["GET /posts", "GET|HEAD /posts"],
  ["/@id:[0-9]+", "/@slug"],
  ["/blog/@y", "/blog(/@y(/@m))"],
  ["/@a:[^N]+", "/n"],
  ["*", "/a", "/a/*", "/a/b"],
  ["/files/*", "/files/x"],
  ["/a(/*)", "/a/b"],
  ["/@a:.+-@b:.+", "/@a-@b"],
  ["/a/b/z", "/a/*/z"],
  ["/@a/z", "/*/z"],
];

Deno.test("`check()` names each route that can never be reached, and the one before it", async () => {
  for (const [earlier, later] of hidden) {
    assertEquals(await check(earlier, "/other/x/y/z", later), [
      `The route "${later}" can never be reached: "${earlier}" is declared earlier and matches all of its paths`,
    ]);
  }
});

Deno.test("`check()` says nothing of routes that can be reached, or behind one that ends in a star", async () => {
  for (const patterns of reachable) {
    assertEquals(await check(...patterns), [], patterns.join());
  }
});

/** All lists of up to a number of these texts. */
function listsOf(texts: readonly string[], most: number): string[][] {
  if (most === 0) return [[]];
  const shorter = listsOf(texts, most - 1);
  const longest = shorter.filter(({ length }) => length === most - 1);
  return [
    ...shorter,
    ...longest.flatMap((list) => texts.map((text) => [...list, text])),
  ];
}

Deno.test("`check()` warns of a route exactly when an earlier one takes all of its paths", async () => {
  const lists = [
    ...listsOf(["a", "b", "@", "*"], 2),
    ...listsOf(["a", "@", "*"], 3).filter(({ length }) => length === 3),
  ];
  const patterns = lists.map((segments) =>
    `/${segments.map((text, n) => text === "@" ? `@p${n}` : text).join("/")}`
  );
  // every path of up to four segments; "c" stands in no pattern, and only a star takes ""
  const paths = listsOf(["a", "b", "c", ""], 4).map((segments) =>
    `http://localhost/${segments.map((text) => `${text}/`).join("")}`
  );
  const taken = new Map<string, Set<string>>();
  for (const pattern of patterns) {
    const app = new Engine();
    app.route<string>(pattern, () => {});
    const found = await Promise.all(
      paths.map(async (path) => (await app.fetch(new URL(path))).status),
    );
    taken.set(pattern, new Set(paths.filter((_, n) => found[n] === 200)));
  }
  for (const earlier of patterns.filter((one) => !one.endsWith("*"))) {
    for (const later of patterns) {
      const isHidden = taken.get(later)!.isSubsetOf(taken.get(earlier)!);
      const warnings = await check(earlier, later);
      assertEquals(warnings.length, isHidden ? 1 : 0, `${earlier}, ${later}`);
    }
  }
});

Deno.test("`check()` compares a route with few of thousands that begin alike", async () => {
  const timeAmong = async (length: number): Promise<number> => {
    const routes = Array.from({ length }, (_, n) => `/api/v1/item${n}`);
    return await milliseconds(async () =>
      assertEquals(await check(...routes), [])
    );
  };
  const [few, many] = [await timeAmong(250), await timeAmong(5_000)];
  assert(many < few * 200 + 200, `${few} ms, and ${many} for 20 times more`); // comparing all takes 400 times longer
});

Deno.test("`check()` tells upper and lower case apart where the application does", async () => {
  const inner = new Engine();
  const app = new Engine();
  for (const each of [inner, app]) {
    for (const path of ["/X", "/x", "/@a:[^N]+/b", "/n/b"]) {
      each.route<string>(path, () => "");
    }
  }
  app.mount("/inner", inner);
  const hidden = (later: string, earlier: string) =>
    `The route "${later}" can never be reached: "${earlier}" is declared earlier and matches all of its paths`;
  const inOneCase = hidden("/n/b", "/@a:[^N]+/b");
  const inAny = hidden("/x", "/X");
  const below = (text: string) => `Below "/inner": ${text}`;
  assertEquals(await app.router().check(), [inAny, below(inAny)]);
  app.set("framework.case_sensitive", true);
  assertEquals(await app.router().check(), [inOneCase, below(inAny)]);
  inner.set("framework.case_sensitive", true);
  assertEquals(await app.router().check(), [inOneCase, below(inOneCase)]);
});

Deno.test('`check()` names each `"Class->method"` that does not load', async () => {
  const app = new Engine();
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(
    `${folder}/Posts.ts`,
    "export class Posts { show() {} }",
  );
  app.path(folder);
  app.route("/a/@id", "Posts->show");
  app.route("/b/@id", "Posts->shwo");
  app.route("/c/@id", "Pots::show");
  const [method, type, ...more] = await app.router().check();
  await Deno.remove(folder, { recursive: true });
  assertStringIncludes(method!, 'The route "/b/@id" cannot be called');
  assertStringIncludes(method!, 'did you mean "show"?');
  assertStringIncludes(type!, 'The route "/c/@id" cannot be called');
  assertEquals(more, []);
});

Deno.test("`check()` knows that a mounted application takes every path below its prefix", async () => {
  const inner = new Engine();
  inner.get("/@page", () => "");
  inner.get("/about", () => "");
  const app = new Engine();
  app.group("/shop", (router) => router.mount("/eu", inner));
  app.mount("/api", () => new Response(""));
  app.get("/shop/eu/cart", () => "");
  app.get("/shop/us", () => "");
  app.get("/api/v1(/@x)/*", () => "");
  inner.mount("/again", app); // a circle
  assertEquals(await app.router().check(), [
    'Below "/shop/eu": The route "GET /about" can never be reached: "GET /@page" is declared earlier and matches all of its paths',
    'The route "GET /shop/eu/cart" can never be reached: "/shop/eu/*" is declared earlier and matches all of its paths',
    'The route "GET /api/v1(/@x)/*" can never be reached: "/api/*" is declared earlier and matches all of its paths',
  ]);
});
