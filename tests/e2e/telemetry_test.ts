/** Tests `telemetry` on a process with OpenTelemetry, whose spans go to a collector of the test's own. */

import { assertEquals } from "@std/assert";
import { ServerProcess } from "../support/server_child.ts";

const SOURCE = `
  import { Engine, Framework, HttpError } from "@framework/core";
  import { telemetry } from "@framework/core/telemetry";

  const shop = new Engine();
  telemetry(shop);
  shop.route("/user/@id", (id) => id);

  telemetry(Framework);
  Framework.route("GET /user/@id:[0-9]+", (id) => id);
  Framework.route("/passed/@id", () => true);
  Framework.route("/broken", () => { throw new Error("hidden"); });
  Framework.route("/later", () => { throw new HttpError(503, "Later"); });
  Framework.route("/refused", () => { throw new HttpError(403, "No"); });
  Framework.mount("/shop", shop);
  Framework.mount("/plain", () => new Response("plain"));
  Framework.start({ port: 0 });
`;

// deno-lint-ignore no-explicit-any -- as OTLP has it
type Span = any;

/** An OpenTelemetry collector, which takes spans by OTLP over HTTP, in JSON. */
class Collector implements AsyncDisposable {
  readonly #spans: Span[] = [];
  readonly #server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => this.#collect(request),
  );
  #changed = Promise.withResolvers<void>();

  /** The environment of a process whose spans come here. */
  get env(): Record<string, string> {
    return {
      OTEL_DENO: "true",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${this.#server.addr.port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "50",
    };
  }

  /** Waits for the first span of a request for a path. */
  async span(path: string): Promise<Span> {
    for (;;) {
      const found = this.#spans.find((span) =>
        valueOf(span, "url.path") === path
      );
      if (found !== undefined) return found;
      await this.#changed.promise;
    }
  }

  async #collect(request: Request): Promise<Response> {
    const { resourceSpans = [] } = await request.json();
    for (const { scopeSpans } of resourceSpans) {
      for (const { spans } of scopeSpans) this.#spans.push(...spans);
    }
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
    return Response.json({});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

/** The value of an attribute; one that was sent twice, against the rule of OTLP, has both. */
function valueOf(owner: Span, wanted: string): string | undefined {
  const values = owner.attributes.filter(({ key }: Span) => key === wanted)
    .map(({ value }: Span) => value.stringValue);
  return values.length === 0 ? undefined : values.join();
}

/** Paths, the status of each, and what its span names and records; no route where none matched, or all have passed. */
const SPANS: readonly [
  path: string,
  status: number,
  route?: string,
  exception?: string,
][] = [
  ["/user/1", 200, "/user/@id:[0-9]+"],
  ["/shop/user/2", 200, "/shop/user/@id"],
  ["/plain/page", 200, "/plain/*"],
  ["/missing", 404],
  ["/passed/1", 404],
  ["/broken", 500, "/broken", "hidden"],
  ["/later", 503, "/later", "Later"],
  ["/refused", 403, "/refused"],
];

Deno.test("`telemetry()` names the span of a request after its route, and records the exception of a response of 500 and above", async () => {
  await using collector = new Collector();
  const { env } = collector;
  await using process = await ServerProcess.start(SOURCE, { env });
  const origin = `http://127.0.0.1:${await process.port()}`;
  for (const [path, status, route, exception] of SPANS) {
    const response = await fetch(origin + path);
    await response.body?.cancel();
    assertEquals(response.status, status, path);
    const span = await collector.span(path);
    const name = route === undefined ? "GET" : `GET ${route}`;
    assertEquals([span.name, valueOf(span, "http.route")], [name, route]);
    const recorded = span.events.filter(({ name }: Span) =>
      name === "exception"
    )
      .map((event: Span) => valueOf(event, "exception.message"));
    assertEquals(recorded, exception === undefined ? [] : [exception], path);
  }
});
