/**
 * What the compiler must and must not accept as the callback of a route. Each line that it must not
 * accept is expected to be an error, so that checking this file is the test.
 */

import { assertEquals } from "@std/assert";
import type { RouteArguments } from "../src/routing/arguments.ts";
import type { Route } from "../src/routing/route.ts";
import { Router } from "../src/routing/router.ts";

/** Whether two types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends
  (<T>() => T extends B ? 1 : 2) ? true : false;

/** Fails to compile unless every element is true. */
type AllTrue<Checks extends true[]> = Checks;

type Loose = (string | null)[];
type Maybe = string | null;

/** A string for each name, or null where a part is optional. */
export type Read = AllTrue<[
  Same<RouteArguments<"/">, []>,
  Same<RouteArguments<"*">, []>,
  Same<RouteArguments<"GET|POST /a/@b">, [string]>,
  Same<RouteArguments<"/@year-@month.@ext">, [string, string, string]>,
  Same<RouteArguments<"/blog(/@y(/@m))">, [Maybe, Maybe]>,
  Same<RouteArguments<"(/@a)/@b(/@c)/@d">, [Maybe, string, Maybe, string]>,
  Same<RouteArguments<"/@id:[0-9]{3}">, [string]>,
  Same<RouteArguments<"/@a:(?:x|y)/@b">, [string, string]>,
  Same<RouteArguments<"/@a:(x|y)(/@b)">, [string, Maybe]>,
  Same<RouteArguments<"/(?:x|y)/@a">, [string]>,
  Same<RouteArguments<"/@a:[(@b]+/@c">, [string, string]>,
  Same<RouteArguments<"/@mail:[a-z]+@[a-z]+">, [string]>,
  Same<RouteArguments<"/@_a1/@B">, [string, string]>,
  Same<RouteArguments<"/a" | "/@b">, [] | [string]>,
]>;

/** Anything where the compiler cannot read the pattern. */
export type Unread = AllTrue<[
  Same<RouteArguments<string>, Loose>,
  Same<RouteArguments<`/${string}/@a`>, Loose>,
  Same<RouteArguments<"/\\(@a">, Loose>,
  Same<RouteArguments<"/@a:[\\]@b]">, Loose>,
]>;

Deno.test("`route()` accepts every callback that can be called", () => {
  const router = new Router();
  class Page {
    show(_id: string): void {}
  }
  router.route("/@id", (id) => id.length);
  router.route("/@id", () => {});
  router.route("/@id", (id: string) => Promise.resolve(id));
  router.route("/@id", (id: string | null) => id);
  router.route("/@id", (...all: string[]) => all);
  // deno-lint-ignore no-explicit-any -- what an untyped callback takes
  router.route("/@id", (...all: any[]) => all);
  router.route("/@id", (id: unknown) => id);
  router.route("/a(/@b)", (b) => b?.length);
  router.route("/@a(/@b)", (a: string, b: string | null) => a + b);
  router.route("/@a", (a, route) => a + route.pattern, true);
  router.route("/@a", (a: string, route: Route) => a + route.splat, true);
  router.route("/a", (route) => route.methods, true);
  router.route("/@id", [Page, "show"]);
  router.route("/@id", [new Page(), "show"]);
  router.route("/@id", "Page->show");
  router.route("/@id", "Page::show");
  router.get("/a/@b", (b) => b.length, false, "alias");
  router.post("/a/@b", (b, route) => b + route.alias, true);
  router.group("/@lang", (group) => group.put("/@id", (id) => id?.length));
  const pattern: string = "/@a";
  router.route(pattern, (a: string) => a);
  router.route(pattern, (a, b) => [a, b]);
  router.route(`/${pattern}/@b`, (a: string, b: string) => a + b);
  assertEquals(router.routes().length, 22);
});

/** Never called: the compiler reads it. */
export function refused(router: Router): void {
  // @ts-expect-error -- an optional value can be null
  router.route("/a(/@b)", (b: string) => b);
  // @ts-expect-error -- a value is a string
  router.route("/@id", (id: number) => id);
  // @ts-expect-error -- there is one value
  router.route("/@id", (id: string, more: string) => id + more);
  // @ts-expect-error -- the route is not passed
  router.route("/@id", (id: string, route: Route) => id + route);
  // @ts-expect-error -- the route comes last
  router.route("/@id", (route: Route, id: string) => id + route, true);
  // @ts-expect-error -- there is no such property
  router.route("/@id", (id) => id.lenght);
  // @ts-expect-error -- neither of the two forms
  router.route("/@id", "show");
  // @ts-expect-error -- a method is missing
  router.route("/@id", [Date]);
  // @ts-expect-error -- a callback is missing
  router.route("/@id");
  // @ts-expect-error -- an optional value can be null
  router.get("(/@a)/b", (a) => a.length);
  // @ts-expect-error -- an array is not middleware
  router.group("/a", () => {}, [["before"]]);
}
