/**
 * DESIGN 4: what the compiler knows of an application. A line below `@ts-expect-error` must not compile, every other
 * line must; what is called runs, too.
 */

import { assertEquals, assertThrows } from "@std/assert";
import {
  Engine,
  Framework,
  type HttpRequest,
  type HttpResponse,
  type Route,
} from "@framework/core";

/** Whether two types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends
  (<T>() => T extends B ? 1 : 2) ? true : false;

/** Compiles for a type that is true. */
function isTrue<_ extends true>(): void {}

class Users {
  constructor(readonly source: string) {}
}

Deno.test("`map()` and `register()` type what they add, by chaining", () => {
  const app = new Engine()
    .map("hello", (name: string, times = 1) => `Hello, ${name}!`.repeat(times))
    .register("users", Users, ["users.db"]);
  isTrue<Same<ReturnType<typeof app.hello>, string>>();
  assertEquals(app.hello("Ada"), "Hello, Ada!");
  assertEquals(app.users().source, "users.db");
  assertEquals(app.users(false).source, "users.db");
  // @ts-expect-error -- the parameter is a string
  app.hello(5);
  // @ts-expect-error -- the class has no such property
  app.users().name;
  // @ts-expect-error -- nothing of that name was mapped
  assertThrows(() => app.goodbye());
});

Deno.test("`get()` types settings, variables as asked for, and routes", () => {
  const app = new Engine();
  isTrue<Same<boolean | undefined, ReturnType<typeof debug>>>();
  function debug() {
    return app.get("framework.debug");
  }
  const name: string | undefined = app.get<string>("name");
  const unknown: unknown = app.get("name");
  const route: Route = app.get("/", () => "");
  assertEquals([name, unknown, route.pattern], [undefined, undefined, "/"]);
  // @ts-expect-error -- it is a boolean
  const wrong: string | undefined = app.get("framework.debug");
  assertEquals<unknown>(wrong, false);
});

Deno.test("`set()` takes no value of another type for a setting", () => {
  const app = new Engine();
  app.set("framework.debug", true);
  app.set({ "framework.hosts": ["a.test"] });
  app.set("framework.debug", null);
  app.set("debug", "yes");
  // @ts-expect-error -- a setting of type boolean
  assertThrows(() => app.set("framework.debug", "yes"), TypeError);
  // @ts-expect-error -- a setting of type boolean
  assertThrows(() => app.set({ "framework.debug": "yes" }), TypeError);
  // @ts-expect-error -- a setting of type number
  assertThrows(() => Framework.set("framework.body_limit", "8"), TypeError);
});

Deno.test("a misspelled name of a setting does not compile, and any other name does", () => {
  const app = new Engine();
  const name: string = "framework.debgu";
  app.set("frame", 1);
  app.set({ frame: 2, "framework.debug": null });
  assertEquals([app.get("frame"), app.get(name), app.has(name)], [
    2,
    undefined,
    false,
  ]);
  // @ts-expect-error -- did you mean "framework.debug"?
  app.get("framework.debgu");
  // @ts-expect-error -- did you mean "framework.debug"?
  app.has("framework.debgu");
  // @ts-expect-error -- did you mean "framework.debug"?
  assertThrows(() => app.set("framework.debgu", true), TypeError);
  // @ts-expect-error -- did you mean "framework.debug"?
  assertThrows(() => app.set({ "framework.debgu": true }), TypeError);
});

Deno.test("`before()` and `after()` type the parameters of the framework's methods", async () => {
  const app = new Engine();
  app.before("redirect", (params) => {
    isTrue<Same<typeof params, [url: string, code?: number | undefined]>>();
    params[1] = 307;
  });
  app.before("send", (params) => {
    isTrue<Same<typeof params, [response: Response]>>();
  });
  app.after("start", (params, output) => {
    isTrue<Same<typeof params, []>>();
    output.value = null;
  });
  app.before("error", (params) => {
    isTrue<Same<typeof params, [error: Error]>>();
  });
  app.map("mine", (text: string) => text).before("mine", (params) => {
    params[0] = params[0].toUpperCase();
  });
  app.route("/", () => app.redirect("/elsewhere"));
  const response = await app.fetch(new Request("http://localhost/"));
  assertEquals(response.status, 307);
});

Deno.test("both forms have methods of the same types", () => {
  type Some = "json" | "route" | "halt" | "render" | "get" | "original";
  const same: Pick<Engine, Some> = Framework;
  isTrue<Same<ReturnType<typeof Framework.request>, HttpRequest>>();
  isTrue<Same<ReturnType<typeof Framework.response>, HttpResponse>>();
  assertEquals(typeof same.json, "function");
  // @ts-expect-error -- the status is a number
  assertThrows(() => Framework.json({}, "201"));
  // @ts-expect-error -- there is no such type of tag
  assertThrows(() => Framework.etag("x", "wrong"));
});
