/** DESIGN 12, `router().check()`: which routes it warns of before a request comes. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { Engine } from "@framework/core";

/** The warnings for routes that are declared in this order. */
function check(...patterns: string[]): Promise<string[]> {
  const app = new Engine();
  for (const pattern of patterns) app.route<string>(pattern, () => {});
  return app.router().check();
}

/** The warning for a route that an earlier one hides. */
function warning(earlier: string, later: string): string {
  return `The route "${later}" can never be reached: "${earlier}" is declared earlier and matches all of its paths`;
}

Deno.test("`check()` names each route that can never be reached, and the one before it", async () => {
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
    ["/a(/b)", "/a(/b)"],
    ["/a/*/z", "/a/b/z"],
    ["/a/*/z", "/a/z"],
    ["/About", "/about"],
  ];
  for (const [earlier, later] of hidden) {
    const warnings = await check(earlier, "/other/x/y/z", later);
    assertEquals(warnings, [warning(earlier, later)]);
  }
});

Deno.test("`check()` says nothing of routes that can be reached, or are behind one that ends in a star", async () => {
  const reachable: string[][] = [
    ["/posts/new", "/posts/@id"],
    ["GET /posts", "/posts"],
    ["GET /posts", "HEAD /posts"],
    ["/@id:[0-9]+", "/@slug"],
    ["/blog/@y", "/blog(/@y(/@m))"],
    ["*", "/a", "/a/*", "/a/b"],
    ["/files/*", "/files/x"],
    ["/a/b/z", "/a/*/z"],
    ["/@a/z", "/*/z"],
  ];
  for (const patterns of reachable) {
    assertEquals(await check(...patterns), [], patterns.join());
  }
});

Deno.test("`check()` tells upper and lower case apart where the application does", async () => {
  const app = new Engine();
  for (const path of ["/X", "/x"]) app.route<string>(path, () => "");
  assertEquals(await app.router().check(), [warning("/X", "/x")]);
  app.set("framework.case_sensitive", true);
  assertEquals(await app.router().check(), []);
});

Deno.test('`check()` names each `"Class->method"` that does not load', async () => {
  const folder = await Deno.makeTempDir();
  const source = "export class Posts { show() {} }";
  await Deno.writeTextFile(`${folder}/Posts.ts`, source);
  const app = new Engine();
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
  app.mount("/shop", inner);
  app.get("/shop/cart", () => "");
  app.get("/shops", () => "");
  assertEquals(await app.router().check(), [
    `Below "/shop": ${warning("GET /@page", "GET /about")}`,
    warning("/shop/*", "GET /shop/cart"),
  ]);
});
