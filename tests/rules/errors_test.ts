/** Tests the rule "Errors": `HttpError`, what clients see of an error, and its line in the log. */

import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { stub } from "@std/testing/mock";
import { Engine, HttpError } from "@framework/core";
import { logOf } from "../support/log.ts";
import { serving } from "../support/serving.ts";
import { RawConnection } from "../support/raw_http.ts";

/** Connection info of a client on another machine: the request is a served one. */
const SERVED = {
  remoteAddr: { transport: "tcp", hostname: "192.0.2.7", port: 5 },
} as const;

const SECRET = "connect postgres://user:pw@host";

function fail(message: string): never {
  throw new RangeError(message);
}

/** An application whose `/boom` throws a value. */
function failing(thrown: unknown = new TypeError(SECRET)): Engine {
  const app = new Engine();
  app.route("/boom", () => {
    throw thrown;
  });
  return app;
}

/** What a client of a server gets for `/boom`, and what is logged. */
async function served(
  app: Engine,
): Promise<{ status: number; text: string; log: string[] }> {
  let [status, text] = [0, ""];
  const log = await logOf(async () => {
    const response = await app.fetch("http://site.test/boom", SERVED);
    [status, text] = [response.status, await response.text()];
  });
  return { status, text, log };
}

// `HttpError`

Deno.test("`new HttpError()` keeps its status, message, cause and headers", () => {
  const headers = { "retry-after": "5" };
  const error = new HttpError(429, "Slowly", { cause: 1, headers });
  assert(error instanceof Error);
  const { name, status, message, cause } = error;
  assertEquals([name, status, message, cause], ["HttpError", 429, "Slowly", 1]);
  assertEquals(error.headers.get("retry-after"), "5");
});

Deno.test("`new HttpError()` refuses what is no status of an error", () => {
  for (const status of [200, 399, 600, 404.5, NaN]) {
    assertThrows(() => new HttpError(status), RangeError, `status "${status}"`);
  }
});

Deno.test("an `HttpError` gives every client its status, message and headers", async () => {
  const headers = new Headers({ "retry-after": "5" });
  headers.append("set-cookie", "a=1");
  headers.append("set-cookie", "b=2");
  const app = failing(new HttpError(429, "<b>Slowly</b>", { headers }));
  const response = await app.fetch("http://site.test/boom", SERVED);
  assertEquals(response.status, 429);
  assertEquals(response.headers.get("retry-after"), "5");
  assertEquals(response.headers.getSetCookie(), ["a=1", "b=2"]);
  assertStringIncludes(await response.text(), "&lt;b&gt;Slowly&lt;/b&gt;");
});

Deno.test("a mapped `error` responds with the status and headers of an `HttpError`", async () => {
  const headers = { "retry-after": "5" };
  const app = failing(new HttpError(429, "Slowly", { headers }));
  app.map("error", (error: Error) => `mapped ${error.message}`);
  const response = await app.fetch("/boom");
  assertEquals(response.status, 429);
  assertEquals(response.headers.get("retry-after"), "5");
  assertEquals(await response.text(), "mapped Slowly");
});

Deno.test("`error()` sends a page, neither cached nor saved as the response before it would have been", async () => {
  const app = new Engine();
  app.route("/boom", () => {
    app.response().cache(60).attachment("report.csv");
    app.etag("v1");
    throw new HttpError(404);
  });
  const { headers, body } = await app.fetch("/boom");
  await body?.cancel();
  assertEquals([...headers.keys()], ["content-type", "vary"]);
  assertEquals(headers.get("content-type"), "text/html; charset=utf-8");
});

Deno.test("`error()` gets an `Error`, whatever was thrown", async () => {
  const values = ["text", undefined, null, 42n, { a: 1 }];
  for (const value of values) {
    const app = failing();
    app.route("/other", () => {
      throw value;
    });
    app.map(
      "error",
      (error: unknown) => error instanceof Error ? error.message : "no error",
    );
    const response = await app.fetch("/other");
    assertEquals(response.status, 500);
    assertStringIncludes(await response.text(), "A non-Error value was thrown");
  }
});

// What clients see

Deno.test("clients of a server see status, title and reference of an error, and the log the rest", async () => {
  for (const accept of ["text/html", "application/json"]) {
    const app = failing();
    let id = "";
    app.after("send", () => void (id = app.request().id));
    let text = "";
    const [line, ...more] = await logOf(async () => {
      const headers = { accept };
      const request = new Request("http://site.test/boom?token=1", { headers });
      const response = await app.fetch(request, SERVED);
      assertEquals(response.status, 500);
      text = await response.text();
    });
    assertStringIncludes(text, "Internal Server Error");
    assertStringIncludes(text, id);
    assertEquals(/postgres|TypeError|\.ts/.test(text), false, text);
    const start = `${id} GET /boom TypeError: ${SECRET} at `;
    assertStringIncludes(line!, start);
    assertMatch(line!.slice(start.length), /^\S+errors_test\.ts:\d+$/);
    assertEquals(more, []);
  }
});

Deno.test("the program itself sees the message of an error, and neither class nor stack", async () => {
  const app = failing(new TypeError('<script>alert("no paper")</script>'));
  const text = await (await app.fetch("/boom")).text();
  assertStringIncludes(
    text,
    "&lt;script&gt;alert(&quot;no paper&quot;)&lt;/script&gt;",
  );
  assertEquals(/TypeError|\.ts/.test(text), false);
});

Deno.test("a request that looks like the program's own, and may be another one's, is a served one", async () => {
  const foreign: readonly [url: string, headers?: HeadersInit][] = [
    ["http://site.test/boom"],
    ["http://localhost.site.test/boom"],
    ["http://localhost:8000/boom"],
    ["http://localhost/boom", { host: "localhost" }],
    ["http://localhost/boom", { via: "1.1 a" }],
    ["http://localhost/boom", { "x-forwarded-for": "192.0.2.7" }],
  ];
  for (const [url, headers = {}] of foreign) {
    const log = await logOf(async () => {
      const response = await failing().fetch(new Request(url, { headers }));
      assertEquals((await response.text()).includes(SECRET), false, url);
    });
    assertEquals(log.length, 1, url);
  }
});

Deno.test("a server that passes on no connection info shows no client the message of an error", async () => {
  const app = failing();
  const options = { port: 0, hostname: "127.0.0.1", onListen() {} };
  await using server = Deno.serve(options, (request) => app.fetch(request));
  // As HTTP/1.0, a request needs no `Host`; its target can be a URL without a port.
  for (const target of ["/boom", "http://localhost/boom"]) {
    const log = await logOf(async () => {
      using connection = await RawConnection.open(server.addr.port);
      await connection.send(`GET ${target} HTTP/1.0\r\n\r\n`);
      const response = await connection.receive();
      assertStringIncludes(response, " 500 ");
      assertEquals(response.includes(SECRET), false, response);
    });
    assertEquals(log.length, 1);
  }
});

Deno.test("`framework.handle_errors` false leaves refusals, `halt()` and `notFound()` their responses", async () => {
  const app = new Engine();
  app.set({ "framework.handle_errors": false, "framework.body_limit": 2 });
  app.route("/halt", () => app.halt(403));
  app.route("/guarded", () => "never").addMiddleware(() => false);
  const visits: readonly [path: string, status: number, body?: string][] = [
    ["/%zz", 400],
    ["/halt", 413, "too long"],
    ["/halt", 403],
    ["/guarded", 403],
    ["/nowhere", 404],
  ];
  for (const [path, status, body] of visits) {
    const init = body === undefined ? {} : { method: "POST", body };
    const url = `http://localhost${path}`;
    const response = await app.fetch(new Request(url, init));
    await response.body?.cancel();
    assertEquals(response.status, status, path);
  }
});

// The log

/** Who can make the page of an error. */
const PAGES: Readonly<Record<string, (app: Engine) => unknown>> = {
  "the framework": () => {},
  "a mapped `error`": (app) => app.map("error", () => "sorry"),
  "middleware": (app) =>
    app.router().routes()[0]!.addMiddleware({ error: () => "sorry" }),
};

for (const [who, declare] of Object.entries(PAGES)) {
  Deno.test(`an error of which ${who} makes the page is one line in the log`, async () => {
    const app = failing();
    declare(app);
    const { status, log } = await served(app);
    assert(status >= 500);
    assertEquals(log.length, 1, log.join("\n"));
    assertStringIncludes(log[0]!, ` GET /boom TypeError: ${SECRET} at `);
  });
}

Deno.test("the status of its page decides whether an error is a line in the log", async () => {
  const pages: readonly [
    thrown: Error,
    mapped: number | null,
    lines: number,
  ][] = [
    [new HttpError(503, "Not now"), null, 1],
    [new HttpError(403, "Staff only"), null, 0],
    [new Error("boom"), 404, 0],
  ];
  for (const [thrown, status, lines] of pages) {
    const app = failing(thrown);
    if (status) app.map("error", () => void app.response().status(status));
    const { log } = await served(app);
    assertEquals(log.length, lines, `${thrown}, ${status}`);
  }
});

Deno.test("an `error` that fails leaves the default page, and both errors in the log", async () => {
  const app = failing();
  app.map("error", () => fail("no page"));
  const { status, text, log } = await served(app);
  assertEquals(status, 500);
  assertStringIncludes(text, "500 Internal Server Error");
  assertEquals(log.length, 2);
  assertStringIncludes(log[0]!, `TypeError: ${SECRET}`);
  assertStringIncludes(log[1]!, "RangeError: no page");
});

Deno.test("text of a client in the log begins no line and sends no control character", async () => {
  const controls = [0, 7, 8, 9, 10, 11, 12, 13, 27, 127, 0x85, 0x90, 0x9b];
  const marks = [0x61c, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2066];
  for (const code of [...controls, ...marks]) {
    const character = String.fromCharCode(code);
    const message = `before${character}2026-01-01T00:00:00.000Z forged`;
    for (const isWhole of [false, true]) {
      const app = failing(new Error(message, { cause: new Error(message) }));
      app.set("framework.log_errors", isWhole);
      const { log: [entry] } = await served(app);
      assertStringIncludes(entry!, "forged");
      assertEquals(/\n\s*2026/.test(entry!), false, JSON.stringify(entry));
      const frames = /\n(?: {2})+/g; // those of the stack begin lines
      const text = entry!.replace(frames, "");
      assertEquals(text.includes(character), false, JSON.stringify(entry));
    }
  }
});

Deno.test("a hostile message of megabytes is a short line in the log, and found at once", async () => {
  // An expression that tries each of its letters with each would take hours.
  const messages = [
    "x".repeat(2_000_000),
    `\n    at ${"a://".repeat(500_000)}`,
    "key".repeat(700_000) + "=secret",
  ];
  for (const message of messages) {
    const { status, log } = await served(failing(new Error(message)));
    assertEquals([status, log.length], [500, 1]);
    assert(log[0]!.length < 2_000, `${log[0]!.length}`);
  }
});

Deno.test("a log that cannot be written costs no response", async () => {
  const triedTwice = Promise.withResolvers<void>();
  let tries = 0;
  using _error = stub(console, "error", () => {
    if (++tries === 2) triedTwice.resolve();
    throw new Error("No space left on device");
  });
  const app = failing();
  app.route("/late", () => {
    app.defer(() => fail("late"));
    return "sent";
  });
  const visit = (path: string) => app.fetch(`http://site.test${path}`, SERVED);
  const boom = await visit("/boom");
  assertEquals(boom.status, 500);
  assertStringIncludes(await boom.text(), "500 Internal Server Error");
  assertEquals(await (await visit("/late")).text(), "sent");
  await triedTwice.promise;
});

Deno.test("`request().signal` aborts when the client leaves, and what fails then is not logged", async () => {
  const app = new Engine();
  const entered = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  app.route("/", async () => {
    const { signal } = app.request();
    const left = new Promise((resolve) => signal.onabort = resolve);
    entered.resolve();
    await left;
    ended.resolve();
    throw new Error("The upload failed", { cause: signal.reason });
  });
  const log = await logOf(async () => {
    const options = { port: 0, signals: false, onListen() {} };
    await using server = app.start(options);
    const { port } = server.addr as Deno.NetAddr;
    const client = new AbortController();
    const { signal } = client;
    const response = fetch(`http://127.0.0.1:${port}/`, { signal });
    await entered.promise;
    client.abort();
    await response.catch(() => {});
    await ended.promise;
  });
  assertEquals(log, []);
});

Deno.test("a page that fails is logged, also that of a refusal", async () => {
  const app = new Engine();
  app.map("error", () => {
    throw new Error("The page is broken");
  });
  app.route("/", () => {
    throw new HttpError(403);
  });
  await serving(app, async (port) => {
    const log = await logOf(async () => {
      const response = await fetch(`http://127.0.0.1:${port}/`);
      assertEquals(response.status, 500);
      await response.body?.cancel();
    });
    assertStringIncludes(log.join("\n"), "The page is broken");
  });
});

Deno.test("an error whose headers cannot be sent gets a 500, also where error() is called", async () => {
  const app = new Engine();
  app.map("error", (error: Error) => {
    app.response().write(error.message);
  });
  app.route("/", () => {
    app.error(new HttpError(403, "", { headers: { "x-a": "a\x01b" } }));
  });
  const response = await app.fetch("/");
  assertEquals(response.status, 500);
  assertStringIncludes(await response.text(), "x-a");
});

Deno.test("an error whose message, stack or cause is no text gets a 500, and a log", async () => {
  const app = new Engine();
  app.set("framework.log_errors", true);
  app.route("/message", () => {
    throw Object.assign(new Error("x"), { message: null });
  });
  app.route("/stack", async () => {
    await null;
    throw Object.assign(new Error("x"), { stack: {}, name: 1 });
  });
  app.route("/cause", () => {
    const cause = Object.assign(new Error("y"), { message: null });
    throw new Error("x", { cause });
  });
  for (const path of ["/message", "/stack", "/cause"]) {
    const log = await logOf(async () => {
      const response = await app.fetch(path);
      assertEquals(response.status, 500);
      await response.body?.cancel();
    });
    assertEquals(log.length, 1);
  }
});
