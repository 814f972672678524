/** Tests mapped and filtered methods that respond: `halt`, `stop`, `redirect`, `json`, `jsonp`. */

import { Engine, html, HttpError, type HttpResponse } from "@framework/core";
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { call } from "./forms.ts";
import { logOf } from "./log.ts";

function later(milliseconds = 0): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function fail(): never {
  throw new Error("boom");
}

/** An application whose `json()` fails a turn after it was called. */
function withFailingJson(): Engine {
  const app = new Engine();
  app.before("json", async () => {
    await later();
    fail();
  });
  return app;
}

/** Status and body of the response to a GET. */
async function get(app: Engine, path = "/"): Promise<[number, string]> {
  const response = await app.fetch(path);
  return [response.status, await response.text()];
}

Deno.test("a `redirect()` with an asynchronous filter stands against the code after it", async () => {
  const app = new Engine();
  app.before("redirect", () => later());
  const returned: Record<string, () => unknown> = {
    object: () => ({ secret: 1 }),
    response: () => new Response("secret"),
    json: () => app.json({ secret: 1 }),
    text: () => "secret",
  };
  for (const [name, end] of Object.entries(returned)) {
    app.route(`/${name}`, () => {
      app.redirect("/login");
      return end();
    });
    assertEquals(await get(app, `/${name}`), [303, ""], name);
  }
});

Deno.test("an asynchronous filter of `redirect()` that fails is an error of the request", async () => {
  const app = new Engine();
  app.before("redirect", () => later().then(fail));
  app.route("/", () => void app.redirect("/login"));
  await logOf(async () => assertEquals((await get(app))[0], 500));
});

Deno.test("a mapped `json()` that nobody awaits is the response, whatever is written meanwhile", async () => {
  const app = new Engine();
  app.map("json", async (data: unknown) => {
    await later();
    return JSON.stringify({ data });
  });
  app.route("/", () => {
    app.json(1);
    app.response().write("tail").header("x-a", "1");
  });
  const response = await app.fetch("/");
  assertEquals(response.headers.get("x-a"), "1");
  assertEquals(await response.json(), { data: 1 });
});

Deno.test("a mapped `json()` that does not respond leaves the response to others", async () => {
  const app = new Engine();
  app.map("json", () => later());
  app.route("/write", async () => {
    const call: unknown = app.json({});
    app.response().write("first half, ").header("x-a", "1");
    await call;
    app.response().write("second half");
  });
  app.route("/return", async () => {
    const call: unknown = app.json({});
    app.response().cookie("a", "1");
    return `content ${await call}`;
  });
  assertEquals(await get(app, "/write"), [200, "first half, second half"]);
  assertEquals(await get(app, "/return"), [200, "content undefined"]);
});

Deno.test("renders that nobody awaits are no response of a mapped `redirect()`", async () => {
  const app = new Engine();
  app.map("render", async (text: string) => {
    await later();
    app.response().write(text);
  });
  app.map("redirect", () => later(5));
  app.route("/", () => {
    app.render("rendered ");
    app.redirect("/x");
    return "text";
  });
  assertEquals(await get(app), [200, "rendered text"]);
});

Deno.test("a guard lets nobody pass after a mapped `redirect()` that returns an object", async () => {
  const app = new Engine();
  app.map("redirect", (location: string) => ({ location }));
  app.route("/", () => "secret").addMiddleware(() => app.redirect("/login"));
  assertEquals(await get(app), [200, '{"location":"/login"}']);
});

Deno.test("a guard lets nobody pass after a mapped `render()` that forgets to await a check", async () => {
  const app = new Engine();
  const checked = app.map("check", async () => {
    await later(5);
    throw new HttpError(403);
  });
  app.map("render", () => void checked.check());
  let hasRun = false;
  app.route("/", () => void (hasRun = true))
    .addMiddleware(() => void app.render("page"));
  assertEquals((await get(app))[0], 403);
  assertEquals(hasRun, false);
});

Deno.test("a guard lets nobody pass after a mapped `json()` that renders", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${folder}/page.vto`, "rendered");
  const app = new Engine();
  app.set("framework.views.path", folder);
  app.map("json", async () => {
    await later();
    await app.render("page");
  });
  const before = async () => {
    await app.json({ error: "Not for you" });
  };
  app.route("/", () => "secret").addMiddleware({ before });
  assertEquals(await get(app), [200, "rendered"]);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a guard lets nobody pass after a mapped `json()` that only sets a validator", async () => {
  for (const validator of ["etag", "lastModified"]) {
    const app = new Engine();
    app.map("json", async () => {
      await later();
      if (validator === "etag") app.etag("v1");
      else app.lastModified(1);
    });
    const before = async () => {
      await app.json({ error: "Not for you" });
    };
    app.route("/", () => "secret").addMiddleware({ before });
    assertEquals(await get(app), [200, ""], validator);
  }
});

Deno.test("a mapped `halt()` drops the content so far, and cancels a stream", async () => {
  for (const isAsync of [false, true]) {
    for (const writes of [false, true]) {
      const app = new Engine();
      let isCancelled = false;
      app.map("halt", (code: number, text: string) => {
        const respond = () => {
          app.response().status(code);
          if (!writes) return text;
          app.response().write(text);
        };
        return isAsync ? later().then(respond) : respond();
      });
      app.route("/text", () => {
        app.response().write("secret");
        app.halt(403, "no");
      });
      app.route("/stream", () => {
        app.response().events({
          async *[Symbol.asyncIterator]() {
            await later();
            yield { data: "secret" };
          },
        });
        app.halt(403, "no");
      });
      app.route("/body", () => {
        const cancel = () => void (isCancelled = true);
        const stream = new ReadableStream({ cancel });
        app.response().events(stream as AsyncIterable<never>);
        app.halt(403, "no");
      });
      assertEquals(await get(app, "/text"), [403, "no"]);
      assertEquals(await get(app, "/stream"), [403, "no"]);
      assertEquals(await get(app, "/body"), [403, "no"]);
      await later();
      assertEquals(isCancelled, true);
    }
  }
});

Deno.test("a mapped `halt()` that fails leaves the content so far to code that catches the error", async () => {
  const app = new Engine();
  app.map("halt", () => {
    app.response().write("never").clearBody();
    fail();
  });
  const halt = () => {
    try {
      app.halt(403);
    } catch {
      // the content is still there
    }
  };
  app.map("render", () => later().then(() => app.response().write("r ")));
  app.route("/text", () => {
    app.response().write("a ");
    app.render("x");
    halt();
    app.response().write("b");
  });
  app.route("/stream", () => {
    app.response().events([{ data: "a" }]);
    halt();
  });
  assertEquals(await get(app, "/text"), [200, "a r b"]);
  assertEquals(await get(app, "/stream"), [200, "data: a\n\n"]);
});

Deno.test("a `halt()` whose after filter fails has responded, and the failure is logged", async () => {
  for (const filter of [fail, () => later().then(fail)]) {
    const app = new Engine();
    app.after("halt", filter);
    app.route("/", () => "secret").addMiddleware(() => {
      try {
        app.halt(401, "no");
      } catch {
        // nobody passes all the same
      }
    });
    app.route("/open", () => app.halt(401, "no"));
    await logOf(async () => assertEquals((await get(app))[0], 401));
    const log = await logOf(async () => {
      assertEquals((await get(app, "/open"))[0], 401);
    });
    assertStringIncludes(log.join("\n"), "boom");
  }
});

Deno.test("a `json()` whose after filter fails has responded, and the failure is logged", async () => {
  for (const filter of [fail, () => later().then(fail)]) {
    const app = new Engine();
    app.after("json", filter);
    app.route("/", () => app.json({ a: 1 }));
    const log = await logOf(async () => {
      assertEquals(await get(app), [200, '{"a":1}']);
    });
    assertStringIncludes(log.join("\n"), "boom");
  }
});

Deno.test("after filters of `halt()` and `stop()` can replace the content", async () => {
  for (const name of ["halt", "stop"] as const) {
    const app = new Engine();
    app.before(name, (_params, output) => void (output.value = "too early"));
    app.after(name, (_params, output) => {
      assertEquals(output.value, undefined);
      output.value = "filtered";
    });
    app.route("/", () => {
      app.response().write("content");
      if (name === "halt") app.halt(402, "no");
      app.stop(402);
    });
    assertEquals(await get(app), [402, "filtered"]);
  }
});

Deno.test("asynchronous methods that call themselves are an error", async () => {
  const call: Record<string, (app: Engine) => unknown> = {
    halt: (app) => app.halt(403),
    stop: (app) => app.stop(),
    redirect: (app) => app.redirect("/"),
    json: (app) => app.json({}),
    render: (app) => app.render("x"),
  };
  for (const [name, again] of Object.entries(call)) {
    const app = new Engine();
    app.map(name as "halt", async () => {
      await null;
      await again(app);
    });
    app.route("/", () => again(app) as Promise<void>);
    const [status, text] = await get(app);
    assertEquals(status, 500, name);
    assertStringIncludes(text, "Cannot call a mapped method here: 1000 of");
  }
});

Deno.test("a filter of `json()` that calls it asynchronously is an error, too", async () => {
  const app = new Engine();
  app.before("json", async () => {
    await null;
    await app.json({});
  });
  app.route("/", () => app.json({}));
  assertEquals((await get(app))[0], 500);
});

Deno.test("a mapped `json()` gets the status that an object is returned with", async () => {
  const app = new Engine();
  app.map("json", (data: unknown, code = 200) => {
    app.original("json")({ data }, code);
  });
  app.map("notFound", () => ({ is: "missing" }));
  app.map("error", () => ({ is: "failed" }));
  app.route("/made", () => {
    app.response().status(201);
    return { is: "made" };
  });
  app.route("/failed", fail);
  await logOf(async () => {
    assertEquals(await get(app, "/made"), [201, '{"data":{"is":"made"}}']);
    assertEquals(await get(app, "/x"), [404, '{"data":{"is":"missing"}}']);
    assertEquals(await get(app, "/failed"), [500, '{"data":{"is":"failed"}}']);
  });
});

Deno.test('a `before("start")` filter that returns content is an error', async () => {
  for (const content of ["text", {}, [], new Uint8Array(), new Response()]) {
    const app = new Engine();
    app.before("start", () => content as unknown as void);
    app.route("/", () => "secret");
    await logOf(async () => assertEquals((await get(app))[0], 500));
  }
});

Deno.test("a `stop()` that a render catches closes its section, and no other", async () => {
  const app = new Engine();
  app.map("render", async (text: string) => {
    app.response().write("before ");
    await later();
    if (text === "late") return void app.response().write("late");
    try {
      app.stop();
    } catch {
      app.response().write("never");
      app.render("never");
    }
  });
  app.route("/", () => {
    app.render("stop");
    app.render("late");
  });
  assertEquals(await get(app), [200, "before before late"]);
});

/** Guards that redirect by a mapped method, each with the call that it forgets to await. */
const FORGOTTEN: Readonly<Record<string, (app: Engine) => void>> = {
  "a mapped `redirect()`": (app) => {
    app.map("login" as "redirect", async (url: string) => {
      await later();
      app.original("redirect")(url);
    });
    app.map("redirect", (url: string) => {
      (app as unknown as { login(url: string): void }).login(url);
    });
    app.route("/", () => "secret")
      .addMiddleware(() => app.redirect("/login"));
  },
  "a mapped `json()` that redirects": (app) => {
    app.map("json", () => void app.redirect("/login"));
    app.map("redirect", async (url: string) => {
      await later();
      app.original("redirect")(url);
    });
    app.route("/", () => "secret").addMiddleware(() => app.json({}));
  },
};

for (const [what, declare] of Object.entries(FORGOTTEN)) {
  Deno.test(`a guard lets nobody pass after ${what} has forgotten to await the response`, async () => {
    const app = new Engine();
    declare(app);
    assertEquals(await get(app), [303, ""]);
  });
}

/** What is ignored while an asynchronous filter of `json()` runs, which then fails. */
const IGNORED: Readonly<Record<string, (app: Engine) => unknown>> = {
  "a redirect": (app) => app.redirect("/login"),
  "a halt": (app) => app.halt(403),
  "an error": () => {
    throw new HttpError(403);
  },
  "text": () => "fallback",
  "bytes": () => new Uint8Array([1]),
  "`clear()`": (app) => void app.response().clear(),
  "`clearBody()`": (app) => void app.response().clearBody(),
};

for (const [what, respond] of Object.entries(IGNORED)) {
  Deno.test(`${what} that a failing \`json()\` has kept from being sent is an error, and lets nobody pass`, async () => {
    const app = new Engine();
    app.before("json", () => later());
    const guard = () => {
      Promise.resolve(app.json({ id: 1n })).catch(() => {});
      return respond(app);
    };
    app.route("/guarded", () => "secret").addMiddleware(guard as () => void);
    app.route("/open", guard);
    await logOf(async () => {
      for (const debug of [false, true]) { // which reports it, too
        app.set("framework.debug", debug);
        const [, text] = await get(app, "/guarded");
        assertEquals(text.includes("secret"), false);
        assertEquals((await get(app, "/open"))[0], 500);
      }
    });
  });
}

Deno.test("code that catches the error of a filtered `json()` may respond", async () => {
  const app = new Engine();
  app.before("json", () => later());
  app.route("/", async () => {
    try {
      await app.json({ id: 1n });
    } catch {
      return new Response("fallback", { status: 502 });
    }
  });
  assertEquals(await get(app), [502, "fallback"]);
});

Deno.test("a filtered `json()` is waited for however long its filters take", async () => {
  const app = new Engine();
  app.set("framework.wait_timeout", 0.001);
  app.before("json", () => later(20));
  app.route("/", () => {
    app.json({ a: 1 });
    return "text";
  });
  assertEquals(await get(app), [200, '{"a":1}']);
});

Deno.test("what a mapped `json()` writes after others have responded changes nothing", async () => {
  const app = new Engine();
  app.map("json", async () => {
    await later();
    app.response().header("location", "/evil").header("content-type", "a/b");
    return "json";
  });
  app.route("/", () => {
    app.json({});
    app.redirect("/login");
  });
  const response = await app.fetch("/");
  assertEquals(response.headers.get("location"), "/login");
  assertEquals(response.headers.get("content-type"), null);
  assertEquals(await response.text(), "");
});

Deno.test("text that a mapped method returns is the response, whatever it has cleared", async () => {
  const app = new Engine();
  app.map("render", () => {});
  for (
    const [path, clear] of Object.entries<() => unknown>({
      "/clearBody": () => app.response().clearBody(),
      "/clear": () => app.response().clear(),
      "/write": () => app.response().write(""),
      "/render": () => app.render("x", {}, "key"),
    })
  ) {
    app.route(path, () => {
      app.map("json", async () => {
        await clear();
        return "text";
      });
      return app.json({});
    });
    assertEquals(await get(app, path), [200, "text"], path);
  }
});

Deno.test("a stream that a failing filter of `json()` has set is cancelled", async () => {
  const app = new Engine();
  let isCancelled = false;
  app.before("json", () => {
    const cancel = () => void (isCancelled = true);
    const stream = new ReadableStream({ cancel });
    app.response().events(stream as AsyncIterable<never>);
    fail();
  });
  app.route("/", () => app.json({}));
  await logOf(async () => assertEquals((await get(app))[0], 500));
  await later();
  assertEquals(isCancelled, true);
});

Deno.test("a filter of `json()` that calls it is an error", async () => {
  const app = new Engine();
  app.before("json", () => void app.json({}));
  app.route("/", () => app.json({}));
  await logOf(async () => assertEquals((await get(app))[0], 500));
});

/** Declares a call that fails, or that only responds late; a guard that makes it and catches the error lets nobody pass. */
const CATCHING: Readonly<Record<string, (app: Engine) => () => unknown>> = {
  "a `redirect()` that refuses its target": (app) => () =>
    app.redirect("javascript:0"),
  "a `json()` of what JSON cannot represent": (app) => () =>
    app.json(new Map()),
  "a filter of `json()` that ends the request by a filtered `halt()`": (
    app,
  ) => {
    app.before("halt", () => {});
    app.before("json", () => app.halt(403));
    return () => app.json({});
  },
  "a late filter of `json()` that ends the request by a mapped `halt()`": (
    app,
  ) => {
    app.map("halt", (code: number) => void app.response().status(code));
    app.before("json", () => later().then(() => app.halt(403)));
    return () => {
      Promise.resolve(app.json({})).catch(() => {});
    };
  },
  "a `halt()` with no status": (app) => () => app.halt(1000),
  "a `stop()` with no status": (app) => () => app.stop(1000),
  "a `jsonp()` without a function": (app) => () => app.jsonp({}, "none"),
  "an `error()` that fails": (app) => {
    app.map("error", fail);
    return () => app.error(new Error("no"));
  },
  "`original()` of a `json()` that fails": (app) => () =>
    app.original("json")(1n),
  "a mapped `notFound()` that fails": (app) => {
    app.map("notFound", fail);
    return () => app.notFound();
  },
  "a mapped `notFound()` that fails late": (app) => {
    app.map("notFound", () => later().then(fail));
    return () => {
      Promise.resolve(app.notFound()).catch(() => {});
    };
  },
  "`halt()` with a value of a filter that cannot be sent": (app) => {
    app.after("halt", (_params, output) => void (output.value = new Map()));
    return () => app.halt(403, "no");
  },
  "`halt()` with a failing filter": (app) => {
    app.before("halt", fail);
    return () => app.halt(403);
  },
  "a mapped `halt()` that throws": (app) => {
    app.map("halt", fail);
    return () => app.halt(403);
  },
  "a mapped `json()` that writes and throws": (app) => {
    app.map("json", () => {
      app.response().write('{"data":');
      fail();
    });
    return () => app.json({});
  },
  "`json()` with a filter that fails late": (app) => {
    app.before("json", () => later().then(fail));
    return () => {
      Promise.resolve(app.json({})).catch(() => {});
    };
  },
  "a mapped `redirect()` beside a `json()` that fails": (app) => {
    app.before("json", () => later().then(fail));
    app.map("redirect", (url: string) => `Go to ${url}`);
    return () => {
      Promise.resolve(app.json({})).catch(() => {});
      app.redirect("/login");
    };
  },
  "a mapped `json()` that forgets to await what it writes": (app) => {
    app.map("reply" as "json", async (data: unknown) => {
      await later();
      app.response().status(403).write(JSON.stringify(data));
    });
    app.map("json", (data: unknown) => {
      (app as unknown as { reply(data: unknown): void }).reply(data);
    });
    return () => app.json({ a: 1 });
  },
};

for (const [what, declare] of Object.entries(CATCHING)) {
  Deno.test(`a guard that catches errors lets nobody pass after ${what}`, async () => {
    const app = new Engine();
    const call = declare(app);
    let hasRun = false;
    // As a guard that is a route, and passes on.
    app.route("/routes/*", () => {
      try {
        call();
      } catch {
        // goes on
      }
      return true;
    });
    app.route("/routes/secret", () => {
      hasRun = true;
      return "secret";
    });
    app.route("/", () => {
      hasRun = true;
      return "secret";
    }).addMiddleware(() => {
      try {
        call();
      } catch {
        // goes on
      }
    });
    await logOf(async () => {
      for (const path of ["/", "/routes/secret"]) {
        const [status, text] = await get(app, path);
        assertEquals([hasRun, text.includes("secret")], [false, false], path);
        assertEquals([400, 403, 500].includes(status), true, `${status}`);
      }
    });
  });
}

Deno.test("a mapped `start` that catches the error of a `json()` may call the routes", async () => {
  const app = new Engine();
  app.map("start", async () => {
    try {
      app.json(1n);
    } catch {
      await app.original("start")();
    }
  });
  app.route("/", () => "content").addMiddleware(() => {});
  assertEquals(await get(app), [200, "content"]);
});

for (const [what, declare] of Object.entries(CATCHING)) {
  if (what.includes("forgets to await")) continue; // its caller cannot know of that call
  Deno.test(`a guard of a mounted engine that catches errors lets nobody pass after ${what} of the engine around it`, async () => {
    const [outer, inner] = [new Engine(), new Engine()];
    const call = declare(outer);
    let hasRun = false;
    inner.route("/*", () => void (hasRun = true)).addMiddleware(() => {
      try {
        call();
      } catch {
        // goes on
      }
    });
    outer.mount("/in", inner);
    await logOf(async () => {
      const [status] = await get(outer, "/in/x");
      assertEquals(hasRun, false);
      assertEquals([400, 403, 500].includes(status), true, `${status}`);
    });
  });
}

/** Redirects that leave something behind which they do not await. */
const UNAWAITED: Readonly<Record<string, (app: Engine) => void>> = {
  "a call behind the head": (app) =>
    app.map("redirect", (url: string) => {
      app.response().status(302).header("location", url);
      call(app, "later");
    }),
  "a call that writes the head": (app) =>
    app.map("redirect", (url: string) => {
      call(app, "write", url);
    }),
  "a call that fails": (app) => {
    app.map("redirect", () => void call(app, "fails"));
  },
  "a mapped `json()` that writes the head": (app) => {
    app.map("json", async (url: string) => {
      await later(1);
      app.response().status(302).header("location", url);
    });
    app.map("redirect", (url: string) => void app.json(url));
  },
  "nothing": () => {},
};

for (const [what, declare] of Object.entries(UNAWAITED)) {
  for (const how of ["mounted", "called by `fetch()`"]) {
    Deno.test(`a guard of an engine that is ${how} lets nobody pass after a \`redirect()\` of the other one that does not await ${what}`, async () => {
      const [outer, inner] = [new Engine(), new Engine()];
      outer.map("later", () => later(1));
      outer.map("write", async (url: string) => {
        await later(1);
        outer.response().status(302).header("location", url);
      });
      outer.map("fails", () => later(1).then(fail));
      declare(outer);
      let hasRun = false;
      inner.route("/*", () => void (hasRun = true))
        .addMiddleware(() => void outer.redirect("/login"));
      if (how === "mounted") outer.mount("/in", inner);
      else outer.route("/*", () => inner.fetch(outer.request().raw));
      await logOf(async () => {
        const response = await outer.fetch("/in/x");
        const isRefused = [302, 303, 500].includes(response.status);
        assertEquals([isRefused, hasRun], [true, false]);
      });
    });
  }
}

Deno.test("a guard of a mounted engine lets nobody pass after the engine around it has caught the failure of its own `json()`", async () => {
  const [outer, inner] = [new Engine(), new Engine()];
  outer.before("json", () => later().then(fail));
  outer.map("refuse", async () => {
    await Promise.resolve(outer.json({})).catch(() => {});
  });
  let hasRun = false;
  inner.route("/*", () => void (hasRun = true))
    .addMiddleware(() => call(outer, "refuse") as Promise<void>);
  outer.mount("/in", inner);
  assertEquals([(await get(outer, "/in/x"))[0], hasRun], [500, false]);
});

Deno.test("a guard that catches errors may respond in another way", async () => {
  const guards: Readonly<Record<string, (app: Engine) => string | void>> = {
    "400 Bad target": (app) => {
      app.response().status(400);
      return "Bad target";
    },
    "303 ": (app) => void app.redirect("/"),
    "403 No": (app) => app.halt(403, "No"),
  };
  for (const [expected, respond] of Object.entries(guards)) {
    for (const isFiltered of [false, true]) {
      const app = new Engine();
      if (isFiltered) app.before("redirect", () => {});
      app.route("/", () => "secret").addMiddleware(() => {
        try {
          app.redirect("javascript:0");
        } catch {
          return respond(app);
        }
      });
      const [status, text] = await get(app);
      assertEquals(
        `${status} ${text.slice(0, 20)}`.slice(0, expected.length),
        expected,
      );
      assertEquals(text.includes("secret"), false);
    }
  }
});

Deno.test("what a failing `json()` has kept from being sent is an error on a page and in `halt()`, too", async () => {
  const json = (app: Engine) => {
    Promise.resolve(app.json({})).catch(() => {});
  };
  const declared: Readonly<Record<string, (app: Engine) => void>> = {
    "an object by a mapped method": (app) => {
      app.before("redirect", () => later().then(fail));
      app.map("json", (data: unknown) => JSON.stringify({ data }));
      app.route("/", () => {
        Promise.resolve(app.redirect("/x") as unknown).catch(() => {});
        return { x: 1 };
      });
    },
    "a render": (app) => {
      app.map("render", () => later(2).then(() => app.response().write("x")));
      app.route("/", async () => {
        json(app);
        await app.render("page");
      });
    },
    "`notFound`": (app) =>
      app.map("notFound", () => {
        json(app);
        app.halt(403, "no");
      }),
    "`halt`": (app) => {
      app.map("halt", () => {
        json(app);
        return "no";
      });
      app.route("/", () => app.halt(403));
    },
  };
  for (const [what, declare] of Object.entries(declared)) {
    const app = new Engine();
    app.before("json", () => later().then(fail));
    declare(app);
    await logOf(async () => {
      const [status, text] = await get(app);
      assertEquals([status, text.includes("500")], [500, true], what);
    });
  }
});

Deno.test("the error of a filtered `json()` that keeps others from being sent is logged once", async () => {
  const app = new Engine();
  app.set("framework.log_errors", true);
  app.before("json", () => later().then(fail));
  app.route("/", async () => {
    const call: unknown = app.json({});
    app.response().write("x");
    await call;
  });
  const log = await logOf(async () => assertEquals((await get(app))[0], 500));
  assertEquals(log.join("\n").match(/boom/g)?.length, 1);
});

Deno.test("a mapped `json()` in a render is the whole response", async () => {
  const app = new Engine();
  const mapped: readonly [(data: unknown) => unknown, string][] = [
    [(data) => html`<b>${data}</b>`, "<b>x</b>"],
    [(data) => `${data}`, "x"],
    [(data) => void app.response().write(`${data}`), "x"],
  ];
  for (const [json, text] of mapped) {
    app.configure(() => app.map("json", json));
    app.configure(() =>
      app.map("render", async () => {
        await app.json("x");
        app.response().write("never");
      })
    );
    if (app.router().routes().length === 0) {
      app.route("/", () => app.render("page"));
    }
    assertEquals(await get(app), [200, text]);
  }
});

Deno.test("a mapped `json()` that returns what JSON cannot represent leaves the content so far", async () => {
  const app = new Engine();
  app.map("json", (data: unknown) => ({ data }));
  app.route("/", () => {
    app.response().write("so far");
    try {
      app.json(1n);
    } catch {
      // the content is still there
    }
  });
  assertEquals(await get(app), [200, "so far"]);
});

Deno.test("a mapped `json()` that sets a header may forget to await what it writes", async () => {
  const app = new Engine();
  app.map("reply" as "json", async (data: unknown) => {
    await later();
    app.response().write(JSON.stringify(data));
  });
  app.map("json", (data: unknown) => {
    app.response().header("content-type", "application/json");
    (app as unknown as { reply(data: unknown): void }).reply(data);
  });
  app.route("/", () => app.json({ a: 1 }));
  assertEquals(await get(app), [200, '{"a":1}']);
});

Deno.test("the page of an error has no `Location` of a redirect that failed with it", async () => {
  const app = new Engine();
  app.map("notFound", () => {
    app.redirect("/login");
    fail();
  });
  await logOf(async () => {
    const response = await app.fetch("/");
    assertEquals(response.status, 500);
    assertEquals(response.headers.get("location"), null);
    await response.body?.cancel();
  });
});

Deno.test("what a mapped `stop()` writes in a render lands where that was called", async () => {
  const app = new Engine();
  app.map("stop", () => void app.response().write("[stop]"));
  app.map("render", async () => {
    app.response().write("[in]");
    await later();
    app.stop();
  });
  app.route("/", () => {
    app.render("x");
    app.response().write("[after]");
  });
  assertEquals(await get(app), [200, "[in][stop][after]"]);
});

Deno.test("a stream that a mapped `halt()` returns after it has written is cancelled", async () => {
  const app = new Engine();
  let isCancelled = false;
  app.map("halt", () => {
    app.response().write("no");
    return new ReadableStream({ cancel: () => void (isCancelled = true) });
  });
  app.route("/", () => app.halt(403));
  assertEquals(await get(app), [200, "no"]);
  await later();
  assertEquals(isCancelled, true);
});

Deno.test("what a mapped `halt()` in a render writes is the response", async () => {
  const app = new Engine();
  app.map("halt", (code: number, text: string) => {
    app.response().status(code).write(text);
  });
  app.map("render", () => app.halt(403, "no"));
  app.route("/", () => {
    app.response().write("content");
    app.render("x");
  });
  assertEquals(await get(app), [403, "no"]);
});

Deno.test("a filtered `stop()` that a render catches closes its section, too", async () => {
  const app = new Engine();
  app.before("stop", () => {});
  app.map("render", async () => {
    app.response().write("before");
    await later();
    try {
      app.stop();
    } catch {
      app.response().write("never");
    }
  });
  app.route("/", () => app.render("x"));
  assertEquals(await get(app), [200, "before"]);
});

Deno.test("a mapped `halt()` is not called once the response is sealed", async () => {
  const app = new Engine();
  let hasRun = false;
  app.map("halt", () => void (hasRun = true));
  app.route("/", () => {
    app.redirect("/login");
    app.halt(403);
  });
  assertEquals(await get(app), [303, ""]);
  assertEquals(hasRun, false);
});

Deno.test("a `halt()` that fails has not responded by a `json()` that fails after it", async () => {
  for (const isAsync of [false, true]) {
    const app = new Engine();
    app.before("json", () => later().then(fail));
    const respond = () => {
      Promise.resolve(app.json({})).catch(() => {});
      fail();
    };
    app.map("halt", () => isAsync ? later().then(respond) : respond());
    app.route("/", () => app.halt(403));
    await logOf(async () => assertEquals((await get(app))[0], 500));
  }
});

Deno.test("an object that a mapped `halt()` returns is sent as JSON, with the status that it has set", async () => {
  const app = new Engine();
  app.map("halt", (status: number, why: string) => {
    app.response().status(status);
    return { why };
  });
  app.route("/", () => app.halt(418, "teapot"));
  assertEquals(await get(app), [418, '{"why":"teapot"}']);
});

Deno.test("a number or boolean that a mapped `halt()` returns is no content", async () => {
  for (const value of [403, 0, true, false]) {
    const app = new Engine();
    app.map("halt", (code: number) => {
      app.response().status(code);
      return value;
    });
    app.route("/", () => app.halt(403, "no"));
    assertEquals(await get(app), [403, ""], `${value}`);
  }
});

Deno.test("`framework.handle_errors` false cancels the stream in whose place a `halt()` has failed", async () => {
  const app = new Engine();
  app.set("framework.handle_errors", false);
  let isCancelled = false;
  app.map("halt", () => later().then(fail));
  app.route("/", () => {
    const cancel = () => void (isCancelled = true);
    const stream = new ReadableStream({ cancel });
    app.response().events(stream as AsyncIterable<never>);
    app.halt(403);
  });
  await assertRejects(async () => await app.fetch("/"), Error, "boom");
  await later();
  assertEquals(isCancelled, true);
});

Deno.test("the page of an asynchronous `halt()` does not wait for that, also where code has caught its signal", async () => {
  const app = new Engine();
  app.map("notFound", () => "missing");
  app.map("halt", () => later().then(() => app.notFound()));
  app.route("/", async () => {
    try {
      app.halt(403);
    } catch {
      await later(5);
    }
  });
  const log = await logOf(async () => {
    assertEquals(await get(app), [404, "missing"]);
  });
  assertEquals(log, []);
});

Deno.test("a mapped `start` that calls the routes again after a failed `json()` lets a guard pass", async () => {
  const app = new Engine();
  let fails = true;
  app.before("json", () => fails ? fail() : undefined);
  app.map("start", async () => {
    try {
      await app.original("start")();
    } catch {
      fails = false;
      await app.original("start")();
    }
  });
  app.map("render", () => later());
  app.route("/", () => "content").addMiddleware(() => {
    app.render("x");
    try {
      if (fails) app.json({});
    } catch {
      // goes on
    }
  });
  assertEquals(await get(app), [200, "content"]);
});

Deno.test("text that a mapped `stop()` returns is added to the content so far", async () => {
  const app = new Engine();
  app.map("stop", () => "end");
  app.route("/", () => {
    app.response().write("content ");
    app.stop();
  });
  assertEquals(await get(app), [200, "content end"]);
});

Deno.test("text that a mapped `halt()` returns is the response, whatever it has cleared", async () => {
  const app = new Engine();
  app.map("halt", (code: number, text: string) => {
    app.response().write("draft").clear().status(code);
    return text;
  });
  app.route("/", () => app.halt(403, "no"));
  assertEquals(await get(app), [403, "no"]);
});

Deno.test("text of a mapped `redirect()` that a failing `json()` has kept from being sent is an error", async () => {
  for (const milliseconds of [0, 5]) {
    const app = new Engine();
    app.before("json", () => later(10).then(fail));
    app.map("redirect", (url: string) => {
      const text = `Go to ${url}`;
      return milliseconds === 0 ? text : later(milliseconds).then(() => text);
    });
    app.route("/", () => {
      const redirect = milliseconds > 0;
      if (redirect) app.redirect("/login");
      Promise.resolve(app.json({})).catch(() => {});
      if (!redirect) app.redirect("/login");
    });
    await logOf(async () => assertEquals((await get(app))[0], 500));
  }
});

Deno.test("a mapped `json()` that does not respond lets code respond that catches the error of a `redirect()`", async () => {
  const app = new Engine();
  app.before("redirect", () => later(5).then(fail));
  app.map("json", () => later());
  app.route("/", async () => {
    app.json({});
    try {
      await (app.redirect("/login") as unknown);
    } catch {
      return "fallback";
    }
  });
  assertEquals(await get(app), [200, "fallback"]);
});

Deno.test("what a mapped `json()` returns after others have responded is for its caller", async () => {
  const app = new Engine();
  let returned: unknown;
  app.map("json", async (data: unknown) => {
    await later();
    return JSON.stringify(data);
  });
  app.route("/", async () => {
    const call: unknown = app.json({ a: 1 });
    app.redirect("/login");
    returned = await call;
  });
  assertEquals(await get(app), [303, ""]);
  assertEquals(returned, '{"a":1}');
});

Deno.test("a `json()` that fails has not responded by a `redirect()` that fails after it", async () => {
  const app = new Engine();
  app.before("redirect", () => later().then(fail));
  app.before("json", () => {
    Promise.resolve(app.redirect("/login") as unknown).catch(() => {});
    fail();
  });
  app.route("/", () => app.json({}));
  await logOf(async () => assertEquals((await get(app))[0], 500));
});

Deno.test("code that catches the error of a filtered `json()` keeps the content so far, and no line is logged", async () => {
  for (const filter of [fail, () => later().then(fail)]) {
    const app = new Engine();
    app.set("framework.log_errors", true);
    app.before("json", filter);
    app.route("/", async () => {
      app.response().write("so far, ");
      try {
        await app.json({});
      } catch {
        app.response().write("and on");
      }
    });
    const log = await logOf(async () => {
      assertEquals(await get(app), [200, "so far, and on"]);
    });
    assertEquals(log, []);
  }
});

Deno.test("a guard lets nobody pass after a mapped `json()` that writes to a `response()` from before", async () => {
  const app = new Engine();
  app.route("/", () => "secret").addMiddleware(() => {
    const response = app.response();
    app.map("json", () => void response.write("no"));
    app.json({});
  });
  app.route("/head", () => "secret").addMiddleware(() => {
    const response = app.response();
    app.map("json", () => void response.status(403));
    app.json({});
  });
  assertEquals(await get(app), [200, "no"]);
  assertEquals(await get(app, "/head"), [403, ""]);
});

Deno.test("an object that a mapped `json()` returns is the response, also beside a header", async () => {
  const app = new Engine();
  app.map("json", (data: unknown) => {
    app.response().header("x-a", "1");
    return { data };
  });
  app.route("/", () => app.json(1));
  assertEquals(await get(app), [200, '{"data":1}']);
});

Deno.test("a mapped `redirect()` that sets a header has responded, with the text that it returns", async () => {
  for (const text of [undefined, "Go to /login"]) {
    const app = new Engine();
    const redirect = (url: string) => {
      app.response().status(303).header("location", url);
      return text;
    };
    app.map("redirect", redirect);
    app.route("/", () => {
      app.redirect("/login");
      return "secret";
    });
    app.route("/later", async () => {
      app.map("redirect", (url: string) => later().then(() => redirect(url)));
      app.render("x"); // a call of other code
      await app.redirect("/login");
      app.response().status(200);
      return "secret";
    });
    app.map("render", () => later(5));
    assertEquals(await get(app), [303, text ?? ""]);
    assertEquals(await get(app, "/later"), [303, text ?? ""]);
  }
});

Deno.test("a guard lets nobody pass after a mapped `json()` has forgotten to await the text that it writes", async () => {
  const app = new Engine();
  app.map("reply" as "json", (data: unknown) =>
    later().then(() => {
      app.response().write(JSON.stringify(data));
    }));
  app.map("json", (data: unknown) => {
    (app as unknown as { reply(data: unknown): void }).reply(data);
  });
  app.route("/", () => "secret").addMiddleware(() => app.json({ a: 1 }));
  assertEquals(await get(app), [200, '{"a":1}']);
});

Deno.test("a guard may write beside a mapped `json()` that does not respond, and lets pass", async () => {
  const app = new Engine();
  app.map("json", () => later());
  app.route("/", () => "content").addMiddleware(() => {
    app.json({});
    app.response().status(201).header("x-a", "1").write("text, ");
  });
  assertEquals(await get(app), [201, "text, content"]);
});

Deno.test("a stream that a mapped `json()` returns is sent, also from a callback that returns the call", async () => {
  const app = new Engine();
  app.map("json", (text: string) => new Blob([text]).stream());
  app.route("/", () => app.json("streamed"));
  assertEquals(await get(app), [200, "streamed"]);
});

Deno.test("numbers, booleans and null that a mapped method returns are for its caller", async () => {
  const app = new Engine();
  let value: unknown;
  app.map("json", () => value);
  app.route("/", () => `returned ${app.json({})}`);
  for (value of [0, 1, true, false, null, undefined]) {
    assertEquals(await get(app), [200, `returned ${value}`]);
  }
});

Deno.test("`response()` that a mapped `json()` returns is no content", async () => {
  const app = new Engine();
  app.map("json", () => app.response().status(403));
  app.route("/", () => app.json({}));
  assertEquals(await get(app), [403, ""]);
});

Deno.test("what an asynchronous mapped `json()` returns after it has written is for its caller", async () => {
  const app = new Engine();
  app.map("json", async () => {
    await later();
    app.response().write("written");
    return "returned";
  });
  let returned: unknown;
  app.route("/", async () => {
    returned = await (app.json({}) as unknown);
  });
  assertEquals(await get(app), [200, "written"]);
  assertEquals(returned, "returned");
});

Deno.test("what a mapped `json()` returns has the type that it has set, and that of HTML if it is HTML", async () => {
  const app = new Engine();
  app.map("json", (name: string) => {
    if (name === "HTML") return html`<b>${name}</b>`;
    if (name === "CSV") app.response().header("content-type", "text/csv");
    return name;
  });
  app.route("/@name", (name) => app.json(name));
  const table = {
    JSON: "application/json; charset=utf-8",
    HTML: "text/html; charset=utf-8",
    CSV: "text/csv",
  };
  for (const [name, type] of Object.entries(table)) {
    const response = await app.fetch(`/${name}`);
    await response.body?.cancel();
    assertEquals(response.headers.get("content-type"), type);
  }
});

Deno.test("`status()` and `header()` are those of a page which a mapped `halt()` shows", async () => {
  const app = new Engine();
  let head: unknown[] = [];
  app.map("halt", () => app.notFound());
  app.map("notFound", () => app.json({}));
  app.before("send", () => {
    const response = app.response();
    head = [response.status(), response.header("content-type")];
  });
  app.route("/", () => app.halt(403));
  assertEquals(await get(app), [404, "{}"]);
  assertEquals(head, [404, "application/json; charset=utf-8"]);
});

Deno.test("a filtered `stop()` sends the status, the headers and the body so far", async () => {
  const app = new Engine();
  app.before("stop", () => {});
  app.route("/text", () => {
    app.response().status(201).header("x-a", "1").write("text");
    app.stop();
  });
  app.route("/stream", () => {
    app.response().status(201).events([{ data: "a" }]);
    app.stop();
  });
  const text = await app.fetch("/text");
  assertEquals([text.status, text.headers.get("x-a")], [201, "1"]);
  assertEquals(await text.text(), "text");
  const stream = await app.fetch("/stream");
  assertEquals(stream.status, 201);
  assertEquals(stream.headers.get("content-type"), "text/event-stream");
  assertEquals(await stream.text(), "data: a\n\n");
});

Deno.test("a `stop()` that fails leaves a stream, and a render, to code that catches the error", async () => {
  const app = new Engine();
  app.before("stop", fail);
  const stop = () => {
    try {
      app.stop();
    } catch {
      // the content is still there
    }
  };
  app.map("render", async () => {
    app.response().write("a ");
    await later();
    stop();
    app.response().write("b");
  });
  app.route("/stream", () => {
    app.response().events([{ data: "a" }]);
    stop();
  });
  app.route("/render", () => app.render("x"));
  assertEquals(await get(app, "/stream"), [200, "data: a\n\n"]);
  assertEquals(await get(app, "/render"), [200, "a b"]);
});

Deno.test("what a failing filter of `json()` writes is not sent, also behind a render", async () => {
  const app = new Engine();
  app.map("render", () => later().then(() => app.response().write("render ")));
  app.before("json", () => {
    app.response().write("never");
    fail();
  });
  app.route("/", async () => {
    app.render("x");
    try {
      await app.json({});
    } catch {
      app.response().write("and on");
    }
  });
  assertEquals(await get(app), [200, "render and on"]);
});

Deno.test("what a failing `halt()` has kept from being written is no reason to fail for a later `json()`", async () => {
  const app = new Engine();
  app.before("json", fail);
  app.route("/", () => {
    const response = app.response();
    app.map("halt", () => {
      response.write("ignored");
      fail();
    });
    for (const call of [() => app.halt(403), () => app.json({})]) {
      try {
        call();
      } catch {
        // goes on
      }
    }
    return "fallback";
  });
  assertEquals(await get(app), [200, "fallback"]);
});

Deno.test("a guard two engines deep lets nobody pass after the outermost has responded, whatever the one between does", async () => {
  const [outer, middle, inner] = [new Engine(), new Engine(), new Engine()];
  middle.map("json", () => {});
  let hasRun = false;
  inner.route("/*", () => void (hasRun = true)).addMiddleware(() => {
    outer.redirect("/login");
    middle.json({});
  });
  middle.route("/*", () => inner.fetch("/x"));
  outer.route("/*", () => middle.fetch("/x"));
  assertEquals((await outer.fetch("/x")).status, 303);
  assertEquals(hasRun, false);
});

Deno.test("`clear()` in a filter of `json()` leaves the headers that code behind it sets", async () => {
  const app = new Engine();
  app.before("json", () => void app.response().clear());
  app.route("/", () => {
    app.response().header("x-before", "1");
    app.json({ a: 1 });
    app.response().cookie("user", "ada");
  });
  const { headers } = await app.fetch("/");
  assertEquals(headers.get("x-before"), null);
  assertStringIncludes(headers.get("set-cookie") ?? "", "user=ada");
});

Deno.test("a guard lets nobody pass after a mapped `json()` that writes anything of the head", async () => {
  const writes: Readonly<Record<string, (app: Engine) => unknown>> = {
    status: (app) => app.response().status(401),
    header: (app) => app.response().header("x-why", "no"),
    cookie: (app) => app.response().cookie("why", "no"),
    cache: (app) => app.response().cache(false),
    etag: (app) => app.etag("1"),
    lastModified: (app) => app.lastModified(1),
  };
  for (const [name, write] of Object.entries(writes)) {
    const app = new Engine();
    app.map("json", async () => {
      await later();
      write(app);
    });
    let hasRun = false;
    app.route("/", () => void (hasRun = true))
      .addMiddleware(() => void app.json({}));
    await (await app.fetch("/")).body?.cancel();
    assertEquals(hasRun, false, name);
  }
});

for (const name of ["halt", "json", "jsonp", "redirect"] as const) {
  Deno.test(`the headers that are true of other bytes alone go where a mapped \`${name}()\` replaces the body`, async () => {
    const app = new Engine();
    let encoding: string | null = null;
    app.map(name, () => {
      if (encoding !== null) {
        app.response().header("content-encoding", encoding);
      }
      return "text";
    });
    app.route("/", () => {
      const headers = { "content-encoding": "gzip", "content-digest": "x" };
      for (const [key, value] of Object.entries(headers)) {
        app.response().header(key, value);
      }
      app[name]("" as never);
    });
    for (const sent of [null, "identity", "gzip"]) {
      encoding = sent; // which is that of the new body
      const { headers } = await app.fetch("/");
      assertEquals(headers.get("content-encoding"), sent);
      assertEquals(headers.get("content-digest"), null);
    }
  });
}

Deno.test("a mapped `halt()` that fails leaves the encoding of the content so far, and a mapped `stop()` does", async () => {
  const app = new Engine();
  app.map("halt", fail);
  app.map("stop", () => {});
  for (const name of ["halt", "stop"] as const) {
    app.route(`/${name}`, () => {
      app.response().header("content-encoding", "identity").write("text");
      try {
        app[name]();
      } catch { /* the content stands */ }
    });
    const response = await app.fetch(`/${name}`);
    assertEquals(await response.text(), "text");
    assertEquals(response.headers.get("content-encoding"), "identity");
  }
});

Deno.test("`sent` is true as soon as a filtered method is called that responds later", async () => {
  const app = new Engine();
  app.before("redirect", () => later());
  let sent: boolean | undefined;
  app.route("/", () => {
    app.redirect("/login");
    ({ sent } = app.response());
  });
  assertEquals((await get(app))[0], 303);
  assertEquals(sent, true);
});

Deno.test("the response of a mount that a failing `json()` has kept from being sent is an error", async () => {
  const app = withFailingJson();
  app.mount("/in", () => {
    Promise.resolve(app.json({})).catch(() => {});
    return new Response("text");
  });
  await logOf(async () => assertEquals((await get(app, "/in/"))[0], 500));
});

Deno.test("the encoding of the content goes with what takes its place in `stop()`", async () => {
  const ends: Readonly<Record<string, (app: Engine) => void>> = {
    "a filter's text": (app) =>
      app.after("stop", (_params, output) => void (output.value = "new")),
    "a filter's response": (app) =>
      app.after("stop", (_params, output) => {
        output.value = new Response("new");
      }),
    "bytes of a mapped one": (app) =>
      void app.map("stop", () => new TextEncoder().encode("new")),
  };
  for (const [what, end] of Object.entries(ends)) {
    const app = new Engine();
    end(app);
    app.route("/", () => {
      app.response().header("content-encoding", "gzip").write("old");
      app.stop();
    });
    const { headers, ...response } = await sent(app);
    assertEquals(response.text, "new", what);
    assertEquals(headers.get("content-encoding"), null, what);
  }
});

async function sent(app: Engine): Promise<{ headers: Headers; text: string }> {
  const response = await app.fetch("/");
  return { headers: response.headers, text: await response.text() };
}

Deno.test("the first of two calls of a mapped asynchronous method that return content is the response", async () => {
  for (
    const make of [String, (text: string) => new TextEncoder().encode(text)]
  ) {
    const app = new Engine();
    app.map("json", async (data: unknown) => {
      await null;
      return make(String(data));
    });
    app.route("/", () => {
      app.json("first");
      app.json("second");
    });
    assertEquals(await get(app), [200, "first"]);
  }
});

Deno.test("what a failing filtered `json()` has kept from being sent is an error, however late code catches that", async () => {
  for (const wait of [0, 20]) {
    const app = withFailingJson();
    app.route("/", async () => {
      const sent = app.json({});
      app.redirect("/ignored");
      await later(wait);
      try {
        await sent;
      } catch { /* it stands all the same */ }
      return "what came later";
    });
    await logOf(async () => assertEquals((await get(app))[0], 500, `${wait}`));
  }
});

Deno.test("a 304 that a failing `json()` has kept from being sent is an error", async () => {
  const app = withFailingJson();
  app.route("/", () => {
    Promise.resolve(app.json({})).catch(() => {});
    app.etag("a");
  });
  const headers = { "if-none-match": '"a"' };
  await logOf(async () => {
    const request = new Request("http://localhost/", { headers });
    const response = await app.fetch(request);
    assertEquals(response.status, 500);
    await response.body?.cancel();
  });
});

for (const name of ["redirect", "json"] as const) {
  Deno.test(`a guard lets nobody pass after an asynchronous mapped \`${name}()\` that writes to a \`response()\` from before`, async () => {
    const app = new Engine();
    app.before("start", () => app.set("kept", app.response()));
    app.map(name, async () => {
      await null;
      const kept = app.get<HttpResponse>("kept")!;
      if (name === "json") kept.status(403).write("denied");
      else kept.status(303).header("location", "/login");
    });
    app.route("/", () => "SECRET").addMiddleware(() => {
      app[name]("" as never);
    });
    const expected = name === "json" ? [403, "denied"] : [303, ""];
    assertEquals(await get(app), expected as [number, string]);
  });
}
