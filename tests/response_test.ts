/** Tests the response that is being built: its head, its body, and what a callback may return. */

import {
  assert,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Engine, Framework, HttpResponse } from "@framework/core";
import { settled } from "@framework/core/testing";
import { since29 } from "./deno_version.ts";
import { type App, onBothForms, onEngine, visit } from "./forms.ts";

/** The response of a route whose callback only builds it. */
async function built(
  app: App,
  build: (response: HttpResponse) => unknown,
  init?: RequestInit,
): Promise<Response> {
  app.set("framework.handle_errors", false); // a failed assertion fails its test
  app.route("/built", () => void build(app.response()));
  return await visit(app, "/built", init);
}

onEngine("`status()` sets and returns the status", async (app) => {
  let read = 0;
  const response = await built(app, (response) => {
    read = response.status(201).status();
  });
  assertEquals([read, response.status], [201, 201]);
});

Deno.test("`status()` and `header()` tell of the response that is sent, whoever made it", async () => {
  const app = new Engine();
  const seen: unknown[] = [];
  const see = () => {
    const response = app.response();
    seen.push([response.status(), response.header("x-made-by")]);
  };
  const made = (status: number) =>
    new Response("made", { status, headers: { "x-made-by": "route" } });
  const inner = new Engine();
  inner.route("*", () => {
    inner.response().header("x-made-by", "inner");
    inner.halt(409);
  });
  app.map("notFound", () => void app.response().header("x-made-by", "page"));
  app.before("start", () => app.defer(see));
  app.group("", () => {
    app.route("/made", () => made(201));
    app.route("/missing", () => void app.notFound());
    app.mount("/inner", inner);
  }, [{ after: see }]);
  for (const path of ["/made", "/missing", "/inner"]) {
    await (await visit(app, path)).text();
    await settled(app);
  }
  const expected = [[201, "route"], [404, "page"], [409, "inner"]];
  assertEquals(seen, expected.flatMap((each) => [each, each]));
});

onEngine("`status()` refuses what no response can have", async (app) => {
  await built(app, (response) => {
    for (const code of [0, 101, 199, 600, 200.5, NaN, "200" as never]) {
      assertThrows(() => response.status(code), RangeError, `"${code}"`);
    }
  });
});

onEngine(
  "`header()` sets, returns and removes a header, in any case",
  async (app) => {
    const response = await built(app, (response) => {
      response.header("X-One", 1).header("x-two", ["a", "b"]).header(
        "x-no",
        "",
      );
      assertEquals(response.header("x-ONE"), "1");
      assertEquals(response.header("x-two"), "a, b");
      assertEquals(response.header("x-three"), null);
      response.header("X-No", null).header("X-None", "a").header("X-None", []);
    });
    assertEquals(response.headers.get("x-one"), "1");
    assertEquals(response.headers.get("x-two"), "a, b");
    assertEquals(response.headers.has("x-no"), false);
    assertEquals(response.headers.has("x-none"), false);
  },
);

onEngine(
  "`header()` refuses what would be read as another header",
  async (app) => {
    const hostile = [
      ["x-name", "a\r\nset-cookie: b=1"],
      ["x-name", "a\nb"],
      ["x-name", "a\rb"],
      ["x-name", "a\0b"],
      ["x-name", "a\u2028b"],
      ["x-name", "gr\u0105b"],
      ["x-name\r\nx-other", "a"],
      ["x name", "a"],
      ["x-name:", "a"],
      ["", "a"],
      ["x-näme", "a"],
    ] as const;
    const response = await built(app, (response) => {
      for (const [name, value] of hostile) {
        assertThrows(
          () => response.header(name, value),
          TypeError,
          "Cannot set",
        );
        assertThrows(() => response.header(name, ["a", value]), TypeError);
      }
    });
    assertEquals([...response.headers], []);
  },
);

onEngine(
  "`cookie()` is safe by default and encodes its value",
  async (app) => {
    const response = await built(app, (response) => {
      response.cookie("name", 'a b;"ü\r\n');
    });
    assertEquals(response.headers.getSetCookie(), [
      "name=a%20b%3B%22%C3%BC%0D%0A; HttpOnly; SameSite=Lax; Path=/",
    ]);
  },
);

onEngine(
  "`cookie()` is secure on https, and where clients insist on it",
  async (app) => {
    app.route("/cookies", () => {
      app.response().cookie("a", "1").cookie("b", "2", { sameSite: "None" })
        .cookie("__Host-c", "3");
    });
    const lines = async (url: string): Promise<boolean[]> =>
      (await app.fetch(new Request(url))).headers.getSetCookie()
        .map((line) => line.includes("Secure"));
    assertEquals(await lines("http://localhost/cookies"), [false, true, true]);
    assertEquals(await lines("https://localhost/cookies"), [true, true, true]);
  },
);

onEngine(
  "`cookie()` takes attributes in place of its defaults",
  async (app) => {
    const response = await built(app, (response) => {
      response.cookie("a", "1", {
        httpOnly: false,
        sameSite: "Strict",
        path: "/blog",
        maxAge: 0,
        expires: 0,
        domain: ".example.com",
      });
    });
    assertEquals(response.headers.getSetCookie(), [
      "a=1; Max-Age=0; Domain=.example.com; SameSite=Strict; Path=/blog; " +
      "Expires=Thu, 01 Jan 1970 00:00:00 GMT",
    ]);
  },
);

onEngine(
  "`cookie()` replaces a cookie of that name and keeps the others",
  async (app) => {
    const response = await built(app, (response) => {
      response.cookie("a", "1").cookie("ab", "2").cookie("a", "3");
    });
    const values = response.headers.getSetCookie()
      .map((line) => line.split(";")[0]);
    assertEquals(values, ["ab=2", "a=3"]);
  },
);

onEngine(
  "`cookie()` refuses what clients would drop or misread",
  async (app) => {
    const hostile: Parameters<HttpResponse["cookie"]>[] = [
      ["", "1"],
      ["a b", "1"],
      ["a=b", "1"],
      ["a;b", "1"],
      ["a\r\nb", "1"],
      ["a", "1", { path: "/;secure" }],
      ["a", "1", { path: "/\r\nx: y" }],
      ["a", "1", { domain: "a.com; Secure" }],
      ["a", "1", { domain: "a.com." }],
      ["a", "1", { maxAge: -1 }],
      ["a", "1", { maxAge: 1.5 }],
      ["a", "1", { maxAge: NaN }],
      ["a", "1", { maxAge: null as never }],
      ["a", "1", { expires: new Date(NaN) }],
      ["a", "1", { sameSite: "lax; x" as never }],
      ["a", "x".repeat(4096)],
    ];
    const response = await built(app, (response) => {
      for (const params of hostile) {
        assertThrows(() => response.cookie(...params), Error);
      }
    });
    assertEquals(response.headers.getSetCookie(), []);
  },
);

onEngine(
  "`write()` adds text, and its type is HTML in UTF-8",
  async (app) => {
    const response = await built(
      app,
      (response) => response.write("a").write("ü"),
    );
    assertEquals(await response.text(), "aü");
    assertEquals(
      response.headers.get("content-type"),
      "text/html; charset=utf-8",
    );
  },
);

onEngine("`write()` leaves a content type that was set", async (app) => {
  const response = await built(app, (response) => {
    response.header("content-type", "text/plain").write("a");
  });
  assertEquals(response.headers.get("content-type"), "text/plain");
});

onEngine("`clearBody()` drops the body and leaves the head", async (app) => {
  const response = await built(app, (response) => {
    response.status(201).header("x-a", "1").write("a").clearBody().write("b");
  });
  assertEquals([response.status, response.headers.get("x-a")], [201, "1"]);
  assertEquals(await response.text(), "b");
});

onEngine("`clear()` sets everything back", async (app) => {
  const response = await built(app, (response) => {
    response.status(201).header("x-a", "1").cookie("b", "2").write("a").clear();
  });
  assertEquals([response.status, [...response.headers]], [200, []]);
  assertEquals(await response.text(), "");
});

onEngine("`cache()` says how long a response may be kept", async (app) => {
  const cases = [[60, "max-age=60"], [1.9, "max-age=1"], [0, "max-age=0"], [
    false,
    "no-store",
  ]] as const;
  await built(app, (response) => {
    for (const [seconds, expected] of cases) {
      assertEquals(response.cache(seconds).header("cache-control"), expected);
    }
  });
});

onEngine("`cache()` refuses what is no time", async (app) => {
  await built(app, (response) => {
    for (
      const seconds of [
        -1,
        NaN,
        Infinity,
        1e12 + 1,
        1e21,
        "60",
        null,
      ] as never[]
    ) {
      assertThrows(() => response.cache(seconds), RangeError, "cache time");
    }
  });
});

onEngine(
  "`response()` has no body for the statuses without one",
  async (app) => {
    for (const status of [204, 205, 304]) {
      app.route(
        `/${status}`,
        () => void app.response().status(status).write("a"),
      );
      const response = await visit(app, `/${status}`);
      assertEquals([response.status, response.body], [status, null]);
    }
  },
);

onBothForms("`route()` sends what its callback returns", async (app) => {
  const bytes = new TextEncoder().encode("text");
  const cases: [() => unknown, string, string | null][] = [
    [() => "text", "text", "text/html; charset=utf-8"],
    [() => ({ a: 1 }), '{"a":1}', "application/json; charset=utf-8"],
    [() => Object.create(null), "{}", "application/json; charset=utf-8"],
    [() => [1], "[1]", "application/json; charset=utf-8"],
    [() => bytes, "text", "application/octet-stream"],
    [() => new DataView(bytes.buffer), "text", "application/octet-stream"],
    [() => bytes.buffer, "text", "application/octet-stream"],
    [() => new Blob(["text"], { type: "text/css" }), "text", "text/css"],
    [() => new Blob(["text"]), "text", "application/octet-stream"],
    [() => new Blob(["text"]).stream(), "text", "text/html; charset=utf-8"],
    [words, "text", "text/html; charset=utf-8"],
    [() => Response.json(1), "1", "application/json"],
    [() => Response.json(1, {}), "1", "application/json"],
    [() => new Response("text", {}), "text", "text/plain;charset=UTF-8"],
    ...["text/plain", "text/plain;charset=UTF-8", "application/json"].map(
      (type): [() => Response, string, string] => [
        () => new Response(bytes, { headers: { "content-type": type } }),
        "text",
        type,
      ],
    ),
    [() => undefined, "", null],
    [() => null, "", null],
    [() => false, "", null],
    [
      () => new Date(0),
      '"1970-01-01T00:00:00.000Z"',
      "application/json; charset=utf-8",
    ],
    [
      () => new URL("http://a/"),
      '"http://a/"',
      "application/json; charset=utf-8",
    ],
    [() => new Point(), '{"x":1}', "application/json; charset=utf-8"],
    [() => app.response().write("text"), "text", "text/html; charset=utf-8"],
    [() => app, "", null],
    [() => Framework, "", null],
  ];
  for (const [index, [returned, text, type]] of cases.entries()) {
    app.route(`/${index}`, returned);
    app.route(`/${index}/later`, () => Promise.resolve(returned()));
    for (const path of [`/${index}`, `/${index}/later`]) {
      const response = await visit(app, path);
      assertEquals(
        response.headers.get("content-type"),
        type,
        String(returned),
      );
      assertEquals(await response.text(), text, String(returned));
    }
  }
});

class Point {
  x = 1;
}

onEngine(
  "`route()` fails on a returned value that cannot be sent, and names the route and the value",
  async (app) => {
    // deno-lint-ignore no-explicit-any -- the compiler refuses these values
    const values: any[] = [
      ...[42, 7n, Symbol("s"), () => "f", class A {}],
      ...[new Map([[1, 2]]), new Set([1]), new Error("e"), new Headers()],
      ...[(function* () {})(), new WeakMap(), new Request("http://localhost/")],
    ];
    for (const [index, value] of values.entries()) {
      for (const path of [`/${index}`, `/${index}/later`]) {
        const returned = () =>
          path.endsWith("later") ? Promise.resolve(value) : value;
        app.route(`GET ${path}`, returned);
        const response = await visit(app, path);
        assertEquals(response.status, 500, path);
        const text = await response.text();
        assertStringIncludes(
          text,
          `the route &quot;GET ${path}&quot; returned:`,
        );
      }
    }
  },
);

async function* words(): AsyncGenerator<string> {
  yield "te";
  await Promise.resolve();
  yield "";
  yield "xt";
}

onEngine(
  "`route()` adds collected headers and cookies to a returned `Response`",
  async (app) => {
    app.route("/", () => {
      app.response().status(201).header("x-a", "collected").header("x-b", "own")
        .header("content-type", "text/css").cookie("a", "1").write("dropped");
      const headers = new Headers({
        "x-b": "returned",
        "content-type": "text/x",
      });
      headers.append("set-cookie", "b=2");
      return new Response("body", { status: 202, statusText: "Fine", headers });
    });
    const response = await visit(app, "/");
    assertEquals([response.status, response.statusText], [202, "Fine"]);
    assertEquals(response.headers.get("x-a"), "collected");
    assertEquals(response.headers.get("x-b"), "returned");
    assertEquals(response.headers.get("content-type"), "text/x");
    const [first, second] = response.headers.getSetCookie();
    assertEquals([first, second?.slice(0, 4)], ["b=2", "a=1;"]);
    assertEquals(await response.text(), "body");
  },
);

onEngine(
  "`route()` leaves a returned `Response` that several requests share as it is",
  async (app) => {
    const shared = Response.redirect("http://localhost/there");
    app.route("/", () => {
      app.response().header("x-a", "1");
      return shared;
    });
    for (let count = 0; count < 2; count++) {
      const response = await visit(app, "/");
      assertEquals([response.status, response.headers.get("x-a")], [302, "1"]);
    }
    assertEquals(shared.headers.get("x-a"), null);
  },
);

onEngine(
  "`route()` makes an error of a `Response` that cannot be sent",
  async (app) => {
    const used = new Response("once");
    app.route("/used", () => used);
    app.route("/network", () => Response.error());
    assertEquals(await used.text(), "once");
    for (const path of ["/used", "/network"]) {
      assertEquals((await visit(app, path)).status, 500, path);
    }
  },
);

onEngine("`route()` passes a returned upgrade on untouched", async (app) => {
  const upgrade = Object.defineProperty(new Response(null), "status", {
    value: 101,
  });
  app.route("/", () => {
    app.response().cookie("a", "1");
    return upgrade;
  });
  assertEquals(await visit(app, "/") === upgrade, true);
});

const VALUES: Record<string, (app: App) => unknown> = {
  text: () => "grüße",
  json: () => ({ a: "ü" }),
  bytes: () => new Uint8Array(5),
  blob: () => new Blob(["abc"]),
  "a Response of text": () =>
    new Response("ü", { headers: { "content-type": "text/html" } }),
  "a Response of JSON": () => Response.json({ a: "ü" }),
  "a Response of bytes": () => new Response(new Uint8Array(3)),
  "a Response with collected headers": (app) => {
    app.response().header("x-a", "1");
    return new Response("ü");
  },
  "an empty page": () => {},
  notFound: (app) => app.notFound(),
  redirect: (app) => app.redirect("/"),
};

onEngine(
  "`halt()`, `json()` and `redirect()` drop the encoding of the content so far",
  async (app) => {
    const encoded = (): App => {
      app.response().header("content-encoding", "gzip").write("...");
      return app;
    };
    app.route("/halt", () => encoded().halt(500, "bad"));
    app.route("/json", () => encoded().json({}));
    app.route("/redirect", () => encoded().redirect("/"));
    for (const path of ["/halt", "/json", "/redirect"]) {
      const { headers, body } = await visit(app, path);
      await body?.cancel();
      assertEquals([path, headers.get("content-encoding")], [path, null]);
    }
  },
);

onEngine(
  "`fetch()` responds to HEAD with the headers of GET and no body",
  async (app) => {
    const lengths: Record<string, number> = {};
    for (const [name, value] of Object.entries(VALUES)) {
      app.route("/" + encodeURIComponent(name), () => value(app));
      const path = "/" + encodeURIComponent(name);
      const get = await visit(app, path);
      const head = await visit(app, path, { method: "HEAD" });
      const expected = new Headers(get.headers);
      const length = (await get.bytes()).length;
      if (length > 0) expected.set("content-length", String(length));
      assertEquals([head.status, head.body], [get.status, null], name);
      assertEquals([...head.headers], [...expected], name);
      lengths[name] = length;
    }
    assertEquals([lengths.text, lengths["a Response of text"]], [7, 2]);
  },
);

since29.test("`start()` sends HEAD the headers of GET on a socket, Content-Length too", async () => {
  const { Engine } = await import("@framework/core");
  const app = new Engine();
  for (const [name, value] of Object.entries(VALUES)) {
    app.route("/" + encodeURIComponent(name), () => value(app as App));
  }
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  for (const name of Object.keys(VALUES)) {
    const url = `http://127.0.0.1:${port}/${encodeURIComponent(name)}`;
    const [get, head] = await Promise.all([
      fetch(url, { redirect: "manual" }),
      fetch(url, { method: "HEAD", redirect: "manual" }),
    ]);
    const body = await get.bytes();
    assertEquals((await head.bytes()).length, 0, name);
    assertEquals(namedHeaders(head), namedHeaders(get), name);
    assertEquals(head.headers.get("content-length"), String(body.length), name);
  }
  await server.shutdown();
});

Deno.test("`header()` sends each line of a list on its own, whatever the status", async () => {
  const { Engine } = await import("@framework/core");
  const app = new Engine();
  app.route("/@status", (status) => {
    app.response().status(Number(status)).header("x-a", ["1", "2"]).write("a");
  });
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  for (const status of [200, 401]) {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    const asked =
      `GET /${status} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
    await connection.write(new TextEncoder().encode(asked));
    const text = await new Response(connection.readable).text();
    assertEquals(text.match(/^x-a: .*$/gm), ["x-a: 1", "x-a: 2"]);
  }
  await server.shutdown();
});

since29.test("`start()` tells HEAD no Content-Length of a stream", async () => {
  const { Engine } = await import("@framework/core");
  const app = new Engine();
  const stream = () => ReadableStream.from([new Uint8Array(3)]);
  app.route("/bytes", () => stream());
  app.route("/response", () => new Response(stream()));
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  for (const path of ["/bytes", "/response"]) {
    const url = `http://127.0.0.1:${port}${path}`;
    const { headers, body } = await fetch(url, { method: "HEAD" });
    await body?.cancel();
    assertEquals(headers.get("content-length"), null, path);
  }
  await server.shutdown();
});

function namedHeaders(response: Response): [string, string][] {
  return [...response.headers].filter(([name]) => name !== "date");
}

onEngine("`header()` cannot make a Content-Length wrong", async (app) => {
  for (const method of ["GET", "HEAD"]) {
    const response = await built(app, (response) => {
      response.header("content-length", 99).write("abc");
    }, { method });
    const length = response.headers.get("content-length");
    assert(length === null || length === "3", `${method}: ${length}`);
  }
});

const JSON_TYPES: [set: string, sent: string][] = [
  ["application/geo+json", "application/geo+json"],
  [
    "Application/Problem+JSON; charset=utf-8",
    "Application/Problem+JSON; charset=utf-8",
  ],
  ["text/html", "application/json; charset=utf-8"],
  ["text/x; a=+json", "application/json; charset=utf-8"],
];

for (const [set, sent] of JSON_TYPES) {
  onEngine(
    `\`json()\` after the content type ${set} sends ${sent}`,
    async (app) => {
      const send: Record<string, () => unknown> = {
        "/returned": () => ({ a: 1 }),
        "/called": () => app.json({ a: 1 }),
      };
      for (const [path, make] of Object.entries(send)) {
        app.route(path, () => {
          app.response().header("content-type", set);
          return make();
        });
      }
      app.map("error", () => {
        app.response().header("content-type", set);
        return { title: "Lost" };
      });
      app.route("/failed", () => Promise.reject(new Error("x")));
      for (const path of [...Object.keys(send), "/failed"]) {
        const response = await visit(app, path);
        assertEquals(response.headers.get("content-type"), sent, path);
      }
    },
  );
}

onEngine(
  "`header()` reads the content type of what was sent",
  async (app) => {
    const types: (string | null)[] = [];
    app.route("/", () => {
      types.push(app.response().header("content-type"));
      app.json({ a: 1 });
      types.push(app.response().header("content-type"));
    });
    await visit(app, "/");
    assertEquals(types, [null, "application/json; charset=utf-8"]);
  },
);

onEngine(
  "`register()` puts a class of one's own in place of the response",
  async (app) => {
    class Page extends HttpResponse {
      title(text: string): this {
        return this.write(`<h1>${text}</h1>`);
      }
    }
    app.register("response", Page);
    app.route("/", () => void (app.response() as Page).title("Found"));
    app.map("notFound", () => void (app.response() as Page).title("Lost"));
    assertEquals(await (await visit(app, "/")).text(), "<h1>Found</h1>");
    assertEquals(await (await visit(app, "/x")).text(), "<h1>Lost</h1>");
  },
);

Deno.test("`cookie()` keeps the defaults in place of attributes that are undefined", async () => {
  const app = new Engine();
  app.route("/", () => {
    const none = { httpOnly: undefined, sameSite: undefined, path: undefined };
    const options = { ...none, secure: undefined, maxAge: undefined };
    // Compilers without `exactOptionalPropertyTypes` let these through.
    app.response().cookie("sid", "x", options as never);
  });
  const { headers } = await app.fetch("https://localhost/");
  assertEquals(
    headers.getSetCookie(),
    ["sid=x; Secure; HttpOnly; SameSite=Lax; Path=/"],
  );
});

onEngine(
  "many thousand renders can be under way in one response",
  async (app) => {
    app.map("render", (text: string) => void app.response().write(text));
    app.route("/", () => {
      for (let count = 0; count < 20_000; count++) app.render("x");
    });
    const response = await visit(app, "/");
    assertEquals((await response.text()).length, 20_000);
  },
);

Deno.test("`header()` of a name that was not set is null, also where the body has a type", async () => {
  const app = new Engine();
  let headers: unknown;
  app.route("/", () => {
    const response = app.response().events([]);
    headers = ["content-type", "x-a"].map((name) => response.header(name));
  });
  await (await app.fetch("/")).body?.cancel();
  assertEquals(headers, ["text/event-stream", null]);
});

Deno.test('`header("content-type", null)` removes the type that came with the body, too', async () => {
  const app = new Engine();
  let type: unknown;
  app.route("/", () => {
    const response = app.response().events([]).header("content-type", null);
    type = response.header("content-type");
  });
  await (await app.fetch("/")).body?.cancel();
  assertEquals(type, null);
});

Deno.test("`clear()` in a render keeps the place of what that writes after it", async () => {
  const app = new Engine();
  app.map("render", async () => {
    app.response().write("before");
    await null;
    app.response().clear().write("after ");
  });
  app.route("/", async () => {
    await (app.render("x") as unknown);
    return "text";
  });
  assertEquals(await (await app.fetch("/")).text(), "after text");
});

Deno.test("`events()` has its own type, whatever type was set before", async () => {
  const app = new Engine();
  app.route("/", () => {
    app.response().header("content-type", "application/json").events([]);
  });
  const response = await app.fetch("/");
  await response.body?.cancel();
  assertEquals(response.headers.get("content-type"), "text/event-stream");
});

Deno.test("a `Content-Length` that was set before is not that of a returned `Response` of text", async () => {
  const app = new Engine();
  app.route("/@kind", (kind) => {
    app.response().header("content-length", 99);
    return kind === "web" ? new Response("text") : "text";
  });
  for (const path of ["/web", "/text"]) {
    const response = await app.fetch(path);
    assertEquals(response.headers.get("content-length"), null);
    assertEquals(await response.text(), "text");
  }
});
