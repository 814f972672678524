/** Tests `telemetry` on a process with OpenTelemetry, whose spans go to a collector of the test's own. */

import { assertEquals } from "@std/assert";
import { Collector } from "../support/collector.ts";
import { ServerProcess } from "../support/server_child.ts";

const SOURCE = `
  import { Engine, Framework, HttpError } from "@framework/core";
  import { telemetry } from "@framework/core/telemetry";
  import { trace } from "npm:@opentelemetry/api@^1.9.0";

  const shop = new Engine();
  telemetry(shop);
  shop.route("/user/@id", (id) => id);

  telemetry(Framework);
  Framework.route("GET /user/@id:[0-9]+", (id) => id);
  Framework.route("/passed/@id", () => true);
  Framework.route("/broken", () => { throw new Error("hidden"); });
  Framework.route("/later", () => { throw new HttpError(503, "Later"); });
  Framework.route("/refused", () => { throw new HttpError(403, "No"); });
  Framework.route("/query", async () => {
    await Promise.resolve();
    const tracer = trace.getTracer("database");
    await tracer.startActiveSpan("SELECT", async (span) => {
      await Promise.resolve();
      span.end();
    });
    Framework.defer(() => tracer.startSpan("DEFERRED").end());
    return "rows";
  });
  Framework.mount("/shop", shop);
  Framework.mount("/plain", () => new Response("plain"));
  Framework.start({ port: 0 });
`;

/** Declares a test with the application in a process, and the collector of its spans. */
function watchTest(
  name: string,
  test: (
    get: (path: string) => Promise<number>,
    collector: Collector,
  ) => Promise<void>,
): void {
  Deno.test(name, async () => {
    await using collector = new Collector();
    const { env } = collector;
    await using process = await ServerProcess.start(SOURCE, { env });
    const origin = `http://127.0.0.1:${await process.port()}`;
    await test(async (path) => {
      const response = await fetch(origin + path);
      await response.body?.cancel();
      return response.status;
    }, collector);
  });
}

/** Paths, and the route that the span of each names; undefined when none matched, or all have passed. */
const ROUTES: Readonly<Record<string, string | undefined>> = {
  "/user/1": "/user/@id:[0-9]+",
  "/broken": "/broken",
  "/shop/user/2": "/shop/user/@id",
  "/plain/page": "/plain/*",
  "/missing": undefined,
  "/passed/1": undefined,
};

watchTest(
  "`telemetry()` names the span of a request after its route",
  async (get, collector) => {
    for (const path of Object.keys(ROUTES)) await get(path);
    for (const [path, route] of Object.entries(ROUTES)) {
      const { name, attributes } = await collector.spanOf(path);
      const expected = route === undefined ? "GET" : `GET ${route}`;
      assertEquals([name, attributes["http.route"]], [expected, route]);
    }
  },
);

/** Paths, and what is recorded of each: the status of the response, the exceptions, whether the span failed. */
const FAILURES: Readonly<Record<string, [number, string[], boolean]>> = {
  "/broken": [500, ["hidden"], true],
  "/later": [503, ["Later"], true],
  "/refused": [403, [], false],
  "/user/1": [200, [], false],
};

watchTest(
  "`telemetry()` records the exception of a response of 500 and above",
  async (get, collector) => {
    for (const [path, [status, ...recorded]] of Object.entries(FAILURES)) {
      assertEquals(await get(path), status);
      const { exceptions, isError } = await collector.spanOf(path);
      assertEquals([exceptions, isError], recorded, path);
    }
  },
);

watchTest(
  "spans of a handler and of deferred work are children of that of the request",
  async (get, collector) => {
    await get("/query");
    const { id } = await collector.spanOf("/query");
    for (const child of ["SELECT", "DEFERRED"]) {
      assertEquals((await collector.spanNamed(child)).parent, id);
    }
  },
);
