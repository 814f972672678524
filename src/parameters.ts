/**
 * Owns the names of the extensible methods and their parameters: how each is called, in the order in which they are
 * given and in which filters find them.
 */

import type { Middleware } from "./middleware.ts";
import type { Router, UrlParameters } from "./router.ts";

/** The parameters of each extensible method whose callback is not typed by a pattern. */
export interface MethodParameters {
  stop: [code?: number];
  halt: [code?: number, message?: string];
  group: [
    prefix: string,
    callback: (router: Router) => void,
    middleware?: readonly Middleware[],
  ];
  redirect: [url: string, code?: number];
  render: [file: string, data?: Record<string, unknown>, key?: string];
  error: [error: unknown];
  notFound: [];
  etag: [id: string, type?: "string" | "strong" | "weak"];
  lastModified: [time: number];
  json: [
    data: unknown,
    code?: number,
    encode?: boolean,
    charset?: string,
    option?: number,
  ];
  jsonp: [
    data: unknown,
    param?: string,
    code?: number,
    encode?: boolean,
    charset?: string,
    option?: number,
  ];
  getUrl: [alias: string, params?: UrlParameters];
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
