/** Tests the seal: the first response stands, whatever comes after it, awaited or not. */

import { Engine, type HttpResponse } from "@framework/core";
import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { type App, call, onEngine, visit } from "./forms.ts";
import { logOf } from "./log.ts";

function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** Does everything that would change a response that is not sealed. */
function meddle(app: App): void {
  app.response().status(299).write("more").clearBody().clear()
    .header("content-type", "text/css").header("Content-Language", "en")
    .header("location", "/elsewhere").events([{ data: "x" }]);
  app.json({ other: true }, 298);
  app.redirect("/elsewhere");
  app.notFound();
  app.error(new Error("late"));
}

const FIRST: Record<string, [(app: App) => unknown, number, RegExp]> = {
  json: [(app) => app.json({ a: 1 }, 201), 201, /^{"a":1}$/],
  redirect: [(app) => app.redirect("/there"), 303, /^$/],
  notFound: [(app) => app.notFound(), 404, /<h1>404 Not Found/],
  error: [(app) => app.error(new Error("x")), 500, /<h1>500 Internal/],
};

for (const [name, [respond, status, body]] of Object.entries(FIRST)) {
  onEngine(`\`${name}()\` stands against the code after it`, async (app) => {
    app.route("/", async () => {
      app.response().write("before");
      respond(app);
      meddle(app);
      await later();
      meddle(app);
      return "returned";
    });
    const response = await visit(app, "/");
    assertEquals(response.status, status);
    const location = name === "redirect" ? "/there" : null;
    assertEquals(response.headers.get("location"), location);
    assertEquals(response.headers.has("content-language"), false);
    const type = response.headers.get("content-type") ?? "";
    assertMatch(
      type,
      name === "json" ? /^application\/json/ : /^(text\/html|$)/,
    );
    assertEquals(response.headers.has("x-accel-buffering"), false);
    assertMatch(await response.text(), body);
  });

  onEngine(
    `\`${name}()\` says under debug what came too late`,
    async (app) => {
      app.set("framework.debug", true);
      app.route("/", () => {
        respond(app);
        app.redirect("/elsewhere");
      });
      const log = await logOf(() => visit(app, "/"));
      const place = String.raw`\(at .*seal_test\.ts:\d+:\d+\)+`;
      assertMatch(
        log.join("\n"),
        new RegExp(
          String
            .raw`^Ignored redirect\(\) ${place}: the response was sealed by ${name}\(\) ${place}$`,
          "m",
        ),
      );
    },
  );
}

Deno.test("`header()` and `cookie()` still add after the seal what does not describe the body", async () => {
  const app = new Engine();
  app.route("/", () => {
    app.json({ a: 1 });
    app.response().cache(60).cookie("a", "1").header("x-more", "2")
      .header("vary", "cookie").header("content-security-policy", "default-src")
      .header("content-type", null);
  });
  const { headers } = await visit(app, "/");
  assertEquals([...headers.keys()], [
    "cache-control",
    "content-security-policy",
    "content-type",
    "set-cookie",
    "vary",
    "x-more",
  ]);
});

Deno.test("`header()` says under debug where it came too late, and what had sealed the response", async () => {
  const app = new Engine();
  app.set("framework.debug", true);
  app.route("/", () => {
    app.json({ a: 1 });
    app.response().header("Content-Type", "text/html").events([]);
  });
  const log = await logOf(() => visit(app, "/"));
  const place = String.raw`\(at .*seal_test\.ts:\d+:\d+\)+`;
  const lines = ['header\\("Content-Type"\\)', "events\\(\\)"].map((call) =>
    new RegExp(
      `^Ignored ${call} ${place}: the response was sealed by json\\(\\) ${place}$`,
    )
  );
  assertEquals(log.length, lines.length);
  for (const [index, line] of lines.entries()) assertMatch(log[index]!, line);
});

Deno.test('`header()` and `cookie()` say under debug that a filter of "send" is too late for them', async () => {
  for (const path of ["/", "/json", "/missing"]) {
    const app = new Engine();
    app.set("framework.debug", true);
    app.map("notFound", () => "Nothing here");
    app.route("/", () => "text");
    app.route("/json", () => app.json({}));
    app.before("send", () => {
      app.response().header("x-late", "1").cookie("late", "1");
    });
    const log = await logOf(async () => {
      const { headers } = await visit(app, path);
      assertEquals(headers.get("x-late"), null);
      assertEquals(headers.getSetCookie(), []);
    });
    const place = String.raw`\(at .*seal_test\.ts:\d+:\d+\)+`;
    const state =
      'the web response had already been made; in a "send" filter, change that response instead';
    for (
      const call of [
        String.raw`header\("x-late"\)`,
        String.raw`cookie\("late"\)`,
      ]
    ) {
      const line = new RegExp(`^Ignored ${call} ${place}: ${state}$`);
      assertMatch(log.shift()!, line);
    }
    assertEquals(log, []);
  }
});

Deno.test("`render()` says under debug that it comes after the seal", async () => {
  const app = new Engine();
  app.set("framework.debug", true);
  app.map("view", () => ({ fetch: () => Promise.resolve("page") }));
  app.route("/", async () => {
    app.redirect("/login");
    await app.render("page");
  });
  const log = await logOf(async () => {
    assertEquals((await visit(app, "/")).status, 303);
  });
  assertMatch(log[0]!, /^Ignored render\(\) \(at /);
});

Deno.test("`write()` says under debug that nothing can be added to a stream", async () => {
  const app = new Engine();
  app.set("framework.debug", true);
  app.route("/", () => {
    app.response().events([{ data: "a" }]).write("more");
  });
  const log = await logOf(async () => {
    assertEquals(await (await visit(app, "/")).text(), "data: a\n\n");
  });
  assertEquals(log.length, 1);
  assertMatch(log[0]!, /^Ignored write\(\) .*: the body is a stream/);
});

Deno.test("`header()` says under debug that it comes after the page of an error", async () => {
  const app = new Engine();
  app.set("framework.debug", true);
  let late: HttpResponse;
  app.map("notFound", () => {
    late = app.response();
    throw new Error("no page");
  });
  app.map("error", () => {
    late = app.response();
    return "Sorry";
  });
  await logOf(() => visit(app, "/"));
  const [line] = await logOf(() => late.header("x-late", "1"));
  assertMatch(
    line!,
    /^Ignored header\("x-late"\) .*: the web response had already been made/,
  );
});

onEngine("`redirect()` warns of nothing without debug", async (app) => {
  app.route("/", () => {
    app.json(1);
    app.redirect("/elsewhere");
  });
  assertEquals(await logOf(() => visit(app, "/")), []);
});

onEngine("`halt()` stands when its signal is caught", async (app) => {
  app.route("/", () => {
    try {
      app.halt(403, "no");
    } catch {
      meddle(app);
    }
    return "returned";
  });
  const response = await visit(app, "/");
  assertEquals([response.status, await response.text()], [403, "no"]);
});

onEngine("`halt()` stands against a later `halt()`", async (app) => {
  app.route("/", () => {
    try {
      app.halt(403, "first");
    } finally {
      app.halt(500, "second");
    }
  });
  const response = await visit(app, "/");
  assertEquals([response.status, await response.text()], [403, "first"]);
});

onEngine(
  "`halt()` stands when it is not awaited, and its signal is no error",
  async (app) => {
    app.before("halt", later);
    app.route("/", () => {
      app.halt(403, "no");
    });
    const log = await logOf(async () => {
      const response = await visit(app, "/");
      assertEquals([response.status, await response.text()], [403, "no"]);
    });
    assertEquals(log, []);
  },
);

onEngine(
  "`fetch()` logs an error after the seal, with the id of the request, and lets the response stand",
  async (app) => {
    let id = "";
    app.route("/", () => {
      id = app.request().id;
      app.json({ a: 1 });
      throw new Error("too late");
    });
    const log = await logOf(async () => {
      const response = await visit(app, "/");
      assertEquals([response.status, await response.text()], [200, '{"a":1}']);
    });
    assertEquals(log.length, 1);
    assertEquals(
      log[0]!.split("\n")[0],
      `${id} GET / Error after the response was sealed: Error: too late`,
    );
  },
);

for (const name of ["notFound", "error"] as const) {
  const status = name === "error" ? 500 : 404;
  const ask = (app: App): unknown =>
    name === "error" ? app.error(new Error("x")) : app.notFound();

  onEngine(
    `\`${name}()\` mapped and not awaited stands against the code after it`,
    async (app) => {
      app.map(name, async () => {
        app.response().write("page ");
        await later();
        app.response().header("x-page", "1").write("made");
      });
      app.route("/", () => {
        app.response().write("before");
        ask(app);
        meddle(app);
        return "returned";
      });
      const response = await visit(app, "/");
      assertEquals([response.status, await response.text()], [
        status,
        "page made",
      ]);
      assertEquals(response.headers.get("x-page"), "1");
    },
  );

  onEngine(
    `\`${name}()\` mapped keeps its status, however its page is made`,
    async (app) => {
      const makers: (() => unknown)[] = [
        () => app.response().write("page"),
        () => "page",
        async () => {
          await later();
          return "page";
        },
        () => app.json("page"),
        () => ["page"],
        () => new Blob(["page"]),
        () => {},
      ];
      for (const make of makers) {
        app.init();
        app.map(name, make);
        app.route("/", () => void ask(app));
        const response = await visit(app, "/");
        assertEquals(response.status, status, String(make));
        await response.body?.cancel();
      }
    },
  );

  onEngine(`\`${name}()\` mapped may choose another status`, async (app) => {
    const makers: [() => unknown, number][] = [
      [() => app.response().status(410), 410],
      [() => app.json("gone", 410), 410],
      [() => app.halt(410), 410],
      [() => app.redirect("/"), 303],
      [() => new Response("gone", { status: 410 }), 410],
    ];
    for (const [make, expected] of makers) {
      app.init();
      app.map(name, make);
      app.route("/", () => void ask(app));
      assertEquals((await visit(app, "/")).status, expected, String(make));
    }
  });

  onEngine(
    `\`${name}()\` mapped that calls itself is an error and no endless loop`,
    async (app) => {
      app.map(name, async () => {
        await later();
        await ask(app);
      });
      app.route("/", () => void ask(app));
      const log = await logOf(async () => {
        assertEquals((await visit(app, "/")).status, 500);
      });
      if (name === "error") {
        assertStringIncludes(log.join(), 'call original("error") instead');
      }
    },
  );

  onEngine(`\`original("${name}")\` serves the mapped one`, async (app) => {
    app.map(name, (...params: unknown[]) => {
      app.response().header("x-mapped", "1");
      return app.original(name)(...params);
    });
    app.route("/", () => void ask(app));
    const response = await visit(app, "/");
    assertEquals([response.status, response.headers.get("x-mapped")], [
      status,
      "1",
    ]);
    assertStringIncludes(await response.text(), `<h1>${status} `);
  });
}

onEngine(
  "`notFound()` drops what describes or stores the page that is not there",
  async (app) => {
    app.map("lost", () => {
      app.response().cache(60).cookie("a", "1").header("etag", '"v1"')
        .header("content-type", "text/css").header("content-encoding", "gzip");
      app.notFound();
    });
    app.route("/", () => call(app, "lost"));
    const own = await visit(app, "/");
    assertEquals([...own.headers.keys()], [
      "content-type",
      "set-cookie",
      "vary",
    ]);
    app.map("notFound", () => "page");
    const mapped = await visit(app, "/");
    assertEquals([...mapped.headers.keys()], ["content-type", "set-cookie"]);
    assertEquals(
      mapped.headers.get("content-type"),
      "text/html; charset=utf-8",
    );
  },
);

onEngine(
  "`notFound()` has a clean body when every route has passed",
  async (app) => {
    app.route("/", () => {
      app.response().write("passed");
      return true;
    });
    app.map("notFound", () => "page");
    const response = await visit(app, "/");
    assertEquals([response.status, await response.text()], [404, "page"]);
  },
);

onEngine(
  "`notFound()` inside a mapped `error()` responds in its place",
  async (app) => {
    app.map("error", () => void app.notFound());
    app.route("/", () => {
      throw new Error("x");
    });
    assertEquals((await visit(app, "/")).status, 404);
    app.map("notFound", async () => {
      await later();
      return "mapped";
    });
    const response = await visit(app, "/");
    assertEquals([response.status, await response.text()], [404, "mapped"]);
  },
);

onEngine(
  "`halt()` inside a mapped `error()` responds in its place",
  async (app) => {
    for (const wait of [undefined, later]) {
      app.init();
      app.map("error", async () => {
        app.response().write("dropped");
        if (wait) await wait();
        app.halt(418, "halted");
      });
      app.route("/", () => {
        throw new Error("x");
      });
      const log = await logOf(async () => {
        const response = await visit(app, "/");
        assertEquals([response.status, await response.text()], [418, "halted"]);
      });
      assertEquals(log, []);
    }
  },
);

onEngine("`notFound()` that fails leads to `error()`", async (app) => {
  for (const wait of [() => {}, later]) {
    app.init();
    app.map("notFound", async () => {
      app.response().write("half a page");
      await wait();
      throw new Error("lost");
    });
    app.map("error", (error: Error) => `failed: ${error.message}`);
    app.route("/called", () => void app.notFound());
    for (const path of ["/called", "/unmatched"]) {
      const response = await visit(app, path);
      assertEquals([response.status, await response.text()], [
        500,
        "failed: lost",
      ]);
    }
  }
});

onEngine(
  "`notFound()` that fails and is caught leaves the response open",
  async (app) => {
    app.map("notFound", () => {
      throw new Error("lost");
    });
    app.route("/", () => {
      try {
        app.notFound();
      } catch {
        return "found after all";
      }
    });
    const response = await visit(app, "/");
    assertEquals([response.status, await response.text()], [
      200,
      "found after all",
    ]);
  },
);

onEngine(
  "`error()` that fails leads to the default page, and both errors are logged",
  async (app) => {
    app.map("error", async (error: Error) => {
      app.response().write("half a page").cookie("a", "1");
      await later();
      throw new Error(`no page for ${error.message}`);
    });
    app.route("/", () => {
      throw new TypeError("the cause");
    });
    const log = await logOf(async () => {
      const response = await visit(app, "/");
      assertEquals(response.status, 500);
      assertMatch(await response.text(), /<h1>500 Internal Server Error<\/h1>/);
    });
    assertStringIncludes(log[0]!, "TypeError: the cause");
    assertStringIncludes(log[1]!, "Error: no page for the cause");
  },
);

/** Each maps a method to code that responds without the default one, and calls it. */
const MAPPED: Readonly<Record<string, (app: Engine) => () => unknown>> = {
  "`redirect` that writes": (app) => {
    app.map("redirect", (url: string) => {
      app.response().status(403).header("location", url);
    });
    return () => app.redirect("/login");
  },
  "`json` that writes": (app) => {
    app.map("json", (data: unknown, code: number) => {
      app.response().status(code).write(JSON.stringify(data));
    });
    return () => app.json({}, 403);
  },
  "`json` that returns text": (app) => {
    app.map("json", (data: unknown) => {
      app.response().status(403);
      return JSON.stringify(data);
    });
    return () => app.json({});
  },
  "asynchronous `jsonp`": (app) => {
    app.map("jsonp", async () => {
      await Promise.resolve();
      app.response().status(403);
    });
    return () => app.jsonp({});
  },
  "`halt` that returns text": (app) => {
    app.map("halt", (code: number) => {
      app.response().status(code);
      return "no";
    });
    return () => app.halt(403);
  },
  "asynchronous `halt`": (app) => {
    app.map("halt", async (code: number) => {
      await Promise.resolve();
      app.original("halt")(code);
    });
    return () => app.halt(403);
  },
  "`halt` with an asynchronous filter": (app) => {
    app.before("halt", async () => {
      await Promise.resolve();
    });
    return () => app.halt(403);
  },
};

for (const [what, declare] of Object.entries(MAPPED)) {
  Deno.test(`a guard that calls a mapped or filtered ${what} lets nobody pass`, async () => {
    const app = new Engine();
    let hasRun = false;
    const guard = declare(app);
    const route = app.route("/", () => {
      hasRun = true;
      return "secret";
    });
    route.addMiddleware(() => void guard());
    const response = await app.fetch("/");
    assertEquals([response.status, hasRun], [403, false]);
    assertEquals((await response.text()).includes("secret"), false);
  });
}

Deno.test("no code runs after `halt()` and `stop()`, whatever they are mapped to, but their after filters", async () => {
  const app = new Engine();
  const ran: string[] = [];
  app.after("halt", () => void ran.push("after halt"));
  app.after("stop", () => void ran.push("after stop"));
  app.route("/halt", () => {
    app.halt(403);
    ran.push("never");
  });
  app.route("/stop", () => {
    app.stop(202);
    ran.push("never");
  });
  for (
    const map of [
      () => {},
      () => app.map("halt", () => {}),
      () => app.map("stop", async () => {}),
    ]
  ) {
    map();
    await (await app.fetch("/halt")).text();
    await (await app.fetch("/stop")).text();
  }
  const both = ["after halt", "after stop"];
  assertEquals(ran, [...both, ...both, ...both]);
});

Deno.test("a failing filter of `halt()` is an error of the request, also when it is asynchronous", async () => {
  const boom = (): never => {
    throw new Error("boom");
  };
  for (const filter of [boom, () => later().then(boom)]) {
    const app = new Engine();
    app.before("halt", filter);
    app.route("/", () => app.halt(403));
    await logOf(async () => {
      assertEquals((await app.fetch("/")).status, 500);
    });
  }
});

Deno.test("a mapped `redirect()` that neither writes nor returns anything is no response", async () => {
  const app = new Engine();
  app.map("redirect", () => {});
  app.route("/", () => {
    app.redirect("/x");
    return "ok";
  });
  assertEquals(await (await app.fetch("/")).text(), "ok");
});

/** Slow filters of `halt()` and `stop()`, and what a request is then. */
const SLOW: Readonly<
  Record<string, [path: string, status: number, text: string]>
> = {
  "outlasts `framework.wait_timeout`": ["/", 403, "no"],
  "outlasts `framework.wait_timeout` in a guard": ["/guarded", 403, "no"],
  "is of an outer application": ["/inner/halt", 403, "no"],
  "keeps what `stop()` sends in an inner application": [
    "/inner/stop",
    402,
    "pay",
  ],
  "is caught": ["/caught", 403, "no"],
};

for (const [what, [path, status, text]] of Object.entries(SLOW)) {
  Deno.test(`a slow filter of \`halt()\` and \`stop()\` that ${what} does not change the response`, async () => {
    const [app, inner] = [new Engine(), new Engine()];
    app.set("framework.wait_timeout", 0.001);
    for (const name of ["halt", "stop"] as const) {
      app.before(name, () => new Promise((resolve) => setTimeout(resolve, 20)));
    }
    app.route("/", () => {
      app.response().write("partial");
      app.halt(403, "no");
    });
    app.route("/guarded", () => "secret").addMiddleware(() =>
      app.halt(403, "no")
    );
    app.route("/caught", () => {
      try {
        app.halt(403, "no");
      } catch {
        // goes on
      }
      app.json({});
      return new Response("other");
    });
    app.mount("/inner", inner);
    inner.route("/halt", () => app.halt(403, "no"));
    inner.route("/stop", () => {
      app.response().write("pay");
      app.stop(402);
    });
    const response = await app.fetch(path);
    assertEquals([response.status, await response.text()], [status, text]);
  });
}

Deno.test("an error in an asynchronous `halt()` gets the page of `error`", async () => {
  const app = new Engine();
  app.map("halt", () => later().then(() => Promise.reject(new Error("boom"))));
  app.map("error", () => "mine");
  app.route("/", () => app.halt(403));
  await logOf(async () => {
    const response = await app.fetch("/");
    assertEquals([response.status, await response.text()], [500, "mine"]);
  });
});

class Entry {
  constructor(readonly title: string) {}
}

/** What a mapped `json` returns, and the body and type that the client gets. */
const RETURNED: readonly [value: unknown, body: string, type: string][] = [
  ['{"a":"<b>"}', '{"a":"<b>"}', "application/json; charset=utf-8"],
  [{ a: 1 }, '{"a":1}', "application/json; charset=utf-8"],
  [new Entry("b"), '{"title":"b"}', "application/json; charset=utf-8"],
  [new Uint8Array([97]), "a", "application/octet-stream"],
  [new Response("web"), "web", "text/plain;charset=UTF-8"],
];

for (const [value, body, type] of RETURNED) {
  Deno.test(`${Deno.inspect(value)} of a mapped \`json()\` is the whole response`, async () => {
    const app = new Engine();
    app.map("json", () => value);
    const guard = (): void => {
      app.response().write("dropped");
      app.json({});
    };
    app.route("/", () => "secret").addMiddleware(guard);
    const { headers, ...response } = await read(await app.fetch("/"));
    assertEquals([response.text, headers.get("content-type")], [body, type]);
  });
}

async function read(
  response: Response,
): Promise<{ text: string; headers: Headers }> {
  return { text: await response.text(), headers: response.headers };
}

Deno.test("a guard lets nobody pass after a mapped `redirect()` that only sets a header", async () => {
  const app = new Engine();
  app.map("redirect", (url: string) => {
    app.response().header("hx-redirect", url);
  });
  app.route("/", () => "secret").addMiddleware(() => app.redirect("/login"));
  const { text, headers } = await read(await app.fetch("/"));
  assertEquals([text, headers.get("hx-redirect")], ["", "/login"]);
});

Deno.test("an asynchronous `halt()` that fails on a mapped page is followed by the default page", async () => {
  for (const name of ["error", "notFound"] as const) {
    const app = new Engine();
    app.before(
      "halt",
      () => later().then(() => Promise.reject(new Error("filter"))),
    );
    app.map(name, () => app.halt(500, "sorry"));
    app.route("/error", () => Promise.reject(new Error("first")));
    await logOf(async () => {
      const response = await app.fetch(`/${name}`);
      assertEquals(response.status, 500);
      assertMatch(await response.text(), /<h1>500 Internal Server Error/);
    });
  }
});

Deno.test("a guard whose asynchronous `halt()` fails lets nobody pass while it still runs", async () => {
  const app = new Engine();
  app.before(
    "halt",
    () => later().then(() => Promise.reject(new Error("audit"))),
  );
  app.route("/", () => new Response("secret")).addMiddleware(async () => {
    await later().then(() => app.halt(403)).catch(() => {});
    for (let turn = 0; turn < 5; turn++) await later();
  });
  await logOf(async () => {
    const response = await app.fetch("/");
    assertEquals(response.status, 500);
    await response.body?.cancel();
  });
});

Deno.test("a `halt()` in a call that nobody awaits is waited for, also when it fails", async () => {
  for (
    const [filter, status] of [[later, 403], [
      () => later().then(() => Promise.reject(new Error("boom"))),
      500,
    ]] as const
  ) {
    const app = new Engine();
    app.before("halt", filter);
    app.map("render", async () => {
      await later();
      app.halt(403, "no");
    });
    app.route("/", () => {
      app.response().write("secret");
      app.render("x");
    });
    await logOf(async () => {
      const response = await app.fetch("/");
      assertEquals(response.status, status);
      assertEquals((await response.text()).includes("secret"), false);
    });
  }
});

Deno.test("a mapped `halt()` can end by an asynchronous `stop()`", async () => {
  const app = new Engine();
  app.before("stop", later);
  app.map("halt", async () => {
    await later();
    app.response().clearBody().write("x");
    app.stop(402);
  });
  app.route("/", () => app.halt(403));
  const response = await app.fetch("/");
  assertEquals([response.status, await response.text()], [402, "x"]);
});

Deno.test("what a mapped `halt()` returns after it has written is no content", async () => {
  for (const value of [7, new Set([1]), { logged: 1 }, "log"]) {
    const app = new Engine();
    app.map("halt", (code: number) => {
      app.response().clearBody().status(code).write("no");
      return value;
    });
    app.route("/", () => app.halt(403));
    const response = await app.fetch("/");
    assertEquals([response.status, await response.text()], [403, "no"]);
  }
});

Deno.test("an object that a mapped `redirect()` returns is for its caller", async () => {
  const app = new Engine();
  app.map("redirect", (url: string) => {
    app.response().status(303).header("location", url);
    return new Set([url]);
  });
  app.route("/", () => void app.redirect("/x"));
  const response = await app.fetch("/");
  assertEquals([response.status, await response.text()], [303, ""]);
});

Deno.test("a `stop()` that fails keeps the content so far for code that catches the error", async () => {
  const app = new Engine();
  app.before("stop", () => {
    throw new Error("boom");
  });
  app.route("/", () => {
    app.response().write("a");
    try {
      app.stop();
    } catch {
      app.response().write("b");
    }
  });
  assertEquals(await (await app.fetch("/")).text(), "ab");
});

Deno.test("a mapped `halt()` that begins calls in an un-awaited one is sent with what they write", async () => {
  const app = new Engine();
  app.map("halt", async (code: number) => {
    await later();
    app.response().clearBody().status(code);
    app.render("page");
  });
  app.map("render", async (name: string) => {
    await later();
    if (name === "part") app.halt(403);
    app.response().write(name);
  });
  app.route("/", () => void app.render("part"));
  const response = await app.fetch("/");
  assertEquals([response.status, await response.text()], [403, "page"]);
});

Deno.test("a mapped `notFound()` after the response was sealed neither runs nor changes it", async () => {
  const app = new Engine();
  let hasRun = false;
  app.map("notFound", () => void (hasRun = true));
  app.route("/", () => {
    app.redirect("/there");
    app.notFound();
  });
  const log = await logOf(async () => {
    const { status, headers } = await app.fetch("/");
    assertEquals([status, headers.get("location")], [303, "/there"]);
  });
  assertEquals([hasRun, log], [false, []]);
});

Deno.test("a filter of `send` changes nothing of what `response()` says was sent", async () => {
  const app = new Engine();
  let sent: unknown;
  app.before("send", () => {
    app.response().status(500).write("more").clear();
    sent = [app.response().status(), app.response().length];
  });
  app.route("/", () => "text");
  const response = await app.fetch("/");
  assertEquals([response.status, await response.text()], [200, "text"]);
  assertEquals(sent, [200, 4]);
});

Deno.test("a returned `Response` is sealed: an `after` of middleware does not change it", async () => {
  const app = new Engine();
  app.route("/", () => new Response("made", { status: 201 }))
    .addMiddleware({
      after: () => void app.response().status(500).clearBody().write("more"),
    });
  const response = await app.fetch("/");
  assertEquals([response.status, await response.text()], [201, "made"]);
});

Deno.test("a stream that is returned after the seal, or cleared, is cancelled", async () => {
  const app = new Engine();
  const cancelled: string[] = [];
  const stream = (name: string) =>
    new ReadableStream({ cancel: () => void cancelled.push(name) });
  app.route("/late", () => {
    app.redirect("/there");
    return stream("late");
  });
  app.route("/cleared", () => {
    app.response().events(stream("cleared") as AsyncIterable<never>);
    app.response().clearBody().write("text");
  });
  for (const path of ["/late", "/cleared"]) {
    await (await app.fetch(path)).text();
  }
  await later();
  assertEquals(cancelled, ["late", "cleared"]);
});

Deno.test("what an asynchronous `halt()` on the page of an error fails with is a line in the log, and the last page", async () => {
  const first = new Error("first");
  for (const late of [new Error("late"), first]) {
    const app = new Engine();
    app.set("framework.log_errors", true);
    app.before("halt", () => later().then(() => Promise.reject(late)));
    app.map("error", () => app.halt(500, "sorry"));
    app.route("/", () => Promise.reject(first));
    const log = (await logOf(async () => {
      const text = await (await app.fetch("/")).text();
      assertStringIncludes(text, late.message);
    })).join("\n");
    for (const { message } of new Set([first, late])) {
      assertEquals(log.match(new RegExp(`Error: ${message}`, "g"))?.length, 1);
    }
  }
});

Deno.test("`framework.handle_errors` false rejects with what an asynchronous `halt()` on the page of a refusal fails with, unless that is one, too", async () => {
  const app = new Engine();
  app.set("framework.handle_errors", false);
  let fail: () => unknown;
  app.before("halt", () => later().then(() => void fail()));
  app.map("error", () => app.halt(403, "sorry"));
  app.route("/", () => "secret").addMiddleware(() => false);
  fail = () => {
    throw new Error("late");
  };
  await assertRejects(async () => await app.fetch("/"), Error, "late");
  fail = () => app.request().json;
  const init = { method: "POST", body: "{" };
  const request = new Request("http://localhost/", init);
  await logOf(async () => {
    const response = await app.fetch(request);
    assertEquals(response.status, 415);
    await response.body?.cancel();
  });
});

Deno.test("`framework.handle_errors` false keeps the response of a `halt()` beside a call that fails", async () => {
  const app = new Engine();
  app.set("framework.handle_errors", false);
  app.map(
    "render",
    () => later().then(() => Promise.reject(new Error("boom"))),
  );
  app.route("/", () => {
    app.render("x");
    app.halt(403, "no");
  });
  const log = await logOf(async () => {
    assertEquals((await app.fetch("/")).status, 403);
  });
  assertEquals(log.length, 1);
  assertStringIncludes(log[0]!, "Error in work that was not awaited: ");
});

Deno.test("`error()` and `notFound()` after the seal change nothing under debug, either", async () => {
  for (const name of ["error", "notFound"] as const) {
    const app = new Engine();
    app.set("framework.debug", true);
    app.route("/", () => {
      app.json({ a: 1 });
      return app[name](new Error("late")) as unknown as void;
    });
    const log = await logOf(async () => {
      const response = await visit(app, "/");
      assertEquals([response.status, await response.text()], [200, '{"a":1}']);
    });
    assertEquals(log.join("\n").includes("TypeError"), false);
  }
});

Deno.test("an error after the seal is one line in the log, also under debug", async () => {
  const app = new Engine();
  app.set("framework.debug", true);
  app.route("/", () => {
    app.json({ a: 1 });
    throw new Error("boom");
  });
  const log = await logOf(async () => {
    assertEquals((await visit(app, "/")).status, 200);
  });
  assertEquals(log.length, 1, log.join("\n"));
});

Deno.test("calls beside an asynchronous `halt()` that fails on the page of an error are waited for, too", async () => {
  const app = new Engine();
  app.before(
    "halt",
    () => later().then(() => Promise.reject(new Error("late"))),
  );
  app.map("slow", async () => {
    for (let turn = 0; turn < 10; turn++) await later();
    app.response().header("x-late", "1");
  });
  app.map("error", () => {
    call(app, "slow");
    app.halt(500, "sorry");
  });
  app.route("/", () => Promise.reject(new Error("first")));
  await logOf(async () => {
    const response = await app.fetch("/");
    await response.body?.cancel();
    assertEquals([response.status, response.headers.get("x-late")], [500, "1"]);
  });
});

Deno.test("what came too late is told under debug without the code that has called `fetch()`", async () => {
  const app = new Engine();
  app.set("framework.debug", true);
  app.after("start", () => void app.response().status(201));
  const log = await logOf(() => app.fetch("/none"));
  assertMatch(log.join("\n"), /: the response was sealed by notFound\(\)$/);
});
