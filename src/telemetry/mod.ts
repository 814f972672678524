/**
 * Names the spans of [Deno's own OpenTelemetry](https://docs.deno.com/runtime/fundamentals/open_telemetry/).
 * With `OTEL_DENO=true`, Deno makes a span of each request, which it names after the method alone. This extension
 * names it after the route (`GET /user/@id`), sets `http.route`, and records the exception of a response with
 * a status of 500 or above. Without `OTEL_DENO` it does nothing and costs nothing.
 *
 * Call it before `mount()`: engines that are mounted later are watched too, with the prefix in front of their
 * routes.
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

type App = Engine | typeof Framework;

/** What one application has matched, of several that are mounted in each other. */
interface Matched {
  readonly engine: Engine;
  readonly path: string;
  readonly pattern: string;
}

/** What the applications of a span have matched, the innermost first: each puts its prefix in front. */
const matches = new WeakMap<Span, Matched>();

/**
 * The request of each span in the outermost application that is watched, which sets `http.route` last: Deno
 * exports an attribute as often as it was set, and OpenTelemetry demands unique keys.
 */
const outermost = new WeakMap<Span, HttpRequest>();

/** The error of a request, until it is recorded. */
const errors = new WeakMap<HttpRequest, Error>();

/** Names the spans of an application, and of the engines that it mounts from now on. */
export function telemetry(app: Engine | typeof Framework): void {
  if (trace.getTracerProvider() !== Deno.telemetry.tracerProvider) return;
  app.before("mount", ([, mounted]) => {
    if (mounted === Framework) telemetry(Framework);
    if (mounted instanceof Engine) telemetry(mounted);
  });
  app.before("start", () => {
    const span = trace.getActiveSpan();
    if (span && !outermost.has(span)) outermost.set(span, app.request());
  });
  app.before("error", ([error]) => void errors.set(app.request(), error));
  app.after("send", (_params, { value: { status } }) => {
    const span = trace.getActiveSpan();
    if (span === undefined) return;
    nameSpan(span, app);
    if (status >= 500) recordError(span, app.request());
  });
}

/** Names the span of a request after its route, if there is one. */
function nameSpan(span: Span, app: App): void {
  const request = app.request();
  const { method, route, url } = request;
  const [path = ""] = url.split("?", 1);
  const inner = matches.get(span);
  const engine = app.app();
  const isNamed = inner?.engine === engine && inner.path === path; // the filter was added twice
  if (route === null || isNamed) return;
  const pattern = withInner(route.pattern, path, inner);
  matches.set(span, { engine, path, pattern });
  span.updateName(`${method} ${pattern}`);
  const isOutermost = (outermost.get(span) ?? request) === request;
  if (isOutermost) span.setAttribute("http.route", pattern);
}

/** The pattern of a route; that of a mount with the pattern of the application there in place of `/*`. */
function withInner(
  pattern: string,
  path: string,
  inner: Matched | undefined,
): string {
  const isMount = inner !== undefined && pattern.endsWith("/*") &&
    (inner.path === "/" || path.endsWith(inner.path));
  if (!isMount) return pattern;
  const prefix = pattern.slice(0, -"/*".length);
  if (inner.pattern === "/") return prefix || "/";
  return prefix + (inner.pattern === "*" ? "/*" : inner.pattern);
}

function recordError(span: Span, request: HttpRequest): void {
  const error = errors.get(request);
  if (error === undefined) return;
  errors.delete(request);
  span.recordException(error);
}
