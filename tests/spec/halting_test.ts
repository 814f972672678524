/** Tests behaviour rule 7 of the specification: `halt()` and `stop()`, on both forms. */

import { assertEquals, assertMatch } from "@std/assert";
import { type App, call, onBothForms, visit } from "../support/forms.ts";

/** Lets the event loop take a turn. */
function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** Status and body of the response to a GET of `/`. */
async function get(app: App): Promise<[status: number, text: string]> {
  const response = await visit(app, "/");
  return [response.status, await response.text()];
}

onBothForms("`halt()` discards the content so far and stops", async (app) => {
  let hasGoneOn = false;
  app.route("/", () => {
    app.response().status(201).write("so far");
    app.halt();
    hasGoneOn = true;
  });
  assertEquals(await get(app), [200, ""]);
  assertEquals(hasGoneOn, false);
});

onBothForms("`halt()` sends a status and a message", async (app) => {
  app.route("/", () => {
    app.response().write("so far");
    app.halt(403, "Staff only");
  });
  assertEquals(await get(app), [403, "Staff only"]);
});

onBothForms("`halt()` keeps headers and cookies", async (app) => {
  app.route("/", () => {
    app.response().header("x-a", "1").cookie("b", "2")
      .header("content-type", "text/plain");
    app.halt(503, "Closed");
  });
  const { headers } = await visit(app, "/");
  assertEquals(headers.get("x-a"), "1");
  assertEquals(headers.get("content-type"), "text/plain");
  assertEquals(headers.getSetCookie().length, 1);
});

onBothForms("`stop()` outputs the current response", async (app) => {
  let hasGoneOn = false;
  app.route("/", () => {
    app.response().status(201).header("x-a", "1").write("so far");
    app.stop();
    hasGoneOn = true;
  });
  const response = await visit(app, "/");
  assertEquals([response.status, await response.text()], [201, "so far"]);
  assertEquals([response.headers.get("x-a"), hasGoneOn], ["1", false]);
});

onBothForms("`stop()` sends a status", async (app) => {
  app.route("/", () => {
    app.response().write("so far");
    app.stop(202);
  });
  assertEquals(await get(app), [202, "so far"]);
});

/** Where a request can be ended; each place declares what serves `/`, and `never` must not run. */
const PLACES: Readonly<
  Record<string, (app: App, end: () => void, never: () => void) => void>
> = {
  "a callback, after an await": (app, end, never) => {
    app.route("/", async () => {
      await later();
      end();
      never();
    });
  },
  "a mapped method": (app, end, never) => {
    app.map("finish", end);
    app.route("/", () => {
      call(app, "finish");
      never();
    });
  },
  "a filter before `start`": (app, end, never) => {
    app.before("start", end);
    app.route("/", never);
  },
  "middleware": (app, end, never) => {
    app.route("/", never).addMiddleware(end);
  },
};

for (const [place, declare] of Object.entries(PLACES)) {
  onBothForms(`${place} may end the request`, async (app) => {
    const ends: readonly [() => void, number, string][] = [
      [() => app.halt(403, "no"), 403, "no"],
      [() => app.stop(202), 202, "so far"],
    ];
    for (const [end, status, text] of ends) {
      app.init();
      let hasGoneOn = false;
      const endAfterText = () => {
        app.response().write("so far");
        end();
      };
      declare(app, endAfterText, () => void (hasGoneOn = true));
      assertEquals(await get(app), [status, text]);
      assertEquals(hasGoneOn, false);
    }
  });
}

onBothForms("`halt()` and `stop()` can be filtered", async (app) => {
  const ran: string[] = [];
  for (const name of ["halt", "stop"] as const) {
    app.before(name, (params) => {
      params[0] = 418;
    });
    app.after(name, () => void ran.push(name));
  }
  app.route("/@name", (name) => {
    app.response().write("so far");
    if (name === "halt") app.halt(403, "no");
    app.stop(202);
  });
  for (const [name, text] of [["halt", "no"], ["stop", "so far"]]) {
    const response = await visit(app, `/${name}`);
    assertEquals([response.status, await response.text()], [418, text]);
  }
  assertEquals(ran, ["halt", "stop"]);
});

onBothForms(
  "`halt()` and `stop()` can be overridden, and still stop",
  async (app) => {
    let hasGoneOn = false;
    app.map("halt", (code: number, text: string) => {
      app.response().status(code).write(`<${text}>`);
    });
    app.map("stop", () => void app.response().write(", the end"));
    app.route("/@name", (name) => {
      app.response().write("so far");
      if (name === "halt") app.halt(403, "no");
      else app.stop();
      hasGoneOn = true;
    });
    const halted = await visit(app, "/halt");
    assertEquals([halted.status, await halted.text()], [403, "<no>"]);
    const stopped = await visit(app, "/stop");
    assertEquals(await stopped.text(), "so far, the end");
    assertEquals(hasGoneOn, false);
  },
);

onBothForms(
  "`halt()` refuses a status that no response has, and ends nothing",
  async (app) => {
    app.route("/", () => {
      try {
        app.halt(1000, "x");
      } catch (error) {
        return String(error);
      }
    });
    const [status, text] = await get(app);
    assertEquals(status, 200);
    assertMatch(text, /^RangeError: .*status "1000"/);
  },
);
