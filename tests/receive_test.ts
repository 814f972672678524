/** Receiving the body of a request: for which route it is read, and within which limit. */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { Engine, HttpRequest } from "@framework/core";
import { RawConnection } from "./raw_http.ts";

const FORM = "application/x-www-form-urlencoded";

/** A POST of a body in one chunk, which tells whether it was read. */
function post(path: string, text: string, type = FORM) {
  const seen = { read: false };
  const body = new ReadableStream({
    pull(controller) {
      seen.read = true;
      controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    },
  }, { highWaterMark: 0 });
  const headers = { "content-type": type };
  const init = { method: "POST", headers, body };
  return { seen, request: new Request(`http://localhost${path}`, init) };
}

async function statusOf(app: Engine, path: string, text: string) {
  return (await app.fetch(post(path, text).request)).status;
}

Deno.test("`fetch()` leaves the body of a path that no route takes unread", async () => {
  const app = new Engine();
  app.route("GET /a", () => "got");
  for (const path of ["/a", "/b"]) {
    const { seen, request } = post(path, "a=1");
    assertEquals((await app.fetch(request)).status, 404);
    assertEquals(seen.read, false, path);
  }
});

Deno.test("`data` and `getBody()` are empty for filters and pages when no route takes the path", async () => {
  const app = new Engine();
  const read = () => {
    const { data, files } = app.request();
    return [data, files, app.request().getBody()];
  };
  const seen: unknown[] = [];
  app.before("start", () => void seen.push(read()));
  app.map("notFound", () => void seen.push(read()));
  await app.fetch(post("/", "a=1").request);
  assertEquals(seen, [[{}, {}, ""], [{}, {}, ""]]);
});

Deno.test("`raw` has the body that no route takes", async () => {
  const app = new Engine();
  app.map("notFound", async () => await app.request().raw.text());
  const response = await app.fetch(post("/", "a=1").request);
  assertEquals(await response.text(), "a=1");
});

Deno.test("`route()` in a filter of `start` gets the body before its callback", async () => {
  const app = new Engine();
  const seen: unknown[] = [];
  app.before("start", () => {
    seen.push(app.request().data.a);
    app.route("POST /", () => `${app.request().data.a}`);
  });
  const response = await app.fetch(post("/", "a=1").request);
  assertEquals([await response.text(), seen], ["1", [undefined]]);
});

Deno.test("`route()` in a filter of `start` limits the body", async () => {
  const app = new Engine();
  app.before("start", () => {
    app.route("POST /", () => "taken").bodyLimit(3);
  });
  assertEquals(await statusOf(app, "/", "a=1"), 200);
  assertEquals(await statusOf(app, "/", "a=10"), 413);
});

Deno.test("the page of a refused body finds it empty, also on a streamed route", async () => {
  const app = new Engine();
  app.map(
    "error",
    (error: Error) => `${error.message}: ${app.request().getBytes().length}`,
  );
  app.route("POST /whole", () => "taken").bodyLimit(3);
  app.route("POST /stream", () => "taken").streamed().bodyLimit(3);
  for (const path of ["/whole", "/stream"]) {
    const headers = { "content-length": "4" };
    const init = { method: "POST", body: "four", headers };
    const request = new Request(`http://localhost${path}`, init);
    const text = await (await app.fetch(request)).text();
    assertEquals(text.endsWith(": 0"), true, text);
  }
});

Deno.test("`bodyLimit()` is the limit of one route, above or below `framework.body_limit`", async () => {
  const app = new Engine();
  app.set("framework.body_limit", 5);
  app.route("POST /small", () => "taken").bodyLimit(3);
  app.route("POST /large", () => "taken").bodyLimit(7);
  app.route("POST /other", () => "taken");
  const table = { "/small": 3, "/large": 7, "/other": 5 };
  for (const [path, limit] of Object.entries(table)) {
    assertEquals(await statusOf(app, path, "x".repeat(limit)), 200, path);
    assertEquals(await statusOf(app, path, "x".repeat(limit + 1)), 413, path);
  }
});

Deno.test("`bodyLimit()` is checked before filters and middleware run", async () => {
  const app = new Engine();
  let ran = false;
  app.before("start", () => void (ran = true));
  app.route("POST /", () => "taken").bodyLimit(3)
    .addMiddleware(() => void (ran = true));
  assertEquals(await statusOf(app, "/", "a=10"), 413);
  assertEquals(ran, false);
});

Deno.test("`bodyLimit()` holds also behind a route that passes, before that is called", async () => {
  const app = new Engine();
  app.set("framework.body_limit", 5);
  let calls = 0;
  app.route("*", () => ++calls > 0);
  app.route("POST /small", () => "taken").bodyLimit(3);
  app.route("POST /large", () => "taken").bodyLimit(7);
  app.route("POST /other", () => "taken");
  const table = { "/small": 3, "/large": 7, "/other": 5 };
  for (const [path, limit] of Object.entries(table)) {
    calls = 0;
    assertEquals(await statusOf(app, path, "x".repeat(limit)), 200, path);
    assertEquals(await statusOf(app, path, "x".repeat(limit + 1)), 413, path);
    assertEquals(calls, 1, path);
  }
});

Deno.test("`bodyLimit()` of each route holds where several match", async () => {
  const app = new Engine();
  app.route("/*", () => true).bodyLimit(7);
  app.route("POST /", () => "taken").bodyLimit(3);
  assertEquals(await statusOf(app, "/", "a=1"), 200);
  assertEquals(await statusOf(app, "/", "a=10"), 413);
});

Deno.test("`bodyLimit()` throws for what is no limit", () => {
  const app = new Engine();
  const route = app.route("POST /", () => {});
  assertEquals(route.bodyLimit(), undefined);
  assertEquals(route.bodyLimit(0).bodyLimit(), 0);
  assertThrows(() => route.bodyLimit("1" as never), TypeError, '"/"');
  for (const bytes of [-1, NaN]) {
    assertThrows(() => route.bodyLimit(bytes), RangeError, `${bytes}`);
  }
});

Deno.test("`bodyLimit()` of a streamed route refuses a longer body, and ends a longer stream", async () => {
  const app = new Engine();
  let calls = 0;
  app.route("POST /", async () => {
    calls += 1;
    return (await app.request().raw.bytes()).length + " bytes";
  }).streamed().bodyLimit(3);
  const response = await app.fetch(post("/", "a=1").request);
  assertEquals(await response.text(), "3 bytes");
  assertEquals([await statusOf(app, "/", "a=10"), calls], [413, 2]);
  const { request } = post("/", "a=10");
  request.headers.set("content-length", "4");
  assertEquals([(await app.fetch(request)).status, calls], [413, 2]);
});

Deno.test("`framework.method_override` reads a form when another method takes the path", async () => {
  const app = new Engine();
  app.set("framework.method_override", true);
  app.route("PUT /", () => `${app.request().data.a}`);
  const response = await app.fetch(post("/", "_method=PUT&a=1").request);
  assertEquals(await response.text(), "1");
  for (const type of ["text/plain", "application/json"]) {
    const { seen, request } = post("/", "_method=PUT", type);
    assertEquals((await app.fetch(request)).status, 404);
    assertEquals(seen.read, false, type);
  }
  const { seen, request } = post("/nowhere", "_method=PUT");
  assertEquals((await app.fetch(request)).status, 404);
  assertEquals(seen.read, false);
});

Deno.test("`framework.method_override` reads a form within the limit of the route it asks for", async () => {
  const app = new Engine();
  app.set({ "framework.method_override": true, "framework.body_limit": 20 });
  app.route("POST /", () => "POST").bodyLimit(5);
  app.route("PUT /", () => "PUT").bodyLimit(30);
  app.route("PATCH /", () => "PATCH");
  const formOf = (method: string, length: number) =>
    `_method=${method}&`.padEnd(length, "x");
  const table = [["PUT", 30], ["PATCH", 20]] as const;
  for (const [method, limit] of table) {
    assertEquals(await statusOf(app, "/", formOf(method, limit)), 200, method);
    const longer = formOf(method, limit + 1);
    assertEquals(await statusOf(app, "/", longer), 413, method);
  }
  assertEquals(await statusOf(app, "/", "a=100"), 200);
  assertEquals(await statusOf(app, "/", "a=1000"), 413);
});

Deno.test("a POST to a path that no route takes gets its 404 before the body", async () => {
  const app = new Engine();
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const connection = await RawConnection.open(port);
  const head = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${2 ** 23}\r\n`;
  await connection.send(`${head}\r\nthe beginning`);
  const text = await connection.receive("</main>");
  connection[Symbol.dispose]();
  assert(text.startsWith("HTTP/1.1 404 "), text);
  await server.shutdown();
});

Deno.test("`raw` of a route that limits its stream leaves the body to the next route, until it is read", async () => {
  const app = new Engine();
  app.route("POST /", () => {
    void app.request().raw.url;
    return true;
  }).streamed().bodyLimit(3);
  app.route("POST /", () => app.request().getBody());
  const response = await app.fetch(post("/", "four").request);
  assertEquals([response.status, await response.text()], [200, "four"]);
});

Deno.test("the limit of a streamed route is not that of a body which is read for an earlier one", async () => {
  const app = new Engine();
  app.set("framework.body_limit", 4);
  app.route("*", () => true);
  app.route("POST /", () => "taken").streamed().bodyLimit(1_000);
  assertEquals(await statusOf(app, "/", "abc"), 200);
  assertEquals(await statusOf(app, "/", "abcdef"), 413);
});

Deno.test("`bodyLimit()` of a route holds where its body is read late", async () => {
  const app = new Engine();
  app.route("POST /", () => true).streamed();
  app.route("POST /", () => "small").bodyLimit(3);
  app.route("POST /", () => "large").bodyLimit(7);
  assertEquals(await statusOf(app, "/", "abc"), 200);
  assertEquals(await statusOf(app, "/", "abcde"), 413);
});

Deno.test("the limit of a route for everything neither lowers nor raises that of a route before it", async () => {
  const app = new Engine();
  app.set("framework.body_limit", 5);
  app.route("POST /upload", () => "taken");
  app.route("POST /small/*", () => "taken").bodyLimit(3);
  app.route("POST /small/large", () => "taken").bodyLimit(9);
  app.route("/*", () => "other").bodyLimit(2);
  assertEquals(await statusOf(app, "/upload", "abcde"), 200);
  assertEquals(await statusOf(app, "/upload", "abcdef"), 413);
  assertEquals(await statusOf(app, "/small/large", "abcd"), 413);
  assertEquals(await statusOf(app, "/other", "abc"), 413);
  const large = new Engine();
  large.set("framework.body_limit", 5);
  large.route("POST /upload", () => "taken");
  large.route("/*", () => "other").bodyLimit(100);
  assertEquals(await statusOf(large, "/upload", "abcdef"), 413);
  assertEquals(await statusOf(large, "/other", "abcdef"), 200);
});

Deno.test("`framework.method_override` finds a route in front of a mount, which gets the forms of others", async () => {
  const [app, inner] = [new Engine(), new Engine()];
  app.set("framework.method_override", true);
  app.route("PUT /x", () => `put ${app.request().data.a}`);
  app.mount("/", inner);
  inner.route("POST /@path", (path) => `${path} ${inner.request().data.a}`);
  const textOf = async (path: string, text: string) =>
    await (await app.fetch(post(path, text).request)).text();
  assertEquals(await textOf("/x", "a=1&_method=PUT"), "put 1");
  assertEquals(await textOf("/x", "a=2"), "x 2");
  assertEquals(await textOf("/y", "a=3&_method=PUT"), "y 3");
});

Deno.test("`framework.method_override` passes no guard of a mounted application by another method", async () => {
  const [app, inner] = [new Engine(), new Engine()];
  app.set("framework.method_override", true);
  app.route("POST /api/*", () => app.halt(401));
  app.mount("/api", inner);
  inner.route("POST /pay", () => "paid");
  inner.route("PUT /pay", () => "put");
  for (
    const [text, status] of [["", 401], ["_method=PUT", 200], [
      "_method=DELETE",
      404,
    ]] as const
  ) {
    assertEquals(await statusOf(app, "/api/pay", text), status, text);
  }
});

for (const length of [undefined, "100"]) {
  Deno.test(`the page of a refused body sees none, ${length ? "with" : "without"} a declared length`, async () => {
    const app = new Engine();
    app.set("framework.body_limit", 10);
    app.route("POST /", () => "taken");
    app.map("error", ({ status }: { status: number }) => {
      const { data, length } = app.request();
      return JSON.stringify({ status, data, body: app.request().getBody() }) +
        (length > 10 ? "" : "!");
    });
    const { request } = post("/", "a=1".padEnd(100));
    if (length) request.headers.set("content-length", length);
    const response = await app.fetch(request);
    const shown = JSON.parse((await response.text()).replace("!", ""));
    assertEquals(shown, { status: 413, data: {}, body: "" });
  });
}

Deno.test("a form that asks for a streamed route is within the limit of that one", async () => {
  const app = new Engine();
  app.set({ "framework.method_override": true, "framework.body_limit": 20 });
  app.route("POST /", () => "post").bodyLimit(60);
  app.route("PUT /", () => "put").streamed().bodyLimit(40);
  const form = (length: number) => "_method=PUT&a=".padEnd(length, "x");
  assertEquals(await statusOf(app, "/", form(40)), 200);
  assertEquals(await statusOf(app, "/", form(41)), 413);
});

Deno.test("`framework.method_override` leaves the body of a streamed route unread, but for a form in front of which another may be", async () => {
  const app = new Engine();
  app.set("framework.method_override", true);
  const kind = () => {
    try {
      return `read: ${app.request().getBody()}`;
    } catch {
      return "unread";
    }
  };
  app.route("POST /all/*", kind).streamed();
  app.route("PUT /all/@name", kind);
  app.route("POST /one", kind).streamed();
  app.route("PUT /one", kind);
  const table = [
    ["/all/x", FORM, "read: a=1"],
    ["/all/x", "text/plain", "unread"],
    ["/one", FORM, "unread"],
  ] as const;
  for (const [path, type, text] of table) {
    const response = await app.fetch(post(path, "a=1", type).request);
    assertEquals(await response.text(), text, `${path} ${type}`);
  }
});

Deno.test("the limit of a route in front of a mount is not that of the mount's forms", async () => {
  const [app, inner] = [new Engine(), new Engine()];
  app.set("framework.method_override", true);
  app.route("DELETE /posts/@id", () => "deleted").bodyLimit(20);
  app.mount("/", inner);
  inner.route("POST /posts/@id", () => "changed");
  assertEquals(await statusOf(app, "/posts/1", "a=".padEnd(40, "x")), 200);
  const form = "_method=DELETE&a=".padEnd(21, "x");
  assertEquals(await statusOf(app, "/posts/1", form), 413);
  assertEquals(await statusOf(app, "/posts/1", form.slice(1, 21)), 200);
});

Deno.test("a body that is too large for its route is refused before filters of `start` run", async () => {
  const app = new Engine();
  app.set("framework.method_override", true);
  let calls = 0;
  app.before("start", () => void (calls += 1));
  app.route("POST /streamed", () => "taken").streamed().bodyLimit(3);
  app.route("POST /form", () => "taken").bodyLimit(100);
  app.route("PUT /form", () => "taken").bodyLimit(30);
  app.route("PATCH /form", () => "taken").streamed().bodyLimit(30);
  const { request } = post("/streamed", "a=10");
  request.headers.set("content-length", "4");
  assertEquals([(await app.fetch(request)).status, calls], [413, 0]);
  for (const method of ["PUT", "PATCH"]) {
    const form = `_method=${method}&`.padEnd(31, "x");
    assertEquals([await statusOf(app, "/form", form), calls], [413, 0], method);
  }
});

Deno.test("`framework.method_override` reads a form within `framework.body_limit` where no route has read one", async () => {
  const app = new Engine();
  app.set({ "framework.method_override": true, "framework.body_limit": 20 });
  app.route("GET /read", () => "read");
  app.route("PUT /put", () => "put").streamed();
  assertEquals(await statusOf(app, "/read", "a=1"), 404);
  assertEquals(await statusOf(app, "/read", "a=".padEnd(21, "x")), 413);
  const form = (length: number) => "_method=PUT&a=".padEnd(length, "x");
  assertEquals(await statusOf(app, "/put", form(20)), 200);
  assertEquals(await statusOf(app, "/put", form(21)), 413);
});

Deno.test("`framework.method_override` reads a form by no class for `request()` that a filter replaces", async () => {
  class OwnRequest extends HttpRequest {}
  const app = new Engine();
  app.set("framework.method_override", true);
  app.before("start", () => app.register("request", OwnRequest));
  app.route("PUT /", () => `${app.request() instanceof OwnRequest}`);
  const response = await app.fetch(post("/", "_method=PUT").request);
  assertEquals(await response.text(), "true");
});

Deno.test("a body that is read late for a route for everything is within `framework.body_limit`", async () => {
  const app = new Engine();
  app.set("framework.body_limit", 5);
  app.route("POST /", () => true).streamed();
  app.route("/*", () => "taken");
  assertEquals(await statusOf(app, "/", "abcde"), 200);
  assertEquals(await statusOf(app, "/", "abcdef"), 413);
});

Deno.test("`bodyLimit()` of a streamed route behind another one refuses a longer declared length", async () => {
  const app = new Engine();
  let calls = 0;
  app.route("POST /", () => true).streamed();
  app.route("POST /", () => `${calls += 1}`).streamed().bodyLimit(3);
  const { request } = post("/", "a=10");
  request.headers.set("content-length", "4");
  assertEquals([(await app.fetch(request)).status, calls], [413, 0]);
});

Deno.test("a streamed route without a limit takes what was read for an earlier one", async () => {
  const app = new Engine();
  app.set("framework.body_limit", 5);
  app.route("/*", () => true).bodyLimit(50);
  app.route("POST /", () => app.request().getBody()).streamed();
  assertEquals(await statusOf(app, "/", "x".repeat(50)), 200);
});

Deno.test("a form that asks for a method without a route calls none of another method", async () => {
  const app = new Engine();
  app.set("framework.method_override", true);
  let called = false;
  app.route("POST /x", () => void (called = true));
  app.route("PUT /x", () => "put");
  const { status } = await app.fetch(post("/x", "_method=DELETE").request);
  assertEquals([status >= 400, called], [true, false]);
});
