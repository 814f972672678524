/** DESIGN.md, "Request data": queries, forms, JSON and uploads as records, streamed routes and limits of routes. */

import { assertEquals, assertThrows } from "@std/assert";
import { Engine, type HttpRequest } from "@framework/core";

const FORM = "application/x-www-form-urlencoded";
const JSON_TYPE = "application/json";

function post(
  path: string,
  body: BodyInit,
  type = FORM,
  method = "POST",
): Request {
  const headers = { "content-type": type };
  return new Request(`http://localhost${path}`, { method, headers, body });
}

/** What a route for everything returns for a request. */
async function responseOf(
  request: string | Request,
  get: (request: HttpRequest) => unknown,
): Promise<Response> {
  const app = new Engine();
  app.route("*", () => get(app.request()) as never);
  return await app.fetch(request);
}

async function queryOf(text: string): Promise<unknown> {
  return await (await responseOf(`/?${text}`, ({ query }) => query)).json();
}

async function dataOf(body: BodyInit, type: string): Promise<unknown> {
  const request = post("/", body, type);
  return await (await responseOf(request, ({ data }) => data)).json();
}

/** A POST that tells whether its body was read. */
function watched(path: string): { seen: { read: boolean }; request: Request } {
  const seen = { read: false };
  const body = new ReadableStream({
    pull(controller) {
      seen.read = true;
      controller.enqueue(new TextEncoder().encode("a=1"));
      controller.close();
    },
  }, { highWaterMark: 0 });
  return { seen, request: post(path, body) };
}

async function statusOf(
  app: Engine,
  path: string,
  length: number,
): Promise<number> {
  const response = await app.fetch(post(path, "x".repeat(length)));
  return response.status;
}

Deno.test("`query` decodes names and values, and leaves a bad escape as it is", async () => {
  const table: [string, unknown][] = [
    ["", {}],
    ["a=1&b=x+y&c=%C3%BC", { a: "1", b: "x y", c: "ü" }],
    ["a=%zz&b=%&c=%4", { a: "%zz", b: "%", c: "%4" }],
    ["a=%ff", { a: "\ufffd" }],
    ["a&b=&=c&&", { a: "", b: "", "": "c" }],
    ["?a=1", { "?a": "1" }],
  ];
  for (const [text, query] of table) {
    assertEquals(await queryOf(text), query, text);
  }
});

Deno.test("`query` and `data` make lists and records of brackets", async () => {
  const table: [string, unknown][] = [
    ["a[]=1&a[]=2", { a: ["1", "2"] }],
    ["a[1]=2&a[0]=1", { a: ["1", "2"] }],
    ["a[b]=1&a[c]=2", { a: { b: "1", c: "2" } }],
    ["a[]=1&a[b]=2", { a: { 0: "1", b: "2" } }],
    ["a[][n]=1&a[][n]=2", { a: [{ n: "1" }, { n: "2" }] }],
    ["a[0][n]=1&a[0][m]=2&a[1][n]=3", { a: [{ n: "1", m: "2" }, { n: "3" }] }],
    ["a=1&a[b]=2", { a: { b: "2" } }],
    ["a[b]=1&a=2", { a: "2" }],
    ["a%5Bb%5D=1", { a: { b: "1" } }],
  ];
  for (const [text, fields] of table) {
    assertEquals(await queryOf(text), fields, text);
    assertEquals(await dataOf(text, FORM), fields, text);
  }
});

Deno.test("`query` nests eight levels of brackets, and more are a 400", async () => {
  const get = ({ query }: HttpRequest) => Object.keys(query);
  for (const [depth, status] of [[8, 200], [9, 400]]) {
    const response = await responseOf(`/?a${"[x]".repeat(depth!)}=1`, get);
    assertEquals(response.status, status);
  }
});

Deno.test("a repeated plain name keeps its last value; `queryAll()` and `dataAll()` have every one", async () => {
  type Asked = HttpRequest & { dataAll(name: string): readonly string[] };
  const fields = "tag=a&b=1&tag=c%20d&tag=";
  const response = await responseOf(post(`/?${fields}`, fields), (request) => {
    const asked = request as Asked;
    return [
      [asked.query.tag, asked.data.tag],
      asked.queryAll("tag"),
      asked.dataAll("tag"),
      asked.queryAll("toString"),
      asked.dataAll("toString"),
    ];
  });
  const all = ["a", "c d", ""];
  assertEquals(await response.json(), [["", ""], all, all, [], []]);
});

Deno.test("`query`, `data`, `cookies` and `files` are records without a prototype", async () => {
  const response = await responseOf(post("/", "a=1"), (request) => {
    const { query, data, cookies, files } = request;
    return [query, data, cookies, files].map(Object.getPrototypeOf);
  });
  assertEquals(await response.json(), [null, null, null, null]);
});

Deno.test("`data` has forms and JSON on every method", async () => {
  const get = ({ method, data }: HttpRequest) => ({ method, ...data });
  for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
    const form = post("/", "title=A+b", FORM, method);
    const json = post("/", '{"title":"A b"}', JSON_TYPE, method);
    for (const request of [form, json]) {
      const response = await responseOf(request, get);
      assertEquals(await response.json(), { method, title: "A b" });
    }
  }
});

Deno.test("`data` has the members of JSON, by the type that was sent", async () => {
  const table: [string, string, unknown][] = [
    ["application/json;charset=utf-8", '{"a":null}', { a: null }],
    ["application/vnd.api+json", '{"a":true}', { a: true }],
    ["Application/JSON", '\ufeff{"a":1}', { a: 1 }],
    ["application/json", '["x","y"]', { 0: "x", 1: "y" }],
    ["application/json", "5", {}],
    ["application/json", "", {}],
    ["application/jsonp", '{"a":1}', {}],
    ["text/plain", '{"a":1}', {}],
  ];
  for (const [type, body, data] of table) {
    assertEquals(await dataOf(body, type), data, `${type} ${body}`);
  }
});

Deno.test("bytes that are no UTF-8 become U+FFFD in JSON, forms and text", async () => {
  const bytesOf = (text: string) =>
    Uint8Array.from(text, (character) => character.charCodeAt(0));
  const fields = { a: "\ufffd" };
  assertEquals(await dataOf(bytesOf('{"a":"\xff"}'), JSON_TYPE), fields);
  assertEquals(await dataOf(bytesOf("a=\xff"), FORM), fields);
  const part =
    '--X\r\ncontent-disposition: form-data; name="a"\r\n\r\n\xff\r\n';
  const multipart = "multipart/form-data; boundary=X";
  assertEquals(await dataOf(bytesOf(`${part}--X--`), multipart), fields);
  const request = post("/", bytesOf("\xff"), "text/plain");
  const response = await responseOf(request, (request) => request.getBody());
  assertEquals(await response.text(), "\ufffd");
});

Deno.test("a malformed body is a 400 when it is first read, and `getBody()` has it", async () => {
  const app = new Engine();
  app.post("/data", () => app.request().data);
  app.post("/text", () => app.request().getBody());
  const table = {
    [JSON_TYPE]: '{"a":',
    "multipart/form-data; boundary=X": "cut",
    "multipart/form-data": "no boundary",
  };
  for (const [type, body] of Object.entries(table)) {
    const refused = await app.fetch(post("/data", body, type));
    assertEquals(refused.status, 400, type);
    const response = await app.fetch(post("/text", body, type));
    assertEquals(await response.text(), body, type);
  }
});

Deno.test("`json` is the JSON body as it was sent", async () => {
  for (const value of [[1, [2]], { a: [1] }, "text", 1, null, true]) {
    const request = post("/", JSON.stringify(value), JSON_TYPE);
    const response = await responseOf(request, ({ json }) => [json]);
    assertEquals(await response.json(), [value]);
  }
});

Deno.test("`json` of malformed JSON is a 400, of another type a 415", async () => {
  for (const [type, status] of [[JSON_TYPE, 400], ["text/plain", 415]]) {
    const request = post("/", "{", String(type));
    const response = await responseOf(request, ({ json }) => [json]);
    assertEquals(response.status, status);
  }
});

Deno.test("a body that no route takes is not read, and is empty for filters and pages", async () => {
  const app = new Engine();
  app.route("GET /a", () => "got");
  app.map("notFound", () => {
    const { data, files } = app.request();
    return JSON.stringify([data, files, app.request().getBody()]);
  });
  for (const path of ["/a", "/b"]) {
    const { seen, request } = watched(path);
    const response = await app.fetch(request);
    assertEquals([response.status, seen.read], [404, false], path);
    assertEquals(await response.json(), [{}, {}, ""], path);
  }
});

Deno.test("`raw` can be read although the body was", async () => {
  const request = post("/", '{"a":1}', JSON_TYPE);
  const response = await responseOf(
    request,
    async ({ data, raw }) => [data.a, raw.url, await raw.json()],
  );
  assertEquals(await response.json(), [1, request.url, { a: 1 }]);
});

Deno.test("`streamed()` leaves the body to `raw`, without `framework.body_limit`; `data` and `getBody()` throw", async () => {
  const app = new Engine();
  app.set("framework.body_limit", 3);
  app.route("PUT /", async () => {
    const request = app.request();
    for (const name of ["data", "files", "json"] as const) {
      assertThrows(() => request[name], TypeError, "streamed");
    }
    assertThrows(() => request.getBody(), TypeError, "streamed");
    return await request.raw.text();
  }).streamed();
  const response = await app.fetch(post("/", "too long", FORM, "PUT"));
  assertEquals(await response.text(), "too long");
});

Deno.test("the first matching route decides whether the body is streamed", async () => {
  const app = new Engine();
  app.route("/streamed", () => app.request().raw.text()).streamed();
  app.route("/streamed", () => app.request().getBody());
  app.route("/whole", () => true);
  app.route("/whole", () => app.request().getBody()).streamed();
  for (const path of ["/streamed", "/whole"]) {
    const response = await app.fetch(post(path, "a=1"));
    assertEquals(await response.text(), "a=1", path);
  }
});

Deno.test("`bodyLimit()` is the limit of one route, above or below `framework.body_limit`", async () => {
  const app = new Engine();
  app.set("framework.body_limit", 5);
  app.post("/small", () => "taken").bodyLimit(3);
  app.post("/large", () => "taken").bodyLimit(7);
  app.post("/other", () => "taken");
  const table = { "/small": 3, "/large": 7, "/other": 5 };
  for (const [path, limit] of Object.entries(table)) {
    assertEquals(await statusOf(app, path, limit), 200, path);
    assertEquals(await statusOf(app, path, limit + 1), 413, path);
  }
});

Deno.test("the largest limit of the routes that match counts, and each route checks its own", async () => {
  const app = new Engine();
  app.route("/*", () => true).bodyLimit(7);
  app.post("/small", () => "taken").bodyLimit(3);
  app.post("/large", () => "taken").bodyLimit(7);
  assertEquals(await statusOf(app, "/small", 3), 200);
  assertEquals(await statusOf(app, "/small", 4), 413);
  assertEquals(await statusOf(app, "/large", 7), 200);
  assertEquals(await statusOf(app, "/large", 8), 413);
});

Deno.test("`bodyLimit()` of a streamed route ends a longer stream with 413", async () => {
  const app = new Engine();
  app.post("/", async () => `${(await app.request().raw.bytes()).length}`)
    .streamed().bodyLimit(3);
  assertEquals(await statusOf(app, "/", 3), 200);
  assertEquals(await statusOf(app, "/", 4), 413);
});

Deno.test("`framework.method_override` lets a POST form ask for PUT, PATCH and DELETE by `_method`", async () => {
  const app = new Engine();
  app.route("/", () => app.request().method);
  const methodOf = async (body: BodyInit, type = FORM) =>
    await (await app.fetch(post("/", body, type))).text();
  assertEquals(await methodOf("_method=PUT"), "POST");
  app.set("framework.method_override", true);
  const table: [body: string, method: string, type?: string][] = [
    ["_method=PUT", "PUT"],
    ["_method=patch", "PATCH"],
    ["_method=DELETE", "DELETE"],
    ["_method=GET", "POST"],
    ["_method[]=PUT", "POST"],
    ["_method=PUT", "POST", "text/plain"],
    ['{"_method":"PUT"}', "POST", JSON_TYPE],
  ];
  for (const [body, method, type] of table) {
    assertEquals(await methodOf(body, type), method, `${body} ${type}`);
  }
  assertEquals(await (await app.fetch("/?_method=PUT")).text(), "GET");
});
