/**
 * DESIGN 4, row `route` and "A route callback": what the compiler accepts as the callback of a route and as its result.
 * A line that must not compile stands below `@ts-expect-error`, so that checking this file is the test.
 */

import { assertEquals } from "@std/assert";
import {
  Engine,
  type Route,
  type RouteArguments,
  type Router,
} from "@framework/core";

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
  Same<RouteArguments<"/@a:[(@b]+/@c">, [string, string]>,
]>;

/** Anything where the compiler cannot read the pattern. */
export type Unread = AllTrue<[
  Same<RouteArguments<string>, Loose>,
  Same<RouteArguments<`/${string}/@a`>, Loose>,
  Same<RouteArguments<"/\\(@a">, Loose>,
]>;

Deno.test("`route()` accepts every callback that can be called", () => {
  const router = new Engine().router();
  class Page {
    show(_id: string): void {}
  }
  router.route("/@id", (id) => id.trim());
  router.route("/@id", () => {});
  router.route("/@id", (id: string) => Promise.resolve(id));
  router.route("/@id", (id: string | null) => id);
  router.route("/@id", (...all: string[]) => all);
  // deno-lint-ignore no-explicit-any -- what an untyped callback takes
  router.route("/@id", (...all: any[]) => all);
  router.route("/a(/@b)", (b) => b?.trim());
  router.route("/@a(/@b)", (a: string, b: string | null) => a + b);
  router.route("/@a", (a, route) => a + route.pattern, true);
  router.route("/a", (route) => route.methods, true);
  router.route("/@id", [Page, "show"]);
  router.route("/@id", [new Page(), "show"]);
  router.route("/@id", "Page->show");
  router.route("/@id", "Page::show");
  router.get("/a/@b", (b) => b.trim(), false, "alias");
  router.post("/a/@b", (b, route) => b + route.alias, true);
  const pattern: string = "/@a";
  router.route(pattern, (a: string) => a);
  router.route(pattern, (a, b) => [a, b]);
  assertEquals(router.routes().length, 18);
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
  // @ts-expect-error -- neither of the two forms
  router.route("/@id", "show");
  // @ts-expect-error -- a method is missing
  router.route("/@id", [Date]);
  // @ts-expect-error -- an optional value can be null
  router.get("(/@a)/b", (a) => a.length);
}

/** Never called: the compiler accepts each result, since it can be sent. */
export function sendable(router: Router): void {
  interface Post {
    readonly title: string;
  }
  router.get("/", () => "text");
  router.get("/", () => {});
  router.get("/@a", (a) => a === "x");
  router.get("/@a(/@b)", (a, b) => b === null ? undefined : [a, { b }]);
  router.get("/", (): Post | undefined => ({ title: "x" }));
  router.get("/", async (): Promise<Post[]> => await Promise.resolve([]));
  router.get("/", () => new Date());
  router.get("/", () => new Response());
  router.get("/", () => new ReadableStream<Uint8Array>());
  router.get("/", async function* () {
    yield await Promise.resolve("x");
  });
  router.get("/", (): never => {
    throw new Error("never returns");
  });
  router.get("/", (): unknown => 1);
  router.get("/", (): Promise<unknown> => Promise.resolve(1));
}

/** Never called: the compiler refuses each result, since it cannot be sent. */
export function unsendable(router: Router): void {
  // @ts-expect-error -- a number may be meant as a status
  router.get("/", () => 404);
  // @ts-expect-error -- nor one that comes later
  router.get("/", async () => await Promise.resolve(404));
  // @ts-expect-error -- a function was not called
  router.get("/", () => () => "x");
  // @ts-expect-error -- JSON would drop its entries
  router.get("/", () => new Map([["a", 1]]));
  const load = (): Promise<string> => Promise.resolve("ada");
  // @ts-expect-error -- a member was not awaited
  router.get("/", () => ({ user: load() }));
  // @ts-expect-error -- nor an item
  router.get("/", () => [load()]);
}

/** Never called: the compiler knows what `json()` takes. */
export function encodable(app: Engine): void {
  interface Post {
    readonly title: string;
    readonly text?: string | null;
  }
  const posts: readonly Post[] = [];
  const known: unknown = posts;
  app.json(posts);
  app.json({ posts, known, at: new Date(), f: JSON.parse("1") }, 201);
  app.jsonp([1, { a: 1 }], "callback", 200);
  // @ts-expect-error -- it was not awaited
  app.json(Promise.resolve(1));
  // @ts-expect-error -- a member was not awaited
  app.json({ posts: Promise.resolve(posts) });
  // @ts-expect-error -- an item was not awaited
  app.jsonp([Promise.resolve(1)]);
}
