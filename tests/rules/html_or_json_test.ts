/** Tests the rule "HTML or JSON": in which form a page of an error is sent. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { Engine, HttpError } from "@framework/core";

const PROBLEM = "application/problem+json";

/** An application with everything that sends a status of an error. */
function failing(): Engine {
  const app = new Engine();
  app.route("/error", () => {
    throw new Error("boom");
  });
  app.route("/http", () => {
    throw new HttpError(409, 'Taken by "Ada"');
  });
  app.route("/halt", () => app.halt(403, "Staff only"));
  app.route("/guard", () => "in").addMiddleware(() => false);
  return app;
}

const STATUSES: Readonly<Record<string, number>> = {
  "/error": 500,
  "/http": 409,
  "/halt": 403,
  "/guard": 403,
  "/nowhere": 404,
  "/%zz": 400,
};

async function visit(
  app: Engine,
  path: string,
  headers: HeadersInit = {},
): Promise<Response> {
  return await app.fetch(new Request(`http://localhost${path}`, { headers }));
}

/** What a client says, and whether it gets JSON. */
const CLIENTS: readonly [headers: Record<string, string>, isJson: boolean][] = [
  [{}, false],
  [{ accept: "*/*" }, false],
  [{ accept: "text/html,application/xhtml+xml,*/*;q=0.8" }, false],
  [{ accept: "application/json, text/html;q=0.9" }, true],
  [{ accept: "application/json" }, true],
  [{ accept: "application/json, text/plain, */*" }, true],
  [{ accept: "application/json;q=0" }, false],
  [{ accept: "text/html;q=0, */*" }, true],
  [{ accept: "image/png" }, false],
  [{ accept: ";;json;;q=,,/" }, false],
  [{ "content-type": "application/json" }, true],
  [{ "content-type": "application/json", accept: "*/*" }, true],
  [{ "content-type": "application/json", accept: "text/html" }, false],
  [{ "content-type": "application/x-www-form-urlencoded" }, false],
];

for (const [path, status] of Object.entries(STATUSES)) {
  Deno.test(`the status ${status} of ${path} is sent as the client prefers, or as it has sent`, async () => {
    const app = failing();
    for (const [headers, isJson] of CLIENTS) {
      const response = await visit(app, path, headers);
      const type = response.headers.get("content-type");
      assertEquals(response.status, status);
      assertEquals(type === PROBLEM, isJson, JSON.stringify(headers));
      assertEquals(response.headers.get("vary"), "Accept");
    }
  });
}

Deno.test("`framework.error_format` is one form for every client", async () => {
  const app = failing();
  for (const format of ["html", "json"] as const) {
    app.set("framework.error_format", format);
    for (const path of Object.keys(STATUSES)) {
      const accept = format === "json" ? "text/html" : "application/json";
      const response = await visit(app, path, { accept });
      const type = response.headers.get("content-type");
      assertEquals(type === PROBLEM, format === "json", `${format} ${path}`);
    }
  }
});

Deno.test("problem details have status, title and, where there is one, the message (RFC 9457)", async () => {
  const app = failing();
  const type = "about:blank";
  const expected: Readonly<Record<string, unknown>> = {
    "/nowhere": { type, title: "Not Found", status: 404 },
    "/http": { type, title: "Conflict", status: 409, detail: 'Taken by "Ada"' },
    "/halt": { type, title: "Forbidden", status: 403, detail: "Staff only" },
  };
  for (const [path, problem] of Object.entries(expected)) {
    const response = await visit(app, path, { accept: "application/json" });
    assertEquals(await response.json(), problem);
  }
});

Deno.test("`halt()` sends HTML clients its message alone", async () => {
  const response = await visit(failing(), "/halt");
  assertEquals(await response.text(), "Staff only");
  const type = "text/html; charset=utf-8";
  assertEquals(response.headers.get("content-type"), type);
});

Deno.test("`halt()` below 400 sends its message whatever the client prefers", async () => {
  const app = new Engine();
  app.route("/", () => app.halt(202, "Soon"));
  const response = await visit(app, "/", { accept: "application/json" });
  assertEquals(await response.text(), "Soon");
  assertEquals(response.headers.get("vary"), null);
});

Deno.test("a guard's `false`, a 405 and malformed input go to `error` as an `HttpError` with a message", async () => {
  const app = failing();
  app.set("framework.method_not_allowed", true);
  app.map(
    "error",
    (error: unknown) =>
      error instanceof HttpError
        ? `${error.status} ${error.message}`
        : "another error",
  );
  app.route("POST /form", () => "posted");
  const pages = { "/guard": "403 ", "/%zz": "400 ", "/form": "405 " };
  for (const [path, start] of Object.entries(pages)) {
    const text = await (await visit(app, path)).text();
    assertStringIncludes(text, start);
    assertEquals(text.length > start.length, true, text);
  }
});
