/** DESIGN 12, `router().check()`: which routes it warns of before a request comes. */

import { assertEquals } from "@std/assert";
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
    ["GET /@any", "HEAD /posts"],
    ["/a", "/a/"],
    ["/@a:[0-9]+", "/@b:[0-9]+"],
    ["/@a-@b", "/x-y"],
    ["/blog(/@y(/@m))", "/blog/@year"],
    ["/a/*/z", "/a/b/z"],
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
    ["/@id:[0-9]+", "/@slug"],
    ["/blog/@y", "/blog(/@y(/@m))"],
    ["*", "/a", "/a/*", "/a/b"],
    ["/files/*", "/files/x"],
    ["/a/b/z", "/a/*/z"],
  ];
  for (const patterns of reachable) {
    assertEquals(await check(...patterns), [], patterns.join());
  }
});
