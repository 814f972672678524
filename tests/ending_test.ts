/** Tests the calls that end a request or seal its response, wherever they are made. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { type App, call, onBothForms, onEngine, visit } from "./forms.ts";

/** The calls, each with the status and body that it sends wherever it is made after `write("before")`. */
const CALLS: Record<string, [(app: App) => unknown, number, string]> = {
  redirect: [(app) => app.redirect("/there"), 303, ""],
  "redirect with a code": [(app) => app.redirect("/there", 301), 301, ""],
  halt: [(app) => app.halt(403, "halted"), 403, "halted"],
  "halt without more": [(app) => app.halt(), 200, ""],
  stop: [(app) => app.stop(), 200, "before"],
  "stop with a code": [(app) => app.stop(202), 202, "before"],
  json: [(app) => app.json({ a: 1 }), 200, '{"a":1}'],
  "json with a code": [(app) => app.json([], 201), 201, "[]"],
  jsonp: [(app) => app.jsonp(1), 200, "call(1);"],
  etag: [(app) => app.etag("v1"), 304, ""],
  lastModified: [(app) => app.lastModified(0), 304, ""],
};

/** Writes, calls, and then does what must change nothing. */
function tries(app: App, finish: (app: App) => unknown): void {
  app.response().write("before");
  finish(app);
  app.response().status(299).write("after").clear();
  app.json("after", 299);
  app.redirect("/after");
}

/** Where a call can be made; each place declares what serves `/`, and gives `never` what must not run. */
const PLACES: Record<
  string,
  (app: App, finish: (app: App) => unknown, never: () => void) => void
> = {
  "a handler": (app, finish) => {
    app.route("/", () => tries(app, finish));
  },
  "a handler, after an await": (app, finish) => {
    app.route("/", async () => {
      await later();
      tries(app, finish);
    });
  },
  "a handler, inside try and catch": (app, finish) => {
    app.route("/", () => {
      try {
        tries(app, finish);
      } catch {
        app.response().write("caught");
      }
      return "returned";
    });
  },
  "a handler that passes on": (app, finish) => {
    app.route("/", () => {
      tries(app, finish);
      return true;
    });
    app.route("/", () => "next");
  },
  "a function that is not awaited": (app, finish) => {
    app.route("/", async () => {
      const work = (async () => {
        await later();
        tries(app, finish);
      })();
      await Promise.allSettled([work]);
    });
  },
  "a mapped method": (app, finish) => {
    app.map("finish", () => tries(app, finish));
    app.route("/", () => {
      call(app, "finish");
    });
  },
  "a mapped asynchronous method that is not awaited": (app, finish, never) => {
    app.map("finish", async () => {
      await later();
      tries(app, finish);
      never();
    });
    app.before("finish", later);
    app.route("/", () => {
      call(app, "finish");
    });
  },
  "a filter before `start`": (app, finish, never) => {
    app.before("start", () => tries(app, finish));
    app.route("/", never);
  },
  "an asynchronous filter before `start`": (app, finish, never) => {
    app.before("start", async () => {
      await later();
      tries(app, finish);
    });
    app.route("/", never);
  },
  "a filter after `start`": (app, finish) => {
    app.after("start", () => tries(app, finish));
    app.route("/", () => {});
  },
  "a filter before a method": (app, finish) => {
    app.map("method", () => {});
    app.before("method", () => tries(app, finish));
    app.route("/", () => {
      call(app, "method");
    });
  },
  "middleware before": (app, finish, never) => {
    app.route("/", never).addMiddleware(() => tries(app, finish));
  },
  "asynchronous middleware before": (app, finish, never) => {
    app.route("/", never).addMiddleware({
      async before() {
        await later();
        tries(app, finish);
      },
    });
  },
  "middleware after": (app, finish) => {
    app.route("/", () => {}).addMiddleware({
      after: () => tries(app, finish),
    });
  },
};

for (const [name, [finish, status, body]] of Object.entries(CALLS)) {
  onEngine(
    `\`${name}\` sends the same from wherever it is called`,
    async (app) => {
      for (const [place, declare] of Object.entries(PLACES)) {
        app.init();
        let ran = false;
        // What ends the request by throwing must not let an asynchronous method go on.
        const throws = !/^(redirect|json)/.test(name);
        declare(app, finish, () => {
          ran ||= throws || !place.includes("mapped");
        });
        const response = await visit(app, "/?jsonp=call", {
          headers: {
            ...(name === "etag" ? { "if-none-match": `"v1"` } : {}),
            ...(name === "lastModified"
              ? { "if-modified-since": "Thu, 01 Jan 1970 00:00:00 GMT" }
              : {}),
          },
        });
        const got = [response.status, await response.text(), ran];
        assertEquals(got, [status, body, false], place);
      }
    },
  );
}

function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

onBothForms(
  "`halt()` drops what was written and keeps the headers",
  async (app) => {
    app.route("/", () => {
      app.response().header("x-a", "1").cookie("b", "2").write("dropped");
      app.halt(403, "Staff only");
    });
    const response = await visit(app, "/");
    assertEquals(await response.text(), "Staff only");
    assertEquals(response.headers.get("x-a"), "1");
    assertEquals(response.headers.getSetCookie().length, 1);
  },
);

onEngine("`halt()` keeps the content type that was set", async (app) => {
  app.route("/@code", (code) => {
    app.response().header("content-type", "text/plain");
    app.halt(Number(code), "Closed");
  });
  for (const path of ["/200", "/503"]) {
    const { headers } = await visit(app, path);
    assertEquals(headers.get("content-type"), "text/plain", path);
  }
});

onEngine(
  "`halt()` refuses a status that no response has, and ends nothing",
  async (app) => {
    app.route("/", () => {
      try {
        app.halt(1000, "x");
      } catch (error) {
        return String(error);
      }
    });
    assertStringIncludes(
      await (await visit(app, "/")).text(),
      'RangeError: Cannot respond with the status "1000": it must be a number from 200 to 599',
    );
  },
);

onBothForms("`stop()` sends what un-awaited renders still add", async (app) => {
  app.map("render", async (text: string) => {
    await later();
    app.response().write(text);
  });
  app.route("/", () => {
    app.render("a");
    app.response().write("b");
    app.stop();
  });
  assertEquals(await (await visit(app, "/")).text(), "ab");
  app.before("stop", () => {});
  assertEquals(await (await visit(app, "/")).text(), "ab");
  app.after("stop", later);
  assertEquals(await (await visit(app, "/")).text(), "ab");
});

onBothForms(
  "`redirect()` and `json()` can be filtered and mapped anew",
  async (app) => {
    app.before("redirect", (params) => {
      params[0] = "/filtered";
    });
    app.map("json", (data: unknown) => app.halt(200, `mapped ${data}`));
    app.route("/redirect", () => app.redirect("/there"));
    app.route("/json", () => app.json("x"));
    app.route("/object", () => [1]);
    const response = await visit(app, "/redirect");
    assertEquals(response.headers.get("location"), "/filtered");
    assertEquals(await (await visit(app, "/json")).text(), "mapped x");
    assertEquals(await (await visit(app, "/object")).text(), "mapped 1");
  },
);
