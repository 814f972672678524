/** `mount()`: which requests another application gets, and what the two applications see of each other. */

import {
  assert,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Engine } from "@framework/core";
import { visit } from "../support/forms.ts";
import { logOf } from "../support/log.ts";

/** Says what it was asked for. */
async function echo(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const body = await request.text();
  return new Response(`${request.method} ${pathname}${search} ${body}`.trim());
}

Deno.test("`mount()` hands on the path below the prefix, the query and the body", async () => {
  const app = new Engine();
  app.mount("/shop", echo);
  const paths: Record<string, string> = {
    "/shop": "GET /",
    "/shop/": "GET /",
    "/shop/a%2Fb/c?x=1": "GET /a%2Fb/c?x=1",
  };
  for (const [path, seen] of Object.entries(paths)) {
    assertEquals(await (await visit(app, path)).text(), seen, path);
  }
  const init = { method: "POST", body: "data" };
  const response = await visit(app, "/shop/cart", init);
  assertEquals(await response.text(), "POST /cart data");
  assertEquals((await visit(app, "/shopping")).status, 404);
});

Deno.test("`mount()` takes a function, an object with `fetch`, and an engine", async () => {
  const [app, other] = [new Engine(), new Engine()];
  other.route("/hello/@name", (name) => `Hello, ${name}`);
  app.mount("/function", echo);
  app.mount("/object", { fetch: echo });
  app.mount("/engine", other);
  const texts = ["/function/x", "/object/x", "/engine/hello/Ada"]
    .map(async (path) => await (await visit(app, path)).text());
  assertEquals(await Promise.all(texts), ["GET /x", "GET /x", "Hello, Ada"]);
  assertEquals((await visit(app, "/engine/nowhere")).status, 404);
});

Deno.test("`mount()` stands in its turn among the routes, below the base", async () => {
  const app = new Engine();
  app.set("framework.base_url", "/app");
  app.route("/shop/own", () => "own");
  app.mount("/shop", echo);
  app.route("/shop/late", () => "late");
  assertEquals(await (await visit(app, "/app/shop/own")).text(), "own");
  const late = await visit(app, "/app/shop/late");
  assertEquals(await late.text(), "GET /late");
});

Deno.test("`mount()` of a group's router stands below the group, behind its middleware", async () => {
  const [app, inner] = [new Engine(), new Engine()];
  inner.get("/x/@id", (id) => `inner ${id}`);
  app.group("/@tenant", (router) => router.mount("/shop", inner), [
    () => app.request().query.in === "1",
  ]);
  const sent = await visit(app, "/a/shop/x/7?in=1");
  assertEquals(await sent.text(), "inner 7");
  assertEquals((await visit(app, "/a/shop/x/7")).status, 403);
});

Deno.test("`mount()` refuses what is no application or no prefix", () => {
  const app = new Engine();
  for (const wrong of [undefined, {}, "app", class {}]) {
    assertThrows(() => app.mount("/x", wrong as Engine), TypeError, "mount");
  }
  for (const prefix of ["/x(/y)", "*", "/x/*"]) {
    assertThrows(() => app.mount(prefix, echo), TypeError, "prefix");
  }
  assertThrows(
    () => app.mount("GET /x", echo),
    Error,
    "must not name a method",
  );
});

Deno.test("a mounted application's response goes out with the collected headers, through `send`", async () => {
  const app = new Engine();
  app.before("start", () => void app.response().header("x-outer", "1"));
  app.after("send", (_params, output) => {
    (output.value as Response).headers.set("x-send", "1");
  });
  app.mount("/inner", () => new Response("inner", { status: 201 }));
  const response = await visit(app, "/inner");
  assertEquals([response.status, await response.text()], [201, "inner"]);
  assertEquals(response.headers.get("x-outer"), "1");
  assertEquals(response.headers.get("x-send"), "1");
});

Deno.test("a mounted engine shares nothing with the application around it", async () => {
  const [app, inner] = [new Engine(), new Engine()];
  inner.route("/", () => {
    inner.set("name", "inner");
    return `${inner.get("name")} ${inner.get("user")}`;
  });
  inner.map("notFound", () => "the page of inner");
  app.before("start", () => app.set({ name: "outer", user: "ada" }));
  app.after("start", () => {
    app.response().header("x-name", String(app.get("name")));
  });
  app.mount("/inner", inner);
  const response = await visit(app, "/inner");
  assertEquals(await response.text(), "inner undefined");
  assertEquals(response.headers.get("x-name"), "outer");
  const page = await visit(app, "/inner/none");
  assertEquals(await page.text(), "the page of inner");
});

Deno.test("a mounted engine's code reaches the request of the application around it", async () => {
  const [app, inner] = [new Engine(), new Engine()];
  app.before("start", () => app.set("user", "ada"));
  inner.route(
    "/@id",
    () => [inner.request().url, app.request().url, app.get("user")],
  );
  app.mount("/in", inner);
  const response = await visit(app, "/in/7?a=1");
  assertEquals(await response.json(), ["/7?a=1", "/in/7?a=1", "ada"]);
});

/** An application with an engine below "/v1/api", which shows and redirects to its own URLs. */
function withMounted(): [outer: Engine, inner: Engine] {
  const [app, inner] = [new Engine(), new Engine()];
  inner.get(
    "/item/@id",
    () => {
      const { base, url } = inner.request();
      return [base, url, inner.getUrl("item", { id: "2" })];
    },
    false,
    "item",
  );
  inner.route("/to/@id", (id) => inner.redirect(`/item/${id}`));
  app.group("/@version", (router) => router.mount("/api", inner));
  return [app, inner];
}

Deno.test("a mounted engine's `base`, `getUrl()` and `redirect()` have the prefix in front", async () => {
  const [app, inner] = withMounted();
  const shown = await visit(app, "/v1/api/item/a%2Fb?x=1");
  const expected = ["/v1/api", "/item/a%2Fb?x=1", "/v1/api/item/2"];
  assertEquals(await shown.json(), expected);
  const { headers } = await visit(app, "/v2/api/to/3");
  assertEquals(headers.get("location"), "/v2/api/item/3");
  assertEquals(inner.getUrl("item", { id: "1" }), "/item/1");
});

Deno.test("a mounted engine hides the details of an error from other machines, and logs them", async () => {
  const [app, inner] = [new Engine(), new Engine()];
  app.mount("/inner", inner);
  inner.set("framework.debug", true);
  inner.route("/boom", () => {
    throw new Error("for the operator");
  });
  const remoteAddr = { transport: "tcp", hostname: "203.0.113.7", port: 1 };
  const info = { remoteAddr: remoteAddr as Deno.NetAddr };
  const lines = await logOf(async () => {
    const request = new Request("http://site.test/inner/boom");
    const page = await (await app.fetch(request, info)).text();
    assertEquals(page.includes("for the operator"), false);
  });
  assertStringIncludes(lines.join("\n"), "for the operator");
});

Deno.test("a mounted engine has its own limit for bodies, whatever length is declared", async () => {
  const [app, inner] = [new Engine(), new Engine()];
  inner.route("POST /x", () => inner.request().getBody());
  inner.set("framework.body_limit", 3);
  app.mount("/in", inner);
  const post = (text: string) => {
    const body = ReadableStream.from([new TextEncoder().encode(text)]);
    return visit(app, "/in/x", { method: "POST", body });
  };
  assertEquals(await (await post("abc")).text(), "abc");
  assertEquals((await post("abcd")).status, 413);
});

Deno.test("a guard of a mounted engine that responds by the application around lets nobody in", async () => {
  const guards: Record<string, (app: Engine) => unknown> = {
    redirect: (app) => void app.redirect("/login"),
    json: (app) => void app.json({ error: "no" }, 401),
    notFound: (app) => void app.notFound(),
    status: (app) => void app.response().status(403),
    halt: (app) => {
      try {
        app.halt(401);
      } catch {
        // the request is over all the same
      }
    },
  };
  for (const [name, guard] of Object.entries(guards)) {
    for (const isMapped of [false, true]) {
      const [app, inner] = [new Engine(), new Engine()];
      let calls = 0;
      if (isMapped && name !== "status") {
        app.before(name as "json", () => new Promise((go) => setTimeout(go)));
      }
      inner.route("/", () => `secret ${++calls}`)
        .addMiddleware(() => void guard(app));
      app.mount("/in", inner);
      const response = await app.fetch("/in");
      await response.body?.cancel();
      assert(response.status >= 300, `${name}: ${response.status}`);
      assertEquals(calls, 0, name);
    }
  }
});

Deno.test("work that a mounted engine defers by the application around runs with its request", async () => {
  const [app, inner] = [new Engine(), new Engine()];
  app.set("mailer", "post");
  const { promise, resolve } = Promise.withResolvers<unknown>();
  inner.route("/", () => {
    app.defer(() => resolve(app.get("mailer")));
    return "ok";
  });
  app.mount("/in", inner);
  assertEquals(await (await app.fetch("/in")).text(), "ok");
  assertEquals(await promise, "post");
});
