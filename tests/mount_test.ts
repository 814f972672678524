/** Tests `mount()`: which requests another application gets, and what it sees of them. */

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { Engine, Router } from "@framework/core";
import { cors } from "@framework/core/cors";
import { files } from "@framework/core/files";
import { Hono } from "npm:hono@^4.13.19";
import { type App, limitTime, onBothForms, onEngine, visit } from "./forms.ts";
import { sendRaw } from "./raw_http.ts";
import { logOf } from "./log.ts";

/** Says what it was asked for. */
async function echo(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const body = await request.text();
  return new Response(`${request.method} ${pathname}${search} ${body}`.trim());
}

onBothForms(
  "`mount()` hands the path below the prefix on, with the query and the body",
  async (app) => {
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
  },
);

onEngine(
  "`mount()` takes a function, an object with `fetch`, and an engine",
  async (app) => {
    const other = new Engine();
    other.route("/hello/@name", (name) => `Hello, ${name}`);
    app.mount("/function", echo);
    app.mount("/object", { fetch: echo });
    app.mount("/engine", other);
    const texts = ["/function/x", "/object/x", "/engine/hello/Ada"]
      .map(async (path) => await (await visit(app, path)).text());
    assertEquals(await Promise.all(texts), ["GET /x", "GET /x", "Hello, Ada"]);
    assertEquals((await visit(app, "/engine/nowhere")).status, 404);
  },
);

onEngine(
  "`mount()` takes a Hono application, its parameters, forms, errors and pages",
  async (app) => {
    const hono = new Hono<{ Variables: { user: string } }>();
    hono.use(async (c, next) => {
      c.set("user", c.req.header("x-user") ?? "nobody");
      await next();
      c.header("x-hono", "1");
    });
    hono.get("/", (c) => c.text("root"));
    hono.get("/users/:id", (c) => c.json({ id: c.req.param("id") }));
    hono.post("/form", async (c) => {
      const { name } = await c.req.parseBody();
      return c.text(`${name}, ${c.get("user")}, ${c.req.query("page")}`);
    });
    hono.get("/boom", () => {
      throw new Error("boom");
    });
    hono.onError((error, c) => c.text(`Hono saw ${error.message}`, 502));
    app.after("send", (_params, output) => {
      (output.value as Response).headers.set("x-send", "1");
    });
    app.mount("/hono", hono);

    const root = await visit(app, "/hono");
    assertEquals(await root.text(), "root");
    assertEquals(root.headers.get("x-hono"), "1");
    assertEquals(root.headers.get("x-send"), "1");
    const user = await visit(app, "/hono/users/a%2Fb");
    assertEquals(await user.json(), { id: "a/b" });
    const form = await visit(app, "/hono/form?page=2", {
      method: "POST",
      headers: { "x-user": "grace" },
      body: new URLSearchParams({ name: "Ada" }),
    });
    assertEquals(await form.text(), "Ada, grace, 2");
    const boom = await visit(app, "/hono/boom");
    assertEquals([boom.status, await boom.text()], [502, "Hono saw boom"]);
    const nowhere = await visit(app, "/hono/nowhere");
    assertEquals(nowhere.status, 404);
    assertEquals(await nowhere.text(), "404 Not Found"); // Hono's own page
  },
);

onEngine(
  "`mount()` stands in the order of declaration, in groups and below the base",
  async (app) => {
    app.set("framework.base_url", "/app");
    app.route("/shop/own", () => "own");
    app.group("/v1", (router) => void router.get("/x", () => "x"));
    app.mount("/shop", echo);
    app.route("/shop/late", () => "late");
    assertEquals(await (await visit(app, "/app/shop/own")).text(), "own");
    assertEquals(
      await (await visit(app, "/app/shop/late")).text(),
      "GET /late",
    );
  },
);

onEngine(
  "`mount()` adds the collected headers, and keeps the state of both apart",
  async (app) => {
    const other = new Engine();
    other.route("/", () => {
      other.set("name", "inner");
      return `${other.get("name")}`;
    });
    app.before("start", () => {
      app.set("name", "outer");
      app.response().header("x-outer", "1");
    });
    app.after("start", () => {
      app.response().header("x-name", String(app.get("name")));
    });
    app.mount("/inner", other);
    const response = await visit(app, "/inner");
    assertEquals(await response.text(), "inner");
    assertEquals(response.headers.get("x-outer"), "1");
    assertEquals(response.headers.get("x-name"), "outer");
  },
);

onEngine(
  "`mount()` refuses what a function returns in place of a response",
  async (app) => {
    for (const mounted of [() => undefined, () => Promise.resolve("text")]) {
      app.init();
      app.mount("/api", mounted as () => never);
      const response = await visit(app, "/api/users");
      assertEquals(response.status, 500);
      assertStringIncludes(await response.text(), "/api/*");
    }
  },
);

onEngine("`mount()` refuses what is not an application", (app) => {
  const wrong: unknown[] = [undefined, {}, "app", class {}];
  for (const value of wrong) {
    assertThrows(() => app.mount("/x", value as Engine), TypeError, "mount");
  }
  assertThrows(() => app.mount("/x(/y)", echo), TypeError, "prefix");
});

Deno.test("deferred work of a mounted engine runs, and knows the client, after the engine around it has responded", async () => {
  const [outer, inner] = [new Engine(), new Engine()];
  const seen: string[] = [];
  const ran = Promise.withResolvers<void>();
  inner.route("/save", async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    inner.defer(() => {
      seen.push(inner.request().ip, inner.request().url);
      ran.resolve();
    });
  });
  outer.set("framework.trust_proxy", true);
  outer.mount("/in", inner);
  limitTime(outer as App);
  const server = outer.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const response = await fetch(`http://127.0.0.1:${port}/in/save`);
  await response.body?.cancel();
  assertEquals(response.status, 503);
  await ran.promise;
  assertEquals(seen, ["127.0.0.1", "/save"]);
  await server.shutdown();
});

Deno.test("a request that a handler makes and does not await runs to its end", async () => {
  const app = new Engine();
  app.set("framework.trust_proxy", true);
  const ran = Promise.withResolvers<void>();
  app.route("/slow", async () => {
    await new Promise((resolve) => setTimeout(resolve, 10));
    app.defer(() => ran.resolve());
    throw new Error("boom");
  });
  app.route("/", () => {
    app.fetch("/slow");
    return "done";
  });
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const lines = await logOf(async () => {
    const response = await fetch(`http://127.0.0.1:${port}/`);
    assertEquals(await response.text(), "done");
    await ran.promise;
    await server.shutdown();
  });
  assertEquals(lines.length, 1, lines.join("\n"));
  assertStringIncludes(lines[0]!, "GET /slow Error: boom");
});

Deno.test("a mounted function may hand a request to an engine that goes on after it has responded", async () => {
  const [app, engine] = [new Engine(), new Engine()];
  const texts: Promise<string>[] = [];
  const textOf = async (request: Request) =>
    await (await engine.fetch(request)).text();
  engine.route("/hook", () => "done")
    .addMiddleware(() => new Promise((resolve) => setTimeout(resolve, 1)));
  app.mount("/api", async (request) => {
    texts.push(textOf(request));
    await Promise.resolve();
    return new Response("accepted", { status: 202 });
  });
  assertEquals((await app.fetch("/api/hook")).status, 202);
  assertEquals(await Promise.all(texts), ["done"]);
});

Deno.test("an engine that a mounted function calls with the request alone knows the client", async () => {
  const [app, engine] = [new Engine(), new Engine()];
  engine.route("/", () => engine.request().ip);
  app.mount("/in", (request) => engine.fetch(request));
  const remoteAddr: Deno.NetAddr = {
    transport: "tcp",
    hostname: "10.0.0.7",
    port: 1,
  };
  const request = new Request("http://localhost/in");
  const response = await app.fetch(request, { remoteAddr });
  assertEquals(await response.text(), "10.0.0.7");
});

Deno.test("a request that was taken before a drain reaches a mounted engine", async () => {
  const [app, engine] = [new Engine(), new Engine()];
  const arrived = [
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
  ];
  const goOn = Promise.withResolvers<void>();
  const wait = (index: number) => async () => {
    arrived[index]!.resolve();
    await goOn.promise;
  };
  engine.route("/", () => "inner");
  app.group("/v1", (router) => router.mount("/", engine), [wait(0)]);
  app.group("/v2", (router) => router.mount("/", app), [wait(1)]);
  app.route("/x", () => "own");
  const server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const texts = ["v1/", "v2/x"].map(async (path) => {
    const response = await fetch(`http://127.0.0.1:${port}/${path}`);
    return await response.text();
  });
  await Promise.all(arrived.map(({ promise }) => promise));
  const ended = server.shutdown();
  goOn.resolve();
  assertEquals(await Promise.all(texts), ["inner", "own"]);
  await ended;
});

Deno.test("a mounted engine that redirects by the application around it keeps its cookies, and is not told to be ignored", async () => {
  const [app, engine] = [new Engine(), new Engine()];
  app.set("framework.debug", true);
  engine.route("/login", () => {
    engine.response().cookie("user", "ada");
    app.redirect("/home");
  });
  app.mount("/in", engine);
  const lines = await logOf(async () => {
    const response = await app.fetch("/in/login");
    await response.body?.cancel();
    assertEquals([response.status, response.headers.get("location")], [
      303,
      "/home",
    ]);
    assertStringIncludes(response.headers.get("set-cookie") ?? "", "user=ada");
  });
  assertEquals(lines, []);
});

Deno.test("what a mounted engine defers by the application around it runs in its own request", async () => {
  const [app, engine] = [new Engine(), new Engine()];
  const seen = Promise.withResolvers<unknown[]>();
  engine.route("/x", () => {
    engine.set("user", "ada");
    app.defer(async () => {
      await Promise.resolve();
      seen.resolve([engine.get("user"), engine.request().url]);
    });
    return "done";
  });
  app.mount("/in", engine);
  await app.fetch("/in/x");
  assertEquals(await seen.promise, ["ada", "/x"]);
});

Deno.test("an engine that a mounted one calls with its own request is not mounted there", async () => {
  const [outer, middle, inner] = [new Engine(), new Engine(), new Engine()];
  inner.route("/*", () => "inner");
  middle.route("/*", async () => {
    middle.redirect("/elsewhere");
    const response = await inner.fetch(middle.request().raw);
    seen = await response.text();
  });
  let seen = "";
  outer.mount("/in", middle);
  assertEquals((await outer.fetch("/in/x")).status, 303);
  assertEquals(seen, "inner");
});

Deno.test("a mounted function may call an engine outside of the request", async () => {
  const [outer, inner] = [new Engine(), new Engine()];
  inner.route("/*", () => "inner");
  outer.mount("/in", (request) => outer.configure(() => inner.fetch(request)));
  assertEquals(await (await outer.fetch("/in/x")).text(), "inner");
});

Deno.test("a mount splits the path as it was matched, whatever base middleware sets", async () => {
  const [outer, inner] = [new Engine(), new Engine()];
  inner.route("/a/b", () => "found");
  const setBase = () => void outer.set("framework.base_url", "/shop");
  outer.group("/shop", (router) => router.mount("/", inner), [setBase]);
  assertEquals(await (await outer.fetch("/shop/a/b")).text(), "found");
});

Deno.test("a mounted engine tells who is on this machine as the one around it", async () => {
  const [app, inner] = [new Engine(), new Engine()];
  app.mount("/inner", inner);
  inner.route("/", () => {
    throw new Error("for the operator");
  });
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => app.fetch(request),
  );
  const [line] = await logOf(async () => {
    const response = await fetch(`http://127.0.0.1:${server.addr.port}/inner`);
    assertStringIncludes(await response.text(), "Reference: ");
  });
  assertStringIncludes(line!, "for the operator");
  await server.shutdown();
});

/** An application with an engine below "/v1/api", which shows its own address. */
function withMounted(): [outer: Engine, inner: Engine] {
  const [app, inner] = [new Engine(), new Engine()];
  inner.route("/", () => inner.request().url);
  inner.get("/item/@id", show, false, "item");
  inner.route("/to/@id", (id) => inner.redirect(`/item/${id}`));
  inner.route(
    "/named/@id",
    (id) => inner.redirect(inner.getUrl("item", { id })),
  );
  app.group("/@version", (router) => router.mount("/api", inner));
  app.get("/own", () => inner.getUrl("item", { id: 1 }), false, "own");
  return [app, inner];

  function show(): string[] {
    const { base, url } = inner.request();
    return [base, url, inner.getUrl("item", { id: 2 }), app.getUrl("own")];
  }
}

Deno.test("a mounted engine makes URLs and redirects below the place where it is mounted", async () => {
  const [app, inner] = withMounted();
  const shown = await app.fetch("/v1/api/item/a%2Fb?x=1");
  const url = "/item/a%2Fb?x=1";
  assertEquals(await shown.json(), ["/v1/api", url, "/v1/api/item/2", "/own"]);
  for (const path of ["/v1/api", "/v1/api/"]) {
    assertEquals(await (await app.fetch(path)).text(), "/");
  }
  for (const path of ["/v2/api/to/3", "/v2/api/named/3"]) {
    const { headers } = await app.fetch(path);
    assertEquals(headers.get("location"), "/v2/api/item/3");
  }
  // Outside of such a request, nobody knows where it is mounted.
  assertEquals(await (await app.fetch("/own")).text(), "/item/1");
  assertEquals(inner.getUrl("item", { id: 1 }), "/item/1");
  const direct = await (await inner.fetch("/item/1")).json();
  assertEquals(direct, ["/", "/item/1", "/item/2", "/own"]);
});

Deno.test("a mounted engine adds the base of the application around it, of several all", async () => {
  const [app] = withMounted();
  const [site, shop] = [new Engine(), new Engine()];
  site.set("framework.base_url", "https://example.com/site");
  site.mount("/shop", shop);
  shop.mount("/", app);
  const base = "/site/shop/v1/api";
  const shown = await site.fetch(`${base}/item/1`);
  const expected = [base, "/item/1", `${base}/item/2`, "/site/shop/own"];
  assertEquals(await shown.json(), expected);
});

Deno.test("a mounted engine redirects with the scheme and host of the base around it", async () => {
  const [site, shop, inner] = [new Engine(), new Engine(), new Engine()];
  site.set("framework.base_url", "https://example.com/site");
  site.mount("/shop", shop);
  shop.mount("/inner", inner);
  site.route("/old", () => site.redirect("/new"));
  inner.route("/old", () => inner.redirect("/new"));
  for (const place of ["/site", "/site/shop/inner"]) {
    const { headers } = await site.fetch(`${place}/old`);
    assertEquals(headers.get("location"), `https://example.com${place}/new`);
  }
  inner.set("framework.base_url", "/own");
  const { headers } = await site.fetch("/site/shop/inner/old");
  assertEquals(headers.get("location"), "/own/new");
});

Deno.test("a mounted engine with a `framework.base_url` of its own is where that says", async () => {
  const [app, inner] = withMounted();
  inner.set("framework.base_url", "/elsewhere");
  const shown = await app.fetch("/v1/api/item/1");
  const expected = ["/elsewhere", "/item/1", "/elsewhere/item/2", "/own"];
  assertEquals(await shown.json(), expected);
});

Deno.test("a mounted engine takes the id of a proxy that the application around it trusts, and no other", async () => {
  const headers = { "x-request-id": "of-the-proxy" };
  for (const trusts of [true, false]) {
    const [app, inner] = [new Engine(), new Engine()];
    app.set("framework.trust_proxy", trusts);
    inner.set("framework.trust_proxy", !trusts);
    inner.route("/", () => inner.request().id);
    app.mount("/inner", inner);
    const url = "http://localhost/inner";
    const response = await app.fetch(new Request(url, { headers }));
    assertEquals(await response.text() === "of-the-proxy", trusts);
  }
});

Deno.test("`files()` of a mounted engine makes URLs that lead to the files", async () => {
  const [app, inner] = [new Engine(), new Engine()];
  const asset = files(
    inner,
    "/public",
    new URL("../blog/public", import.meta.url).pathname,
  );
  inner.route("/", () => asset("style.css"));
  app.mount("/inner", inner);
  const url = await (await app.fetch("/inner")).text();
  assertStringIncludes(url, "/inner/public/style.css?v=");
  const response = await app.fetch(url);
  await response.body?.cancel();
  assertEquals(response.status, 200);
});

Deno.test("`cors()` and `files()` of a mounted engine read paths below the prefix", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.mkdir(`${folder}/guide`);
  await Deno.writeTextFile(`${folder}/guide/index.html`, "guide");
  const [app, inner] = [new Engine(), new Engine()];
  cors(inner, { origins: ["https://other.test"], path: "/open" });
  inner.route("/open/@id", (id) => id);
  inner.route("/shut/@id", (id) => id);
  files(inner, "/public", folder, { index: "index.html" });
  app.mount("/inner", inner);
  const allowed = ["/inner/open/1", "/inner/shut/1"].map(async (path) => {
    const headers = { origin: "https://other.test" };
    const response = await visit(app, path, { headers });
    return response.headers.get("access-control-allow-origin");
  });
  assertEquals(await Promise.all(allowed), ["https://other.test", null]);
  const moved = await app.fetch("/inner/public/guide?x=1");
  assertEquals(moved.headers.get("location"), "/inner/public/guide/?x=1");
  const shown = await app.fetch("/inner/public/guide/");
  assertEquals(await shown.text(), "guide");
  await Deno.remove(folder, { recursive: true });
});

Deno.test("`cors()` and `files()` tell the prefix of a mount from a path that begins alike", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.mkdir(`${folder}/guide`);
  await Deno.writeTextFile(`${folder}/guide/index.html`, "guide");
  const [app, inner] = [new Engine(), new Engine()];
  cors(inner, { origins: "*", path: "/open" });
  inner.route("/open/@id", (id) => id);
  inner.route("/shut/open", () => "shut");
  files(inner, "/open/files", folder, { index: "index.html" });
  app.mount("/open", inner);
  const allowed = ["/open/open/1", "/open/shut/open"].map(async (path) => {
    const { headers } = await visit(app, path);
    return headers.get("access-control-allow-origin");
  });
  assertEquals(await Promise.all(allowed), ["*", null]);
  const moved = await app.fetch("/open/open/files/guide?x=1");
  assertEquals(moved.headers.get("location"), "/open/open/files/guide/?x=1");
  const shown = await app.fetch("/open/open/files/guide/?x=1");
  assertEquals(await shown.text(), "guide");
  await Deno.remove(folder, { recursive: true });
});

Deno.test("an error in a mounted engine is logged, and shown under debug, with the path of the request", async () => {
  const [app, inner] = [new Engine(), new Engine()];
  inner.set("framework.log_errors", true);
  app.mount("/inner", inner);
  inner.route("/boom", () => {
    throw new Error("boom");
  });
  const [line = ""] = await logOf(() => app.fetch("/inner/boom"));
  assertStringIncludes(line, " GET /inner/boom Error: boom");
  inner.set("framework.debug", true);
  await logOf(async () => {
    const page = await (await app.fetch("/inner/boom?x=1")).text();
    assertStringIncludes(page, "GET /inner/boom?x=1<");
  });
});

Deno.test("an error in a mounted engine is logged, and shown under debug, with the path as it was received, whatever the bases", async () => {
  const [site, shop, inner] = [new Engine(), new Engine(), new Engine()];
  site.set("framework.base_url", "https://example.com/site");
  site.mount("/shop", shop);
  shop.mount("/inner", inner);
  inner.set("framework.debug", true);
  inner.route("/boom", () => {
    throw new Error("boom");
  });
  for (const base of [null, "/elsewhere"]) {
    shop.set("framework.base_url", base);
    for (const path of ["/site/shop/inner/boom", "/shop/inner/boom"]) {
      const [line = ""] = await logOf(async () => {
        const page = await (await site.fetch(`${path}?x=1`)).text();
        assertStringIncludes(page, `>GET ${path}?x=1<`);
      });
      assertStringIncludes(line, ` GET ${path} Error: boom`);
    }
  }
});

Deno.test("`mount()` hands on a body that a route which passed has read", async () => {
  const app = new Engine();
  app.route("/shop/*", () => app.request().data.item === "tea");
  app.mount("/shop", echo);
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const init = { method: "POST", headers, body: "item=tea" };
  const response = await visit(app, "/shop/cart", init);
  assertEquals(await response.text(), "POST /cart item=tea");
});

Deno.test("`mount()` hands on a body within the limit of its route, whatever length is declared", async () => {
  const [app, engine] = [new Engine(), new Engine()];
  engine.route("POST /x", () => `${engine.request().getBytes().length}`);
  app.mount("/in", engine);
  app.router().routes().at(-1)!.bodyLimit(3);
  const post = async (text: string) => {
    const body = ReadableStream.from([new TextEncoder().encode(text)]);
    const response = await visit(app, "/in/x", { method: "POST", body });
    return [response.status, await response.text()];
  };
  assertEquals(await post("abc"), [200, "3"]);
  assertEquals((await post("abcd"))[0], 413);
});

Deno.test("`mount()` hands on the signal of the client", async () => {
  const app = new Engine();
  const { promise, resolve } = Promise.withResolvers<void>();
  app.mount("/inner", async ({ signal }) => {
    signal.addEventListener("abort", () => resolve());
    controller.abort();
    await promise;
    return new Response("aborted");
  });
  const controller = new AbortController();
  const { signal } = controller;
  const response = await visit(app, "/inner", { signal });
  assertEquals(await response.text(), "aborted");
});

Deno.test("`mount()` ends a loop of applications with 508", async () => {
  const [app, other] = [new Engine(), new Engine()];
  app.mount("/", other);
  other.mount("/", app);
  assertEquals((await visit(app, "/x")).status, 508);
});

Deno.test("`mount()` takes a prefix with expressions and escaped text", async () => {
  const prefixes = {
    "/@lang:(?:en|de)": "/de",
    "/@lang:[a-z]*": "/en",
    "/a\\(b\\)": "/a(b)",
  };
  for (const [prefix, path] of Object.entries(prefixes)) {
    const app = new Engine();
    app.mount(prefix, (request) => new Response(new URL(request.url).pathname));
    assertEquals(await (await visit(app, `${path}/x/y`)).text(), "/x/y");
    assertEquals((await visit(app, "/other-1/x")).status, 404);
  }
});

Deno.test("`fetch()` ends a loop of applications with 508", async () => {
  const [app, other] = [new Engine(), new Engine()];
  app.route("/*", async () => await other.fetch("/x"));
  other.route("/x", async () => await app.fetch("/y"));
  assertEquals((await visit(app, "/")).status, 508);
});

Deno.test("`fetch()` in a mapped `error` or a filter of `send` ends in a loop, too", async () => {
  const wait = () => new Promise((resolve) => setTimeout(resolve));
  const app = new Engine();
  app.map("error", async () => {
    await wait();
    return await (await app.fetch("/failing")).text();
  });
  app.route("/failing", () => {
    throw new Error("boom");
  });
  const response = await app.fetch("/failing");
  assertEquals(response.status, 500);
  assertStringIncludes(await response.text(), "508 Loop Detected");
  const other = new Engine();
  other.after("send", async (_params, output) => {
    await wait();
    output.value = await other.fetch("/layout");
  });
  assertEquals((await other.fetch("/")).status, 508);
});

Deno.test("`fetch()` in deferred work is no loop, however often it is done", async () => {
  const app = new Engine();
  const { promise, resolve } = Promise.withResolvers<void>();
  let count = 0;
  app.route("/tick", () => {
    if (++count === 150) return resolve();
    app.defer(async () => void await app.fetch("/tick"));
  });
  assertEquals((await visit(app, "/tick")).status, 200);
  await promise;
});

Deno.test("`mount()` of a group's router stands below the group, behind its middleware", async () => {
  const inner = new Engine();
  inner.get("/x/@id", (id) => `inner ${id}`);
  const app = new Engine();
  app.group("/@tenant", (router) => {
    router.mount("/shop", inner);
  }, [() => app.request().query.in === "1"]);
  const sent = await app.fetch(new Request("http://localhost/a/shop/x/7?in=1"));
  assertEquals(await sent.text(), "inner 7");
  const refused = await app.fetch(new Request("http://localhost/a/shop/x/7"));
  assertEquals(refused.status, 403);
  assertThrows(() => app.router().mount("/(x)", inner), TypeError, "prefix");
  assertThrows(() => new Router().mount("/x", inner), Error, "no application");
  const mount = () =>
    app.group("/a(/@b)", (router) => router.mount("/x", inner));
  assertThrows(
    mount,
    TypeError,
    'the prefix must be a path without optional parts or "*", got the string "/a(/@b)/x"',
  );
  assertEquals((await app.fetch("/a/x/x/7")).status, 404);
});

Deno.test("`mount()` refuses a prefix that names a method, as `group()` does", () => {
  const app = new Engine();
  const mount = () => app.mount("GET /x", () => new Response());
  assertThrows(mount, SyntaxError, 'the path "GET /x" must not name a method');
});

Deno.test("`mount()` is a 501 for a method of which no web request can be made", async () => {
  const app = new Engine();
  app.set("framework.handle_errors", false); // its client is at fault
  app.mount("/inner", () => new Response("mounted"));
  await using server = app.start({ port: 0, signals: false, onListen() {} });
  const { port } = server.addr as Deno.NetAddr;
  const head = "Host: a.test\r\nConnection: close\r\n\r\n";
  await logOf(async () => {
    const sent = await sendRaw(port, `TRACE /inner HTTP/1.1\r\n${head}`);
    assertEquals(sent.status, 501);
  });
});

onEngine(
  "`mount()` takes a prefix whose expression has a slash",
  async (app) => {
    app.mount("/@shop:[^/]+", echo);
    const response = await visit(app, "/books/cart/1");
    assertEquals(await response.text(), "GET /cart/1");
  },
);

Deno.test("`mount()` says that a body which a streamed route has read cannot be handed on", async () => {
  const app = new Engine();
  app.map("error", (error: Error) => error.message);
  app.route("POST /*", async () => {
    await app.request().raw.text();
    return true;
  }).streamed();
  app.mount("/in", echo);
  const response = await visit(app, "/in", { method: "POST", body: "data" });
  assertEquals(
    await response.text(),
    "Cannot hand the request on: its body was read from raw.body before",
  );
});

Deno.test("a request that a handler makes has no client, and its failing stream one line in the log", async () => {
  const [app, engine] = [new Engine(), new Engine()];
  engine.route("/ip", () => engine.request().ip || "none");
  engine.route("/stream", async function* () {
    yield "a";
    await Promise.resolve();
    throw new Error("boom");
  });
  app.route("/@path", (path) => engine.fetch(`/${path}`));
  const lines = await logOf(async () => {
    const server = app.start({ port: 0, signals: false, onListen() {} });
    const { port } = server.addr as Deno.NetAddr;
    const get = async (path: string) =>
      await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
    assertEquals(await get("/ip"), "none");
    await get("/stream").catch(() => {});
    await server.shutdown();
  });
  assertEquals(lines.length, 1, lines.join("\n"));
});
