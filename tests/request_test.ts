/** Tests of {@linkcode HttpRequest}: what a handler can ask about its request. */

import {
  assert,
  assertEquals,
  assertFalse,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { Engine, html, HttpError, type HttpRequest } from "@framework/core";

const tcp: Deno.NetAddr = {
  transport: "tcp",
  hostname: "192.0.2.9",
  port: 5000,
};

/** What a request has beside its headers. */
interface Known {
  /** Path and query as they are sent. */
  readonly path?: string;
  readonly body?: string;
  readonly base?: string;
  readonly remote?: Deno.Addr | undefined;
  readonly trustProxy?: boolean;
}

/** What `request()` returns for a request. */
function requestOf(
  headers: Record<string, string> = {},
  known: Known = {},
  origin = "http://localhost",
): Promise<HttpRequest> {
  const { path = "/", body = null } = known;
  const method = body === null ? "GET" : "POST";
  const web = new Request(origin + path, { method, headers, body });
  return requestFrom(web, known);
}

async function requestFrom(
  web: Request,
  known: Known = {},
): Promise<HttpRequest> {
  const app: Engine = new Engine();
  app.set({
    "framework.base_url": known.base ?? null,
    "framework.trust_proxy": known.trustProxy ?? false,
  });
  let request: HttpRequest | undefined;
  app.route("*", () => void (request = app.request()));
  app.map("error", () => void (request = app.request()));
  const remote = "remote" in known ? known.remote : tcp;
  await app.fetch(web, remote && { remoteAddr: remote });
  return request!;
}

async function queryOf(text: string): Promise<unknown> {
  return (await requestOf({}, { path: `/?${text}` })).query;
}

/** Makes plain objects of records without prototype, so that they compare with literals. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

Deno.test("`url` is the path and query as sent, with the base in front", async () => {
  const request = await requestOf({}, {
    path: "/blog/caf%C3%A9?q=%20a",
    base: "/blog",
  });
  assertEquals(request.url, "/blog/caf%C3%A9?q=%20a");
});

Deno.test("`url` has the base in front, where a proxy has stripped it, too", async () => {
  const app = new Engine();
  app.set("framework.base_url", "/shop");
  app.route("/*", () => app.request().url);
  for (const path of ["/shop/admin?a=1", "/admin?a=1"]) {
    assertEquals(await (await app.fetch(path)).text(), "/shop/admin?a=1");
  }
  assertEquals(await (await app.fetch("/shop")).text(), "/shop");
});

Deno.test("`base` is a slash at the root, and otherwise the path of the application", async () => {
  assertEquals((await requestOf()).base, "/");
  assertEquals((await requestOf({}, { base: "/blog" })).base, "/blog");
});

Deno.test("`method` is the request's own where its target is malformed", async () => {
  const web = new Request("http://localhost/%zz", { method: "PUT" });
  assertEquals((await requestFrom(web)).method, "PUT");
});

Deno.test("the properties that are headers read as sent, and empty when they were not", async () => {
  const table = [
    ["referrer", "referer", "http://example.com/a"],
    ["user_agent", "user-agent", "Browser/1.0 (X; Y)"],
    ["type", "content-type", "text/plain; charset=UTF-8"],
    ["accept", "accept", "text/html, */*;q=0.1"],
  ] as const;
  for (const [property, header, value] of table) {
    assertEquals(
      (await requestOf({ [header]: value }))[property],
      value,
      property,
    );
    assertEquals((await requestOf())[property], "", property);
  }
});

Deno.test("`getHeader()` takes a name in any case and returns an empty string without one", async () => {
  const request = await requestOf({ "X-Token": "abc" });
  assertEquals(request.getHeader("x-TOKEN"), "abc");
  assertEquals(request.getHeader("x-other"), "");
});

Deno.test("`length` is a number, 0 when the header is missing or none", async () => {
  const table = [["12", 12], ["0", 0], ["-1", 0], ["1e3", 0], ["abc", 0], [
    "9".repeat(30),
    0,
  ]];
  for (const [header, length] of table) {
    assertEquals(
      (await requestOf({ "content-length": String(header) })).length,
      length,
      String(header),
    );
  }
  assertEquals((await requestOf()).length, 0);
});

Deno.test("`ajax` is told by X-Requested-With in any case", async () => {
  assertEquals(
    (await requestOf({ "x-requested-with": "xmlHTTPrequest" })).ajax,
    true,
  );
  assertEquals((await requestOf({ "x-requested-with": "fetch" })).ajax, false);
  assertEquals((await requestOf()).ajax, false);
});

Deno.test("`scheme` and `secure` come from the connection", async () => {
  const secure = await requestOf({}, {}, "https://localhost");
  assertEquals([secure.scheme, secure.secure], ["https", true]);
  assertEquals([(await requestOf()).scheme, (await requestOf()).secure], [
    "http",
    false,
  ]);
});

Deno.test("`ip` is the address of the connection, empty where there is none", async () => {
  const unix: Deno.UnixAddr = { transport: "unix", path: "/run/app.sock" };
  assertEquals((await requestOf()).ip, "192.0.2.9");
  assertEquals(
    (await requestOf({}, { remote: { ...tcp, hostname: "2001:db8::1" } })).ip,
    "2001:db8::1",
  );
  assertEquals((await requestOf({}, { remote: unix })).ip, "");
  assertEquals((await requestOf({}, { remote: undefined })).ip, "");
});

Deno.test("`ip` writes an IPv4 client of an IPv6 socket as IPv4", async () => {
  const remote: Deno.NetAddr = { ...tcp, hostname: "::ffff:192.0.2.9" };
  assertEquals((await requestOf({}, { remote })).ip, "192.0.2.9");
});

Deno.test("`ip`, `scheme` and `secure` ignore forwarding headers of a proxy nobody trusts", async () => {
  const request = await requestOf({
    "x-forwarded-for": "203.0.113.5",
    "x-forwarded-proto": "https",
  });
  assertEquals([request.ip, request.scheme, request.secure], [
    "192.0.2.9",
    "http",
    false,
  ]);
});

Deno.test("`ip` is the address a trusted proxy added last", async () => {
  const table = [
    ["203.0.113.5", "203.0.113.5"],
    ["10.9.9.9, 203.0.113.5", "203.0.113.5"],
    ["203.0.113.5:4711", "203.0.113.5"],
    ["[2001:db8::7]:4711", "2001:db8::7"],
    ["2001:db8::7", "2001:db8::7"],
    ["", ""],
  ] as const;
  for (const [header, ip] of table) {
    const request = await requestOf({ "x-forwarded-for": header }, {
      trustProxy: true,
    });
    assertEquals(request.ip, ip, header);
  }
  const direct = await requestOf({}, { trustProxy: true });
  assertEquals(direct.ip, "192.0.2.9");
});

Deno.test("`scheme` is the last protocol a trusted proxy gave, if it is one", async () => {
  const table = [["https", "https"], ["HTTPS", "https"], [
    "https, http",
    "http",
  ], ["ws", "http"]];
  for (const [header, scheme] of table) {
    const request = await requestOf({ "x-forwarded-proto": header! }, {
      trustProxy: true,
    });
    assertEquals(request.scheme, scheme, header);
    assertEquals(request.secure, scheme === "https", header);
  }
});

Deno.test("`proxy_ip` is nothing for an address that is too long for one", async () => {
  for (const part of [":", "1.1:", "f:"]) {
    const headers = { "x-forwarded-for": part.repeat(100_000) + "x" };
    assertEquals((await requestOf(headers)).proxy_ip, "");
  }
});

Deno.test("`proxy_ip` reports the first address that a proxy passed on", async () => {
  const table: [Record<string, string>, string][] = [
    [{}, ""],
    [{ "x-forwarded-for": "203.0.113.5, 10.0.0.1" }, "203.0.113.5"],
    [
      { "client-ip": "203.0.113.6", "x-forwarded-for": "203.0.113.5" },
      "203.0.113.6",
    ],
    [
      { "client-ip": "<script>", "x-forwarded-for": "::ffff:203.0.113.7" },
      "203.0.113.7",
    ],
    [{ "x-forwarded-for": "2001:db8::1" }, "2001:db8::1"],
    [
      { "forwarded": 'proto=https;for="[2001:db8::1]:80", for=1.1.1.1' },
      "2001:db8::1",
    ],
    [{ "forwarded": "for=_hidden" }, ""],
  ];
  for (const [headers, address] of table) {
    assertEquals(
      (await requestOf(headers)).proxy_ip,
      address,
      JSON.stringify(headers),
    );
  }
});

Deno.test("`query` decodes names and values, and leaves a bad escape as it is", async () => {
  const table: [string, unknown][] = [
    ["", {}],
    ["a=1&b=x+y&c=%C3%BC", { a: "1", b: "x y", c: "ü" }],
    ["a=%zz&b=%&c=%4", { a: "%zz", b: "%", c: "%4" }],
    ["a=%ff", { a: "\ufffd" }],
    ["a&b=&=c&&", { a: "", b: "", "": "c" }],
    ["?a=1", { "?a": "1" }],
    ["a=1&a=2", { a: "2" }],
  ];
  for (const [text, expected] of table) {
    assertEquals(plain(await queryOf(text)), expected, text);
  }
});

Deno.test("`query` makes lists and records of brackets", async () => {
  const table: [string, unknown][] = [
    ["a[]=1&a[]=2", { a: ["1", "2"] }],
    ["a[0]=1&a[1]=2", { a: ["1", "2"] }],
    ["a[1]=2&a[0]=1", { a: ["1", "2"] }],
    ["a[2]=1", { a: { 2: "1" } }],
    ["a[b]=1&a[c]=2", { a: { b: "1", c: "2" } }],
    ["a[]=1&a[b]=2&a[b][c]=3", { a: { 0: "1", b: { c: "3" } } }],
    ["a[x]=1&a[]=2&a[]=3", { a: { x: "1", 0: "2", 1: "3" } }],
    ["a[][n]=1&a[][n]=2", { a: [{ n: "1" }, { n: "2" }] }],
    ["a[0][n]=1&a[0][m]=2&a[1][n]=3", { a: [{ n: "1", m: "2" }, { n: "3" }] }],
    ["a=1&a[b]=2", { a: { b: "2" } }],
    ["a[b]=1&a=2", { a: "2" }],
    ["a%5Bb%5D=1", { a: { b: "1" } }],
  ];
  for (const [text, expected] of table) {
    assertEquals(plain(await queryOf(text)), expected, text);
  }
});

Deno.test("`query` keeps the order of a long list", async () => {
  const numbers = Array.from({ length: 999 }, (_, index) => String(index));
  const text = numbers.map((number) => `a[]=${number}`).join("&");
  assertEquals(plain(await queryOf(text)), { a: numbers });
});

Deno.test("`query` takes unpaired brackets literally", async () => {
  for (
    const name of ["a[", "a]", "a[b", "[a]", "a[b]c", "a[[b]]", "a[b]]", "[]"]
  ) {
    assertEquals(Object.keys(await queryOf(`${name}=1`) as object), [name]);
  }
});

Deno.test("`query` reads names of the language as plain data", async () => {
  const path =
    "/?__proto__[polluted]=1&constructor=2&keys=3&a[__proto__][polluted]=4";
  const { query } = await requestOf({}, { path });
  assertEquals(Object.getPrototypeOf(query), null);
  assertEquals(
    JSON.stringify(query),
    '{"__proto__":{"polluted":"1"},"constructor":"2","keys":"3","a":{"__proto__":{"polluted":"4"}}}',
  );
  assertEquals([query.polluted, query.toString], [undefined, undefined]);
  assertEquals(({} as Record<string, unknown>).polluted, undefined);
});

Deno.test("a record of a query or a form is refused with 400 where a handler makes text of it", async () => {
  const app = new Engine();
  app.route("/query", () => String(app.request().query.name));
  app.route("POST /form", () => `Hello, ${app.request().data.name}!`);
  app.route(
    "/header",
    () => void app.response().header("x-a", app.request().query.name as string),
  );
  const post = { method: "POST" };
  const table: [string, RequestInit, number, string][] = [
    ["/query?name=Ada", {}, 200, "Ada"],
    ["/query?name[]=a&name[]=b", {}, 200, "a,b"],
    [
      "/query?name[first]=Ada",
      {},
      400,
      'Cannot read the field "name": it is a record, not text',
    ],
    [
      "/query?name[0][first]=Ada",
      {},
      400,
      'Cannot read the field "name[0]": it is a record, not text',
    ],
    [
      "/header?name[first]=Ada",
      {},
      400,
      'Cannot read the field "name": it is a record, not text',
    ],
    [
      "/form",
      { ...post, body: new URLSearchParams("name[first]=Ada") },
      400,
      'Cannot read the field "name": it is a record, not text',
    ],
    ...([
      ['{"name":"Ada"}', 200, "Hello, Ada!"],
      ['{"name":["a",1,null]}', 200, "Hello, a,1,!"],
      [`{"name":${nested(999)}}`, 200, "Hello, !"],
      ['{"name":{"toString":1}}', "name"],
      ['{"name":{"first":"Ada"}}', "name"],
      ['{"name":["a",[{"toString":1}]]}', "name[1][0]"],
    ] as const).map((
      [body, ...expected],
    ): [string, RequestInit, number, string] => {
      const [status, text] = expected.length === 2 ? expected : [
        400,
        `Cannot read the field "${expected[0]}": it is a record, not text`,
      ];
      return ["/form", { ...post, ...sentAsJson(body) }, status, text];
    }),
    [
      "/form",
      { ...post, ...sentAsJson(`{"name":${nested(1_000)}}`) },
      400,
      "Cannot read the JSON body: it is nested more than 1000 levels deep",
    ],
  ];
  app.map("error", (error: Error) => error.message);
  for (const [path, init, status, text] of table) {
    const response = await app.fetch(
      new Request(`http://localhost${path}`, init),
    );
    assertEquals([response.status, await response.text()], [status, text]);
  }
});

/** What sends a text as JSON. */
function sentAsJson(body: string): RequestInit {
  return { headers: { "content-type": "application/json" }, body };
}

/** Lists in lists, so many levels deep. */
function nested(depth: number): string {
  return "[".repeat(depth) + "]".repeat(depth);
}

Deno.test("a record inside the `data` of JSON names its place when it is made text", async () => {
  const body = '[{"a":{"toString":1}},{"b":2}]';
  const { data } = await requestOf({ "content-type": "application/json" }, {
    body,
  });
  // deno-lint-ignore no-explicit-any -- the handler expects text
  const [first, second]: any[] = Object.values(data);
  const rows: [() => unknown, string][] = [
    [() => `${first}`, "0"],
    [() => `${first.a}`, "0[a]"],
    [() => first.a + 1, "0[a]"],
    [() => [[second]].join(), "1"],
  ];
  for (const [use, path] of rows) {
    const { status, message } = assertThrows(use, HttpError);
    const expected =
      `Cannot read the field "${path}": it is a record, not text`;
    assertEquals([status, message], [400, expected]);
  }
  assertEquals(`${second.b}`, "2");
});

Deno.test("a record inside the `data` of JSON is a plain record to all else that reads it", async () => {
  const sent = '{"name":{"first":"Ada"},"list":[{"a":1}]}';
  const { data, json } = await requestOf(
    { "content-type": "application/json" },
    { body: sent },
  );
  const name = data.name as Record<string, unknown>;
  assertEquals(data, JSON.parse(sent));
  assertEquals(Reflect.ownKeys({ ...name }), ["first"]);
  assertEquals(Object.keys(name), ["first"]);
  assertEquals(structuredClone(data), JSON.parse(sent));
  assertEquals(JSON.stringify(data), sent);
  assertEquals(String(html`${name}`), "{&quot;first&quot;:&quot;Ada&quot;}");
  assertEquals(String(Object(json).name), "[object Object]");
});

Deno.test("`data` bounds how deep JSON is nested, `json` does not", async () => {
  const app = new Engine();
  app.post("/data", () => app.request().data);
  app.post("/json", () => typeof app.request().json);
  const deepest = nested(1_000);
  const rows: [string, string, number][] = [
    ["/data", deepest, 200],
    ["/data", nested(1_001), 400],
    ["/data", nested(20_000), 400],
    ["/data", '{"a":'.repeat(20_000) + "1" + "}".repeat(20_000), 400],
    ["/json", nested(20_000), 200],
  ];
  for (const [path, body, status] of rows) {
    const init = { method: "POST", ...sentAsJson(body) };
    const response = await app.fetch(
      new Request(`http://localhost${path}`, init),
    );
    await response.body?.cancel();
    assertEquals(response.status, status, `${path} ${body.length}`);
  }
});

Deno.test("a record of a query is a plain record to all else that reads it", async () => {
  const { query } = await requestOf({}, { path: "/?name[first]=Ada" });
  const name = query.name as Record<string, unknown>;
  assertEquals(query, { name: { first: "Ada" } });
  assertEquals(Object.getPrototypeOf(name), null);
  assertEquals(Reflect.ownKeys({ ...name }), ["first"]);
  assertEquals(structuredClone(query), { name: { first: "Ada" } });
  assertEquals(JSON.stringify(query), '{"name":{"first":"Ada"}}');
});

Deno.test("`query` refuses more than 1,000 fields and more than eight brackets with 400", async () => {
  assertEquals(
    Object.keys(await queryOf("a=1&".repeat(999) + "b=2") as object),
    [
      "a",
      "b",
    ],
  );
  assertEquals(
    plain(await queryOf(`a${"[x]".repeat(8)}=1`)) instanceof Object,
    true,
  );
  for (const text of ["a&".repeat(1000) + "b", `a${"[x]".repeat(9)}=1`]) {
    const error = await assertRejects(() => queryOf(text), HttpError);
    assertEquals(error.status, 400);
  }
});

Deno.test("`query`, `data`, `cookies` and `files` are the same records on every reading", async () => {
  const body = '{"a":1}';
  const headers = { cookie: "a=1", "content-type": "application/json" };
  const request = await requestOf(headers, { path: "/?a=1", body });
  for (const property of ["query", "data", "cookies", "files"] as const) {
    assertStrictEquals(request[property], request[property], property);
    assertEquals(Object.getPrototypeOf(request[property]), null, property);
  }
});

Deno.test("`cookies` reads any header without failing", async () => {
  const table: [string, unknown][] = [
    ["", {}],
    ["=", {}],
    ["=a; b=1", { b: "1" }],
    ["a=1; b=2", { a: "1", b: "2" }],
    ["a=1;b=2;;  ; c", { a: "1", b: "2" }],
    ["a=x%20y%3B; b=%zz; c=100%", { a: "x y;", b: "%zz", c: "100%" }],
    ['a="quoted"; b="', { a: "quoted", b: '"' }],
    ["a=b=c", { a: "b=c" }],
    ["a=first; a=second", { a: "first" }],
    ["toString=1", { toString: "1" }],
  ];
  for (const [cookie, expected] of table) {
    assertEquals(
      plain((await requestOf({ cookie })).cookies),
      expected,
      cookie,
    );
  }
  assertEquals(plain((await requestOf()).cookies), {});
});

Deno.test("`data`, `files`, `getBody()` and `getBytes()` are empty without a body", async () => {
  const request = await requestOf();
  assertEquals(plain([request.data, request.files]), [{}, {}]);
  assertEquals([request.getBody(), request.getBytes().length], ["", 0]);
});

Deno.test("`getBytes()` shares no bytes between requests, not even none", async () => {
  const bytes = (await requestOf()).getBytes();
  structuredClone(bytes, { transfer: [bytes.buffer] });
  assertFalse((await requestOf()).getBytes().buffer.detached);
});

Deno.test("`getBody()` and `getBytes()` return the same any number of times", async () => {
  const body = "grüße";
  const request = await requestOf({ "content-type": "text/plain" }, { body });
  assertEquals([request.getBody(), request.getBody()], ["grüße", "grüße"]);
  assertStrictEquals(request.getBytes(), request.getBytes());
  assertEquals(request.getBytes().length, 7);
});

Deno.test("`raw` can be read although the body was", async () => {
  const original = new Request("http://localhost/a?b=1", {
    method: "POST",
    headers: { "content-type": "application/json", "x-token": "t" },
    body: '{"a":1}',
  });
  const { raw } = await requestFrom(original);
  assertEquals([raw.url, raw.method], [original.url, "POST"]);
  assertEquals([...raw.headers], [...original.headers]);
  assertEquals(await raw.json(), { a: 1 });
});

Deno.test("`raw` is the very request where no body was read", async () => {
  const original = new Request("http://localhost/");
  const request = await requestFrom(original);
  assertStrictEquals(request.raw, original);
  assert(!original.bodyUsed);
});
