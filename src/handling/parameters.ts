/**
 * Owns the names of the extensible methods and their parameters: how each is called, in the order
 * in which they are given and in which filters find them.
 */

import type { Middleware } from "../routing/middleware.ts";
import type { Router, UrlParameters } from "../routing/router.ts";

/** The parameters of each extensible method whose callback is not typed by a pattern. */
export interface MethodParameters {
  /** A status to send. */
  stop: [code?: number];
  /** The status, 200 when not given, and the whole body. */
  halt: [code?: number, message?: string];
  /** What stands before every path, what declares the routes, and what guards them all. */
  group: [
    prefix: string,
    callback: (router: Router) => void,
    middleware?: readonly Middleware[],
  ];
  /** The target, and the status, 303 when not given. */
  redirect: [url: string, code?: number];
  /** The template's name, its local variables, and the view variable that keeps the result. */
  render: [file: string, data?: Record<string, unknown>, key?: string];
  /** What was thrown. */
  error: [error: unknown];
  /** None. */
  notFound: [];
  /** The validator without quotes, and its type, strong when not given. */
  etag: [id: string, type?: "string" | "strong" | "weak"];
  /** A UNIX timestamp in seconds. */
  lastModified: [time: number];
  /** The data, the status, whether the data is still to be encoded, the charset, the indentation. */
  json: [
    data: unknown,
    code?: number,
    encode?: boolean,
    charset?: string,
    option?: number,
  ];
  /** The same, with the name of the query parameter that names the function. */
  jsonp: [
    data: unknown,
    param?: string,
    code?: number,
    encode?: boolean,
    charset?: string,
    option?: number,
  ];
  /** The name of a route, and the values of its parameters. */
  getUrl: [alias: string, params?: UrlParameters];
  /** What runs after the response. */
  defer: [work: () => unknown];
}

/** The names of the extensible methods that the framework brings. */
export type Original =
  | keyof MethodParameters
  | "start"
  | "route"
  | "post"
  | "put"
  | "patch"
  | "delete";
