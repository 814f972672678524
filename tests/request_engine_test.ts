/** The request as handlers see it, on both forms of an application. */

import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Engine, type HttpRequest, UploadedFile } from "@framework/core";
import { milliseconds } from "./clock.ts";
import { type App, onEngine, visit } from "./forms.ts";

/** Requests a path with a body of some type. */
function send(
  app: App,
  path: string,
  body: BodyInit,
  type?: string,
  method = "POST",
) {
  const headers: HeadersInit = type === undefined
    ? {}
    : { "content-type": type };
  return visit(app, path, { method, body, headers });
}

onEngine("`request()` outside a request is an error that says so", (app) => {
  assertThrows(() => app.request(), Error, "request");
});

onEngine(
  "`request().url` keeps the query and stays encoded",
  async (app) => {
    app.route("/caf%C3%A9/@name", () => app.request().url);
    const response = await visit(app, "/caf%C3%A9/a%20b?q=%20c");
    assertEquals(await response.text(), "/caf%C3%A9/a%20b?q=%20c");
  },
);

onEngine(
  "`request().base` is the base that was set, and `url` has it in front",
  async (app) => {
    app.set("framework.base_url", "/blog");
    app.route(
      "/post",
      () => ({ base: app.request().base, url: app.request().url }),
    );
    const response = await visit(app, "/blog/post?a=1");
    assertEquals(await response.json(), {
      base: "/blog",
      url: "/blog/post?a=1",
    });
  },
);

onEngine("`request().query` reads as array and as object", async (app) => {
  app.route("/", () => [app.request().query["id"], app.request().query.id]);
  assertEquals(await (await visit(app, "/?id=7")).json(), ["7", "7"]);
});

onEngine(
  "`request().data` holds form and JSON members on every method",
  async (app) => {
    app.route(
      "/",
      () => ({ method: app.request().method, title: app.request().data.title }),
    );
    const form = "application/x-www-form-urlencoded";
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      const asForm = await send(app, "/", "title=A+b", form, method);
      assertEquals(await asForm.json(), { method, title: "A b" });
      const asJson = await send(
        app,
        "/",
        '{"title":"A b"}',
        "application/json",
        method,
      );
      assertEquals(await asJson.json(), { method, title: "A b" });
    }
  },
);

onEngine(
  "`request().getBody()` returns the body for PUT, again after awaits",
  async (app) => {
    app.route("PUT /", async () => {
      const before = app.request().getBody();
      await Promise.resolve();
      return [before, app.request().getBody()];
    });
    const response = await send(app, "/", "raw text", "text/plain", "PUT");
    assertEquals(await response.json(), ["raw text", "raw text"]);
  },
);

onEngine(
  "`request().raw` can be read by code made for the web",
  async (app) => {
    app.route("POST /", async () => {
      const { title } = app.request().data;
      return [title, await app.request().raw.json()];
    });
    const response = await send(app, "/", '{"title":"A"}', "application/json");
    assertEquals(await response.json(), ["A", { title: "A" }]);
  },
);

onEngine("`request().files` holds uploads", async (app) => {
  app.route("POST /", async () => {
    const { photo } = app.request().files;
    assertInstanceOf(photo, UploadedFile);
    return [
      app.request().data.title,
      photo.name,
      photo.size,
      await photo.text(),
    ];
  });
  const form = new FormData();
  form.append("title", "A");
  form.append("photo", new Blob(["pixels"]), "a.png");
  const response = await send(app, "/", form);
  assertEquals(await response.json(), ["A", "a.png", 6, "pixels"]);
});

onEngine("a malformed body is a 400 only for who reads it", async (app) => {
  app.route("POST /read", () => String(app.request().data.a));
  app.route("POST /ignore", () => app.request().getBody());
  const table: [string, string, string][] = [
    ["[1,]", "application/json", "Unexpected token"],
    ["cut", "multipart/form-data; boundary=X", "closing boundary is missing"],
    ["cut", "multipart/form-data", "no boundary"],
  ];
  for (const [body, type, message] of table) {
    const refused = await send(app, "/read", body, type);
    assertEquals(refused.status, 400, type);
    assertStringIncludes(await refused.text(), message, type);
    assertEquals(await (await send(app, "/ignore", body, type)).text(), body);
  }
});

onEngine(
  "a body above `framework.body_limit` is a 413 before any route runs",
  async (app) => {
    let ran = false;
    app.set("framework.body_limit", 10);
    app.route("POST /", () => {
      ran = true;
    });
    assertEquals((await send(app, "/", "x".repeat(11))).status, 413);
    assertEquals(ran, false);
    assertEquals((await send(app, "/", "x".repeat(10))).status, 200);
  },
);

onEngine(
  "an over-long query is a 400, a malformed cookie is none",
  async (app) => {
    app.route("/query", () => Object.keys(app.request().query));
    app.route("/cookies", () => app.request().cookies);
    assertEquals(
      (await visit(app, `/query?${"a&".repeat(1_001)}`)).status,
      400,
    );
    const response = await visit(app, "/cookies", {
      headers: { cookie: "=x; a=%zz; b" },
    });
    assertEquals([response.status, await response.json()], [200, { a: "%zz" }]);
  },
);

onEngine(
  "`ip`, `scheme` and `secure` believe a proxy only under `trust_proxy`",
  async (app) => {
    app.route(
      "/",
      () => [app.request().ip, app.request().scheme, app.request().secure],
    );
    const headers = {
      "x-forwarded-for": "10.0.0.1, 203.0.113.5",
      "x-forwarded-proto": "https",
    };
    const remoteAddr: Deno.NetAddr = {
      transport: "tcp",
      hostname: "192.0.2.9",
      port: 1,
    };
    const ask = async () => {
      const request = new Request("http://localhost/", { headers });
      return await (await app.fetch(
        request,
        { remoteAddr } as Deno.ServeHandlerInfo,
      )).json();
    };
    assertEquals(await ask(), ["192.0.2.9", "http", false]);
    app.set("framework.trust_proxy", true);
    assertEquals(await ask(), ["203.0.113.5", "https", true]);
  },
);

onEngine(
  "overlapping requests read their own data after awaits",
  async (app) => {
    app.route("POST /", async () => {
      await new Promise((resolve) =>
        setTimeout(resolve, Number(app.request().query.wait))
      );
      return [
        app.request().query.id,
        app.request().data.id,
        app.request().cookies.id,
      ];
    });
    const responses = await Promise.all([3, 2, 1].map(async (id) => {
      const response = await visit(app, `/?id=${id}&wait=${id}`, {
        method: "POST",
        body: `{"id":"${id}"}`,
        headers: { "content-type": "application/json", cookie: `id=${id}` },
      });
      return await response.json();
    }));
    assertEquals(responses, [["3", "3", "3"], ["2", "2", "2"], [
      "1",
      "1",
      "1",
    ]]);
  },
);

onEngine(
  "a client that breaks off its body does not reach a route",
  async (app) => {
    let ran = false;
    app.route("POST /", () => {
      ran = true;
    });
    const broken = new ReadableStream({
      pull(controller) {
        controller.enqueue(new Uint8Array(3));
        controller.error(new Error("connection lost"));
      },
    });
    assertEquals(
      (await visit(app, "/", { method: "POST", body: broken })).status,
      400,
    );
    assertEquals(ran, false);
  },
);

onEngine("`streamed()` leaves the body to the callback", async (app) => {
  app.set("framework.body_limit", 3);
  app.route("PUT /@name", async (_name: string) => {
    return await new Response(app.request().raw.body).text();
  }).streamed();
  const response = await visit(app, "/x", { method: "PUT", body: "too long" });
  assertEquals([response.status, await response.text()], [200, "too long"]);
});

Deno.test("`data`, `files` and `getBody()` of a route that is `streamed()` throw, the stream is whole", async () => {
  const app = new Engine();
  app.route("PUT /", async () => {
    const request = app.request();
    for (const name of ["data", "files", "json"] as const) {
      assertThrows(() => request[name], TypeError, "the route is streamed");
    }
    assertThrows(() => request.getBody(), TypeError, "the route is streamed");
    return await request.raw.text();
  }).streamed();
  const response = await visit(app, "/", { method: "PUT", body: "a=1" });
  assertEquals(await response.text(), "a=1");
});

onEngine(
  "`request().length` counts a body that came without it",
  async (app) => {
    app.route("POST /", () => `${app.request().length}`);
    const response = await visit(app, "/", { method: "POST", body: "äb" });
    assertEquals(await response.text(), "3");
  },
);

onEngine(
  "`framework.method_override` lets a form ask for PUT, PATCH and DELETE",
  async (app) => {
    app.set("framework.method_override", true);
    app.route("/@id", () => app.request().method);
    app.route(
      "DELETE /post/@id",
      (id: string) => `${app.request().method} ${id}`,
    );
    const form = "application/x-www-form-urlencoded";
    const table: [string, string][] = [
      ["_method=PUT", "PUT"],
      ["_method=patch", "PATCH"],
      ["_method=DELETE&_method=put", "PUT"],
      ["_method=GET", "POST"],
      ["_method=TRACE", "POST"],
      ["_method[]=PUT&_method[]=PATCH", "POST"],
      ["a=1", "POST"],
      ["", "POST"],
    ];
    for (const [body, method] of table) {
      const response = await send(app, "/1", body, form);
      assertEquals(await response.text(), method, body);
    }
    const asParts = new FormData();
    asParts.append("_method", "DELETE");
    const response = await send(app, "/post/7", asParts);
    assertEquals(await response.text(), "DELETE 7");
  },
);

onEngine(
  "`framework.method_override` changes nothing but the forms of a POST",
  async (app) => {
    app.route("/", () => app.request().method);
    const form = "application/x-www-form-urlencoded";
    assertEquals(
      await (await send(app, "/", "_method=PUT", form)).text(),
      "POST",
    );
    app.set("framework.method_override", true);
    const table: [string, string, string][] = [
      ["_method=PUT", form, "PATCH"],
      ['{"_method":"PUT"}', "application/json", "POST"],
      ["_method=PUT", "text/plain", "POST"],
      ["cut", "multipart/form-data; boundary=X", "POST"],
    ];
    for (const [body, type, method] of table) {
      const response = await send(app, "/", body, type, method);
      assertEquals(await response.text(), method, body);
    }
    app.route("POST /stream", () => app.request().method).streamed();
    assertEquals(
      await (await send(app, "/stream", "_method=PUT", form)).text(),
      "POST",
    );
    assertEquals(await (await visit(app, "/?_method=PUT")).text(), "GET");
  },
);

/** What a handler reads of a request with these headers. */
async function read<Value>(
  headers: HeadersInit,
  get: (request: HttpRequest) => Value,
  { trusted = false, url = "http://localhost/" } = {},
): Promise<Value> {
  const app = new Engine();
  app.set("framework.trust_proxy", trusted);
  let value: Value;
  app.route("/", () => void (value = get(app.request())));
  const remoteAddr = { transport: "tcp", hostname: "192.0.2.9", port: 1 };
  const request = new Request(url, { headers });
  await app.fetch(request, { remoteAddr: remoteAddr as Deno.NetAddr });
  return value!;
}

Deno.test("`request().ip` is unknown when the last address of a trusted proxy is unreadable", async () => {
  const unreadable = ["203.0.113.5, unknown", "999.1.1.1", "203.0.113.5,"];
  for (const header of [...unreadable, "", " \t"]) {
    const headers = { "x-forwarded-for": header };
    const ip = await read(headers, ({ ip }) => ip, { trusted: true });
    assertEquals(ip, "", header);
  }
});

Deno.test("`request().host` and `origin` are those the client asked for, without a default port", async () => {
  const table = [
    ["http://localhost:8000/", {}, "localhost:8000"],
    ["http://localhost/", {}, "localhost"],
    ["http://localhost/", { host: "Example.com:80" }, "example.com"],
    ["http://localhost/", { host: "[2001:db8::1]:81" }, "[2001:db8::1]:81"],
  ] as const;
  for (const [url, headers, host] of table) {
    const get = ({ host, origin }: HttpRequest) => [host, origin];
    assertEquals(await read(headers, get, { url }), [host, `http://${host}`]);
  }
});

Deno.test("`request().host` and `origin` are those of the last proxy, when it is trusted", async () => {
  const headers = {
    host: "10.0.0.1:8000",
    "x-forwarded-host": "evil.example, example.com",
    "x-forwarded-proto": "https",
  };
  const get = ({ host, origin }: HttpRequest) => [host, origin];
  const forwarded = ["example.com", "https://example.com"];
  assertEquals(await read(headers, get, { trusted: true }), forwarded);
  const own = ["10.0.0.1:8000", "http://10.0.0.1:8000"];
  assertEquals(await read(headers, get), own);
  const malformed = { "x-forwarded-host": 'a"onload=x' };
  assertEquals(await read(malformed, get, { trusted: true }), ["", ""]);
});

Deno.test("`request().id` is that of a trusted proxy, when it is safe to print", async () => {
  const idFor = (id: string, trusted: boolean) =>
    read({ "x-request-id": id }, (request) => request.id, { trusted });
  assertEquals(await idFor("7f.A_b-9", true), "7f.A_b-9");
  assertMatch(await idFor("7f.A_b-9", false), /^[0-9a-f]{8}$/);
  for (const id of ["", "a b", "<b>", "\xe9", "a".repeat(65)]) {
    assertMatch(await idFor(id, true), /^[0-9a-f]{8}$/, id);
  }
});

Deno.test("`request().queryAll()` is every value of a repeated name", async () => {
  const url = "http://localhost/?tag=a&b=1&tag=c%20d&tag=";
  const names = ["tag", "b", "toString"];
  const get = (request: HttpRequest) =>
    names.map((name) => request.queryAll(name));
  const expected = [["a", "c d", ""], ["1"], []];
  assertEquals(await read({}, get, { url }), expected);
});

Deno.test("`request().queryAll()` of too many fields is a 400", async () => {
  const app = new Engine();
  app.route("/", () => app.request().queryAll("a"));
  const response = await app.fetch(`/?${"a=1&".repeat(1_001)}`);
  assertEquals(response.status, 400);
});

Deno.test("`request().cookies` trims only spaces and tabs of a name and a value", async () => {
  const cookie = "\xa0__Host-id=evil; \t__Host-id\t= mine ;a=\xa01\xa0";
  const cookies = await read({ cookie }, ({ cookies }) => cookies);
  assertEquals(Object.keys(cookies), ["\xa0__Host-id", "__Host-id", "a"]);
  assertEquals(cookies["__Host-id"], "mine");
  assertEquals(cookies.a, "\xa01\xa0");
});

Deno.test("`request().cookies` and `acceptsLanguages()` read long headers in one pass", async () => {
  const get = (
    request: HttpRequest,
  ) => [request.cookies.a?.length, request.acceptsLanguages("fr", "en")];
  const readLong = async (length: number): Promise<void> => {
    const headers = {
      cookie: `a=1${" ".repeat(length)}2; b${" ".repeat(length)}=3`,
      "accept-language": `de${"-a".repeat(length)}, ${"de,".repeat(length)}en`,
    };
    assertEquals(await read(headers, get), [length + 2, undefined]);
  };
  const short = await milliseconds(() => readLong(20_000));
  const long = await milliseconds(() => readLong(400_000));
  assert(
    long < short * 200 + 200,
    `${short} ms, and ${long} for 20 times more`,
  ); // in several passes, 400 times
});

Deno.test("`request().acceptsLanguages()` looks up the best of the offered languages", async () => {
  const table: [string, string[], string | undefined][] = [
    ["", ["en", "de"], "en"],
    ["de", ["en", "de"], "de"],
    ["de-AT", ["en", "de"], "de"],
    ["DE-at, en;q=0.9", ["en", "de-AT", "de"], "de-AT"],
    ["en", ["de", "en-GB"], "en-GB"],
    ["en", ["en-GB", "en"], "en"],
    ["en;q=0.5, de;q=0.8", ["en", "de"], "de"],
    ["zh-Hant-CN-x-private1", ["en", "zh-Hant"], "zh-Hant"],
    ["fr, *;q=0.1", ["en", "de"], "en"],
    ["*, en;q=0", ["en-GB", "de"], "de"],
    ["*;q=0", ["en"], undefined],
    ["fr", ["en", "de"], undefined],
    ["eng", ["en"], undefined],
    ["en;q=2, ;;, de", ["en", "de"], "de"],
    ["de", [], undefined],
  ];
  for (const [header, tags, expected] of table) {
    const headers: HeadersInit = header ? { "accept-language": header } : {};
    const get = (request: HttpRequest) => request.acceptsLanguages(...tags);
    assertEquals(await read(headers, get), expected, header);
  }
});

Deno.test("`request().route` is the matched route, in filters of `start` already", async () => {
  const app = new Engine();
  const seen: unknown[] = [];
  const note = () => {
    const { route } = app.request();
    seen.push(route && [route.pattern, route.params]);
  };
  app.before("start", note);
  app.after("send", note);
  app.route("/first/*", () => true);
  app.route("GET /@word/@id", () => note());
  const first = ["/first/*", {}];
  const second = ["/@word/@id", { word: "first", id: "7" }];
  await app.fetch("/first/7");
  assertEquals(seen, [first, second, second]);
});

Deno.test("`request().route` is null without a route, and once all have passed", async () => {
  const app = new Engine();
  const seen: unknown[] = [];
  app.before("start", () => void seen.push(app.request().route?.pattern));
  app.map("notFound", () => void seen.push(app.request().route));
  app.route("/passing", () => true);
  await app.fetch("/nowhere");
  await app.fetch("/passing");
  assertEquals(seen, [undefined, null, "/passing", null]);
});

Deno.test("`request().route` is known to `error` of a body that is too large", async () => {
  const app = new Engine();
  app.route("POST /@id", () => {}).bodyLimit(1);
  app.map("error", () => `${app.request().route?.pattern}`);
  const response = await visit(app, "/7", { method: "POST", body: "long" });
  assertEquals([response.status, await response.text()], [413, "/@id"]);
});

Deno.test("a body with a `Content-Encoding` is a 415, unless its bytes are read", async () => {
  const app = new Engine();
  app.route("POST /data", () => app.request().data);
  app.route("POST /json", () => ({ json: app.request().json }));
  app.route("POST /text", () => app.request().getBody());
  app.route("POST /bytes", () => app.request().getBytes());
  const post = (path: string, encoding: string) =>
    app.fetch(
      new Request(`http://localhost${path}`, {
        method: "POST",
        body: "{}",
        headers: {
          "content-type": "application/json",
          "content-encoding": encoding,
        },
      }),
    );
  for (const path of ["/data", "/json", "/text"]) {
    const response = await post(path, "gzip");
    assertEquals(response.status, 415, path);
    assertEquals(response.headers.get("accept-encoding"), "identity");
    await response.body?.cancel();
    assertEquals((await post(path, "Identity")).status, 200);
  }
  assertEquals(await (await post("/bytes", "gzip")).text(), "{}");
});

Deno.test("only text in the field `_method` takes the place of the method", async () => {
  const app = new Engine();
  app.set("framework.method_override", true);
  app.route("POST /", () => "post");
  app.route("DELETE /", () => "delete");
  const methods = async (body: string) => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const init = { method: "POST", headers, body };
    return await (await app.fetch(new Request("http://localhost/", init)))
      .text();
  };
  assertEquals(await methods("_method=delete"), "delete");
  assertEquals(await methods("_method[]=DELETE"), "post");
});

Deno.test("`fetch()` takes no notice of the fragment of a URL", async () => {
  const app = new Engine();
  app.route("/a", () => app.request().url);
  for (const url of ["/a#x", "/a?b=1#x?y", new URL("http://localhost/a#x")]) {
    const { pathname, search } = new URL(url, "http://localhost");
    assertEquals(await (await app.fetch(url)).text(), pathname + search);
  }
});

Deno.test("`request().json`, `raw` and `getBytes()` are the same each time", async () => {
  const app = new Engine();
  app.set("framework.trust_proxy", true);
  app.route("/", () => {
    const request = app.request();
    const isSame = [
      request.raw === request.raw,
      request.getBytes() === request.getBytes(),
      request.length === 0 || request.json === request.json,
    ];
    return isSame.every(Boolean) ? "same" : "other";
  });
  const responses = [
    await send(app, "/", '{"a":1}', "application/json"),
    await visit(app, "/"),
  ];
  for (const response of responses) assertEquals(await response.text(), "same");
});

Deno.test("`raw` is within the limit of its own route, behind a streamed one that has passed", async () => {
  const app = new Engine();
  const pass = () => {
    void app.request().raw.url;
    return true as const;
  };
  app.post("/", pass).streamed().bodyLimit(3);
  app.post("/", async () => {
    return `${(await app.request().raw.bytes()).length} bytes`;
  }).streamed().bodyLimit(7);
  assertEquals(await (await send(app, "/", "12345")).text(), "5 bytes");
  app.post("/read", pass).streamed().bodyLimit(3);
  app.post("/read", () => app.request().raw.text());
  assertEquals(await (await send(app, "/read", "12345")).text(), "12345");
});

Deno.test("a streamed route takes a request without a body", async () => {
  const app = new Engine();
  app.route("/", () => {
    const { raw } = app.request();
    return `${raw.method} ${app.request().getBytes().length}`;
  }).streamed().bodyLimit(3);
  assertEquals(await (await visit(app, "/")).text(), "GET 0");
});

Deno.test("a body that a streamed route has read before it passed cannot be read again", async () => {
  const app = new Engine();
  app.post("/", async () => {
    await app.request().raw.bytes();
    return true;
  }).streamed();
  app.post("/", () => {
    const { message } = assertThrows(() => app.request().getBody(), TypeError);
    return message;
  });
  const text = await (await send(app, "/", "a")).text();
  assertStringIncludes(text, "it was read from raw.body before");
});

Deno.test("an empty body is empty, whatever it is said to be encoded as", async () => {
  const app = new Engine();
  app.post("/", () => `[${app.request().getBody()}]`);
  const headers = { "content-encoding": "gzip" };
  const response = await visit(app, "/", { method: "POST", headers });
  assertEquals(await response.text(), "[]");
});

Deno.test("`scheme` is the one that a trusted proxy names, also http of a request to https", async () => {
  const app = new Engine();
  app.set("framework.trust_proxy", true);
  app.route("/", () => app.request().scheme);
  const headers = { "x-forwarded-proto": "http" };
  const request = new Request("https://localhost/", { headers });
  assertEquals(await (await app.fetch(request)).text(), "http");
});

Deno.test("`url` of a mounted application is what is behind its mount point, whatever its base is", async () => {
  const [outer, inner] = [new Engine(), new Engine()];
  inner.set("framework.base_url", "/shop");
  inner.route("*", () => inner.request().url);
  outer.mount("/shop", inner);
  assertEquals(await (await outer.fetch("/shop/a?b")).text(), "/a?b");
});

Deno.test("`accepts()` without an offer is undefined", async () => {
  const app = new Engine();
  app.route("/", () => `${app.request().accepts()}`);
  assertEquals(await (await visit(app, "/")).text(), "undefined");
});

Deno.test("`upgrade()` refuses unknown options, and a `Connection` that only looks like an upgrade", async () => {
  const app = new Engine();
  let options = {};
  app.route("/", () => app.request().upgrade(options).response);
  const statusOf = async (connection: string) => {
    const headers = {
      connection,
      upgrade: "websocket",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    };
    const request = new Request("http://localhost/", { headers });
    return (await app.fetch(request)).status;
  };
  assertEquals(await statusOf("keep-alive, upgraded"), 400);
  app.set("framework.handle_errors", false);
  options = { protocols: "chat" };
  await assertRejects(() => statusOf("upgrade"), TypeError, "protocols");
});
