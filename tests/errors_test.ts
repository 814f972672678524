/** Tests what goes wrong: `HttpError`, `error()`, its pages, its settings, and what is shown under debug. */

import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Engine, HttpError } from "@framework/core";
import { type App, call, onBothForms, onEngine, visit } from "./forms.ts";
import { logOf } from "./log.ts";

function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

function fail(message = "boom"): never {
  throw new TypeError(message);
}

Deno.test("`new HttpError()` refuses what is no status of an error", () => {
  for (const status of [200, 399, 600, 404.5, NaN]) {
    assertThrows(() => new HttpError(status), RangeError, `status "${status}"`);
  }
});

Deno.test("`new HttpError()` keeps its status, message, cause and headers", () => {
  const error = new HttpError(429, "Slowly", {
    cause: 1,
    headers: { "retry-after": "5" },
  });
  assert(error instanceof Error);
  assertEquals([error.name, error.status, error.message, error.cause], [
    "HttpError",
    429,
    "Slowly",
    1,
  ]);
  assertEquals(error.headers.get("retry-after"), "5");
});

onBothForms(
  "`error()` sends the status, message and headers of an `HttpError`",
  async (app) => {
    app.route("/", () => {
      app.response().header("allow", "GET").write("dropped");
      const headers = new Headers({ "retry-after": "5" });
      headers.append("set-cookie", "a=1");
      headers.append("set-cookie", "b=2");
      throw new HttpError(429, "Slowly", { headers });
    });
    const check = async (): Promise<Response> => {
      const response = await visit(app, "/");
      assertEquals([response.status, response.headers.get("retry-after")], [
        429,
        "5",
      ]);
      assertEquals(response.headers.getSetCookie(), ["a=1", "b=2"]);
      return response;
    };
    assertStringIncludes(await (await check()).text(), "<p>Slowly</p>");
    app.map("error", () => "mapped");
    assertEquals(await (await check()).text(), "mapped");
  },
);

const refuse = (status: number, message: string): HttpError =>
  new HttpError(status, message, { headers: { "retry-after": "5" } });

onEngine(
  "an error that a before filter puts in place of another gives status, headers and page",
  async (app) => {
    app.before("error", (params) => {
      params[0] = refuse(409, params[0].message);
      return false; // ends the filters, not the method
    });
    app.route("/", () => fail("taken"));
    const first = await visit(app, "/");
    assertEquals(first.status, 409);
    assertEquals(first.headers.get("retry-after"), "5");
    assertStringIncludes(await first.text(), "<p>taken</p>");

    app.map("error", (error: HttpError) => `mapped ${error.status}`);
    const mapped = await visit(app, "/");
    assertEquals(mapped.status, 409);
    assertEquals(await mapped.text(), "mapped 409");
  },
);

onEngine(
  '`original("error")` gives the status and headers of the error that it gets',
  async (app) => {
    app.map("error", () => app.original("error")(refuse(422, "unfit")));
    app.route("/", () => fail());
    const response = await visit(app, "/");
    assertEquals(response.status, 422);
    assertEquals(response.headers.get("retry-after"), "5");
    assertStringIncludes(await response.text(), "422 Unprocessable");
  },
);

onEngine(
  "a status that a mapped `error` sets stays, whichever error is shown",
  async (app) => {
    app.map("error", (error: Error) => {
      app.response().status(503);
      app.original("error")(app.get("other") ?? error);
    });
    app.route("/", () => fail());
    assertEquals((await visit(app, "/")).status, 503);
    app.set("other", new HttpError(422));
    assertEquals((await visit(app, "/")).status, 503);
  },
);

/** Where an error can come up; all are one and the same error of the request. */
const PLACES: Record<string, (app: App) => unknown> = {
  "a handler": (app) => app.route("/", () => fail()),
  "an asynchronous handler": (app) =>
    app.route("/", async () => {
      app.response().write("half a page");
      await later();
      fail();
    }),
  "a rejected promise": (app) =>
    app.route("/", () => Promise.reject(new TypeError("boom"))),
  "a filter": (app) => {
    app.route("/", () => "page");
    app.before("start", () => fail());
  },
  "an asynchronous filter": (app) => {
    app.route("/", () => "page");
    app.after("start", async () => {
      await later();
      fail();
    });
  },
  "middleware": (app) =>
    app.route("/", () => "page").addMiddleware(() => fail()),
  "a mapped method": (app) => {
    app.map("method", () => fail());
    app.route("/", () => call(app, "method"));
  },
  "a mapped asynchronous method that is not awaited": (app) => {
    app.map("method", async () => {
      await later();
      fail();
    });
    app.route("/", () => {
      call(app, "method");
      return "page";
    });
  },
  "a render that is not awaited": (app) => {
    app.map("render", () => Promise.reject(new TypeError("boom")));
    app.route("/", () => {
      app.render("x");
      return "page";
    });
  },
  "a mapped `notFound()`": (app) => app.map("notFound", () => fail()),
  "the constructor of a class": (app) => {
    app.register(
      "broken",
      class {
        constructor() {
          fail();
        }
      },
    );
    app.route("/", () => call(app, "broken"));
  },
};

onEngine(
  "`error()` gets every error of a request, wherever it comes up",
  async (app) => {
    for (const [place, declare] of Object.entries(PLACES)) {
      app.init();
      app.map("error", (error: Error) => `${error.name}: ${error.message}`);
      declare(app);
      const response = await visit(app, "/");
      const got = [response.status, await response.text()];
      assertEquals(got, [500, "TypeError: boom"], place);
    }
  },
);

onEngine("`error()` gets an `Error`, whatever was thrown", async (app) => {
  const thrown: [unknown, string][] = [
    ["text", 'A non-Error value was thrown: "text"'],
    [undefined, "A non-Error value was thrown: undefined"],
    [null, "A non-Error value was thrown: null"],
    [42n, "A non-Error value was thrown: 42n"],
    [{ a: 1 }, "A non-Error value was thrown: { a: 1 }"],
  ];
  let got: Error | undefined;
  app.map("error", (error: Error) => void (got = error));
  for (const [index, [value, message]] of thrown.entries()) {
    app.route(`/${index}`, () => {
      throw value;
    });
    assertEquals((await visit(app, `/${index}`)).status, 500);
    assertEquals([got?.message, got?.cause], [message, value]);
  }
});

onEngine(
  "`error()` gets nothing of a rejection that was awaited and caught",
  async (app) => {
    app.map("method", () => Promise.reject(new Error("caught")));
    app.route("/", async () => {
      try {
        await call(app, "method");
      } catch {
        return "fine";
      }
    });
    const log = await logOf(async () => {
      const response = await visit(app, "/");
      assertEquals([response.status, await response.text()], [200, "fine"]);
    });
    assertEquals(log, []);
  },
);

onEngine(
  "`fetch()` logs what is rejected after the response, and nothing else happens",
  async (app) => {
    app.set("framework.wait_timeout", 0);
    app.map("method", async () => {
      await later();
      await later();
      fail("too late");
    });
    app.route("/", () => {
      call(app, "method");
      return "page";
    });
    const log = await logOf(async () => {
      const response = await visit(app, "/");
      assertEquals([response.status, await response.text()], [200, "page"]);
      for (let turn = 0; turn < 5; turn++) await later();
    });
    assertStringIncludes(
      log.join("\n"),
      "Sent the response without waiting for: method",
    );
    assertStringIncludes(log.join("\n"), "TypeError: too late");
  },
);

onEngine(
  "`error()` shows status and message, and neither class nor stack",
  async (app) => {
    app.route("/", () => fail("no more paper"));
    const response = await visit(app, "/");
    const text = await response.text();
    assertEquals(
      response.headers.get("content-type"),
      "text/html; charset=utf-8",
    );
    assertStringIncludes(text, "<h1>500 Internal Server Error</h1>");
    assertStringIncludes(text, "<p>no more paper</p>");
    assertEquals(/TypeError|\.ts/.test(text), false);
  },
);

onEngine("`error()` escapes the message that it shows", async (app) => {
  app.route("/", () => {
    throw new HttpError(400, `<script>alert("&")</script>'`);
  });
  const text = await (await visit(app, "/")).text();
  assertStringIncludes(
    text,
    "<p>&lt;script&gt;alert(&quot;&amp;&quot;)&lt;/script&gt;&#39;</p>",
  );
});

onEngine(
  "`error()` masks secrets in a message, unless it is that of an `HttpError`",
  async (app) => {
    app.route("/error", () => fail("failed with password=hidden"));
    app.route("/address", () => fail("from /?next=/a?token=hidden&page=2"));
    app.route("/told", () => {
      throw new HttpError(400, "Ask with ?key=<name>");
    });
    const text = async (path: string) => await (await visit(app, path)).text();
    assertStringIncludes(await text("/error"), "password=••••</p>");
    assertStringIncludes(
      await text("/address"),
      "/a?token=••••&amp;page=2</p>",
    );
    assertStringIncludes(await text("/told"), "?key=&lt;name&gt;</p>");
  },
);

onEngine(
  "`error()` lets nobody store its page in place of the other",
  async (app) => {
    app.route("/", () => {
      app.response().cache(60).header("content-type", "text/css");
      app.etag("v1");
      fail();
    });
    assertEquals([...(await visit(app, "/")).headers.keys()], [
      "content-type",
      "vary",
    ]);
  },
);

onEngine(
  "`error()` and `notFound()` send problem details to JSON clients (RFC 9457)",
  async (app) => {
    app.route("/error", () => fail());
    app.route("/gone", () => {
      throw new HttpError(410, 'It "moved"');
    });
    const problem = async (path: string): Promise<unknown> => {
      const headers = { accept: "application/json" };
      const response = await visit(app, path, { headers });
      assertEquals(
        response.headers.get("content-type"),
        "application/problem+json",
      );
      assertEquals(response.headers.get("vary"), "Accept");
      return await response.json();
    };
    const type = "about:blank";
    assertEquals(await problem("/lost"), {
      type,
      title: "Not Found",
      status: 404,
    });
    assertEquals(await problem("/gone"), {
      type,
      title: "Gone",
      status: 410,
      detail: 'It "moved"',
    });
    assertEquals(await problem("/error"), {
      type,
      title: "Internal Server Error",
      status: 500,
      detail: "boom",
    });
  },
);

onEngine(
  "an `HttpError` whose `problem` JSON cannot represent keeps its status and message, and the fault is logged",
  async (app) => {
    const faults: [fault: unknown, why: string][] = [
      [30n, "$.fault is a BigInt"],
      [new Map([["a", 1]]), "$.fault is a Map"],
      [[Promise.resolve(1)], "$.fault[0] is a promise"],
    ];
    app.after("send", (_params, output) => {
      output.value.headers.set("x-sent", "1");
    });
    for (const [index, [fault, why]] of faults.entries()) {
      app.route(`/${index}`, () => {
        throw new HttpError(403, "Out of credit", { problem: { fault } });
      });
      const lines = await logOf(async () => {
        const headers = { accept: "application/json" };
        const request = new Request(`http://localhost/${index}`, { headers });
        const response = await app.fetch(request);
        assertEquals(response.headers.get("x-sent"), "1");
        assertEquals(response.status, 403);
        assertEquals(await response.json(), {
          type: "about:blank",
          title: "Forbidden",
          status: 403,
          detail: "Out of credit",
        });
      });
      assertStringIncludes(lines.join(), `Cannot encode JSON: ${why}`);
    }
  },
);

onEngine(
  "`HttpError` gives problem details a type, a title and further members",
  async (app) => {
    const problem = {
      type: "https://example.com/out-of-credit",
      title: "Out of credit",
      status: 200,
      balance: 30,
    };
    app.route("/buy", () => {
      throw new HttpError(403, "It costs 50", { problem });
    });
    const headers = { accept: "application/problem+json" };
    const response = await visit(app, "/buy", { headers });
    assertEquals(
      await response.text(),
      JSON.stringify({ ...problem, status: 403, detail: "It costs 50" }),
    );
  },
);

onEngine(
  "`error()` chooses between HTML and JSON as the client likes",
  async (app) => {
    const cases: [accept: string, json: boolean][] = [
      ["", false],
      ["*/*", false],
      ["text/html,application/xhtml+xml,*/*;q=0.8", false],
      ["text/html, application/json;q=0.9", false],
      ["application/json, text/html;q=0.9", true],
      ["application/json, */*;q=0.1", true],
      ["application/problem+json", true],
      ["application/json;q=0", false],
      ["application/vnd.api+json", false],
      ["json", false],
      [";;json;;q=,,/", false],
    ];
    for (const [accept, json] of cases) {
      const response = await visit(app, "/x", { headers: { accept } });
      const type = response.headers.get("content-type")!;
      assertEquals(type.includes("json"), json, accept);
    }
  },
);

onEngine(
  "`framework.log_errors` logs each error once, with its request",
  async (app) => {
    app.route("/boom", () => fail());
    app.route("/staff", () => {
      throw new HttpError(403, "No\nentry");
    });
    const log = async (path: string): Promise<string[]> =>
      await logOf(() => visit(app, path));
    assertEquals(await log("/boom"), []);
    app.set("framework.log_errors", true);
    const mappings = [
      () => {},
      (error: Error) => app.original("error")(error),
    ];
    for (const mapping of [undefined, ...mappings]) {
      if (mapping) app.map("error", mapping);
      const [line, ...more] = await log("/boom?token=1");
      assertMatch(line!, /^[0-9a-f]{8} GET \/boom TypeError: boom\n/);
      assertEquals(more, []);
      assertEquals(await log("/staff"), []);
    }
  },
);

onEngine(
  "`framework.handle_errors` false rejects with the error itself",
  async (app) => {
    app.set("framework.handle_errors", false);
    const error = new Error("boom");
    app.route("/", () => {
      throw error;
    });
    app.route("/later", async () => {
      await later();
      throw error;
    });
    app.map("error", () => "never");
    for (const path of ["/", "/later"]) {
      const rejected = await assertRejects(() => visit(app, path));
      assertEquals(rejected === error, true);
    }
  },
);

onEngine(
  "`framework.handle_errors` false leaves refused input and `halt()` their responses",
  async (app) => {
    app.set("framework.handle_errors", false);
    app.set("framework.body_limit", 2);
    app.route("/halt", () => app.halt(403));
    app.route("/query", () => String(app.request().query.a));
    const statuses = [
      await visit(app, "/%zz"),
      await visit(app, "/halt", { method: "POST", body: "abc" }),
      await visit(app, "/halt"),
      await visit(app, "/lost"),
    ].map(({ status }) => status);
    assertEquals(statuses, [400, 413, 403, 404]);
  },
);

/** Visits under debug as a client with that address, which is the application itself without one. */
async function debugged(
  app: App,
  path: string,
  address?: string,
  init?: RequestInit,
): Promise<string> {
  app.set("framework.debug", true);
  const request = new Request(`http://localhost${path}`, init);
  const info = address === undefined ? {} : {
    remoteAddr: { transport: "tcp", hostname: address, port: 1 } as const,
  };
  return await (await app.fetch(request, info)).text();
}

onEngine(
  "`framework.debug` shows the error with the code around it, its causes, and the request",
  async (app) => {
    app.route("GET /fail/@id", (id) => {
      throw new Error(`<b>${id}</b>`, { cause: new RangeError("the cause") });
    });
    const page = await debugged(app, "/fail/7?page=2", undefined, {
      headers: { "x-name": "<i>" },
    });
    for (
      const part of [
        "<h1>500 Internal Server Error</h1>",
        "Error: &lt;b&gt;7&lt;/b&gt;",
        "RangeError: the cause",
        "errors_test.ts",
        "<mark>",
        "throw new Error(`&lt;b&gt;${id}",
        "GET /fail/@id",
        "<th>@id</th><td>7</td>",
        "GET /fail/7?page=2",
        "<th>x-name</th><td>&lt;i&gt;</td>",
      ]
    ) assertStringIncludes(page, part);
  },
);

onEngine(
  "a page that fails leaves the response to code that catches the error, under debug, too",
  async (app) => {
    const problem = { n: 1n }; // JSON cannot represent it
    const fail = () => app.error(new HttpError(422, "No", { problem }));
    app.route("/", fail);
    app.route("/caught", async () => {
      await Promise.try(fail).catch(() => {});
      app.response().status(200).write("recovered");
    });
    app.route("/unawaited", () => void fail());
    const init = { headers: { accept: "application/json" } };
    for (const debug of [false, true]) {
      app.set("framework.debug", debug);
      await logOf(async () => {
        for (const path of ["/", "/unawaited"]) {
          const request = new Request(`http://localhost${path}`, init);
          const response = await app.fetch(request);
          assertEquals(response.status, 500, `${debug} ${path}`);
          assertEquals((await response.json()).status, 500);
        }
      });
      const request = new Request("http://localhost/caught", init);
      const response = await app.fetch(request);
      assertEquals(await response.text(), "recovered", `${debug}`);
    }
  },
);

onEngine("`framework.debug` masks secrets", async (app) => {
  app.route("/@token", () => fail("failed with password=hidden7&x=1"));
  const page = await debugged(
    app,
    "/hidden0?access_token=hidden1&user[password]=hidden2&a=shown",
    undefined,
    {
      headers: {
        authorization: "Bearer hidden3",
        cookie: "session=hidden4",
        "x-api-key": "hidden5",
        referer: "http://localhost/?secret=hidden6&b=shown",
      },
    },
  );
  // The path itself stands in the target, where nobody knows which part is secret.
  assertEquals(page.replaceAll("/hidden0", "").match(/hidden\d/g), null);
  for (const shown of ["a=shown", "b=shown"]) {
    assertStringIncludes(page, shown);
  }
});

onEngine(
  "`framework.debug` says on a 404 which routes nearly match",
  async (app) => {
    app.route("GET /post/@id:[0-9]+", () => {});
    const page = await debugged(app, "/post/abc");
    assertStringIncludes(page, "<h1>404 Not Found</h1>");
    assertStringIncludes(page, "/post/@id:[0-9]+");
    assertStringIncludes(page, "the segment &quot;abc&quot; does not match");
  },
);

onEngine(
  "`framework.debug` shows nothing to clients on other machines",
  async (app) => {
    app.route("/", () => fail());
    const own = [
      "127.0.0.1",
      "127.1.2.3",
      "::1",
      "::ffff:127.0.0.1",
      undefined,
    ];
    const foreign = [
      "192.0.2.1",
      "::ffff:192.0.2.1",
      "2001:db8::1",
      "10.127.0.1",
    ];
    for (const address of own) {
      assertStringIncludes(
        await debugged(app, "/", address),
        "TypeError: boom",
      );
    }
    for (const address of foreign) {
      assertEquals(
        (await debugged(app, "/", address)).includes("TypeError"),
        false,
      );
    }
    for (const name of ["forwarded", "x-forwarded-for", "x-real-ip", "via"]) {
      const init = { headers: { [name]: "127.0.0.1" } };
      assertEquals(
        (await debugged(app, "/", "127.0.0.1", init)).includes("TypeError"),
        false,
      );
      assertEquals(
        (await debugged(app, "/", undefined, init)).includes("TypeError"),
        false,
      );
    }
  },
);

onEngine(
  "`framework.debug` shows nothing to a foreign page whose name leads here",
  async (app) => {
    app.set("framework.debug", true);
    app.route("/", () => fail());
    const remoteAddr = {
      transport: "tcp",
      hostname: "127.0.0.1",
      port: 1,
    } as const;
    const shown = async (host: string): Promise<boolean> => {
      const request = new Request(`http://${host}/`);
      const response = await app.fetch(request, { remoteAddr });
      return (await response.text()).includes("TypeError: boom");
    };
    for (
      const host of ["localhost:8000", "app.localhost", "127.0.0.1", "[::1]"]
    ) {
      assertEquals(await shown(host), true, host);
    }
    for (
      const host of ["attacker.example", "127.0.0.1.example", "notlocalhost"]
    ) {
      assertEquals(await shown(host), false, host);
    }
  },
);

Deno.test({
  name:
    "`framework.debug` shows no code that may not be read, and does not ask",
  permissions: { read: false },
  async fn() {
    const { Engine } = await import("@framework/core");
    const app = new Engine() as App;
    app.route("/", () => fail());
    const page = await debugged(app, "/");
    assertStringIncludes(page, "TypeError: boom");
    assertEquals(page.includes("<mark>"), false);
  },
});

onEngine(
  '`original("error")` is synchronous unless under debug',
  async (app) => {
    const kinds: boolean[] = [];
    app.map("error", (error: Error) => {
      const outcome = app.original("error")(error);
      kinds.push(outcome instanceof Promise);
      return outcome;
    });
    app.route("/", () => fail());
    await visit(app, "/");
    await debugged(app, "/");
    assertEquals(kinds, [false, true]);
  },
);

onEngine("`framework.debug` explains a 404 below the base", async (app) => {
  app.set("framework.base_url", "/blog");
  app.route("GET /post/@id:[0-9]+", () => {});
  assertStringIncludes(
    await debugged(app, "/blog/post/abc"),
    "the segment &quot;abc&quot; does not match",
  );
});

onEngine("`framework.debug` shows a malformed request, too", async (app) => {
  app.set("framework.debug", true);
  const request = new Request("http://localhost/", {
    headers: { host: "a b" },
  });
  Object.defineProperty(request, "url", { value: "http://a b/" });
  const remoteAddr = {
    transport: "tcp",
    hostname: "127.0.0.1",
    port: 1,
  } as const;
  const log = await logOf(async () => {
    assertEquals((await app.fetch(request, { remoteAddr })).status, 400);
  });
  assertEquals(log, []);
});

onEngine(
  "`error()` replaces a response that cannot be sent after all",
  async (app) => {
    app.map("method", later);
    app.route("/", () => {
      const response = new Response(new ReadableStream());
      call(app, "method").then(() => response.body!.getReader());
      return response;
    });
    const log = await logOf(async () => {
      assertEquals((await visit(app, "/")).status, 500);
    });
    assertEquals(log, []);
  },
);

onEngine(
  "`framework.method_not_allowed` is an error with its Allow header",
  async (app) => {
    app.set("framework.method_not_allowed", true);
    app.route("POST /", () => {});
    const response = await visit(app, "/");
    assertEquals(response.status, 405);
    assertStringIncludes(response.headers.get("allow")!, "POST");
    assertStringIncludes(
      await response.text(),
      "<h1>405 Method Not Allowed</h1>",
    );
  },
);

onEngine(
  "`framework.handle_errors` false leaves what a guard refuses its response, and rejects with a callback's own `HttpError`",
  async (app) => {
    app.set("framework.handle_errors", false);
    app.route("/guarded", () => "never").addMiddleware(() => false);
    app.route("/own", () => {
      throw new HttpError(400, "mine");
    });
    assertEquals((await visit(app, "/guarded")).status, 403);
    await assertRejects(() => visit(app, "/own"), HttpError, "mine");
  },
);

onEngine(
  "a filter of `error` and a mapped one get an `Error`, whatever `error()` was given",
  async (app) => {
    const seen: unknown[] = [];
    app.before("error", ([error]) => void seen.push(error.message));
    app.map("error", (error: Error) => `mapped ${error.message}`);
    app.route("/", () => app.error("oops"));
    const response = await visit(app, "/");
    const message = 'A non-Error value was thrown: "oops"';
    assertEquals(await response.text(), `mapped ${message}`);
    assertEquals(seen, [message]);
  },
);

onEngine(
  "an error in place of another one leaves none of the other's headers, but other headers and cookies",
  async (app) => {
    const headers = {
      "www-authenticate": "Basic",
      "retry-after": "1",
      "set-cookie": "hidden=1",
    };
    app.route("/", () => {
      app.response().cookie("kept", "1").header("x-kept", "1");
      throw new HttpError(401, "hidden", { headers });
    });
    app.before("error", (params) => {
      app.response().header("retry-after", "2");
      params[0] = new HttpError(404, "shown", {
        headers: { "set-cookie": "shown=1" },
      });
    });
    const response = await visit(app, "/");
    assertEquals(response.status, 404);
    assertEquals(response.headers.get("www-authenticate"), null);
    assertEquals(response.headers.get("retry-after"), "2");
    assertEquals(response.headers.get("x-kept"), "1");
    const names = response.headers.getSetCookie()
      .map((line) => line.split("=")[0]);
    assertEquals(names, ["kept", "shown"]);
  },
);

onEngine(
  "`framework.handle_errors` false leaves a 405 its response",
  async (app) => {
    app.set({
      "framework.handle_errors": false,
      "framework.method_not_allowed": true,
    });
    app.route("POST /", () => "posted");
    assertEquals((await visit(app, "/")).status, 405);
  },
);

onEngine(
  "`error()` masks a message of any length in one reading",
  async (app) => {
    const name = "key".repeat(1_000_000);
    app.route("/", () => {
      throw new Error(`No user ${name}, token=abc, ${name}=secret`);
    });
    const response = await visit(app, "/");
    assertEquals(response.status, 500);
    const text = await response.text();
    assert(text.includes(`${name}=••••`));
    assert(text.includes("token=••••"));
  },
);

onEngine("`error()` takes what throws when it is looked at", async (app) => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const silent = Object.defineProperty(new Error(), "message", {
    get() {
      throw new Error("No message");
    },
  });
  const odd = [proxy, Object.assign(new Error(), { message: {} }), silent];
  for (const thrown of odd) {
    app.init();
    app.map("error", (error: Error) => error.message.slice(0, 9));
    app.route("/", () => {
      throw thrown;
    });
    const response = await visit(app, "/");
    assertEquals(await response.text(), "A non-Err");
  }
});

onEngine(
  "`error()` gets errors of classes in the older style",
  async (app) => {
    function Legacy() {}
    Legacy.prototype = Object.create(Error.prototype);
    const thrown: Error = Object.create(Legacy.prototype);
    thrown.message = "legacy";
    app.map("error", (error: Error) => `${error === thrown}`);
    app.route("/", () => {
      throw thrown;
    });
    assertEquals(await (await visit(app, "/")).text(), "true");
  },
);

onEngine(
  'a mapped `notFound` that calls `original("start")` is told that it calls itself',
  async (app) => {
    app.map("notFound", () => app.original("start")());
    const response = await visit(app, "/nowhere");
    assertEquals(response.status, 500);
    assertStringIncludes(await response.text(), "it would call itself");
  },
);

Deno.test("`framework.handle_errors` false cancels the body of a request that rejects", async () => {
  const app = new Engine();
  app.set("framework.handle_errors", false);
  const cancelled = Promise.withResolvers<void>();
  app.route("/", () => {
    const cancel = () => cancelled.resolve();
    app.response().events(new ReadableStream({ cancel }));
    fail();
  });
  await assertRejects(async () => await app.fetch("/"), TypeError, "boom");
  await cancelled.promise;
});

Deno.test("`framework.handle_errors` false starts the deferred work of a request that rejects", async () => {
  const app = new Engine();
  app.set("framework.handle_errors", false);
  const started = Promise.withResolvers<void>();
  app.route("/", () => {
    app.defer(() => started.resolve());
    fail();
  });
  const call = app.fetch("/");
  await assertRejects(async () => await call, TypeError, "boom");
  await started.promise;
});

/** Headers that lead elsewhere: a page has none of them. */
const LEADING = ["content-location", "refresh", "x-accel-redirect"];
const IS_PAGE = /^(?:error|encoded|notFound)$/;

Deno.test("headers that are true of other bytes alone go with the body that they describe", async () => {
  const ends: Readonly<Record<string, (app: Engine) => unknown>> = {
    error: () => fail(),
    encoded: () => {
      const headers = { "content-encoding": "gzip", "content-digest": "x" };
      throw new HttpError(400, "bad", { headers });
    },
    json: (app) => app.json({ a: 1 }),
    halt: (app) => app.halt(200, "other"),
    notFound: (app) => app.notFound(),
  };
  for (const isFiltered of [false, true]) {
    for (const [name, end] of Object.entries(ends)) {
      const app = new Engine();
      if (isFiltered) {
        for (const each of ["error", "notFound"]) app.before(each, () => {});
      }
      app.route("/", () => {
        app.response().header("content-digest", "sha-256=:of the text:");
        for (const each of LEADING) app.response().header(each, "/text");
        return end(app) as undefined;
      });
      await logOf(async () => {
        const { headers } = await app.fetch("/");
        const left = ["content-digest", "content-encoding"]
          .filter((each) => headers.has(each));
        const leading = LEADING.filter((each) => headers.has(each));
        assertEquals(leading, IS_PAGE.test(name) ? [] : LEADING, name);
        assertEquals(left, [], `${name}, filtered: ${isFiltered}`);
      });
    }
  }
});

Deno.test("an error that `error` of middleware throws has none of the headers of the one before", async () => {
  const app = new Engine();
  app.route("/", () => {
    const headers = { "retry-after": "60", "x-kept": "no" };
    throw new HttpError(429, "slow", { headers });
  }).addMiddleware({
    error() {
      app.response().header("x-kept", "yes");
      throw new HttpError(404, "gone", { headers: { "x-new": "1" } });
    },
  });
  const { status, headers } = await app.fetch("/");
  const given = ["retry-after", "x-kept", "x-new"]
    .map((name) => headers.get(name));
  assertEquals([status, ...given], [404, null, "yes", "1"]);
});
