/** SPEC.md, "Request object": the properties of `request()` and their rules. */

import { assertEquals } from "@std/assert";
import { type HttpRequest, UploadedFile } from "@framework/core";
import { type App, onBothForms, visit } from "../support/forms.ts";

/** The client of each request. */
const remoteAddr: Deno.NetAddr = {
  transport: "tcp",
  hostname: "192.0.2.9",
  port: 5000,
};

/** What a route reads of `request()`. */
async function read<Value>(
  app: App,
  get: (request: HttpRequest) => Value,
  url: string,
  init?: RequestInit,
): Promise<Value> {
  let value: Value;
  app.route("*", () => void (value = get(app.request())));
  await app.fetch(new Request(url, init), { remoteAddr });
  return value!;
}

function post(body: BodyInit, type?: string, method = "POST"): RequestInit {
  return { method, body, headers: type ? { "content-type": type } : {} };
}

onBothForms("`url` is the path and the query as sent", async (app) => {
  const url = "http://localhost/caf%C3%A9?q=%20a";
  const get = ({ url }: HttpRequest) => url;
  assertEquals(await read(app, get, url), "/caf%C3%A9?q=%20a");
});

onBothForms(
  "`base` is the subdirectory of `framework.base_url`, a slash without one",
  async (app) => {
    app.route("*", () => app.request().base);
    assertEquals(await (await visit(app, "/a")).text(), "/");
    app.set("framework.base_url", "/blog");
    assertEquals(await (await visit(app, "/blog/a")).text(), "/blog");
  },
);

onBothForms("`method` is the request method", async (app) => {
  app.route("*", () => app.request().method);
  for (const method of ["GET", "POST", "PUT", "DELETE"]) {
    assertEquals(await (await visit(app, "/", { method })).text(), method);
  }
});

/** Properties that are headers, with a value. */
const HEADERS = [
  ["referrer", "referer", "http://example.com/a"],
  ["user_agent", "user-agent", "Browser/1.0 (X; Y)"],
  ["type", "content-type", "text/plain; charset=UTF-8"],
  ["accept", "accept", "text/html, */*;q=0.1"],
] as const;

for (const [property, header, value] of HEADERS) {
  onBothForms(
    `\`${property}\` is the header ${header}, empty when it was not sent`,
    async (app) => {
      app.route("/", () => [app.request()[property]]);
      const sent = await visit(app, "/", { headers: { [header]: value } });
      assertEquals(await sent.json(), [value]);
      assertEquals(await (await visit(app, "/")).json(), [""]);
    },
  );
}

onBothForms("`ip` is the client's address", async (app) => {
  assertEquals(
    await read(app, ({ ip }) => ip, "http://localhost/"),
    "192.0.2.9",
  );
});

onBothForms("`ajax` is told by X-Requested-With, in any case", async (app) => {
  app.route("/", () => [app.request().ajax]);
  const cases = { XMLHttpRequest: true, xmlhttprequest: true, fetch: false };
  for (const [value, ajax] of Object.entries(cases)) {
    const headers = { "x-requested-with": value };
    assertEquals(await (await visit(app, "/", { headers })).json(), [ajax]);
  }
  assertEquals(await (await visit(app, "/")).json(), [false]);
});

onBothForms("`scheme` and `secure` tell http from https", async (app) => {
  app.route("/", () => [app.request().scheme, app.request().secure]);
  const table = { http: false, https: true };
  for (const [scheme, secure] of Object.entries(table)) {
    const response = await app.fetch(new Request(`${scheme}://localhost/`));
    assertEquals(await response.json(), [scheme, secure]);
  }
});

onBothForms("`length` is the content length, 0 without a body", async (app) => {
  app.route("/", () => [app.request().length]);
  assertEquals(await (await visit(app, "/", post("äb"))).json(), [3]);
  assertEquals(await (await visit(app, "/")).json(), [0]);
  const headers = { "content-length": "abc" };
  assertEquals(await (await visit(app, "/", { headers })).json(), [0]);
});

onBothForms("`proxy_ip` is the client that a proxy reports", async (app) => {
  app.route("/", () => [app.request().proxy_ip]);
  const table: [HeadersInit, string][] = [
    [{}, ""],
    [{ "x-forwarded-for": "203.0.113.5, 10.0.0.1" }, "203.0.113.5"],
    [{ "client-ip": "203.0.113.6" }, "203.0.113.6"],
    [{ forwarded: 'proto=https;for="[2001:db8::1]:80"' }, "2001:db8::1"],
    [{ "client-ip": "<script>" }, ""],
  ];
  for (const [headers, address] of table) {
    const response = await visit(app, "/", { headers });
    assertEquals(await response.json(), [address], JSON.stringify(headers));
  }
});

onBothForms(
  "`query`, `data`, `cookies` and `files` read as arrays and as objects",
  async (app) => {
    app.route("POST /", () => {
      const { query, data, cookies, files } = app.request();
      return [
        [query["id"], query.id],
        [data["id"], data.id],
        [cookies["id"], cookies.id],
        [files["id"], files.id].map((file) => (file as File).name),
      ];
    });
    const body = new FormData();
    body.append("id", "2");
    body.append("id", new File(["pixels"], "4.png"));
    const init = { method: "POST", body, headers: { cookie: "id=3" } };
    assertEquals(await (await visit(app, "/?id=1", init)).json(), [
      ["1", "1"],
      ["2", "2"],
      ["3", "3"],
      ["4.png", "4.png"],
    ]);
  },
);

onBothForms("`getBody()` is the raw body, for PUT too", async (app) => {
  app.route("PUT /", () => [app.request().getBody(), app.request().getBody()]);
  const response = await visit(
    app,
    "/",
    post("a=1&grüße", "text/plain", "PUT"),
  );
  assertEquals(await response.json(), ["a=1&grüße", "a=1&grüße"]);
});

onBothForms("`data` has the fields of a form", async (app) => {
  app.route("POST /", () => app.request().data);
  const body = new URLSearchParams({ title: "A b", content: "ü" });
  const response = await visit(app, "/", { method: "POST", body });
  assertEquals(await response.json(), { title: "A b", content: "ü" });
});

onBothForms(
  "`data` has the decoded members of a body of the type application/json",
  async (app) => {
    app.route("POST /", () => app.request().data);
    const body = '{"title":"A","tags":["x",{"y":null}]}';
    const response = await visit(app, "/", post(body, "application/json"));
    assertEquals(await response.json(), JSON.parse(body));
  },
);

onBothForms("`files` has the uploaded files", async (app) => {
  app.route("POST /", async () => {
    const { photo } = app.request().files;
    if (!(photo instanceof UploadedFile)) return "none";
    return [photo.name, photo.type, photo.size, await photo.text()];
  });
  const body = new FormData();
  body.append("photo", new File(["pixels"], "a.png", { type: "image/png" }));
  const response = await visit(app, "/", { method: "POST", body });
  assertEquals(await response.json(), ["a.png", "image/png", 6, "pixels"]);
});
