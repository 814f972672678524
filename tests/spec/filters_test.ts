/** Filters: SPEC.md, "Events", on both forms. */

import { assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import { type App, call, onBothForms, visit } from "../support/forms.ts";

/** Maps a method that returns the parameters it was given. */
function mapEcho(app: App): void {
  app.map("echo", (...params: unknown[]) => params.join(" "));
}

onBothForms(
  "filters change the parameters that the method gets, and the text it returns",
  (app) => {
    app.map("hello", (name: string) => `Hello, ${name}!`);
    app.before("hello", (params) => {
      params[0] = "Fred";
    });
    app.after("hello", (_params, output) => {
      output.value += " Have a nice day!";
    });
    assertEquals(call(app, "hello", "Bob"), "Hello, Fred! Have a nice day!");
  },
);

onBothForms(
  "filters run before and after the method, in the order of declaration",
  (app) => {
    const log: string[] = [];
    const logged = (text: string) => () => void log.push(text);
    app.map("work", logged("work"));
    app.after("work", logged("after 1"));
    app.before("work", logged("before 1"));
    app.before("work", logged("before 2"));
    app.after("work", logged("after 2"));
    call(app, "work");
    assertEquals(log, ["before 1", "before 2", "work", "after 1", "after 2"]);
  },
);

onBothForms(
  "filters of a default method run, whoever calls it",
  async (app) => {
    app.before("json", (params) => void (params[0] = { wrapped: params[0] }));
    app.after("notFound", () => void app.response().header("x-seen", "yes"));
    app.route("/called", () => app.json([1]));
    app.route("/returned", () => [1]);
    for (const path of ["/called", "/returned"]) {
      assertEquals(await (await visit(app, path)).json(), { wrapped: [1] });
    }
    assertEquals((await visit(app, "/none")).headers.get("x-seen"), "yes");
  },
);

onBothForms("filters of `start` run around every request", async (app) => {
  const log: string[] = [];
  app.before("start", () => void log.push(`before ${app.request().url}`));
  app.after("start", () => void log.push("after"));
  app.route("/a", () => void log.push("a"));
  await visit(app, "/a");
  await (await visit(app, "/b")).body?.cancel();
  assertEquals(log, ["before /a", "a", "after", "before /b", "after"]);
});

onBothForms(
  "a before filter that returns false ends the before filters; the method runs",
  (app) => {
    mapEcho(app);
    app.before("echo", (params) => (params.push("1"), false));
    app.before("echo", (params) => params.push("2"));
    app.after("echo", (_params, output) => void (output.value += " 3"));
    assertEquals(call(app, "echo", "0"), "0 1 3");
  },
);

onBothForms(
  "an after filter that returns false ends the after filters",
  (app) => {
    mapEcho(app);
    app.after("echo", (_params, output) => (output.value += " 1", false));
    app.after("echo", (_params, output) => void (output.value += " 2"));
    assertEquals(call(app, "echo", "0"), "0 1");
  },
);

onBothForms("only `false` itself ends a chain", (app) => {
  mapEcho(app);
  for (const result of [0, "", null, undefined, NaN, true]) {
    app.before("echo", (params) => (params.push("x"), result));
  }
  assertEquals(call(app, "echo"), "x x x x x x");
});

onBothForms("`false` of an asynchronous filter ends its chain", async (app) => {
  mapEcho(app);
  app.before("echo", () => Promise.resolve(false));
  app.before("echo", (params) => params.push("never"));
  assertEquals(await call(app, "echo", "only"), "only");
});

onBothForms(
  "a synchronous method with synchronous filters returns at once",
  (app) => {
    mapEcho(app);
    app.before("echo", () => {});
    app.after("echo", () => {});
    assertEquals(call(app, "echo", "now"), "now");
  },
);

onBothForms(
  "an asynchronous filter or method makes the call a promise, and the order stays",
  async (app) => {
    const parts = ["before", "method", "after"] as const;
    for (const slow of parts) {
      const log: string[] = [];
      const part = (name: string) => () =>
        name === slow
          ? Promise.resolve().then(() => void log.push(name))
          : void log.push(name);
      app.map(`slow_${slow}`, part("method"));
      app.before(`slow_${slow}`, part("before"));
      app.after(`slow_${slow}`, part("after"));
      const outcome = call(app, `slow_${slow}`);
      assertInstanceOf(outcome, Promise);
      await outcome;
      assertEquals(log, [...parts]);
    }
  },
);

onBothForms(
  "what a filter throws reaches the caller, and skips the rest",
  (app) => {
    const log: string[] = [];
    app.map("work", () => log.push("work"));
    app.before("work", () => {
      throw new RangeError("too far");
    });
    app.after("work", () => log.push("after"));
    assertThrows(() => call(app, "work"), RangeError, "too far");
    assertEquals(log, []);
  },
);

onBothForms("a filter of an unknown name is an error with near ones", (app) => {
  app.map("hello", () => 0);
  app.register("users", Map);
  const table = [
    ["helo", 'there is no such method: did you mean "hello"?'],
    ["zzzzzz", 'Cannot add a filter before "zzzzzz": there is no such method'],
    ["users", 'Cannot add a filter before "users": there is no such method'],
  ] as const;
  for (const [name, message] of table) {
    assertThrows(() => app.before(name, () => {}), TypeError, message);
  }
});
