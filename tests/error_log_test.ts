/** Tests the error log: which errors of requests are lines in it, what a line has, and that it can do no harm. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { stub } from "@std/testing/mock";
import { Engine, HttpError } from "@framework/core";
import { log } from "@framework/core/log";
import { logOf } from "./log.ts";
import { RawConnection } from "./raw_http.ts";
import { ServerProcess } from "./server_child.ts";
import { freePort } from "./ports.ts";

/** What a server passes on about a client elsewhere. */
const SERVED = {
  remoteAddr: { transport: "tcp", hostname: "192.0.2.7", port: 5 } as const,
};

const BOOM =
  /^[0-9a-f]{8} GET \/boom TypeError: boom at \S+error_log_test\.ts:\d+$/;

function failing(): Engine {
  const app = new Engine();
  app.route("/boom", () => {
    throw new TypeError("boom");
  });
  return app;
}

/** Visits as a client of a server; returns the status and what was logged. */
async function served(
  app: Engine,
  path = "/boom",
): Promise<[status: number, lines: string[]]> {
  let status = 0;
  const lines = await logOf(async () => {
    const response = await app.fetch(`http://site.test${path}`, SERVED);
    await response.text();
    status = response.status;
  });
  return [status, lines];
}

Deno.test("what `error` throws is logged once, also when it is no error and has a page", async () => {
  const app = failing();
  app.map("error", async () => {
    await (app.original("error") as (error: unknown) => unknown)("text");
    throw "text";
  });
  const [status, lines] = await served(app);
  assertEquals([status, lines.length], [500, 2]);
  assertMatch(lines[0]!, BOOM);
  assertMatch(
    lines[1]!,
    / GET \/boom Error: A non-Error value was thrown: "text"/,
  );
});

/** Who can make the page of an error. */
const PAGES: Readonly<Record<string, (app: Engine) => unknown>> = {
  "the framework": () => {},
  "a mapped `error`": (app) => app.map("error", () => "sorry"),
  "an asynchronous `error`": (app) =>
    app.map("error", async () => {
      await null;
      return { sorry: true };
    }),
  "an `error` that calls the original": (app) =>
    app.map("error", (error: Error) => app.original("error")(error)),
  "an `error` that halts": (app) =>
    app.map("error", () => app.halt(503, "later")),
  "a filter of `error`": (app) => app.after("error", () => {}),
  "middleware": (app) =>
    app.router().routes()[0]!.addMiddleware({ error: () => "sorry" }),
};

for (const [who, declare] of Object.entries(PAGES)) {
  Deno.test(`an error of which ${who} makes the page is one line in the log`, async () => {
    const app = failing();
    declare(app);
    const [status, lines] = await served(app);
    assert(status >= 500);
    assertEquals(lines.length, 1, lines.join("\n"));
    assertMatch(lines[0]!, BOOM);
  });
}

Deno.test("the line of a `fetch()` that failed has its cause and the route that returned it", async () => {
  const app = new Engine();
  const closed = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = closed.addr as Deno.NetAddr;
  closed.close();
  app.route("GET /proxy/*", () => fetch(`http://127.0.0.1:${port}/secret`));
  const [, [line]] = await served(app, "/proxy/x");
  assertMatch(
    line!,
    /^\w{8} GET \/proxy\/x TypeError: fetch failed \(caused by .*refused.*\) at the route "GET \/proxy\/\*"$/,
  );
});

Deno.test("the line of an error has its innermost cause, unless the message says it", async () => {
  const app = new Engine();
  const innermost = new RangeError("three");
  const circle = new Error("one");
  circle.cause = new Error("two", { cause: circle });
  const table: [unknown, string][] = [
    [new Error("two", { cause: innermost }), "RangeError: three"],
    [
      new Error("one", { cause: new Error("two", { cause: innermost }) }),
      "RangeError: three",
    ],
    [new Error("no, three", { cause: innermost }), ""],
    [new Error("one", { cause: "three" }), ""],
    [circle, ""],
  ];
  app.route("/boom", () => {
    throw table[0]![0];
  });
  for (; table.length > 0; table.shift()) {
    const [, [line]] = await served(app);
    const cause = / \(caused by (.+?)\) at /.exec(line!)?.[1] ?? "";
    assertEquals(cause, table[0]![1], line);
  }
});

Deno.test("the line of an `AggregateError` has its first error and their number", async () => {
  const app = new Engine();
  const both = [new RangeError("one"), new TypeError("two")];
  const long = new Error("x".repeat(2_000));
  const table: [Error, string][] = [
    [
      new AggregateError(both),
      "AggregateError (caused by 2 errors, first RangeError: one)",
    ],
    [
      new AggregateError(both, "all"),
      "AggregateError: all (caused by 2 errors, first RangeError: one)",
    ],
    [
      new AggregateError(both, "one"),
      "AggregateError: one (caused by 2 errors)",
    ],
    [
      new AggregateError([both[0]]),
      "AggregateError (caused by RangeError: one)",
    ],
    [new AggregateError([]), "AggregateError"],
    [
      new AggregateError(both, "", { cause: new Error("why") }),
      "AggregateError (caused by 2 errors, first RangeError: one)",
    ],
    [
      new AggregateError([], "", { cause: both[1] }),
      "AggregateError (caused by TypeError: two)",
    ],
    [
      new Error("zero", { cause: new AggregateError(both) }),
      "Error: zero (caused by 2 errors, first RangeError: one)",
    ],
    [
      new AggregateError([new Error("zero", { cause: both[1] }), both[0]]),
      "AggregateError (caused by 2 errors, first TypeError: two)",
    ],
    [
      new AggregateError(["down", "gone", null]),
      'AggregateError (caused by 3 errors, first Error: A non-Error value was thrown: "down")',
    ],
    [
      new AggregateError([long, both[1]]),
      `${
        "AggregateError (caused by 2 errors, first Error: ".padEnd(1_000, "x")
      }…`,
    ],
  ];
  app.route("/@row", (row) => {
    throw table[Number(row)]![0];
  });
  for (const [row, [, expected]] of table.entries()) {
    const [, [line]] = await served(app, `/${row}`);
    const text = / GET \/\d+ (.+) at \S+$/.exec(line!)?.[1];
    assertEquals(text, expected);
  }
});

Deno.test("the error of a template is logged with its line of the template, in no escapes", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${folder}/page.vto`, "<p>\n{{ for x of xs }");
  const app = new Engine();
  app.set("framework.views.path", folder);
  app.route("/", () => app.render("page"));
  const [, [short]] = await served(app, "/");
  assertMatch(
    short!,
    /GET \/ Error: Cannot render "\S+\/page.vto" at line 2: [^\\\n]+ at \S+page.vto:2$/,
  );
  app.set("framework.log_errors", true);
  const [, [whole]] = await served(app, "/");
  assertMatch(whole!, /at line 2: [^\\\n]+\n +2 \| \{\{ for x of xs \}/);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("an error that `error` maps to a 404 is no line in the log, whole or not", async () => {
  const app = failing();
  app.map("error", () => app.response().status(404).write("none"));
  assertEquals(await served(app), [404, []]);
  app.set("framework.log_errors", true);
  assertEquals(await served(app), [404, []]);
});

Deno.test("the status of the page before `send` decides whether an error is a line in the log", async () => {
  const statuses: [page: number, sent: number, lines: number][] = [
    [500, 200, 1],
    [404, 503, 0],
  ];
  for (const [page, sent, expected] of statuses) {
    const app = failing();
    app.map("error", () => app.response().status(page).write("sorry"));
    app.after("send", (_params, output) => {
      output.value = new Response("sent", { status: sent });
    });
    const [status, lines] = await served(app);
    assertEquals([status, lines.length], [sent, expected], lines.join("\n"));
    for (const line of lines) assertMatch(line, BOOM);
  }
});

Deno.test("a filter that puts a 409 in place of an error leaves no line in the log", async () => {
  const app = failing();
  app.before("error", (params) => void (params[0] = new HttpError(409)));
  assertEquals(await served(app), [409, []]);
});

Deno.test("an `HttpError` of 503 is a line in the log, and a 403 is none", async () => {
  const app = new Engine();
  app.route("/@status", (status) => {
    throw new HttpError(Number(status), "Not now");
  });
  const [, lines] = await served(app, "/503");
  assertEquals(lines.length, 1);
  assertMatch(lines[0]!, /GET \/503 HttpError: Not now at /);
  assertEquals(await served(app, "/403"), [403, []]);
});

Deno.test("`framework.log_errors` shows the `errors` of another library's error, whatever they are", async () => {
  const app = new Engine();
  app.set("framework.log_errors", true);
  const kinds: [errors: unknown, shown: RegExp][] = [
    [{ name: "too short" }, /\{ errors: \{ name: "too short" \} \}/],
    ["two", /\{ errors: "two" \}/],
    [[new Error("inner")], /Caused by: Error: inner/],
  ];
  for (const [index, [errors, shown]] of kinds.entries()) {
    app.route(`/${index}`, () => {
      throw Object.assign(new Error("outer"), { errors });
    });
    const lines = await logOf(async () => {
      await (await app.fetch(`/${index}`)).text();
    });
    assertMatch(lines.join("\n"), /Error: outer/);
    assertMatch(lines.join("\n"), shown);
  }
});

Deno.test("an error of a request of the program's own is no line in the log, unless under `framework.log_errors`", async () => {
  const app = failing();
  assertEquals(await logOf(() => app.fetch("/boom")), []);
  app.set("framework.log_errors", true);
  const [whole] = await logOf(() => app.fetch("/boom"));
  assertMatch(whole!, /^\w{8} GET \/boom TypeError: boom\n +at /);
});

Deno.test("`framework.debug` logs an error whole, whoever the client is", async () => {
  const app = failing();
  app.set("framework.debug", true);
  const [, [line, ...more]] = await served(app);
  assertMatch(line!, /GET \/boom TypeError: boom\n +at /);
  assertEquals(more, []);
});

Deno.test("an error inside a mapped `error` is a line behind that of the first", async () => {
  const app = failing();
  app.map("error", () => {
    throw new RangeError("no page");
  });
  const [status, lines] = await served(app);
  assertEquals([status, lines.length], [500, 2]);
  assertMatch(lines[0]!, BOOM);
  assertMatch(lines[1]!, /GET \/boom RangeError: no page at /);
});

Deno.test("an `error` that throws what it got, and middleware that does, log it once", async () => {
  const app = failing();
  app.router().routes()[0]!.addMiddleware({
    error: (thrown: unknown) => {
      throw thrown;
    },
  });
  app.map("error", (error: Error) => {
    throw error;
  });
  const [, lines] = await served(app);
  assertEquals(lines.length, 1);
});

Deno.test("what middleware gets and is no error is one line in the log", async () => {
  const app = new Engine();
  app.route("/boom", () => {
    throw "text";
  }).addMiddleware({ error: () => {} });
  const [, lines] = await served(app);
  assertEquals(lines.length, 1, lines.join("\n"));
  assertMatch(lines[0]!, /A non-Error value was thrown: "text"/);
});

for (const rest of ["a page", "none", "a filter", "the original"]) {
  Deno.test(`what a handler gives to \`error()\`, and then throws, is one line in the log, with ${rest} mapped`, async () => {
    const app = new Engine();
    if (rest === "a page") app.map("error", () => "mapped");
    if (rest === "a filter") app.before("error", () => {});
    if (rest === "the original") {
      app.map("error", (error: Error) => app.original("error")(error));
    }
    app.route("/boom", () => {
      app.error("text");
      throw "text";
    });
    const [status, lines] = await served(app);
    assertEquals([status, lines.length], [500, 1], lines.join("\n"));
  });
}

Deno.test("the page, the error log and `log` show the same reference, that of `request().id`", async () => {
  const app = failing();
  const references: (string | undefined)[] = [];
  log(app, { write: (record) => references.push(record.id) });
  app.after("send", () => void references.push(app.request().id));
  const [line] = await logOf(async () => {
    const response = await app.fetch("http://site.test/boom", SERVED);
    references.push(/Reference: (\w+)/.exec(await response.text())?.[1]);
  });
  references.push(line!.split(" ", 1)[0]);
  assertEquals(references.length, 4);
  assertEquals(new Set(references).size, 1, references.join());
});

Deno.test("a mounted application shows the reference of the one around it", async () => {
  const [app, inner] = [new Engine(), failing()];
  const references: (string | undefined)[] = [];
  log(app, { write: (record) => references.push(record.id) });
  app.mount("/inner", inner);
  const [line, ...more] = await logOf(async () => {
    const response = await app.fetch("http://site.test/inner/boom", SERVED);
    references.push(/Reference: (\w+)/.exec(await response.text())?.[1]);
  });
  assertEquals(more, []);
  references.push(line!.split(" ", 1)[0]);
  assertEquals(new Set(references).size, 1, references.join());
});

Deno.test("an error after the seal is one line in the log, also where middleware looks at it", async () => {
  const app = new Engine();
  app.route("/boom", () => {
    app.json({}, 503);
    throw new Error("late");
  }).addMiddleware({ error: () => {} });
  const [status, lines] = await served(app);
  assertEquals([status, lines.length], [503, 1], lines.join("\n"));
});

Deno.test("an error of the framework itself has no place: who called `fetch()` is none", async () => {
  const app = new Engine();
  app.route("/boom", () => 1 as never);
  const [, [line]] = await served(app);
  assertMatch(line!, /TypeError: Cannot send what the route .+, got 1$/);
});

Deno.test("the place of an error is found at once behind a stack that quotes a million letters", async () => {
  const app = new Engine();
  app.route("/", () => {
    const error = new Error("changed");
    // With an expression that reads each letter again from each letter, this would take an hour.
    error.stack = [
      "Error: first",
      `    at ${"a".repeat(1_000_000)}`,
      `    at ${"a://".repeat(250_000)}`,
      "    at run (file:///srv/app.ts:12:3)",
    ].join("\n");
    throw error;
  });
  const [status, [line]] = await served(app, "/");
  assertEquals(status, 500);
  assertMatch(line!, /Error: changed at \/srv\/app\.ts:12$/);
});

Deno.test("text of a client in the log begins no line and sends no control character", async () => {
  const codes = [0, 7, 8, 9, 10, 11, 12, 13, 27, 127, 0x85, 0x90, 0x9b, 0x9d];
  const bidi = [0x61c, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2066];
  for (const code of [...codes, ...bidi]) {
    const character = String.fromCharCode(code);
    for (const isWhole of [false, true]) {
      const app = new Engine();
      app.set("framework.log_errors", isWhole);
      app.route("/boom", () => {
        const message = `before${character}2026-01-01T00:00:00.000Z forged`;
        throw new Error(message, { cause: new Error(message) });
      });
      const [, [line]] = await served(app);
      const frames = line!.replace(/\n {4}/g, ""); // those of the stack
      assert(!frames.includes(character), `${code}: ${JSON.stringify(line)}`);
      assert(!/\n\s*2026/.test(line!), JSON.stringify(line));
    }
  }
});

Deno.test("what is rejected too late begins no line of the log by its message", async () => {
  const app = new Engine();
  app.route("/", () => {
    app.response().write("x");
    app.defer(() => Promise.reject(new Error("a\n2026-01-01 forged\x1b[2J")));
  });
  const [line] = await logOf(async () => {
    await app.fetch("/");
    await new Promise((resolve) => setTimeout(resolve, 5));
  });
  assertMatch(
    line!,
    /^[\da-f]{8} GET \/ Error in deferred work: Error: a\\n2026/,
  );
  assert(!line!.includes("\x1b"));
});

Deno.test("a message of megabytes is cut in the log", async () => {
  const app = new Engine();
  app.route("/boom", () => {
    throw new Error("x".repeat(2_000_000));
  });
  const [, [line]] = await served(app);
  assert(line!.length < 2_000, `${line!.length}`);
  assertMatch(line!, /x… at \S+error_log_test\.ts:\d+$/);
});

Deno.test("an error without a stack, and one that throws when it is looked at, are a line and a 500", async () => {
  const odd = Object.defineProperty(new Error("x"), "stack", {
    get() {
      throw new Error("No stack");
    },
  });
  const bare = new Error("bare");
  delete bare.stack;
  const name = Object.assign(new Error("named"), { name: 42, stack: 7 });
  for (const thrown of [odd, bare, name]) {
    for (const isWhole of [false, true]) {
      const app = new Engine();
      app.set("framework.log_errors", isWhole);
      app.route("/boom", () => {
        throw thrown;
      });
      const [status, lines] = await served(app);
      assertEquals([status, lines.length], [500, 1]);
    }
  }
});

Deno.test("a log that cannot be written costs no response", async () => {
  using _error = stub(console, "error", () => {
    throw new Error("No space left on device");
  });
  using _log = stub(console, "log", () => {
    throw new Error("No space left on device");
  });
  const app = failing();
  log(app);
  app.route("/fine", () => "fine");
  app.route("/late", () => {
    app.defer(() => Promise.reject(new Error("late")));
    return "sent";
  });
  const visit = (path: string) => app.fetch(`http://site.test${path}`, SERVED);
  assertEquals(await (await visit("/fine")).text(), "fine");
  assertMatch(await (await visit("/boom")).text(), /Reference: /);
  assertEquals(await (await visit("/late")).text(), "sent");
  await new Promise((resolve) => setTimeout(resolve, 5));
});

Deno.test({
  name:
    "`start()` serves, and ends by SIGTERM, when the disk of its log is full",
  ignore: Deno.build.os !== "linux", // where /dev/full is
  async fn() {
    const port = freePort();
    const source = `
      import { Framework } from "@framework/core";
      import { log } from "@framework/core/log";
      log(Framework);
      Framework.route("/fine", () => "fine");
      Framework.route("/boom", () => { throw new Error("boom") });
      Framework.route("/late", () => {
        setTimeout(() => { throw new Error("late") });
        return "sent";
      });
      Framework.start({ port: ${port} });
    `;
    await using process = await ServerProcess.start(source, {
      output: "/dev/full",
    });
    const visit = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
    const textIn = (response: Response) => response.text();
    const textOf = (path: string) => visit(path).then(textIn);
    const isUp = () => visit("/fine").then(textIn, () => "");
    for (let turn = 0; turn < 200 && await isUp() === ""; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assertMatch(await textOf("/boom"), /Reference: /);
    assertEquals(await textOf("/late"), "sent");
    assertEquals(await textOf("/fine"), "fine");
    process.kill("SIGTERM");
    assertEquals((await process.ended()).code, 0);
  },
});

/** Requests that look like the program's own, and are not. */
const FOREIGN: Readonly<Record<string, [url: string, headers?: HeadersInit]>> =
  {
    "another host": ["http://site.test/boom"],
    "a port": ["http://localhost:8000/boom"],
    "a Host header": ["http://localhost/boom", { host: "localhost" }],
    "a header of a proxy": ["http://localhost/boom", { via: "1.1 a" }],
  };

for (const [what, [url, headers]] of Object.entries(FOREIGN)) {
  Deno.test(`a request with ${what} counts as served: its error is in the log, and not in the page`, async () => {
    const app = failing();
    const request = new Request(url, { headers: headers ?? {} });
    const [line] = await logOf(async () => {
      const text = await (await app.fetch(request)).text();
      assertMatch(text, /Reference: /);
      assert(!text.includes("boom"));
    });
    assertMatch(line!, BOOM);
  });
}

Deno.test("a copy of a served request without `Host` shows no message, and is in the log", async () => {
  const app = failing();
  const copies: ((request: Request) => Request)[] = [
    (request) => new Request(request.url, request),
    (request) => new Request(request),
    (request) => request.clone(),
    (request) =>
      new Request(request.url, { ...request, signal: request.signal }),
  ];
  for (const copy of copies) {
    const server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      (request) => app.fetch(copy(request)),
    );
    for (const target of ["/boom", "http://localhost/boom"]) {
      for (const version of ["1.0", "1.1"]) {
        const lines = await logOf(async () => {
          using connection = await RawConnection.open(server.addr.port);
          await connection.send(
            `GET ${target} HTTP/${version}\r\nConnection: close\r\n\r\n`,
          );
          const response = await connection.receive();
          assertMatch(response, /Reference: /);
          assert(!response.includes("boom"), `${copy}`);
        });
        assertEquals(lines.length, 1);
      }
    }
    await server.shutdown();
  }
});

Deno.test("a copy of a request over HTTP/2, which has no `Host`, shows no message, and is in the log", async () => {
  const app = failing();
  let host: string | null = "";
  const options = { port: 0, hostname: "127.0.0.1", onListen() {} };
  await using server = Deno.serve(options, (request) => {
    host = request.headers.get("host");
    return app.fetch(new Request(request.url, request));
  });
  const { hostname, port } = server.addr;
  const proxy = { transport: "tcp", hostname, port } as const; // the URL has no port
  using client = Deno.createHttpClient({ http1: false, http2: true, proxy });
  const lines = await logOf(async () => {
    const response = await fetch("http://127.0.0.1/boom", { client });
    const text = await response.text();
    assertMatch(text, /Reference: /);
    assert(!text.includes("boom"));
  });
  assertEquals(host, null);
  assertEquals(lines.length, 1, lines.join("\n"));
  assertMatch(lines[0]!, BOOM);
});

Deno.test("what `error()` gets after the seal is one line in the log", async () => {
  const app = new Engine();
  app.route("/boom", () => {
    app.json({});
    app.error(new Error("boom"));
  });
  const [status, lines] = await served(app);
  assertEquals([status, lines.length], [200, 1], lines.join("\n"));
  assertMatch(lines[0]!, /GET \/boom Error after the response was sealed: /);
});

Deno.test("a filter of `error` that replaces the error has both in the log", async () => {
  const app = failing();
  app.before("error", (params) => {
    params[0] = new HttpError(503, "Busy");
  });
  const [status, lines] = await served(app);
  assertEquals([status, lines.length], [503, 2], lines.join("\n"));
  assertMatch(lines[0]!, BOOM);
  assertMatch(lines[1]!, /HttpError: Busy/);
});

Deno.test("what a handler gives to `error()` twice is one line in the log", async () => {
  const app = new Engine();
  app.set("framework.log_errors", true);
  const error = new Error("boom");
  app.route("/", () => {
    app.error(error);
    app.error(error);
  });
  const log = await logOf(async () => {
    assertEquals((await app.fetch("/")).status, 500);
  });
  assertEquals(log.length, 1);
});

Deno.test("the line of an error without a route has none, and that of text which was thrown has its text", async () => {
  const app = new Engine();
  app.map("notFound", () => {
    throw new Error("boom");
  });
  app.route("/text", () => app.error("thrown" as never));
  const [status, [line]] = await served(app, "/");
  assertEquals(status, 500);
  assertMatch(line!, /^[0-9a-f]{8} GET \/ Error: boom/);
  const [, [text]] = await served(app, "/text");
  assertMatch(text!, /^[0-9a-f]{8} GET \/text Error: .*"thrown"/);
});

Deno.test("the line of a request that an application makes of another one has its own path", async () => {
  const [outer, inner] = [new Engine(), new Engine()];
  inner.set("framework.log_errors", true);
  inner.route("/inner", () => {
    throw new Error("boom");
  });
  outer.route("/outer", () => inner.fetch("/inner"));
  const [line] = await logOf(async () => {
    await (await outer.fetch("/outer")).body?.cancel();
  });
  assertMatch(line!, /^[0-9a-f]{8} GET \/inner Error: boom/);
});

Deno.test("a line of the error log has the method that a form asks for", async () => {
  const app = new Engine();
  app.set({ "framework.method_override": true, "framework.log_errors": true });
  app.route("PUT /x", () => {
    throw new Error("boom");
  });
  const body = new URLSearchParams({ _method: "PUT" });
  const lines = await logOf(async () => {
    await app.fetch(
      new Request("http://localhost/x", { method: "POST", body }),
    );
  });
  assertMatch(lines[0] ?? "", / PUT \/x /);
});
