/** Tests responses of `fetch()` that a route or a mounted application passes on: bodies arrive as they are. */

import { assertEquals, assertStrictEquals } from "@std/assert";
import { Engine } from "@framework/core";
import { sendRaw } from "./raw_http.ts";

const TEXT = "hello ".repeat(500);

/** The bytes of a text that is compressed. */
async function compressed(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([text]).stream();
  const zipped = stream.pipeThrough(new CompressionStream("gzip"));
  return await new Response(zipped).bytes();
}

/** Starts an upstream and, before it, the application; the work gets the application's port. */
async function inFront(
  declare: (app: Engine, upstream: string) => void,
  work: (port: number) => Promise<void>,
): Promise<void> {
  const gzip = await compressed(TEXT);
  const options = { port: 0, hostname: "127.0.0.1", onListen() {} };
  await using upstream = Deno.serve(options, ({ url, method }) => {
    const { pathname } = new URL(url);
    const body = /^\/gzip$/i.test(pathname) ? gzip : new Uint8Array([1, 2, 3]);
    const headers: Record<string, string> = {
      "content-type": "text/plain",
      "content-length": String(body.length),
    };
    if (pathname !== "/bare") headers["content-encoding"] = pathname.slice(1);
    return new Response(method === "HEAD" ? null : body, { headers });
  });
  const app = new Engine();
  declare(app, `http://127.0.0.1:${upstream.addr.port}`);
  await using server = app.start({ port: 0, signals: false, onListen() {} });
  await work((server.addr as Deno.NetAddr).port);
}

/** Encoding, length and body that a client without `fetch()` receives. */
async function receive(port: number, path: string, method = "GET") {
  const end = "HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
  const { head, body } = await sendRaw(port, `${method} ${path} ${end}`);
  const value = (name: string): string | undefined =>
    new RegExp(`^content-${name}: (.*?)\r?$`, "im").exec(head)?.[1];
  return [value("encoding"), value("length"), body];
}

/** The ways in which an application passes a response of `fetch()` on. */
const WAYS: Record<string, (app: Engine, upstream: string) => void> = {
  "a route": (app, upstream) =>
    app.route("/@path", (path) => fetch(`${upstream}/${path}`)),
  "a route that sets a header": (app, upstream) =>
    app.route("/@path", (path) => {
      app.response().header("x-more", "1").cookie("a", "1");
      return fetch(`${upstream}/${path}`);
    }),
  // The body of a clone is no longer one of the runtime, whose length would be checked against the encoded one.
  "a route that sets a header, of a clone": (app, upstream) =>
    app.route("/@path", async (path) => {
      app.response().header("x-more", "1");
      const response = await fetch(`${upstream}/${path}`);
      const clone = response.clone();
      response.text();
      return clone;
    }),
  "a mounted function": (app, upstream) =>
    app.mount(
      "/",
      (request) => fetch(upstream + new URL(request.url).pathname),
    ),
  "an engine in another one": (app, upstream) => {
    const inner = new Engine();
    inner.route("/@path", (path) => fetch(`${upstream}/${path}`));
    app.before("start", () => void app.response().header("x-more", "1"));
    app.mount("/", inner);
  },
  "a filter of `send`": (app, upstream) => {
    app.route("/@path", (path) => fetch(`${upstream}/${path}`));
    app.after("send", (_params, { value }) => value.headers.set("x-more", "1"));
  },
  "a filter of `send` that replaces": (app, upstream) => {
    app.route("/@path", () => "replaced");
    app.after("send", async (_params, output) => {
      output.value = await fetch(upstream + app.request().url);
    });
    app.after("send", (_params, { value }) => value.headers.set("x-more", "1"));
  },
};

for (const [way, declare] of Object.entries(WAYS)) {
  Deno.test(`${way} passes on what an upstream has compressed, decoded`, async () => {
    await inFront(declare, async (port) => {
      for (const encoding of ["gzip", "GZIP"]) {
        const response = await fetch(`http://127.0.0.1:${port}/${encoding}`);
        assertEquals(response.headers.get("content-encoding"), null);
        assertEquals(await response.text(), TEXT);
      }
    });
  });
}

Deno.test("`route()` passes on an encoding that `fetch()` does not undo", async () => {
  for (const way of ["a route", "a route that sets a header"]) {
    await inFront(WAYS[way]!, async (port) => {
      for (const encoding of ["deflate", undefined]) {
        const received = await receive(port, `/${encoding ?? "bare"}`);
        assertEquals(received, [encoding, "3", "\x01\x02\x03"]);
      }
    });
  }
});

Deno.test("`route()` gives the HEAD of a compressed upstream no length of another form", async () => {
  await inFront(WAYS["a route"]!, async (port) => {
    const received = await receive(port, "/gzip", "HEAD");
    assertEquals(received, [undefined, undefined, ""]);
  });
});

Deno.test("`route()` sends the same object that `fetch()` returned, where nothing was collected", async () => {
  const app = new Engine();
  let fetched: Response | undefined;
  app.route("/", async () => fetched = await fetch("data:text/plain,text"));
  const response = await app.fetch("/");
  assertStrictEquals(response, fetched);
  assertEquals(await response.text(), "text");
});

Deno.test("a filter of `send` can set headers on what another one has put in its place", async () => {
  const app = new Engine();
  app.route("/", () => "text");
  app.before("send", (params) => {
    params[0] = Response.redirect("http://localhost/a");
  });
  app.after("send", (_params, output) => {
    output.value.headers.set("x-a", "1");
    output.value = Response.redirect("http://localhost/b", 307);
  });
  app.after("send", (_params, { value }) => value.headers.set("x-b", "1"));
  const response = await app.fetch("/");
  assertEquals([response.status, [...response.headers]], [307, [
    ["location", "http://localhost/b"],
    ["x-b", "1"],
  ]]);
});
