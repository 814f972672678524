/** Tests forgotten awaits: the request waits for the framework's calls, and their errors are its own. */

import { Engine, HttpError, type View } from "@framework/core";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { secondsOf } from "../support/clock.ts";
import { visit } from "../support/forms.ts";
import { logOf } from "../support/log.ts";

/** Lets the event loop take some turns. */
async function later(turns = 1): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    await new Promise((resolve) => setTimeout(resolve));
  }
}

/** An application with calls that take a while: one sets a header, the other one fails. */
function withCalls() {
  const app = new Engine();
  return app.map("save", async (text: string) => {
    await later(3);
    app.response().header("x-saved", text);
  }).map("fail", async (message: string) => {
    await later(3);
    throw new RangeError(message);
  });
}

/** What a callback returns beside a call that it does not await. */
const RETURNED: Readonly<Record<string, () => unknown>> = {
  nothing: () => {},
  text: () => "fine",
  object: () => ({ fine: true }),
  response: () => new Response("fine"),
};

Deno.test("the request waits for calls that no code awaits, whatever the callback returns", async () => {
  const app = withCalls();
  let make: () => unknown;
  app.route("/", () => {
    app.save("yes");
    return make() as string;
  });
  for (make of Object.values(RETURNED)) {
    const response = await visit(app, "/");
    assertEquals(response.status, 200);
    assertEquals(response.headers.get("x-saved"), "yes", String(make));
  }
});

Deno.test("a rejected call that no code has caught is the request's error, whatever the callback returns", async () => {
  const app = withCalls();
  app.map("error", (error: Error) => `${error.name}: ${error.message}`);
  let make: () => unknown;
  const callback = () => {
    app.fail("disk full");
    return make() as string;
  };
  app.route("/", callback);
  app.route("/guarded", callback).addMiddleware(() => {});
  await logOf(async () => {
    for (make of Object.values(RETURNED)) {
      for (const path of ["/", "/guarded"]) {
        const response = await visit(app, path);
        const text = await response.text();
        assertEquals([response.status, text], [500, "RangeError: disk full"]);
      }
    }
  });
});

Deno.test("a rejected call that code has caught is no error, however late it does", async () => {
  const app = withCalls();
  app.route("/later", async () => {
    const failing = app.fail("disk full");
    await later(6);
    return await failing.catch((error: Error) => `caught ${error.message}`);
  });
  app.route("/beside", () => {
    app.fail("disk full").catch(() => {});
    return "fine";
  });
  const log = await logOf(async () => {
    assertEquals(
      await (await visit(app, "/later")).text(),
      "caught disk full",
    );
    assertEquals(await (await visit(app, "/beside")).text(), "fine");
  });
  assertEquals(log, []);
});

Deno.test("the rejected call of one request is no other request's error", async () => {
  const app = withCalls();
  app.route("/@name", async (name) => {
    if (name === "bad") app.fail("disk full");
    await later(6);
    return name;
  });
  await logOf(async () => {
    const responses = await Promise.all(
      ["good", "bad", "fine"].map((name) => visit(app, `/${name}`)),
    );
    for (const { body } of responses) await body?.cancel();
    assertEquals(responses.map(({ status }) => status), [200, 500, 200]);
  });
});

Deno.test("`validate()` that no code awaits lets nothing invalid through", async () => {
  const app = new Engine();
  const schema = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: async (value: unknown) => {
        await later();
        const isValid = Object(value).name === "Ada";
        return isValid ? { value } : { issues: [{ message: "unknown" }] };
      },
    },
  } as const;
  app.route("/", () => {
    app.request().validate(schema, "query");
    return "valid";
  });
  for (const [path, status] of [["/", 422], ["/?name=Ada", 200]] as const) {
    const response = await visit(app, path);
    assertEquals(response.status, status, path);
  }
});

Deno.test("a template that fails in `render()` or `view().fetch()`, which no code awaits, is the request's error", async () => {
  const app = new Engine();
  app.set("framework.views.path", "no/such/folder");
  app.map("error", (error: Error) => error.message.split(":")[0]);
  app.get("/render", () => void app.render("missing"));
  app.get("/fetch", () => void (app.view() as View).fetch("missing"));
  await logOf(async () => {
    for (const path of ["/render", "/fetch"]) {
      const text = await (await visit(app, path)).text();
      assertEquals(text, 'Cannot find the template "missing"', path);
    }
  });
});

/** What may decide, by a call that it does not await, whether the route `/` runs. */
const DECIDING: Readonly<
  Record<string, (app: Engine, check: () => void, secret: () => void) => void>
> = {
  "middleware": (app, check, secret) => {
    app.route("/", secret).addMiddleware(check);
  },
  "a route that passes": (app, check, secret) => {
    app.route("/*", () => {
      check();
      return true;
    });
    app.route("/", secret);
  },
  "a filter of `start`": (app, check, secret) => {
    app.before("start", check);
    app.route("/", secret);
  },
};

/** What such a call may do, and the status of the response. */
const REFUSALS: Readonly<
  Record<string, readonly [status: number, (app: Engine) => unknown]>
> = {
  "throws": [401, () => {
    throw new HttpError(401);
  }],
  "halts": [403, (app) => app.halt(403)],
  "redirects": [303, (app) => app.redirect("/login")],
};

for (const [what, declare] of Object.entries(DECIDING)) {
  Deno.test(`${what} waits for its calls before it goes on`, async () => {
    for (const [how, [status, refuse]] of Object.entries(REFUSALS)) {
      const app = new Engine();
      let hasRun = false;
      const checked = app.map("check", async () => {
        await later(3);
        refuse(app);
      });
      declare(app, () => void checked.check(), () => void (hasRun = true));
      const response = await visit(app, "/");
      assertEquals([response.status, hasRun], [status, false], how);
    }
  });
}

Deno.test("a route that passes once the response is sealed lets no other one run", async () => {
  const app = new Engine();
  let hasRun = false;
  app.route("/*", () => {
    app.redirect("/login");
    return true;
  });
  app.route("/", () => void (hasRun = true));
  assertEquals([(await visit(app, "/")).status, hasRun], [303, false]);
});

Deno.test("waiting ends after `framework.wait_timeout`, and what did not settle is named", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const app = new Engine()
    .map("dawdle", () => promise)
    .map("finish", () => new Promise((done) => setTimeout(done, 2_000)));
  app.route("/", () => {
    app.dawdle();
    app.finish();
    return "sent";
  });
  let [seconds, text] = [0, ""];
  const log = await logOf(async () => {
    seconds = await secondsOf(async () => {
      text = await (await visit(app, "/")).text();
    });
  });
  resolve();
  assertEquals([seconds, text], [10, "sent"]);
  assertEquals(log.length, 1);
  assertStringIncludes(log[0]!, "did not finish within 10 s (dawdle)");
});

Deno.test("a method that responds and never ends is an error after `framework.wait_timeout`", async () => {
  const app = new Engine();
  app.map("json", () => new Promise(() => {}));
  app.route("/", () => void app.json({}));
  let [seconds, status] = [0, 0];
  const log = await logOf(async () => {
    seconds = await secondsOf(async () => {
      status = (await visit(app, "/")).status;
    });
  });
  assertEquals([seconds, status], [10, 500]);
  assertEquals(log, []); // the program's own request has got the message
});

Deno.test("a rejection after the response is a line in the log, and ends no process", async () => {
  const app = new Engine();
  const { promise, resolve } = Promise.withResolvers<void>();
  app.route("/", () => {
    promise.then(() => Promise.reject(new Error("boom")));
    return "sent";
  });
  const log = await logOf(async () => {
    assertEquals(await (await visit(app, "/")).text(), "sent");
    resolve();
    await later(3); // Deno reports a rejection before the second turn
  });
  assertEquals(log.length, 1);
  assertMatch(log[0]!, /^Error in work that was not awaited: Error: boom/);
});
