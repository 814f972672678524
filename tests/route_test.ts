/** Tests the route object: as declared, and as the callback of a request gets it. */

import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { Engine, type Middleware, type Route, Router } from "@framework/core";
import { firstMatch } from "./routes.ts";

Deno.test("`Route` as declared has its pattern and no values", () => {
  const route = new Router().route("GET|POST a/@b", () => {}, false, "c");
  assertEquals(route.methods, ["GET", "POST"]);
  assertEquals([route.pattern, route.alias, route.splat], ["/a/@b", "c", ""]);
  assertEquals(route.params, {});
  assertEquals(route.regex.exec("/A/x")?.groups?.b, "x");
});

Deno.test("`methods` is a star for every method", () => {
  assertEquals(new Router().route("/", () => {}).methods, ["*"]);
});

Deno.test("`params` has every name, null for a part that is absent", () => {
  const router = new Router();
  router.route("/@a(/@b)", () => {});
  const route = firstMatch(router, "/x%2Fy")!
    .toRoute();
  assertEquals({ ...route.params }, { a: "x/y", b: null });
});

Deno.test("`params` takes a name such as __proto__ as data", () => {
  const router = new Router();
  router.route("/@__proto__/@constructor", () => {});
  const { params } = firstMatch(router, "/x/y")!
    .toRoute();
  assertEquals(Object.entries(params), [["__proto__", "x"], [
    "constructor",
    "y",
  ]]);
});

Deno.test("`Route` of a request shares nothing that can be changed", () => {
  const router = new Router();
  router.route("GET /@a", () => {});
  const match = firstMatch(router, "/x")!;
  const route = match.toRoute();
  route.methods.push("PUT");
  route.params.a = "changed";
  assertEquals(match.toRoute().methods, ["GET"]);
  assertEquals({ ...match.toRoute().params }, { a: "x" });
  assertEquals({ ...match.params }, { a: "x" });
});

Deno.test("`addMiddleware()` appends and returns the route", () => {
  const [first, second, third] = [
    () => {},
    { before() {} },
    class {
      after(): void {}
    },
  ];
  const router = new Router();
  let route: Route | undefined;
  router.group("/a", () => route = router.get("/b", () => {}), [first]);
  assertStrictEquals(route!.addMiddleware(second).addMiddleware(third), route);
  assertEquals(route!.middleware, [first, second, third]);
  assertEquals(router.get("/c", () => {}).middleware, []);
});

Deno.test("`addMiddleware()` throws for a value that is no middleware", () => {
  const route = new Router().get("/", () => {});
  class Neither {}
  for (
    const wrong of [null, 1, "x", {}, [], Neither, { before: 1 }, {
      after: null,
    }]
  ) {
    assertThrows(
      () => route.addMiddleware(wrong as Middleware),
      TypeError,
      "Cannot add middleware",
    );
  }
});

Deno.test("`addMiddleware()` throws on the route of a request", () => {
  const router = new Router();
  router.get("/", () => {});
  const route = firstMatch(router, "/")!
    .toRoute();
  assertThrows(() => route.addMiddleware(() => {}), Error, "being handled");
});

Deno.test("`regex` tells upper and lower case apart in a request that has set so", async () => {
  const app = new Engine();
  const route: Route = app.route(
    "/About",
    (): string => `${route.regex.test("/about")}`,
  );
  app.before("start", () => {
    if (app.request().query.exact) app.set("framework.case_sensitive", true);
  });
  for (
    const [path, expected] of [["/About", "true"], ["/About?exact=1", "false"]]
  ) {
    assertEquals(await (await app.fetch(path!)).text(), expected);
  }
});

Deno.test("`regex` tells upper and lower case apart where the application does", () => {
  const app = new Engine();
  const route = app.route("/about", () => {});
  assertEquals(route.regex.test("/About"), true);
  app.set("framework.case_sensitive", true);
  assertEquals(route.regex.test("/About"), false);
});
