/**
 * A Deno-first TypeScript micro web framework for writing sites and APIs as short, plain functions, with no context
 * object to pass around. Every request keeps its own state, however many run at once, and the compiler types each
 * callback from its route.
 *
 * {@linkcode Framework} is the application of a program, used through static methods. An {@linkcode Engine} is an
 * application as an object, with the same methods.
 *
 * Guides, in order: [tutorial](./docs/tutorial.md), [routing](./docs/routing.md), [requests](./docs/requests.md),
 * [responses](./docs/responses.md), [views](./docs/views.md), [sessions](./docs/sessions.md),
 * [databases](./docs/databases.md), [errors](./docs/errors.md), [extending](./docs/extending.md),
 * [testing](./docs/testing.md), [in production](./docs/in_production.md), [reference](./docs/reference.md).
 *
 * @example
 * ```ts
 * import { Framework, html } from "@framework/core";
 * import { assertEquals } from "@std/assert";
 *
 * Framework.route("/hello/@name(/@greeting)", (name, greeting) => {
 *   // The compiler knows: name is a string, greeting a string or null.
 *   return html`<p>${greeting ?? "Hello"}, ${name}!</p>`;
 * });
 *
 * // Framework.start() serves it; a test needs no server.
 * const response = await Framework.fetch("/hello/Ada");
 * assertEquals(await response.text(), "<p>Hello, Ada!</p>");
 * ```
 *
 * @module
 */

// The two forms of an application
export { Framework } from "./src/framework.ts";
export { Engine } from "./src/engine.ts";
export type { MethodParameters, OriginalMethod } from "./src/engine.ts";
export type { Original } from "./src/application/names.ts";
export type { Mountable } from "./src/routing/router.ts";
export type { ConnectionInfo, Fetch } from "./src/http.ts";
export type { MaybePromise } from "./src/waiting.ts";
export type { CallbackForm, Class, Method } from "./src/routing/callback.ts";
export type { Filter, Mapped } from "./src/application/mapped_method.ts";
export type {
  InstanceOf,
  Registered,
} from "./src/application/registered_class.ts";
export type {
  Settings,
  Variables,
  VariableValue,
} from "./src/application/settings.ts";
export type { StartOptions } from "./src/server/listen.ts";
export type { Server } from "./src/server/server.ts";

// Routing
export { Router } from "./src/routing/router.ts";
export type { UrlParameters } from "./src/routing/pattern.ts";
export type { UrlQuery } from "./src/routing/pattern.ts";
export { Route } from "./src/routing/route.ts";
export type { DeclareRoute, RouteCallback } from "./src/routing/route.ts";
export type {
  JsonData,
  RouteArguments,
  RouteResult,
  Taking,
} from "./src/routing/callback.ts";
export type {
  Middleware,
  MiddlewareHooks,
  MiddlewareResult,
  RouteParameters,
} from "./src/routing/middleware.ts";
export type {
  Controller,
  ResourceAction,
  ResourceOptions,
} from "./src/routing/router.ts";

// Requests and responses
export { HttpRequest } from "./src/application/request.ts";
export type { Cookies } from "./src/request/headers.ts";
export type {
  Data,
  Fields,
  Files,
  Nested,
  NestedRecord,
} from "./src/request/fields.ts";
export { ValidationError } from "./src/request/schema.ts";
export type {
  Schema,
  SchemaIssue,
  SchemaOutput,
  SchemaResult,
  ValidationIssue,
} from "./src/request/schema.ts";
export type { ValidationSource } from "./src/application/request.ts";
export { UploadedFile } from "./src/request/upload.ts";
export { HttpResponse } from "./src/response/response.ts";
export type { ServerSentEvent } from "./src/response/events.ts";
export type { CookieOptions } from "./src/response/header.ts";
export type { BodyContent } from "./src/response/stream.ts";

// Views
export { View } from "./src/view/view.ts";
export { html, Markup, markup } from "./src/html.ts";

// Errors
export { HttpError } from "./src/errors.ts";
export type { HttpErrorOptions } from "./src/errors.ts";
