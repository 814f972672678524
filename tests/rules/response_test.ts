/** What a route's callback returns, and what `response()` does. */

import {
  type BodyContent,
  Engine,
  Framework,
  html,
  type HttpResponse,
  type Route,
} from "@framework/core";
import {
  assert,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Folder } from "../support/folder.ts";
import { serving } from "../support/serving.ts";

const HTML = "text/html; charset=utf-8";
const JSON_TYPE = "application/json; charset=utf-8";
const BYTES = "application/octet-stream";

class Point {
  x = 1;
}

async function* words(): AsyncGenerator<string> {
  yield "te";
  await Promise.resolve();
  yield "xt";
}

const encoded = new TextEncoder().encode("text");

/** What a callback returns, and the text and type that are sent: the table of DESIGN. */
const RETURNED: [
  what: string,
  returned: () => unknown,
  text: string,
  type: string | null,
][] = [
  ["undefined", () => undefined, "", null],
  ["null", () => null, "", null],
  ["false", () => false, "", null],
  ["a string, as it stands", () => "<b>text</b>", "<b>text</b>", HTML],
  ["markup", () => html`<b>${"<"}</b>`, "<b>&lt;</b>", HTML],
  ["a list of markup", () => [html`<b>`, html`<i>`], "<b><i>", HTML],
  ["a record", () => ({ a: 1 }), '{"a":1}', JSON_TYPE],
  ["a list", () => [1, "a"], '[1,"a"]', JSON_TYPE],
  ["an object of a class", () => new Point(), '{"x":1}', JSON_TYPE],
  ["a date", () => new Date(0), '"1970-01-01T00:00:00.000Z"', JSON_TYPE],
  ["bytes", () => encoded, "text", BYTES],
  ["a buffer", () => encoded.buffer, "text", BYTES],
  ["a blob", () => new Blob(["text"], { type: "a/b" }), "text", "a/b"],
  ["a stream", () => new Blob(["text"]).stream(), "text", HTML],
  ["an async iterable", words, "text", HTML],
  [
    "a web `Response`",
    () => new Response("text", { headers: { "content-type": "a/b" } }),
    "text",
    "a/b",
  ],
];

for (const [what, returned, text, type] of RETURNED) {
  Deno.test(`\`route()\` sends ${what} that its callback returns, at once or later`, async () => {
    const app = new Engine();
    app.route("/now", returned);
    app.route("/later", () => Promise.resolve(returned()));
    for (const path of ["/now", "/later"]) {
      const response = await app.fetch(path);
      assertEquals(response.status, 200);
      assertEquals(response.headers.get("content-type"), type);
      assertEquals(await response.text(), text);
    }
  });
}

Deno.test("`route()` sends nothing for a returned object of the framework", async () => {
  const app = new Engine();
  app.route("/app", () => app);
  app.route("/facade", () => Framework as unknown);
  app.route("/response", () => app.response().write("text"));
  app.route("/route", (route: Route) => route, true);
  const sent = ["/app", "/facade", "/response", "/route"].map(async (path) =>
    await (await app.fetch(path)).text()
  );
  assertEquals(await Promise.all(sent), ["", "", "text", ""]);
});

Deno.test("`route()` fails on a returned value that cannot be sent, and names the route and the value", async () => {
  // deno-lint-ignore no-explicit-any -- the compiler refuses these values
  const values: [value: any, text: string][] = [
    [42, "42"],
    [7n, "7n"],
    [Symbol("s"), "Symbol(s)"],
    [() => "f", "unction"],
    [new Map([[1, 2]]), "Map(1)"],
    [new Set([1]), "Set(1)"],
    [new Error("e"), "Error"],
    [new Headers(), "Headers"],
    [new Request("http://localhost/"), "Request"],
  ];
  for (const [value, text] of values) {
    const app = new Engine();
    app.map("error", (error: Error) => error.message);
    app.route("GET /now", () => value);
    app.route("GET /later", () => Promise.resolve(value));
    for (const path of ["/now", "/later"]) {
      const response = await app.fetch(path);
      const message = await response.text();
      assertEquals(response.status, 500, text);
      assertStringIncludes(message, `the route "GET ${path}" returned:`);
      assertStringIncludes(message, text);
    }
  }
});

Deno.test("`route()` adds collected headers and cookies to a returned `Response`, whose own come last", async () => {
  const app = new Engine();
  app.route("/", () => {
    app.response().status(201).header("x-a", "collected").header("x-b", "own")
      .header("content-type", "text/css").cookie("a", "1").write("dropped");
    const headers = new Headers({ "x-b": "returned", "content-type": "a/b" });
    headers.append("set-cookie", "b=2");
    return new Response("body", { status: 202, headers });
  });
  const response = await app.fetch("/");
  const { headers } = response;
  assertEquals([response.status, await response.text()], [202, "body"]);
  assertEquals(headers.get("x-a"), "collected");
  assertEquals(headers.get("x-b"), "returned");
  assertEquals(headers.get("content-type"), "a/b");
  const cookies = headers.getSetCookie().map((line) => line.split(";")[0]);
  assertEquals(cookies, ["a=1", "b=2"]);
});

Deno.test("`route()` leaves a returned `Response` that several requests share as it is", async () => {
  const app = new Engine();
  const shared = Response.redirect("http://localhost/there");
  app.route("/@name", (name) => {
    app.response().header("x-name", name);
    return shared;
  });
  for (const name of ["ada", "bob"]) {
    const { status, headers } = await app.fetch(`/${name}`);
    assertEquals([status, headers.get("x-name")], [302, name]);
  }
  assertEquals(shared.headers.get("x-name"), null);
});

Deno.test("`route()` makes a 500 of a `Response` that cannot be sent", async () => {
  const app = new Engine();
  const used = new Response("once");
  await used.text();
  const locked = new Response("locked");
  locked.body!.getReader();
  app.route("/used", () => used);
  app.route("/locked", () => locked);
  app.route("/network", () => Response.error());
  for (const path of ["/used", "/locked", "/network"]) {
    assertEquals((await app.fetch(path)).status, 500, path);
  }
});

Deno.test("`route()` passes on what `fetch()` has decoded, without its `Content-Encoding`", async () => {
  const stream = new Blob(["text"]).stream();
  const gzip = stream.pipeThrough(new CompressionStream("gzip"));
  const [upstream, app] = [new Engine(), new Engine()];
  upstream.route("/", () => {
    return new Response(gzip, { headers: { "content-encoding": "gzip" } });
  });
  await serving(upstream, async (port) => {
    app.route("/", () => {
      app.response().header("x-a", "1"); // so that the `Response` is copied
      return fetch(`http://127.0.0.1:${port}/`);
    });
    const response = await app.fetch("/");
    assertEquals(response.headers.get("content-encoding"), null);
    assertEquals(await response.text(), "text");
  });
});

/** The response of a route that only builds it; a failed assertion fails the test. */
async function built(
  build: (response: HttpResponse) => unknown,
  path = "/",
): Promise<Response> {
  const app = new Engine();
  app.set("framework.handle_errors", false);
  app.route("*", async () => void await build(app.response()));
  return await app.fetch(path);
}

Deno.test("`status()` sets and returns the status, 200 to 599", async () => {
  const response = await built((response) => {
    assertEquals(response.status(201).status(), 201);
    for (const code of [0, 101, 199, 600, 200.5, NaN, "200" as never]) {
      assertThrows(() => response.status(code), RangeError, `"${code}"`);
    }
  });
  assertEquals(response.status, 201);
});

Deno.test("a response with a status that has no body has none", async () => {
  for (const status of [204, 205, 304]) {
    const response = await built((made) => made.status(status).write("a"));
    assertEquals([response.status, response.body], [status, null]);
  }
});

Deno.test("`header()` sets, returns and removes a header, in any case", async () => {
  const response = await built((response) => {
    response.header("X-One", 1).header("x-two", ["a", "b"]).header("x-no", "");
    assertEquals(response.header("x-ONE"), "1");
    assertEquals(response.header("x-two"), "a, b");
    assertEquals(response.header("x-three"), null);
    response.header("X-No", null).header("X-None", "a").header("X-None", []);
  });
  assertEquals([...response.headers], [["x-one", "1"], ["x-two", "a, b"]]);
});

Deno.test("`header()` refuses what would be read as another header", async () => {
  const hostile = [
    ["x-name", "a\r\nset-cookie: b=1"],
    ["x-name", "a\0b"],
    ["x-name", "gr\u0105b"],
    ["x-name\r\nx-other", "a"],
    ["x name", "a"],
    ["", "a"],
  ] as const;
  const response = await built((response) => {
    for (const [name, value] of hostile) {
      assertThrows(() => response.header(name, value), TypeError, "Cannot set");
      assertThrows(() => response.header(name, ["a", value]), TypeError);
    }
  });
  assertEquals([...response.headers], []);
});

Deno.test("`write()` appends text as HTML, or as the type that was set", async () => {
  const page = await built((response) => response.write("a").write("ü"));
  assertEquals(page.headers.get("content-type"), HTML);
  assertEquals(await page.text(), "aü");
  const plain = await built((response) =>
    response.header("content-type", "text/plain").write("a")
  );
  assertEquals(plain.headers.get("content-type"), "text/plain");
});

Deno.test("`clearBody()` drops the body and leaves the head; `clear()` drops both", async () => {
  const response = await built((response) =>
    response.status(201).header("x-a", "1").write("a").clearBody().write("b")
  );
  assertEquals([response.status, response.headers.get("x-a")], [201, "1"]);
  assertEquals(await response.text(), "b");
  const cleared = await built((response) =>
    response.status(201).header("x-a", "1").cookie("b", "2").write("a").clear()
  );
  assertEquals([cleared.status, [...cleared.headers]], [200, []]);
  assertEquals(await cleared.text(), "");
});

Deno.test("`body()` replaces the body, with its type", async () => {
  const contents: [content: BodyContent, type: string][] = [
    ["text", "text/csv"],
    [encoded, "image/png"],
    [new Blob(["text"]), "text/css"],
    [new Blob(["text"]).stream(), "text/plain"],
  ];
  for (const [content, type] of contents) {
    const response = await built((response) => {
      response.write("dropped").body(content, type).header("x-a", "1");
    });
    assertEquals(response.headers.get("content-type"), type);
    assertEquals(response.headers.get("x-a"), "1");
    assertEquals(await response.text(), "text");
  }
});

Deno.test("`file()` sends one file, with type, validators, ranges and conditions", async () => {
  await using folder = new Folder({ "data.css": "0123456789" });
  const app = new Engine();
  app.set("framework.handle_errors", false);
  app.route("/", () => app.response().file(`${folder.path}/data.css`));
  const visit = async (headers: Record<string, string> = {}) =>
    await app.fetch(new Request("http://localhost/", { headers }));
  const whole = await visit();
  assertEquals(await whole.text(), "0123456789");
  assertStringIncludes(whole.headers.get("content-type")!, "text/css");
  assert(whole.headers.has("last-modified"));
  const etag = whole.headers.get("etag")!;
  assertEquals((await visit({ "if-none-match": etag })).status, 304);
  const part = await visit({ range: "bytes=2-4" });
  assertEquals([part.status, await part.text()], [206, "234"]);
});

Deno.test("`cache()` says how long a response may be kept", async () => {
  await built((response) => {
    const cached = (seconds: number | false) =>
      response.cache(seconds).header("cache-control");
    assertEquals(cached(60), "max-age=60");
    assertEquals(cached(1.9), "max-age=1");
    assertEquals(cached(0), "max-age=0");
    assertEquals(cached(false), "no-store");
    for (const seconds of [-1, NaN, Infinity, 1e21, "60", null] as never[]) {
      assertThrows(() => response.cache(seconds), RangeError, "cache time");
    }
  });
});

Deno.test("`sent` says whether the response is sealed", async () => {
  const app = new Engine();
  const seen: boolean[] = [];
  app.route("/", () => {
    app.response().write("a");
    seen.push(app.response().sent);
    app.json(1);
    seen.push(app.response().sent);
  });
  await app.fetch("/");
  assertEquals(seen, [false, true]);
});

Deno.test("two responses of the same status and text share no header, no cookie and no body", async () => {
  const app = new Engine();
  app.route("/@name", (name) => {
    const response = app.response().status(409).header("x-name", name);
    response.cookie("name", name).write("Taken");
  });
  app.route("/typed/@name", (name) => {
    app.response().status(409).header("content-type", `text/${name}`);
    return "Taken";
  });
  app.after("send", (_params, output) => {
    output.value.headers.append("x-sent", "1");
  });
  const sent = await Promise.all(
    ["/ann", "/ben", "/typed/plain", "/typed/csv", "/ann"]
      .map((path) => app.fetch(path)),
  );
  const seen = sent.map(({ headers }) => [
    headers.get("x-name"),
    headers.getSetCookie()[0]?.split(";")[0],
    headers.get("content-type"),
    headers.get("x-sent"),
  ]);
  const html = "text/html; charset=utf-8";
  assertEquals(seen, [
    ["ann", "name=ann", html, "1"],
    ["ben", "name=ben", html, "1"],
    [null, undefined, "text/plain", "1"],
    [null, undefined, "text/csv", "1"],
    ["ann", "name=ann", html, "1"],
  ]);
  for (const response of sent) assertEquals(await response.text(), "Taken");
});
