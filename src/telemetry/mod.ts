/**
 * Names the spans of [Deno's own OpenTelemetry](https://docs.deno.com/runtime/fundamentals/open_telemetry/).
 * With `OTEL_DENO=true`, Deno makes a span of each request, which it names after the method alone. This extension
 * names it after the route (`GET /user/@id`), sets `http.route`, and records the exception of a response with
 * a status of 500 or above. Without `OTEL_DENO` it does nothing and costs nothing.
 *
 * A mounted engine's route stands behind the prefix. Call `telemetry` before `mount()`, so that the exceptions of
 * engines that the application mounts later are recorded, too; not those that the router of a group mounts.
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
import { Engine, Framework, type HttpRequest } from "../../mod.ts";
import {
  checkDeclaring,
  DECLARATION,
  ROUTE_PATTERNS,
} from "../extension_keys.ts";
import { wholePattern } from "../route_patterns.ts";

/**
 * The request of each span in the outermost application that is watched, which alone sets `http.route`: Deno
 * exports an attribute as often as it was set, and OpenTelemetry demands unique keys.
 */
const outermost = new WeakMap<Span, HttpRequest>();

/** The spans that have a name: the filter may be added twice. */
const named = new WeakSet<Span>();

/** The applications that are watched, by what `init()` replaces when it drops their filters. */
const watched = new WeakSet<object>();

/** The error of a request, until it is recorded. */
const errors = new WeakMap<HttpRequest, Error>();

/**
 * Names the spans of an application, and records its exceptions and those of engines that it mounts from now on. Throws
 * `Error` in a request, with which it would end.
 */
export function telemetry(app: Engine | typeof Framework): void {
  checkDeclaring(app, "telemetry");
  if (trace.getTracerProvider() !== Deno.telemetry.tracerProvider) return;
  watched.add(app[DECLARATION]);
  app.before("mount", ([, mounted]) => {
    const isEngine = mounted instanceof Engine;
    if (!isEngine && mounted !== Framework) return;
    const inner = isEngine ? mounted : Framework;
    // A request may mount, too: the filters are the application's.
    if (!watched.has(inner[DECLARATION])) {
      inner.configure(() => telemetry(inner));
    }
  });
  app.before("start", () => {
    const span = trace.getActiveSpan();
    if (span && !outermost.has(span)) outermost.set(span, app.request());
  });
  app.before("error", ([error]) => void errors.set(app.request(), error));
  app.after("send", (_params, { value: { status } }) => {
    const span = trace.getActiveSpan();
    if (span === undefined) return;
    nameSpan(span, app.request());
    if (status >= 500) recordError(span, app.request());
  });
}

/**
 * Names the span of a request after its route, if there is one: where none matched in a mount, after the mount. What a
 * mapped `request` returns in its place knows of none.
 */
function nameSpan(span: Span, request: HttpRequest): void {
  const isOutermost = (outermost.get(span) ?? request) === request;
  if (!isOutermost || named.has(span)) return;
  if (!(ROUTE_PATTERNS in request)) return;
  const patterns = request[ROUTE_PATTERNS].filter((each) => each !== null);
  if (patterns.length === 0) return;
  const pattern = wholePattern(patterns);
  named.add(span);
  span.updateName(`${request.method} ${pattern}`);
  span.setAttribute("http.route", pattern);
}

function recordError(span: Span, request: HttpRequest): void {
  const error = errors.get(request);
  if (error === undefined) return;
  errors.delete(request);
  span.recordException(error);
}
