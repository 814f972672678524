/** Tests `telemetry` on a process with OpenTelemetry, whose spans go to a collector of the test's own. */

import { Engine } from "@framework/core";
import { telemetry } from "@framework/core/telemetry";
import { assertEquals, assertNotEquals } from "@std/assert";
import { Collector } from "./collector.ts";
import { visit } from "./forms.ts";
import { ServerProcess } from "./server_child.ts";

const SOURCE = `
  import { Engine, Framework, HttpError } from "@framework/core";
  import { telemetry } from "@framework/core/telemetry";
  import { trace } from "npm:@opentelemetry/api@^1.9.0";

  const shop = new Engine();
  telemetry(shop); // a second time by "mount"
  shop.route("/", () => "shop");
  shop.route("/user/@id", (id) => id);
  shop.route("/broken", () => { throw new Error("in the shop"); });

  const inner = new Engine();
  inner.route("/deep/@id", (id) => id);

  telemetry(Framework);
  telemetry(Framework.app());
  Framework.route("GET /user/@id:[0-9]+", (id) => id);
  Framework.route("/passed/@id", () => true);
  Framework.route("/broken", () => { throw new Error("hidden"); });
  Framework.route("/later", () => { throw new HttpError(503, "Later"); });
  Framework.route("/refused", () => { throw new HttpError(403, "No"); });
  Framework.route("/mapped", () => { throw new TypeError("of mine"); });
  Framework.before("error", ([error]) => {
    if (error instanceof TypeError) Framework.halt(404);
  });
  Framework.route("/client", async () => {
    const origin = new URL(Framework.request().raw.url).origin;
    return await (await fetch(origin + "/user/7")).text();
  });
  Framework.route("/query", async () => {
    await new Promise((resolve) => setTimeout(resolve));
    const tracer = trace.getTracer("database");
    await tracer.startActiveSpan("SELECT", async (span) => {
      await Promise.resolve();
      span.end();
    });
    Framework.defer(() => tracer.startSpan("DEFERRED").end());
    return "rows";
  });
  const other = new Engine();
  telemetry(other);
  other.route("/x", () => "x");
  Framework.route("/files/*", async () => await (await other.fetch("/x")).text());
  const rest = new Engine();
  rest.route("/rest", () => "rest");
  rest.route("/", () => "rest");
  const site = new Engine();
  telemetry(site);
  site.mount("/", rest);
  const all = new Engine();
  all.route("*", () => "all");
  shop.mount("/inner", inner);
  Framework.group("/at", () => Framework.mount("/shop", shop));
  Framework.mount("/plain", () => new Response("plain"));
  const shared = new Engine();
  shared.route("/@id", (id) => id);
  Framework.route("/late/*", () => {
    Framework.mount("/late", shared);
    return true;
  });
  Framework.mount("/all", all);
  Framework.mount("/site", site);
  Framework.start({ port: 0 });
`;

const MAPPED = `
  import { Engine } from "@framework/core";
  import { telemetry } from "@framework/core/telemetry";

  const app = new Engine();
  const request = { method: "GET" };
  app.map("request", () => request);
  telemetry(app);
  app.route("/", () => "text");
  app.start({ port: 0 });
`;

/** A process with the application, and the collector of its spans. */
class Watched implements AsyncDisposable {
  private constructor(
    readonly collector: Collector,
    readonly process: ServerProcess,
  ) {}

  static async start(source = SOURCE): Promise<Watched> {
    const collector = new Collector();
    const { env } = collector;
    return new Watched(collector, await ServerProcess.start(source, { env }));
  }

  /** Requests a path, and returns the status of the response. */
  async get(path: string, method = "GET"): Promise<number> {
    const url = `http://127.0.0.1:${await this.process.port()}${path}`;
    const response = await fetch(url, { method });
    await response.body?.cancel();
    return response.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process[Symbol.asyncDispose]();
    await this.collector[Symbol.asyncDispose]();
  }
}

/** Paths, and the route that the span of each names. */
const ROUTES: Readonly<Record<string, string>> = {
  "/user/1": "/user/@id:[0-9]+",
  "/broken": "/broken",
  "/at/shop/user/2": "/at/shop/user/@id",
  "/at/shop": "/at/shop",
  "/at/shop/": "/at/shop",
  "/at/shop/missing": "/at/shop/*",
  "/at/shop/inner/deep/3": "/at/shop/inner/deep/@id",
  "/plain/page": "/plain/*",
  "/late/5": "/late/@id",
  "/files/a": "/files/*",
  "/all/of/it": "/all/*",
  "/site": "/site",
  "/site/rest": "/site/rest",
};

Deno.test("`telemetry()` names the span of a request after its route, that of the innermost application", async () => {
  await using watched = await Watched.start();
  for (const path of Object.keys(ROUTES)) {
    const status = await watched.get(path);
    assertEquals([200, 404, 500].includes(status), true, path);
    assertEquals(status === 500, path === "/broken", path);
  }
  for (const [path, route] of Object.entries(ROUTES)) {
    const { name, attributes } = await watched.collector.spanOf(path);
    assertEquals([name, attributes["http.route"]], [`GET ${route}`, route]);
  }
});

Deno.test("`telemetry()` names no span after a route when none matched, or all have passed", async () => {
  await using watched = await Watched.start();
  for (const path of ["/missing", "/passed/1"]) {
    assertEquals(await watched.get(path), 404);
    const { name, attributes } = await watched.collector.spanOf(path);
    assertEquals([name, attributes["http.route"]], ["GET", undefined]);
  }
});

Deno.test("`telemetry()` names no span after a route where a mapped `request` returns something else", async () => {
  await using watched = await Watched.start(MAPPED);
  assertEquals(await watched.get("/"), 200);
  const { name, attributes } = await watched.collector.spanOf("/");
  assertEquals([name, attributes["http.route"]], ["GET", undefined]);
});

/** Paths, and what is recorded of each: the status of the response, the exceptions, whether the span failed. */
const FAILURES: Readonly<Record<string, [number, string[], boolean]>> = {
  "/broken": [500, ["hidden"], true],
  "/later": [503, ["Later"], true],
  "/at/shop/broken": [500, ["in the shop"], true],
  "/refused": [403, [], false],
  "/mapped": [404, [], false],
  "/user/1": [200, [], false],
};

Deno.test("`telemetry()` records the exception of a response of 500 and above, once", async () => {
  await using watched = await Watched.start();
  for (
    const [path, [status, exceptions, isError]] of Object.entries(FAILURES)
  ) {
    assertEquals(await watched.get(path), status);
    const span = await watched.collector.spanOf(path);
    assertEquals([span.exceptions, span.isError], [exceptions, isError], path);
  }
});

Deno.test("the span of a `fetch()` in a handler is a child of that of the request", async () => {
  await using watched = await Watched.start();
  await watched.get("/client");
  const { id, name } = await watched.collector.spanOf("/client");
  assertEquals(name, "GET /client");
  const server = await watched.collector.spanOf("/user/7");
  const client = watched.collector.spans.find(({ parent }) => parent === id)!;
  assertEquals([client.name, server.name], ["GET", "GET /user/@id:[0-9]+"]);
  assertNotEquals(server.id, client.id);
  assertEquals(server.parent, client.id);
});

Deno.test("spans of a handler and of deferred work are children of that of the request", async () => {
  await using watched = await Watched.start();
  await watched.get("/query");
  const { id, name } = await watched.collector.spanOf("/query");
  assertEquals(name, "GET /query");
  for (const child of ["SELECT", "DEFERRED"]) {
    assertEquals((await watched.collector.spanNamed(child)).parent, id);
  }
});

Deno.test("`telemetry()` changes nothing without OpenTelemetry", async () => {
  const app = new Engine();
  telemetry(app);
  app.route("/elapsed", () => `${app.request().elapsed}`);
  const text = await (await visit(app, "/elapsed")).text();
  assertEquals(text, "undefined"); // it is taken where `send` is filtered
});
