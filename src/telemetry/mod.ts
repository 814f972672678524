/**
 * Names the spans of [Deno's own OpenTelemetry](https://docs.deno.com/runtime/fundamentals/open_telemetry/).
 * With `OTEL_DENO=true`, Deno makes a span of each request, which it names after the method alone. This extension
 * names it after the route (`GET /user/@id`), sets `http.route`, and records the exception of a response with
 * a status of 500 or above. Without `OTEL_DENO` it does nothing and costs nothing.
 *
 * Call it once for an application. A mounted application is another one: call it for that, too, and spans are named
 * after its routes, with the mount in front, and its exceptions are recorded. Otherwise they are named after the mount.
 *
 * Guide: [docs/in_production.md](./docs/in_production.md)
 *
 * @example
 * ```ts
 * import { Engine } from "@framework/core";
 * import { telemetry } from "@framework/core/telemetry";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new Engine();
 * telemetry(app);
 * app.route("/user/@id", (id) => `User ${id}`);
 *
 * // OTEL_DENO=true deno run --allow-net main.ts
 * const response = await app.fetch("/user/1");
 * assertEquals(await response.text(), "User 1");
 * ```
 *
 * @module
 */

import { type Span, trace } from "npm:@opentelemetry/api@^1.9.0";
import type { Engine, Framework, HttpRequest } from "../../mod.ts";

/** The spans that have a name: Deno exports an attribute as often as it was set, and keys must be unique. */
const named = new WeakSet<Span>();

/** Names the spans of an application, and records its exceptions. */
export function telemetry(app: Engine | typeof Framework): void {
  if (trace.getTracerProvider() !== Deno.telemetry.tracerProvider) return;
  const errors = new WeakMap<HttpRequest, Error>();
  app.before("error", ([error]) => void errors.set(app.request(), error));
  app.after("send", (_params, { value: { status } }) => {
    const span = trace.getActiveSpan();
    if (span === undefined) return;
    const request = app.request();
    nameSpan(span, request);
    const error = errors.get(request);
    if (status >= 500 && error !== undefined) span.recordException(error);
  });
}

/** Names the span of a request after its route, if there is one. */
function nameSpan(span: Span, { base, method, route }: HttpRequest): void {
  if (route === null || named.has(span)) return;
  named.add(span);
  const path = (base === "/" ? "" : base) + route.pattern;
  span.updateName(`${method} ${path}`);
  span.setAttribute("http.route", path);
}
