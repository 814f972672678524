/** Tests `router().check()`: which routes it warns of before a request comes. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { Engine, Router } from "@framework/core";

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
  ["/a", "/a/"],
  ["/@a:[0-9]+", "/@b:[0-9]+"],
  ["/@n:[0-9]+", "/2024"],
  ["/@a-@b", "/x-y"],
  ["/blog(/@y(/@m))", "/blog/@year"],
  ["/a/*/b", "/a/*/b"],
  ["/a(/b)", "/a(/b)"],
];

/** Routes that can all be reached. */
const reachable: string[][] = [
  ["/posts/new", "/posts/@id"],
  ["GET /posts", "/posts"],
  ["GET /posts", "HEAD /posts"],
  ["GET /posts", "GET|HEAD /posts"],
  ["/@id:[0-9]+", "/@slug"],
  ["/blog/@y", "/blog(/@y(/@m))"],
  ["/About", "/about"],
  ["/@a:[^N]+", "/n"],
  ["*", "/a", "/a/*", "/a/b"],
  ["/files/*", "/files/x"],
  ["/a(/*)", "/a/b"],
  ["/@a:.+-@b:.+", "/@a-@b"],
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
