/** Tests forgotten awaits: the request waits for the framework's calls, and their errors are its own. */

import {
  Engine,
  HttpError,
  type UploadedFile,
  type View,
} from "@framework/core";
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
    await response.body?.cancel();
    assertEquals(response.status, 200);
    assertEquals(response.headers.get("x-saved"), "yes", String(make));
  }
});

Deno.test("the request waits for the calls that such calls make", async () => {
  const app = withCalls();
  const outer = app.map("outer", async () => {
    await later();
    app.save("inner");
  });
  app.route("/", () => void outer.outer());
  const { headers } = await visit(app, "/");
  assertEquals(headers.get("x-saved"), "inner");
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
    await response.body?.cancel();
    assertEquals(response.status, status, path);
  }
});

Deno.test("storing an upload that no code awaits is waited for, and its failure is the request's error", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${folder}/taken`, "");
  const app = new Engine();
  app.post("/@name", (name) => {
    (app.request().files.photo as UploadedFile).moveTo(`${folder}/${name}`);
    return "stored";
  });
  await logOf(async () => {
    for (const [name, status] of [["free", 200], ["taken", 500]] as const) {
      const body = new FormData();
      body.set("photo", new File(["pixels"], "me.png"));
      const response = await visit(app, `/${name}`, { method: "POST", body });
      await response.body?.cancel();
      assertEquals(response.status, status, name);
    }
  });
  assertEquals(await Deno.readTextFile(`${folder}/free`), "pixels");
  await Deno.remove(folder, { recursive: true });
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

Deno.test("a mapped `start` that does not await the default one has its response, and its error", async () => {
  const app = new Engine();
  app.map("start", () => void app.original("start")());
  app.route("/", () => later().then(() => "late"));
  app.route("/taken", async () => {
    await later();
    throw new HttpError(409, "taken");
  });
  assertEquals(await (await visit(app, "/")).text(), "late");
  const failed = await visit(app, "/taken");
  assertEquals(failed.status, 409);
  assertStringIncludes(await failed.text(), "taken");
});

Deno.test("`halt()` in a call that no code awaits ends the request, and is no error", async () => {
  const app = new Engine().map("check", async () => {
    await later();
    app.halt(403, "no");
  });
  app.route("/", () => {
    app.check();
    return "secret";
  });
  const log = await logOf(async () => {
    const response = await visit(app, "/");
    assertEquals([response.status, await response.text()], [403, "no"]);
  });
  assertEquals(log, []);
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
      await response.body?.cancel();
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
  assertEquals(log, [
    "Sent the response without waiting for: dawdle (over 10 s)",
  ]);
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
