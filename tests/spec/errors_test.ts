/** Tests the section "Errors" of the specification, with `error`, `notFound` and their settings, on both forms. */

import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { type App, call, onBothForms, visit } from "../support/forms.ts";
import { logOf } from "../support/log.ts";

function fail(): never {
  throw new TypeError("boom");
}

async function failLater(): Promise<never> {
  await Promise.resolve();
  fail();
}

/** Where an error can come up while a request is handled. */
const PLACES: Readonly<Record<string, (app: App) => unknown>> = {
  "a callback": (app) => app.route("/", fail),
  "an asynchronous callback": (app) => app.route("/", failLater),
  "a filter of `start`": (app) => app.before("start", fail),
  "middleware": (app) => app.route("/", () => "page").addMiddleware(fail),
  "a mapped method": (app) => {
    app.map("method", fail);
    app.route("/", () => call(app, "method"));
  },
  "a mapped method that is not awaited": (app) => {
    app.map("method", failLater);
    app.route("/", () => void call(app, "method"));
  },
  "a mapped `notFound`": (app) => app.map("notFound", fail),
  "a registered class": (app) => {
    const Broken = class {
      constructor() {
        fail();
      }
    };
    app.register("broken", Broken);
    app.route("/", () => call(app, "broken"));
  },
};

onBothForms("`error()` gets any error of a request", async (app, t) => {
  for (const [place, declare] of Object.entries(PLACES)) {
    await t.step(`in ${place}`, async () => {
      app.init();
      app.map("error", (error: Error) => `${error.name}: ${error.message}`);
      declare(app);
      const response = await visit(app, "/");
      assertEquals(response.status, 500);
      assertEquals(await response.text(), "TypeError: boom");
    });
  }
});

onBothForms(
  "the default `error()` sends a 500 with some information",
  async (app) => {
    app.route("/", fail);
    const response = await visit(app, "/");
    assertEquals(response.status, 500);
    const text = await response.text();
    assertStringIncludes(text, "500 Internal Server Error");
    assertStringIncludes(text, "boom");
  },
);

onBothForms("`error()` can be called with an error", async (app) => {
  app.route("/", () => {
    app.error(new Error("called"));
    return "ignored";
  });
  const response = await visit(app, "/");
  assertEquals(response.status, 500);
  const text = await response.text();
  assertStringIncludes(text, "called");
  assertEquals(text.includes("ignored"), false);
});

onBothForms(
  "`notFound()` is invoked when no route matches, and sends a 404 with a simple message",
  async (app) => {
    app.route("/home", () => "home");
    const response = await visit(app, "/nowhere");
    assertEquals(response.status, 404);
    assertStringIncludes(await response.text(), "404 Not Found");
  },
);

onBothForms("errors are not logged by default", async (app) => {
  app.route("/", fail);
  assertEquals(app.get("framework.log_errors"), false);
  assertEquals(await logOf(() => visit(app, "/")), []);
});

onBothForms(
  "`framework.log_errors` logs each error once, with its request and stack",
  async (app) => {
    app.set("framework.log_errors", true);
    app.route("/boom", fail);
    const [line, ...more] = await logOf(() => visit(app, "/boom?token=1"));
    assertMatch(line!, /^\S+ GET \/boom TypeError: boom\n +at /);
    assertEquals(more, []);
  },
);

onBothForms(
  "`framework.handle_errors` false rejects with the error itself, and `error` does not run",
  async (app) => {
    assertEquals(app.get("framework.handle_errors"), true);
    app.set("framework.handle_errors", false);
    const error = new Error("boom");
    app.map("error", () => "never");
    app.route("/now", () => {
      throw error;
    });
    app.route("/later", () => Promise.reject(error));
    for (const path of ["/now", "/later"]) {
      const rejected = await assertRejects(() => visit(app, path));
      assertEquals(rejected === error, true, path);
    }
  },
);
