/** Tests in which form an error is sent: HTML, problem details, or the message of `halt()`. */

import {
  assert,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Engine, HttpError } from "@framework/core";

const PROBLEM = "application/problem+json";

/** Everything that sends a status of an error. */
function sending(): Engine {
  const app = new Engine();
  app.set("framework.body_limit", 10);
  app.route("/error", () => {
    throw new Error("boom");
  });
  app.route("/http", () => {
    throw new HttpError(409, "Taken");
  });
  app.route("/halt", () => app.halt(403, "Staff only"));
  app.route("/guard", () => "in").addMiddleware(() => false);
  return app;
}

/** The paths, each with its status. */
const STATUSES: Readonly<Record<string, number>> = {
  "/error": 500,
  "/http": 409,
  "/halt": 403,
  "/guard": 403,
  "/none": 404,
  "/%zz": 400,
};

/** What a client says, and whether it gets JSON. */
const CLIENTS: readonly [headers: Record<string, string>, isJson: boolean][] = [
  [{}, false],
  [{ accept: "*/*" }, false],
  [{ accept: "text/html,application/xhtml+xml,*/*;q=0.8" }, false],
  [{ accept: "application/json" }, true],
  [{ accept: "application/*" }, true],
  [{ accept: "application/json, text/plain, */*" }, true],
  [{ accept: "text/html;q=0, */*" }, true],
  [{ accept: "image/png" }, false],
  [{ "content-type": "application/json" }, true],
  [{ "content-type": "application/json", accept: "*/*" }, true],
  [{ "content-type": "application/merge-patch+json", accept: "*/*" }, true],
  [{ "content-type": "application/json", accept: "image/png" }, true],
  [{ "content-type": "application/json", accept: "text/html" }, false],
  [{ "content-type": "application/x-www-form-urlencoded" }, false],
];

for (const [path, status] of Object.entries(STATUSES)) {
  Deno.test(`the status ${status} of ${path} is sent as the client prefers, or as it has sent`, async () => {
    const app = sending();
    for (const [headers, isJson] of CLIENTS) {
      const request = new Request(`http://localhost${path}`, { headers });
      const response = await app.fetch(request);
      assertEquals(response.status, status);
      assertEquals(response.headers.get("vary"), "Accept");
      const what = JSON.stringify(headers);
      const type = response.headers.get("content-type");
      assertEquals(type === PROBLEM, isJson, what);
      if (isJson) assertEquals((await response.json()).status, status, what);
      else await response.text();
    }
  });

  Deno.test(`\`framework.error_format\` decides the form of ${path} for every client`, async () => {
    const app = sending();
    for (const format of ["html", "json"] as const) {
      app.set("framework.error_format", format);
      for (const [headers] of CLIENTS) {
        const request = new Request(`http://localhost${path}`, { headers });
        const response = await app.fetch(request);
        const type = response.headers.get("content-type");
        assertEquals(type === PROBLEM, format === "json");
        assertEquals(response.headers.get("vary"), null);
        await response.text();
      }
    }
  });
}

Deno.test("`framework.error_format` takes its three values, and null", () => {
  const app = new Engine();
  const set = app.set as (key: string, value: unknown) => void;
  for (const value of ["auto", "html", "json", null]) {
    set.call(app, "framework.error_format", value);
  }
  for (const value of ["xml", "", true]) {
    assertThrows(
      () => set.call(app, "framework.error_format", value),
      TypeError,
      '"auto", "html" or "json"',
    );
  }
});

Deno.test("a refused JSON body is problem details", async () => {
  const app = sending();
  app.route("POST /", () => `${app.request().data.a}`);
  const headers = { "content-type": "application/json" };
  for (const [body, status] of [["{", 400], ["x".repeat(11), 413]]) {
    const init = { method: "POST", headers, body: String(body) };
    const response = await app.fetch(new Request("http://localhost/", init));
    assertEquals(response.status, status);
    assertEquals((await response.json()).status, status);
  }
});

Deno.test("the message of `halt()` is the detail of problem details, and else the whole body", async () => {
  const app = sending();
  const html = await app.fetch("/halt");
  assertEquals(await html.text(), "Staff only");
  assertEquals(html.headers.get("content-type"), "text/html; charset=utf-8");
  const headers = { accept: "application/json" };
  const json = await app.fetch(
    new Request("http://localhost/halt", { headers }),
  );
  assertEquals(await json.json(), {
    type: "about:blank",
    title: "Forbidden",
    status: 403,
    detail: "Staff only",
  });
});

Deno.test("`halt()` below 400 sends its message whatever the client prefers", async () => {
  const app = new Engine();
  app.route("/", () => app.halt(202, "Soon"));
  const headers = { accept: "application/json" };
  const response = await app.fetch(
    new Request("http://localhost/", { headers }),
  );
  assertEquals(await response.text(), "Soon");
  assertEquals(response.headers.get("vary"), null);
});

Deno.test("`halt()` keeps the `Vary` that was set, and never goes to `error`", async () => {
  const app = new Engine();
  app.map("error", () => "never");
  app.route("/", () => {
    app.response().header("vary", "Cookie");
    app.halt(500, "out");
  });
  const response = await app.fetch("/");
  assertEquals(await response.text(), "out");
  assertEquals(response.headers.get("vary"), "Cookie, Accept");
});

Deno.test("the page of an error keeps a `Vary` that names `Accept` already", async () => {
  const values = ["Accept", "Origin, accept", "*", "Accept-Language"];
  const kept = values.map(async (value) => {
    const app = new Engine();
    app.before("start", () => void app.response().header("vary", value));
    return (await app.fetch("/none")).headers.get("vary");
  });
  assertEquals(await Promise.all(kept), [
    ...values.slice(0, 3),
    "Accept-Language, Accept",
  ]);
});

Deno.test("a guard's `false`, a 405 and a refusal go to `error` as an `HttpError` with a message", async () => {
  const app = sending();
  app.set("framework.method_not_allowed", true);
  app.map("error", (error: HttpError) => {
    assert(error instanceof HttpError);
    return `${error.status} ${error.message.length > 5}`;
  });
  const text = async (path: string, init?: RequestInit) =>
    await (await app.fetch(new Request(`http://localhost${path}`, init)))
      .text();
  assertEquals(await text("/guard"), "403 true");
  assertEquals(await text("/%zz"), "400 true");
  app.route("POST /form", () => "posted");
  assertEquals(await text("/form"), "405 true");
});

Deno.test("the page of an error has no style, script or attribute that a Content-Security-Policy refuses", async () => {
  const page = await (await sending().fetch("/error")).text();
  assertEquals(/<style|<script|style=|\son\w+=|<link|<img/i.test(page), false);
  assertStringIncludes(page, '<meta name="color-scheme"');
});

Deno.test("`framework.error_format` of a request is that of its page", async () => {
  const app = new Engine();
  app.before("start", () => {
    if (app.request().query.json) app.set("framework.error_format", "json");
  });
  const types: (string | null)[] = [];
  for (const path of ["/none", "/none?json=1"]) {
    const { headers } = await app.fetch(path);
    types.push(headers.get("content-type"));
  }
  assertEquals(types, [
    "text/html; charset=utf-8",
    "application/problem+json",
  ]);
});
