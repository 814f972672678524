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
  Mapped,
  MaybePromise,
  Original,
  OriginalMethod,
  Registered,
} from "./src/engine.ts";
export type { Filter, Method } from "./src/dispatcher.ts";
export type { Class } from "./src/loader.ts";
export type { Settings } from "./src/settings.ts";
export type { Server, StartOptions } from "./src/server.ts";

// Components
export { HttpRequest } from "./src/request.ts";
export type { Cookies, RequestContext } from "./src/request.ts";
export { Body } from "./src/body.ts";
export type { Data } from "./src/body.ts";
export type { Fields, Nested, NestedRecord } from "./src/fields.ts";
export { UploadedFile } from "./src/upload.ts";
export type { Files } from "./src/upload.ts";
export { HttpResponse } from "./src/response.ts";
export type {
  BodyContent,
  CookieOptions,
  ResponseContext,
} from "./src/response.ts";
export { Router } from "./src/router.ts";
export { Route } from "./src/route.ts";
export { Markup, markup, View } from "./src/view.ts";
export type { ViewContext, ViewVariables } from "./src/view.ts";

// Errors
export { HttpError } from "./src/errors.ts";
export type { HttpErrorOptions } from "./src/errors.ts";
