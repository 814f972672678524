/** Tests `cors`: preflights, and the headers of every other response. */

import { Engine } from "@framework/core";
import { cors, type CorsOptions } from "@framework/core/cors";
import { guard } from "@framework/core/guard";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { visit } from "./forms.ts";
import { logOf } from "./log.ts";
import { opensSocket } from "./web_socket.ts";

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

/** Requests a path as a script of an origin does, or as its preflight. */
function ask(
  app: Engine,
  path: string,
  origin = ORIGIN,
  preflight?: Record<string, string>,
): Promise<Response> {
  const init = preflight && {
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": "PUT", ...preflight },
  };
  return visit(app, path, init ?? { headers: { origin } });
}

/** An application with a page of each kind. */
function withPages(options: CorsOptions): Engine {
  const app = new Engine();
  cors(app, options);
  app.route("GET /text", () => "text");
  app.route("GET /moved", () => app.redirect("/text"));
  app.route("GET /current", () => void app.etag("v1"));
  app.route("GET /failed", () => {
    throw new Error("failed");
  });
  return app;
}

Deno.test("`cors()` adds its headers to every response, pages of errors and refused input too", async () => {
  const app = withPages({ origins: [ORIGIN], credentials: true });
  const expected = {
    "allow-credentials": "true",
    "allow-origin": ORIGIN,
    vary: "Origin",
  };
  for (const path of ["/text", "/moved", "/current"]) {
    assertEquals(corsOf(await ask(app, path)), expected, path);
  }
  for (const path of ["/nowhere", "/failed", "/%zz"]) {
    const page = { ...expected, vary: "Accept, Origin" };
    assertEquals(corsOf(await ask(app, path)), page, path);
  }
  const revalidation = await visit(app, "/current", {
    headers: { origin: ORIGIN, "if-none-match": `"v1"` },
  });
  assertEquals([revalidation.status, corsOf(revalidation)], [304, expected]);
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
    assertEquals([response.status, corsOf(response)], [200, {
      vary: "Origin",
    }]);
  }
  assertEquals(corsOf(await visit(app, "/text")), { vary: "Origin" });
});

Deno.test("`cors()` with `*` allows every origin, and says so without one too", async () => {
  const app = withPages({ origins: "*", expose: ["ETag", "X-Total"] });
  const expected = { "allow-origin": "*", "expose-headers": "ETag, X-Total" };
  assertEquals(corsOf(await ask(app, "/text")), expected);
  assertEquals(corsOf(await visit(app, "/text")), expected);
});

/** What is no promise, but can be awaited as one. */
function thenable(value: boolean): Promise<boolean> {
  const then = (resolve: (value: boolean) => void) => resolve(value);
  return { then } as unknown as Promise<boolean>;
}

for (
  const [kind, allows] of Object.entries({
    "a function": (origin: string) => origin.endsWith(".example.com"),
    "an asynchronous function": (origin: string) =>
      Promise.resolve(origin.endsWith(".example.com")),
    "a function that returns a thenable": (origin: string) =>
      thenable(origin.endsWith(".example.com")),
  })
) {
  Deno.test(`\`cors()\` asks ${kind} about each origin`, async () => {
    const app = withPages({ origins: allows });
    const allowed = await ask(app, "/text", "https://a.example.com");
    assertEquals(corsOf(allowed), {
      "allow-origin": "https://a.example.com",
      vary: "Origin",
    });
    const other = await ask(app, "/text", "https://example.org");
    assertEquals(corsOf(other), { vary: "Origin" });
  });
}

Deno.test("`cors()` takes nothing but true for an allowed origin", async () => {
  const origins = (() => "yes") as unknown as () => boolean;
  const response = await ask(withPages({ origins }), "/text");
  assertEquals(corsOf(response), { vary: "Origin" });
});

Deno.test("`cors()` lists methods in upper case, as routes have them", async () => {
  const app = withPages({ origins: [ORIGIN], methods: ["put", "Patch"] });
  const headers = { origin: ORIGIN, "access-control-request-method": "PUT" };
  const response = await visit(app, "/text", { method: "OPTIONS", headers });
  assertEquals(corsOf(response)["allow-methods"], "PUT, PATCH");
});

Deno.test("`cors()` responds to a preflight before any route, whether the path is known or not", async () => {
  const app = withPages({
    origins: [ORIGIN],
    methods: ["GET", "PUT"],
    headers: ["content-type", "authorization"],
    maxAge: 600,
    expose: ["ETag"],
  });
  let isCalled = false;
  app.route("/any", () => void (isCalled = true));
  for (const path of ["/any", "/text", "/nowhere"]) {
    const response = await ask(app, path, ORIGIN, {});
    assertEquals(response.status, 204);
    assertEquals(await response.text(), "");
    assertEquals(corsOf(response), {
      "allow-headers": "content-type, authorization",
      "allow-methods": "GET, PUT",
      "allow-origin": ORIGIN,
      "max-age": "600",
      vary: "Origin",
    });
  }
  assertEquals(isCalled, false);
});

Deno.test("`cors()` allows the headers that a preflight asks for unless it is given a list", async () => {
  const app = withPages({ origins: [ORIGIN] });
  const response = await ask(app, "/text", ORIGIN, {
    "access-control-request-headers": "x-a,x-b",
  });
  assertEquals(corsOf(response), {
    "allow-headers": "x-a,x-b",
    "allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    "allow-origin": ORIGIN,
    vary: "Origin, Access-Control-Request-Headers",
  });
});

Deno.test("`cors()` gives a preflight of another origin a 204 that allows nothing", async () => {
  const app = withPages({ origins: [ORIGIN] });
  const response = await ask(app, "/text", "https://example.org", {});
  assertEquals([response.status, corsOf(response)], [204, { vary: "Origin" }]);
});

Deno.test("`cors()` leaves OPTIONS that is no preflight to the routes", async () => {
  const app = withPages({ origins: [ORIGIN] });
  app.route("OPTIONS /own", () => "own");
  const response = await visit(app, "/own", { method: "OPTIONS" });
  assertEquals(await response.text(), "own");
});

Deno.test("`cors()` does not repeat what `Vary` has", async () => {
  const app = withPages({ origins: [ORIGIN] });
  for (const vary of ["accept,ORIGIN", "*"]) {
    app.route(`/${vary.length}`, () => {
      app.response().header("vary", vary).write("text");
    });
    assertEquals(corsOf(await ask(app, `/${vary.length}`)).vary, vary);
  }
});

Deno.test("`cors()` serves scripts of another port and a WebSocket through real clients", async () => {
  const app = withPages({ origins: [ORIGIN] });
  app.route("/socket", () => {
    const { socket, response } = Deno.upgradeWebSocket(app.request().raw);
    socket.onopen = () => socket.close();
    return response;
  });
  const errors = await logOf(async () => {
    await using server = app.start({ port: 0, signals: false });
    const { port } = server.addr as Deno.NetAddr;
    const response = await fetch(`http://127.0.0.1:${port}/text`, {
      headers: { origin: ORIGIN },
    });
    assertEquals(await response.text(), "text");
    assertEquals(corsOf(response)["allow-origin"], ORIGIN);
    const socket = `ws://127.0.0.1:${port}/socket`;
    assertEquals(await opensSocket(socket), true);
  });
  assertEquals(errors, []);
});

Deno.test("`cors()` sends no header for an empty list, and allows no header then", async () => {
  const app = withPages({ origins: [ORIGIN], expose: [], headers: [] });
  const expected = { "allow-origin": ORIGIN, vary: "Origin" };
  assertEquals(corsOf(await ask(app, "/text")), expected);
  const preflight = await ask(app, "/text", ORIGIN, {
    "access-control-request-headers": "x-a",
  });
  assertEquals(corsOf(preflight), {
    ...expected,
    "allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
  });
});

/** Paths of an application at `/shop`, and whether each is `/api` or below it. */
const PATHS: readonly [path: string, isBelow: boolean][] = [
  ["/shop/api", true],
  ["/shop/api/", true],
  ["/shop/api/text?a=/b", true],
  ["/shop/API/nowhere", true],
  ["/shop/%61pi/text", true],
  ["/api/text", true],
  ["/shop/apis", false],
  ["/shop/text/api", false],
  ["/shop", false],
  ["/shop/api%2Ftext", false],
];

for (const [path, isBelow] of PATHS) {
  Deno.test(`\`cors()\` with \`path: "/api"\` ${isBelow ? "takes" : "leaves"} ${path}`, async () => {
    const app = withPages({ origins: "*", path: "/api" });
    app.set("framework.base_url", "/shop");
    app.route("OPTIONS *", () => "own");
    assertEquals("allow-origin" in corsOf(await ask(app, path)), isBelow);
    const { status } = await ask(app, path, ORIGIN, {});
    assertEquals(status, isBelow ? 204 : 200);
  });
}

Deno.test("`cors()` compares the case of its path where routes do", async () => {
  const app = withPages({ origins: "*", path: "/Api" });
  app.set("framework.case_sensitive", true);
  assertEquals(corsOf(await ask(app, "/Api/x"))["allow-origin"], "*");
  assertEquals(corsOf(await ask(app, "/api/x")), { vary: "Accept" });
});

Deno.test("`cors()` gives each of several paths its own rules", async () => {
  const app = new Engine();
  cors(app, { path: "/api", origins: [ORIGIN], methods: ["GET"] });
  cors(app, { path: "/feed/", origins: "*", methods: ["HEAD"] });
  app.route("*", () => "text");
  const methodsOf = async (path: string, origin: string) =>
    corsOf(await ask(app, path, origin, {}))["allow-methods"];
  const other = "https://example.org";
  assertEquals(await methodsOf("/api/x", ORIGIN), "GET");
  assertEquals(await methodsOf("/api/x", other), undefined);
  assertEquals(await methodsOf("/feed", other), "HEAD");
  assertEquals(corsOf(await ask(app, "/page")), {});
});

for (
  const [kind, origins] of Object.entries({
    "throws": () => {
      throw new Error("no list");
    },
    "rejects": () => Promise.reject(new Error("no list")),
  })
) {
  Deno.test(`an \`origins\` function that ${kind} gets a page of \`error\`, with the headers of \`guard()\``, async () => {
    const app = withPages({ origins });
    guard(app);
    const response = await ask(app, "/text");
    assertEquals(response.status, 500);
    assertEquals(response.headers.get("x-content-type-options"), "nosniff");
    assertEquals(corsOf(response), { vary: "Accept, Origin" });
  });

  Deno.test(`an \`origins\` function that ${kind} is reported for a request that is refused before, whose page stays`, async () => {
    const app = withPages({ origins });
    const [line] = await logOf(async () => {
      const refused = await ask(app, "/%zz");
      assertEquals(refused.status, 400);
      assertEquals(corsOf(refused), { vary: "Accept, Origin" });
    });
    assertStringIncludes(
      line!,
      "Error while asking whether an origin is allowed: Error: no list",
    );
  });
}

/** Options that are refused when they are declared, and why. */
const REFUSED: readonly [unknown, string][] = [
  [{ origins: "*", credentials: true }, "Cannot allow credentials to every"],
  [{ origins: ORIGIN }, 'they must be "*", a list or a function'],
  [{}, 'they must be "*", a list or a function'],
  [{ origins: ["https://example.com/"] }, "must look like"],
  [{ origins: ["https://Example.com"] }, "must look like"],
  [{ origins: ["https://example.com:443"] }, "must look like"],
  [{ origins: ["example.com"] }, "must look like"],
  [{ origins: ["*"] }, "must look like"],
  [{ origins: ["https://*.example.com"] }, "for many origins, give a function"],
  [{ origins: ["null"] }, "must look like"],
  [
    { origins: [ORIGIN], maxAge: 1.5 },
    "must be a whole number of seconds, at least 0",
  ],
  [
    { origins: [ORIGIN], maxAge: -1 },
    "must be a whole number of seconds, at least 0",
  ],
  [
    { origins: [ORIGIN], maxAge: 1e21 },
    "must be a whole number of seconds, at least 0 and at most 1000000000000",
  ],
  [
    { origins: [ORIGIN], credentials: "false" },
    'Cannot allow credentials: "credentials" must be true or false, got the string "false"',
  ],
  [
    { origins: [ORIGIN], credentials: null },
    '"credentials" must be true or false, got null',
  ],
  [
    { origins: [ORIGIN], methods: "GET" },
    'Cannot set "access-control-allow-methods": it must be a list, got the string "GET"',
  ],
  [{ origins: [ORIGIN], headers: ["a\nb"] }, ""],
  [{ origins: [ORIGIN], path: "api" }, `Cannot add CORS below the path "api"`],
  ...[
    "/api/*",
    "/users/@id",
    "/api(/v1)",
    "/v[12]",
    "/v\\d",
    "/a+b",
    "/api/:id",
    "/api/{id}",
  ].map((
    path,
  ): [unknown, string] => [
    { origins: [ORIGIN], path },
    'it must look like "/api"',
  ]),
];

for (const [options, message] of REFUSED) {
  Deno.test(`\`cors()\` refuses ${JSON.stringify(options)}`, () => {
    const declare = () => cors(new Engine(), options as CorsOptions);
    assertThrows(declare, Error, message);
  });
}

Deno.test("`cors()` allows no origin that is added to its list later", async () => {
  const origins = [ORIGIN];
  const app = withPages({ origins });
  origins.push("https://evil.example");
  const response = await ask(app, "/text", "https://evil.example");
  assertEquals(corsOf(response)["allow-origin"], undefined);
});

Deno.test("`cors()` takes origins of schemes that are not the web's", async () => {
  const app = withPages({ origins: ["capacitor://localhost"] });
  const response = await ask(app, "/text", "capacitor://localhost");
  assertEquals(corsOf(response)["allow-origin"], "capacitor://localhost");
});

Deno.test("`cors()` compares a path as routes do, and takes one with a backslash before a plus", async () => {
  const app = new Engine();
  cors(app, { origins: [ORIGIN], path: "/\u0391\u03a3" });
  cors(app, { origins: [ORIGIN], path: "/a\\+b" });
  app.route("/*", () => "here");
  for (const path of ["/\u0391\u03a3/x", "/\u03b1\u03c3", "/a+b", "/A%2Bb/c"]) {
    const response = await visit(app, path, { headers: { origin: ORIGIN } });
    const allowed = response.headers.get("access-control-allow-origin");
    assertEquals(allowed, ORIGIN, path);
  }
});

Deno.test("a request that is refused for its host has the headers of `cors()` below its path", async () => {
  const app = new Engine();
  app.set("framework.hosts", ["example.com"]);
  cors(app, { origins: [ORIGIN], path: "/api" });
  const headers = { origin: ORIGIN, host: "evil.example" };
  for (const [path, allowed] of [["/api/x", ORIGIN], ["/x", null]]) {
    const request = new Request(`http://localhost${path}`, { headers });
    const response = await app.fetch(request);
    const given = response.headers.get("access-control-allow-origin");
    assertEquals([response.status, given], [421, allowed!]);
  }
});
