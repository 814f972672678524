/** DESIGN.md, section 4, `request()`: what it has beside the properties of the specification. */

import { assertEquals, assertMatch } from "@std/assert";
import { Engine, type HttpRequest } from "@framework/core";

/** What a handler reads of a request with these headers. */
async function read<Value>(
  headers: HeadersInit,
  get: (request: HttpRequest) => Value,
  url = "http://localhost/",
): Promise<Value> {
  const app = new Engine();
  let value: Value;
  app.route("/", () => void (value = get(app.request())));
  await app.fetch(new Request(url, { headers }));
  return value!;
}

Deno.test("`getHeader()` takes a name in any case, and is empty without the header", async () => {
  const names = ["x-TOKEN", "x-other"];
  const get = (request: HttpRequest) =>
    names.map((name) => request.getHeader(name));
  assertEquals(await read({ "X-Token": "abc" }, get), ["abc", ""]);
});

Deno.test("`host` and `origin` are those the client asked for, without a default port", async () => {
  const table: [url: string, host: string | null, expected: string][] = [
    ["http://localhost:8000/", null, "localhost:8000"],
    ["http://localhost/", "Example.com:80", "example.com"],
    ["http://localhost/", "[2001:db8::1]:81", "[2001:db8::1]:81"],
  ];
  for (const [url, host, expected] of table) {
    const get = ({ host, origin }: HttpRequest) => [host, origin];
    const headers: HeadersInit = host === null ? {} : { host };
    const origin = `http://${expected}`;
    assertEquals(await read(headers, get, url), [expected, origin]);
  }
});

Deno.test("`id` is a reference of the request's own", async () => {
  const ids = [await read({}, ({ id }) => id), await read({}, ({ id }) => id)];
  for (const id of ids) assertMatch(id, /^[\da-f]{8}$/);
  assertEquals(new Set(ids).size, 2);
});

Deno.test("`route` is the matched route, in filters of `start` already, and null without one", async () => {
  const app = new Engine();
  const seen: unknown[] = [];
  const note = () => {
    const { route } = app.request();
    seen.push(route && [route.pattern, { ...route.params }]);
  };
  app.before("start", note);
  app.map("notFound", note);
  app.route("GET /@word/@id", note);
  await app.fetch("/post/7");
  const route = ["/@word/@id", { word: "post", id: "7" }];
  assertEquals(seen.splice(0), [route, route]);
  await app.fetch("/nowhere");
  assertEquals(seen, [null, null]);
});

Deno.test("`accepts()` is the offered type that the client prefers", async () => {
  const table = {
    "application/json": "application/json",
    "text/html;q=0.5, application/json": "application/json",
    "text/*": "text/html",
    "*/*": "text/html",
    "image/png": undefined,
  };
  for (const [accept, type] of Object.entries(table)) {
    const get = (request: HttpRequest) =>
      request.accepts("text/html", "application/json");
    assertEquals(await read({ accept }, get), type, accept);
  }
});

Deno.test("`acceptsLanguages()` is the offered language that the client prefers", async () => {
  const table: [string, string[], string | undefined][] = [
    ["", ["en", "de"], "en"],
    ["de", ["en", "de"], "de"],
    ["de-AT", ["en", "de"], "de"],
    ["en", ["de", "en-GB"], "en-GB"],
    ["en;q=0.5, de;q=0.8", ["en", "de"], "de"],
    ["fr, *;q=0.1", ["en", "de"], "en"],
    ["fr", ["en", "de"], undefined],
    [";;, de", ["en", "de"], "de"],
  ];
  for (const [header, tags, expected] of table) {
    const headers: HeadersInit = header ? { "accept-language": header } : {};
    const get = (request: HttpRequest) => request.acceptsLanguages(...tags);
    assertEquals(await read(headers, get), expected, header);
  }
});
