/**
 * A micro web framework for Deno: write it like a classic share-nothing script; on a concurrent
 * server it cannot leak between requests, cannot half-send, cannot be spelled around, and the
 * compiler knows your routes.
 *
 * @module
 */

// The two forms of an application
export { Framework } from "./src/framework.ts";
export { Engine } from "./src/engine.ts";
export type {
  ConnectionInfo,
  MaybePromise,
  OriginalMethod,
} from "./src/engine.ts";
export type { MethodParameters, Original } from "./src/parameters.ts";
export type { CallbackForm } from "./src/callback.ts";
export type { Filter, Mapped, Method } from "./src/dispatcher.ts";
export type { Class, InstanceOf, Registered } from "./src/loader.ts";
export type { Settings } from "./src/settings.ts";
export type { Server, StartOptions } from "./src/server.ts";

// Routing
export { Router } from "./src/router.ts";
export type { NearRoute, UrlParameters, VerbParameters } from "./src/router.ts";
export { Route } from "./src/route.ts";
export type { RouteCallback } from "./src/route.ts";
export type { RouteArguments, Taking } from "./src/arguments.ts";
export type { Guard, Middleware, RouteParameters } from "./src/middleware.ts";
export type { ResourceAction, ResourceOptions } from "./src/resource.ts";

// Requests and responses
export { HttpRequest } from "./src/request.ts";
export type { Cookies } from "./src/request.ts";
export type { Data } from "./src/body.ts";
export type { Fields, Nested, NestedRecord } from "./src/fields.ts";
export { UploadedFile } from "./src/upload.ts";
export type { Files } from "./src/upload.ts";
export { HttpResponse } from "./src/response.ts";
export type { BodyContent, CookieOptions } from "./src/response.ts";

// Views
export { Markup, markup, View } from "./src/view.ts";

// Errors
export { HttpError } from "./src/errors.ts";
export type { HttpErrorOptions } from "./src/errors.ts";
