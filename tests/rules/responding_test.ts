/**
 * Tests the methods that respond: the first response wins, a mapped or filtered one responds alone, and pages keep
 * their status.
 */

import { Engine, html } from "@framework/core";
import { assertEquals, assertMatch } from "@std/assert";
import { logOf } from "../support/log.ts";

/** Lets the event loop take a turn. */
function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

function fail(): never {
  throw new Error("boom");
}

/** A failure, at once and a turn later. */
const FAILURES = [fail, () => later().then(fail)];

/** Status and body of the response to a GET of `/`. */
async function get(app: Engine): Promise<[status: number, text: string]> {
  const response = await app.fetch("/");
  return [response.status, await response.text()];
}

/** Does everything that would change a response that is not sealed. */
function meddle(app: Engine): void {
  app.response().status(299).write("more").clearBody().clear()
    .header("content-type", "text/css").header("Content-Language", "en")
    .header("location", "/elsewhere").events([{ data: "x" }]);
  app.json({ other: true }, 298);
  app.redirect("/elsewhere");
  app.notFound();
  app.error(new Error("late"));
}

/** The methods that respond and return, with what they send. */
const FIRST: Readonly<
  Record<string, [respond: (app: Engine) => unknown, status: number, RegExp]>
> = {
  json: [(app) => app.json({ a: 1 }, 201), 201, /^{"a":1}$/],
  jsonp: [(app) => app.jsonp(1), 200, /^call\(1\);$/],
  redirect: [(app) => app.redirect("/there"), 303, /^$/],
  notFound: [(app) => app.notFound(), 404, /<h1>404 Not Found/],
  error: [(app) => app.error(new Error("x")), 500, /<h1>500 Internal/],
};

for (const [name, [respond, status, body]] of Object.entries(FIRST)) {
  Deno.test(`\`${name}()\` stands against the code after it`, async () => {
    const app = new Engine();
    app.route("/", async () => {
      app.response().write("before");
      respond(app);
      meddle(app);
      await later();
      meddle(app);
      return "returned";
    });
    await logOf(async () => {
      const response = await app.fetch("/?jsonp=call");
      assertEquals(response.status, status);
      const location = name === "redirect" ? "/there" : null;
      assertEquals(response.headers.get("location"), location);
      assertEquals(response.headers.get("content-language"), null);
      assertEquals(response.headers.get("content-type") === "text/css", false);
      assertMatch(await response.text(), body);
    });
  });
}

Deno.test("headers and cookies that do not describe the body may still be added after `json()`", async () => {
  const app = new Engine();
  app.route("/", () => {
    app.json({ a: 1 });
    app.response().header("x-more", "2").header("content-type", null)
      .cookie("a", "1");
  });
  const { headers } = await app.fetch("/");
  assertEquals(headers.get("x-more"), "2");
  assertEquals(headers.getSetCookie().length, 1);
  assertEquals(headers.get("content-type"), "application/json; charset=utf-8");
});

Deno.test("a throw after the seal is a line in the log, and the sealed response stands", async () => {
  const app = new Engine();
  let id = "";
  app.route("/", () => {
    id = app.request().id;
    app.json({ a: 1 });
    fail();
  });
  const log = await logOf(async () => {
    assertEquals(await get(app), [200, '{"a":1}']);
  });
  assertEquals(log.length, 1);
  assertMatch(log[0]!, new RegExp(`^${id} GET / .*Error: boom`));
});

/** The methods that respond alone when they are mapped or filtered. */
const ALONE = ["json", "jsonp", "redirect", "halt", "notFound", "error"];

/** Calls a method that responds by its name, so that its default responds with a status other than 200. */
function respondBy(app: Engine, name: string): unknown {
  if (name === "json") return app.json({}, 403);
  if (name === "jsonp") return app.jsonp({}, "jsonp", 403);
  if (name === "redirect") return app.redirect("/login");
  if (name === "halt") return app.halt(403, "no");
  return name === "error" ? app.error(new Error("x")) : app.notFound();
}

/** The status that a page has when it sets none. */
const FLOOR: Readonly<Record<string, number>> = { notFound: 404, error: 500 };

/** An application where `name` is mapped to `method`. */
function mapped(name: string, method: (app: Engine) => unknown): Engine {
  const app = new Engine();
  app.map(name as "json", () => method(app));
  return app;
}

for (const name of ALONE) {
  Deno.test(`what a mapped \`${name}()\` writes is sent in place of the content so far, with the same headers`, async () => {
    for (const before of [() => {}, later]) {
      const app = mapped(name, async () => {
        app.response().write("alone, ");
        await before();
        app.response().header("x-method", "1").write("whole");
      });
      app.route("/", () => {
        app.response().header("x-handler", "1").write("so far");
        respondBy(app, name);
        app.response().write("more");
        return "returned";
      });
      const response = await app.fetch("/");
      assertEquals(await response.text(), "alone, whole");
      assertEquals(response.status, FLOOR[name] ?? 200);
      assertEquals(response.headers.get("x-handler"), "1");
      assertEquals(response.headers.get("x-method"), "1");
    }
  });

  Deno.test(`inside of a mapped \`${name}()\` its name means the default`, async () => {
    for (const before of [undefined, later]) {
      const app = mapped(name, (app) => {
        app.response().header("x-mapped", "1");
        return before
          ? before().then(() => respondBy(app, name))
          : respondBy(app, name);
      });
      app.route("/", () => void respondBy(app, name));
      await logOf(async () => {
        const { headers, status } = await app.fetch("/?jsonp=call");
        const expected = name === "redirect" ? 303 : FLOOR[name] ?? 403;
        assertEquals([status, headers.get("x-mapped")], [expected, "1"]);
      });
    }
  });

  Deno.test(`a guard that calls a mapped or filtered \`${name}()\` lets nobody pass`, async () => {
    const declared: Readonly<Record<string, (app: Engine) => unknown>> = {
      "mapped to nothing": (app) => app.map(name, () => {}),
      "mapped to text": (app) => app.map(name, () => "no"),
      "mapped later": (app) => app.map(name, later),
      "filtered": (app) => app.before(name, () => {}),
      "filtered later": (app) => app.before(name, later),
      "filtered behind": (app) => app.after(name, later),
    };
    for (const [how, declare] of Object.entries(declared)) {
      const app = new Engine();
      declare(app);
      let hasRun = false;
      app.route("/", () => void (hasRun = true))
        .addMiddleware(() => void respondBy(app, name));
      await logOf(async () => {
        await (await app.fetch("/?jsonp=call")).body?.cancel();
      });
      assertEquals(hasRun, false, how);
    }
  });

  Deno.test(`a filter of \`${name}()\` that fails is the error of the request`, async () => {
    for (const filter of FAILURES) {
      const app = new Engine();
      app.before(name, () => void app.response().write("never"));
      app.before(name, filter);
      app.route("/", () => void respondBy(app, name));
      await logOf(async () => {
        const [status, text] = await get(app);
        assertEquals([status, text.includes("never")], [500, false]);
      });
    }
  });

  Deno.test(`the caller may respond when a mapped \`${name}()\` fails`, async () => {
    for (const failure of FAILURES) {
      if (name === "halt" && failure !== fail) continue; // its signal has ended the callback
      const app = mapped(name, () => {
        app.response().status(500).write("never");
        return failure();
      });
      app.route("/", async () => {
        app.response().write("so far, ");
        try {
          await respondBy(app, name);
        } catch { /* the caller goes on */ }
        app.response().write("and on");
      });
      const log = await logOf(async () => {
        assertEquals(await get(app), [200, "so far, and on"]);
      });
      assertEquals(log, []);
    }
  });
}

/** What a mapped `json()` returns, and the body and type that the client gets. */
const RETURNED: readonly [value: unknown, body: string, type: string][] = [
  ['{"a":"<b>"}', '{"a":"<b>"}', "application/json; charset=utf-8"],
  [{ a: 1 }, '{"a":1}', "application/json; charset=utf-8"],
  [html`<b>${"<"}</b>`, "<b>&lt;</b>", "text/html; charset=utf-8"],
  [new Uint8Array([97]), "a", "application/octet-stream"],
  [new Response("web"), "web", "text/plain;charset=UTF-8"],
];

Deno.test("what a mapped `json()` returns is the whole response", async () => {
  for (const [value, body, type] of RETURNED) {
    const app = mapped("json", () => value);
    app.route("/", () => {
      app.response().write("dropped");
      app.json({});
      return "returned";
    });
    const response = await app.fetch("/");
    assertEquals(await response.text(), body);
    assertEquals(response.headers.get("content-type"), type);
  }
});

Deno.test("a mapped `json()` that calls a `redirect()` which fails later is an error", async () => {
  const app = mapped("json", () => app.redirect("/login"));
  app.before("redirect", () => later().then(fail));
  app.route("/", () => app.json({}));
  await logOf(async () => assertEquals((await get(app))[0], 500));
});

for (const name of ["halt", "json", "jsonp", "redirect", "notFound"]) {
  Deno.test(`headers that describe exact bytes go where \`${name}()\` replaces the body`, async () => {
    const ways: readonly [(app: Engine) => unknown, string | null][] = [
      [() => {}, null],
      [(app) => app.map(name, () => "text"), null],
      [(app) =>
        app.map(name, () => {
          app.response().header("content-encoding", "identity").write("own");
        }), "identity"],
    ];
    for (const [declare, encoding] of ways) {
      const app = new Engine();
      declare(app);
      app.route("/", () => {
        app.response().header("content-encoding", "gzip")
          .header("content-length", "1").header("content-digest", "x")
          .write("old");
        respondBy(app, name);
      });
      const { headers } = await app.fetch("/?jsonp=call");
      assertEquals(headers.get("content-encoding"), encoding, `${declare}`);
      assertEquals(headers.get("content-digest"), null);
      assertEquals(headers.get("content-length") === "1", false);
    }
  });
}

for (const name of ["notFound", "error"] as const) {
  const status = FLOOR[name]!;

  Deno.test(`a mapped \`${name}()\` keeps the status ${status}, however its page is made`, async () => {
    const makers: readonly ((app: Engine) => unknown)[] = [
      (app) => app.response().write("page"),
      () => later().then(() => "page"),
      (app) => app.json("page"),
      () => ["page"],
    ];
    for (const make of makers) {
      const app = mapped(name, make);
      app.route("/", () => void respondBy(app, name));
      const [sent, text] = await get(app);
      assertEquals([sent, text.includes("page")], [status, true], `${make}`);
    }
  });

  Deno.test(`a mapped \`${name}()\` may choose another status`, async () => {
    const makers: readonly [(app: Engine) => unknown, number][] = [
      [(app) => app.response().status(410), 410],
      [(app) => app.json("gone", 410), 410],
      [(app) => later().then(() => app.halt(410)), 410],
      [() => new Response("gone", { status: 410 }), 410],
      [(app) => name === "error" ? app.notFound() : app.halt(404), 404],
    ];
    for (const [make, expected] of makers) {
      const app = mapped(name, make);
      app.route("/", () => void respondBy(app, name));
      const log = await logOf(async () => {
        assertEquals((await get(app))[0], expected, String(make));
      });
      assertEquals(log, []);
    }
  });
}

Deno.test("`try { halt(403) } catch {}` still responds with 403, also mapped or filtered", async () => {
  const ways: readonly ((app: Engine) => unknown)[] = [
    () => {},
    (app) => app.before("halt", later),
    (app) => app.after("halt", later),
    (app) =>
      app.map("halt", async (code: number, text: string) => {
        await later();
        app.response().status(code).write(text);
      }),
  ];
  for (const declare of ways) {
    const app = new Engine();
    declare(app);
    app.route("/", () => {
      try {
        app.halt(403, "no");
      } catch { /* it responds all the same */ }
      app.json({ other: true });
      return "returned";
    });
    const log = await logOf(async () => {
      assertEquals(await get(app), [403, "no"], String(declare));
    });
    assertEquals(log, []);
  }
});

Deno.test("a mapped `json()` that calls itself is not called again by a second response", async () => {
  const app = new Engine();
  let calls = 0;
  app.map("json", async (data: unknown) => {
    calls++;
    await null;
    app.json({ data });
  });
  app.route("/", () => {
    app.json(1);
    app.json(2);
    return { more: 3 };
  });
  assertEquals(await get(app), [200, '{"data":1}']);
  assertEquals(calls, 1);
});
