/** Tests `cors`: preflights, and the headers of every other response. */

import { Engine } from "@framework/core";
import { cors, type CorsOptions } from "@framework/core/cors";
import { assertEquals, assertThrows } from "@std/assert";
import { visit } from "../support/forms.ts";

const ORIGIN = "https://example.com";

/** The headers of CORS, and `Vary`, that a response has. */
function corsOf({ headers }: Response): Record<string, string> {
  const found = [...headers].flatMap(([name, value]) =>
    name === "vary" || name.startsWith("access-control-")
      ? [[name.replace("access-control-", ""), value]]
      : []
  );
  return Object.fromEntries(found);
}

/** Requests a path as a script of an origin does. */
function ask(app: Engine, path: string, origin = ORIGIN): Promise<Response> {
  return visit(app, path, { headers: { origin } });
}

/** Sends the preflight of a PUT. */
function preflight(
  app: Engine,
  path: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const asked = { origin: ORIGIN, "access-control-request-method": "PUT" };
  const init = { method: "OPTIONS", headers: { ...asked, ...headers } };
  return visit(app, path, init);
}

/** An application with a page of each kind. */
function withPages(options: CorsOptions): Engine {
  const app = new Engine();
  cors(app, options);
  app.route("GET /text", () => "text");
  app.route("GET /moved", () => app.redirect("/text"));
  app.route("GET /failed", () => {
    throw new Error("failed");
  });
  return app;
}

Deno.test("`cors()` adds its headers to every response, pages of errors and refused targets too", async () => {
  const app = withPages({ origins: [ORIGIN], credentials: true });
  for (const path of ["/text", "/moved", "/nowhere", "/failed", "/%zz"]) {
    const { vary, ...headers } = corsOf(await ask(app, path));
    const expected = { "allow-credentials": "true", "allow-origin": ORIGIN };
    assertEquals(headers, expected, path);
    assertEquals(vary!.split(", ").includes("Origin"), true, path);
  }
});

Deno.test("`cors()` gives another origin, and a request without one, `Vary` alone", async () => {
  const app = withPages({ origins: [ORIGIN, "http://localhost:8000"] });
  for (
    const origin of [
      "https://example.com.evil.com",
      "http://example.com",
      "https://EXAMPLE.com",
      "null",
    ]
  ) {
    const response = await ask(app, "/text", origin);
    const got = [response.status, corsOf(response)];
    assertEquals(got, [200, { vary: "Origin" }], origin);
  }
  assertEquals(corsOf(await visit(app, "/text")), { vary: "Origin" });
});

Deno.test("`cors()` with `*` allows every origin, and says so without one too", async () => {
  const app = withPages({ origins: "*", expose: ["ETag", "X-Total"] });
  const expected = { "allow-origin": "*", "expose-headers": "ETag, X-Total" };
  assertEquals(corsOf(await ask(app, "/text")), expected);
  assertEquals(corsOf(await visit(app, "/text")), expected);
});

Deno.test("`cors()` asks an `origins` function about each origin", async () => {
  const ends = (origin: string) => origin.endsWith(".example.com");
  for (const origins of [ends, (it: string) => Promise.resolve(ends(it))]) {
    const app = withPages({ origins });
    const allowed = "https://a.example.com";
    const expected = { "allow-origin": allowed, vary: "Origin" };
    assertEquals(corsOf(await ask(app, "/text", allowed)), expected);
    const other = await ask(app, "/text", "https://example.org");
    assertEquals(corsOf(other), { vary: "Origin" });
  }
});

Deno.test("nothing but `true` of an `origins` function allows an origin", async () => {
  const origins = (() => "yes") as unknown as () => boolean;
  const response = await ask(withPages({ origins }), "/text");
  assertEquals(corsOf(response), { vary: "Origin" });
});

Deno.test("an `origins` function that fails is an error of the request, which no other origin can read", async () => {
  const app = withPages({
    origins: () => Promise.reject(new Error("no list")),
  });
  const response = await ask(app, "/text");
  assertEquals(response.status, 500);
  assertEquals(corsOf(response)["allow-origin"], undefined);
});

Deno.test("`cors()` responds to a preflight before any route, whether the path is known or not", async () => {
  const app = withPages({
    origins: [ORIGIN],
    methods: ["get", "PUT"],
    headers: ["content-type", "authorization"],
    maxAge: 600,
    expose: ["ETag"],
  });
  app.route("/any", () => "not for a preflight");
  for (const path of ["/any", "/text", "/nowhere"]) {
    const response = await preflight(app, path);
    assertEquals([response.status, await response.text()], [204, ""]);
    assertEquals(corsOf(response), {
      "allow-headers": "content-type, authorization",
      "allow-methods": "GET, PUT",
      "allow-origin": ORIGIN,
      "max-age": "600",
      vary: "Origin",
    });
  }
});

Deno.test("`cors()` allows the headers that a preflight asks for unless it is given a list", async () => {
  const asked = { "access-control-request-headers": "x-a,x-b" };
  const open = withPages({ origins: [ORIGIN] });
  assertEquals(corsOf(await preflight(open, "/text", asked)), {
    "allow-headers": "x-a,x-b",
    "allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    "allow-origin": ORIGIN,
    vary: "Origin, Access-Control-Request-Headers",
  });
  const closed = withPages({ origins: [ORIGIN], headers: [] });
  const headers = corsOf(await preflight(closed, "/text", asked));
  assertEquals(headers["allow-headers"], undefined);
});

Deno.test("a preflight of another origin gets a 204 that allows nothing", async () => {
  const app = withPages({ origins: [ORIGIN] });
  const origin = "https://example.org";
  const response = await preflight(app, "/text", { origin });
  assertEquals([response.status, corsOf(response)], [204, { vary: "Origin" }]);
});

Deno.test("`cors()` leaves OPTIONS that is no preflight to the routes", async () => {
  const app = withPages({ origins: [ORIGIN] });
  app.route("OPTIONS /own", () => "own");
  const response = await visit(app, "/own", { method: "OPTIONS" });
  assertEquals(await response.text(), "own");
});

/** Paths of an application at `/shop`, and whether each is `/api` or below it. */
const PATHS: Readonly<Record<string, boolean>> = {
  "/shop/api": true,
  "/shop/api/text?a=/b": true,
  "/shop/%61pi/text": true,
  "/api/text": true,
  "/shop/api/search/100%": true,
  "/api/%00": true,
  "/shop/apis": false,
  "/shop/api%2Ftext": false,
};

for (const [path, isBelow] of Object.entries(PATHS)) {
  Deno.test(`\`cors()\` with \`path: "/api"\` ${isBelow ? "takes" : "leaves"} ${path}`, async () => {
    const app = withPages({ origins: "*", path: "/api" });
    app.set("framework.base_url", "/shop");
    app.route("OPTIONS *", () => "own");
    assertEquals("allow-origin" in corsOf(await ask(app, path)), isBelow);
    const { status } = await preflight(app, path);
    const isRefused = /%(?!\w\w)|%F0|%00/.test(path);
    assertEquals(status, isRefused ? 400 : isBelow ? 204 : 200);
  });
}

/** Options that are refused when they are declared, and why. */
const REFUSED: readonly [unknown, string][] = [
  [{ origins: "*", credentials: true }, "Cannot allow credentials to every"],
  [{ origins: ORIGIN }, 'they must be "*", a list or a function'],
  [{ origins: ["https://example.com/"] }, "must look like"],
  [{ origins: ["https://*.example.com"] }, "give a function"],
  [{ origins: [ORIGIN], maxAge: 1.5 }, "must be a whole number of seconds"],
  [{ origins: [ORIGIN], credentials: "false" }, "must be true or false"],
  [{ origins: [ORIGIN], headers: ["a\nb"] }, ""],
  [{ origins: [ORIGIN], path: "api" }, "it must look like"],
];

for (const [options, message] of REFUSED) {
  Deno.test(`\`cors()\` refuses ${JSON.stringify(options)}`, () => {
    const declare = () => cors(new Engine(), options as CorsOptions);
    assertThrows(declare, Error, message);
  });
}
