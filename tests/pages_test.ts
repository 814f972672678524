/**
 * Tests what pages of errors tell to whom, and what the filters of `notFound` and `error` may still do.
 */

import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Engine, HttpError } from "@framework/core";
import { onEngine, visit } from "./forms.ts";
import { logOf } from "./log.ts";

const SECRET = "connect postgres://user:pw@host";

/** A client on another machine. */
const REMOTE = {
  remoteAddr: { transport: "tcp", hostname: "192.0.2.7", port: 5 } as const,
};

onEngine(
  "an error tells a client elsewhere its reference alone, and the log the rest",
  async (app) => {
    app.route("/boom", () => {
      throw new Error(SECRET);
    });
    for (const accept of ["text/html", "application/json"]) {
      let text = "";
      const [line, ...more] = await logOf(async () => {
        const headers = { accept };
        const request = new Request("http://localhost/boom", { headers });
        const response = await app.fetch(request, REMOTE);
        assertEquals(response.status, 500);
        text = await response.text();
      });
      assert(!text.includes("postgres"), text);
      const reference = /Reference: ([0-9a-f]{8})/.exec(text)?.[1];
      assertStringIncludes(
        line!,
        `${reference} GET /boom Error: ${SECRET} at `,
      );
      assertMatch(line!, /\/pages_test\.ts:\d+$/);
      assertEquals(more, []);
    }
  },
);

onEngine(
  "an error tells a client on this machine its message under `framework.debug`, unless a proxy stands between",
  async (app) => {
    app.route("/boom", () => {
      throw new Error("the message");
    });
    const proxies = [
      ...["forwarded", "via", "x-forwarded-for", "x-real-ip", "client-ip"],
      ...["true-client-ip", "cf-connecting-ip", "x-client-ip", "cdn-loop"],
    ];
    const local = {
      remoteAddr: { transport: "tcp", hostname: "127.0.0.1", port: 5 } as const,
    };
    const ask = async (headers: HeadersInit = {}): Promise<string> => {
      const request = new Request("http://localhost/boom", { headers });
      return await (await app.fetch(request, local)).text();
    };
    await logOf(async () => {
      assert(!(await ask()).includes("the message"));
      app.set("framework.debug", true);
      assertStringIncludes(await ask(), "the message");
      app.set("framework.trust_proxy", true);
      assert(!(await ask()).includes("the message"));
      app.set("framework.trust_proxy", false);
    });
    for (const name of proxies) {
      await logOf(async () => {
        const text = await ask({ [name]: "x" });
        assert(!text.includes("the message"), name);
      });
    }
  },
);

Deno.test("a mounted engine shows no details where the engine around it trusts a proxy", async () => {
  const [outer, inner] = [new Engine(), new Engine()];
  inner.set("framework.debug", true);
  inner.route("/boom", () => {
    throw new Error("the message");
  });
  outer.mount("/in", inner);
  const local = {
    remoteAddr: { transport: "tcp", hostname: "127.0.0.1", port: 5 } as const,
  };
  for (const trusts of [false, true]) {
    outer.set("framework.trust_proxy", trusts);
    await logOf(async () => {
      const response = await outer.fetch("/in/boom", local);
      const text = await response.text();
      assertEquals(text.includes("the message"), !trusts);
    });
  }
});

Deno.test("the program reads the message of an error, also where the handler has read `signal`", async () => {
  const app = new Engine();
  app.route("/", () => {
    void app.request().signal;
    throw new Error("the message");
  });
  const text = await (await app.fetch("/")).text();
  assertStringIncludes(text, "the message");
});

Deno.test("a mounted engine keeps the message of an error from what may be a copy of a request", async () => {
  const [outer, inner] = [new Engine(), new Engine()];
  inner.route("/boom", () => {
    throw new Error("the message");
  });
  outer.mount("/in", inner);
  const { signal } = new AbortController();
  for (const init of [{}, { signal }]) {
    await logOf(async () => {
      const request = new Request("http://localhost/in/boom", init);
      const text = await (await outer.fetch(request)).text();
      assertEquals(text.includes("the message"), !("signal" in init));
    });
  }
});

Deno.test("debug details are hidden from a server without connection info, also in a copy of its request", async () => {
  const app = new Engine();
  app.set("framework.debug", true);
  app.route("/boom", () => {
    throw new Error(SECRET);
  });
  const copies: ((request: Request) => Request)[] = [
    (request) => request,
    (request) => request.clone(),
    (request) => new Request("http://localhost/boom", request),
  ];
  for (const copy of copies) {
    const server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      (request) => app.fetch(copy(request)),
    );
    await logOf(async () => {
      const url = `http://127.0.0.1:${server.addr.port}/boom`;
      const text = await (await fetch(url)).text();
      assert(!text.includes("postgres"), text);
    });
    await server.shutdown();
  }
});

onEngine("an `HttpError` tells every client its message", async (app) => {
  app.route("/staff", () => {
    throw new HttpError(403, "Staff only");
  });
  const request = new Request("http://localhost/staff");
  const lines = await logOf(async () => {
    const text = await (await app.fetch(request, REMOTE)).text();
    assertStringIncludes(text, "Staff only");
  });
  assertEquals(lines, []);
});

onEngine(
  "`framework.log_errors` logs an error whole, with the reference that the client got",
  async (app) => {
    app.set("framework.log_errors", true);
    app.route("/boom", () => {
      throw new TypeError("whole");
    });
    let text = "";
    const [line, ...more] = await logOf(async () => {
      const request = new Request("http://localhost/boom");
      text = await (await app.fetch(request, REMOTE)).text();
    });
    const reference = /Reference: (\w+)/.exec(text)?.[1];
    assertMatch(line!, /TypeError: whole\n +at /);
    assertStringIncludes(line!, `${reference} GET /boom TypeError`);
    assertEquals(more, []);
  },
);

for (const name of ["notFound", "error"] as const) {
  for (const kind of ["default", "mapped"]) {
    onEngine(
      `after filters of a ${kind} \`${name}\` may write, set headers and change the output`,
      async (app) => {
        app.route("/error", () => {
          throw new HttpError(503);
        });
        if (kind === "mapped") app.map(name, () => "page");
        app.after(name, (_params, output) => {
          app.response().header("x-after", "1").write("<footer>");
          if (kind === "mapped") output.value += "!";
        });
        const path = name === "error" ? "/error" : "/nowhere";
        const response = await visit(app, path);
        const text = await response.text();
        assertEquals(response.status, name === "error" ? 503 : 404);
        assertEquals(response.headers.get("x-after"), "1");
        assertStringIncludes(text, "<footer>");
        if (kind === "mapped") assertEquals(text, "<footer>page!");
      },
    );

    onEngine(
      `after filters of a ${kind} \`${name}\` may halt`,
      async (app) => {
        app.route("/error", () => {
          throw new HttpError(503);
        });
        if (kind === "mapped") app.map(name, () => "page");
        app.after(name, () => app.halt(418, "halted"));
        const path = name === "error" ? "/error" : "/nowhere";
        const response = await visit(app, path);
        assertEquals(response.status, 418);
        assertEquals(await response.text(), "halted");
      },
    );
  }
}

onEngine(
  "a guard that redirects and returns `false` is silent",
  async (app) => {
    app.route("/members", () => "members").addMiddleware(() => {
      app.redirect("/login");
      return false;
    });
    const lines = await logOf(async () => {
      const response = await visit(app, "/members");
      assertEquals(response.status, 303);
      assertEquals(response.headers.get("location"), "/login");
    });
    assertEquals(lines, []);
  },
);

onEngine(
  "a 405 says which methods there are, in its page and in `Allow`",
  async (app) => {
    app.set("framework.method_not_allowed", true);
    app.route("GET|POST /form", () => "form");
    const response = await visit(app, "/form", { method: "PUT" });
    assertEquals(response.status, 405);
    assertEquals(response.headers.get("allow"), "GET, POST, HEAD, OPTIONS");
    assertStringIncludes(await response.text(), "GET, POST, HEAD, OPTIONS");
  },
);

onEngine("methods of a request name themselves outside of one", (app) => {
  const calls: Record<string, () => unknown> = {
    "redirect()": () => app.redirect("/"),
    "halt()": () => app.halt(),
    "stop()": () => app.stop(),
    "json()": () => app.json({}),
    "jsonp()": () => app.jsonp({}),
    "render()": () => app.render("x"),
    "notFound()": () => app.notFound(),
    "error()": () => app.error(new Error()),
    "defer()": () => app.defer(() => {}),
    "etag()": () => app.etag("v"),
    "lastModified()": () => app.lastModified(1),
    "request()": () => app.request(),
    "response()": () => app.response(),
  };
  for (const [name, call] of Object.entries(calls)) {
    assertThrows(call, Error, `Cannot call ${name} here`, name);
  }
});

onEngine("a name that is nearly a setting's is refused", (app) => {
  const set = app.set as (key: string, value: unknown) => void;
  const error = assertThrows(
    () => set.call(app, "framework.debgu", true),
    TypeError,
  );
  assertStringIncludes(error.message, 'did you mean "framework.debug"?');
  const unlike: string = "framework.mode_of_my_own";
  app.set(unlike, 1);
  assertEquals(app.get(unlike), 1);
});

onEngine(
  "what a request adds to a default page stays its own",
  async (app) => {
    const get = async (path: string, init: RequestInit = {}) => {
      const request = new Request(`http://localhost${path}`, init);
      const { status, headers, body } = await app.fetch(request);
      const text = body === null ? null : await new Response(body).text();
      return { status, headers: Object.fromEntries(headers), text };
    };
    const plain = await get("/none");
    assertEquals(plain.status, 404);
    assertEquals(plain.headers.vary, "Accept");
    assertStringIncludes(plain.text ?? "", "404 Not Found");

    app.after("start", () => {
      const { query } = app.request();
      if (query.header) app.response().header("x-a", "1");
      if (query.cookie) app.response().cookie("seen", "1");
      if (query.vary) app.response().header("vary", "Accept, Cookie");
    });
    app.after("send", (_params, output) => {
      if (app.request().query.send) output.value.headers.set("x-b", "2");
    });
    const added = {
      "?header=1": { "x-a": "1" },
      "?cookie=1": { "set-cookie": "seen=1; HttpOnly; SameSite=Lax; Path=/" },
      "?vary=1": { vary: "Accept, Cookie" },
      "?send=1": { "x-b": "2" },
    };
    for (const [query, more] of Object.entries(added)) {
      const headers = { ...plain.headers, ...more };
      assertEquals(await get(`/none${query}`), { ...plain, headers }, query);
      assertEquals(await get("/none"), plain, query);
    }
    const head = await get("/none", { method: "HEAD" });
    assertEquals([head.status, head.text], [404, null]);
    const json = await get("/none", {
      headers: { accept: "application/json" },
    });
    assertEquals(json.headers["content-type"], "application/problem+json");
    assertEquals(await get("/none"), plain);
  },
);

onEngine(
  "a page that its request has not waited for takes no text, and does not call its method after late filters",
  async (app) => {
    app.set("framework.wait_timeout", 0.01);
    const { promise, resolve } = Promise.withResolvers<void>();
    const called: unknown[] = [];
    app.map("notFound", () => promise.then(() => "late"));
    app.before("error", () => promise);
    app.map("error", (error: Error) => void called.push(error));
    const pages: unknown[] = [];
    app.route("/missing", () => void pages.push(app.notFound()));
    app.route("/boom", () => void pages.push(app.error(new Error("boom"))));
    const log = await logOf(async () => {
      await visit(app, "/missing");
      await visit(app, "/boom");
      resolve();
      for (const page of pages) {
        await assertRejects(() => page as Promise<void>, Error, "has ended");
      }
    });
    assertEquals(called, []);
    assertEquals(log.length, 2);
    assertMatch(log.join(), /waiting for: notFound .*waiting for: error /);
  },
);

for (const name of ["notFound", "error"] as const) {
  Deno.test(`what a filter puts in place of the default \`${name}\` is the whole page, asynchronous or not`, async () => {
    for (const filter of [() => {}, () => Promise.resolve()]) {
      const app = new Engine();
      app.before(name, filter);
      app.after(name, (_params, output) => void (output.value = "replaced"));
      app.route("/error", () => {
        throw new Error("boom");
      });
      await logOf(async () => {
        const response = await app.fetch(`/${name}`);
        assertEquals(await response.text(), "replaced");
      });
    }
  });
}

Deno.test("a mapped `error` gets an `Error`, whatever a filter has put in place of what was thrown", async () => {
  const app = new Engine();
  app.before("error", (params) => void (params[0] = "replaced" as never));
  app.map("error", (error: unknown) => `${error instanceof Error}`);
  app.route("/", () => {
    throw new Error("boom");
  });
  await logOf(async () => {
    const text = await (await app.fetch("/")).text();
    assertEquals(text, "true");
  });
});

Deno.test("`notFound()` with a function responds inside of a request", async () => {
  const app = new Engine();
  const handled = app as unknown as { notFound(handler: () => void): void };
  app.route("/", () => handled.notFound(() => {}));
  assertEquals((await app.fetch("/")).status, 404);
});

Deno.test("`original()` of a mapped page sends what the default one sends", async () => {
  const thrown: Record<string, unknown> = {
    "/http": new HttpError(409, "taken", {
      headers: { "retry-after": "5" },
      problem: { field: "name" },
    }),
    "/error": new Error("boom"),
  };
  const sent = async (isMapped: boolean) => {
    const app = new Engine();
    app.set("framework.trust_proxy", true);
    if (isMapped) {
      app.map("error", (error: Error) => app.original("error")(error));
      app.map("notFound", () => app.original("notFound")());
    }
    app.route("/@name", (name) => {
      throw thrown[`/${name}`];
    });
    const all: unknown[] = [];
    for (const path of [...Object.keys(thrown), "/not/found"]) {
      for (const accept of ["text/html", "application/json"]) {
        const headers = { accept, "x-request-id": "1" };
        const request = new Request(`http://localhost${path}`, { headers });
        const response = await app.fetch(request, REMOTE);
        const text = await response.text();
        all.push([response.status, [...response.headers], text]);
      }
    }
    return all;
  };
  await logOf(async () => assertEquals(await sent(true), await sent(false)));
});

Deno.test("the default page has the status that a mapped `error` has set before", async () => {
  const app = new Engine();
  app.map("error", (error: Error) => {
    app.response().status(503);
    return app.original("error")(error);
  });
  app.route("/", () => {
    throw new Error("boom");
  });
  await logOf(async () => {
    const response = await app.fetch("/");
    assertEquals(response.status, 503);
    assertStringIncludes(await response.text(), "<h1>503 ");
  });
});

Deno.test("the headers of an error reach a client that closes its connection", async () => {
  const app = new Engine();
  app.route("/", () => {
    throw new HttpError(429, "Slowly", { headers: { "retry-after": "5" } });
  });
  const headers = { connection: "close" };
  const response = await app.fetch(
    new Request("http://localhost/", { headers }),
  );
  await response.body?.cancel();
  assertEquals(response.headers.get("retry-after"), "5");
});

Deno.test("`error()` on the page of `notFound` responds, and nothing is added to it", async () => {
  const app = new Engine();
  app.map("notFound", () => {
    app.error(new HttpError(403, "no"));
    return "more";
  });
  const response = await app.fetch("/");
  assertEquals(response.status, 403);
  assertEquals((await response.text()).includes("more"), false);
});

Deno.test("a mapped `notFound` that sends a 503 is no line in the log", async () => {
  const app = new Engine();
  app.set("framework.log_errors", true);
  app.map("notFound", () => void app.response().status(503));
  const log = await logOf(async () => {
    assertEquals((await app.fetch("/")).status, 503);
  });
  assertEquals(log, []);
});

Deno.test("a page shows the first line of a message alone", async () => {
  const app = new Engine();
  app.route("/", () => {
    throw new HttpError(409, "first\nsecond");
  });
  const text = await (await app.fetch("/")).text();
  assertEquals([text.includes("first"), text.includes("second")], [
    true,
    false,
  ]);
});

Deno.test("a status that a mapped `error` has set stands, also where a filter has replaced the error", async () => {
  const app = new Engine();
  app.before("error", (params) => void (params[0] = new HttpError(403)));
  app.map("error", (error: Error) => {
    app.response().status(503);
    return app.original("error")(error);
  });
  app.route("/", () => {
    throw new HttpError(503);
  });
  await logOf(async () => {
    const response = await app.fetch("/");
    assertEquals(response.status, 503);
    await response.body?.cancel();
  });
});

Deno.test("problem details that JSON cannot represent leave the default page, under debug, too", async () => {
  for (const isDebugging of [false, true]) {
    const app = new Engine();
    app.set("framework.debug", isDebugging);
    app.route("/", () => {
      throw new HttpError(409, "taken", { problem: { number: 1n } });
    });
    const headers = { accept: "application/json" };
    const request = new Request("http://localhost/", { headers });
    await logOf(async () => {
      const response = await app.fetch(request);
      assertEquals((await response.json()).detail, "taken");
    });
  }
});
