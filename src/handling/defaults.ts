/**
 * Owns the table of what the extensible methods do by default. The application maps each of them as it maps
 * a user's method, so each can be replaced and filtered by its name.
 */

import type {
  Application,
  DefaultMethod,
  Defaults,
} from "../application/application.ts";
import type { Method } from "../callback.ts";
import { etag, lastModified } from "./caching.ts";
import { components } from "./components.ts";
import { defer } from "./deferred.ts";
import { error, notFound, onPage } from "./pages.ts";
import { render, renderInPlace } from "./render.ts";
import { json, jsonp } from "./json.ts";
import { ending, sealing } from "./mapped_response.ts";
import { halt, redirect, stop } from "./respond.ts";
import { start, startBehindFilters } from "./dispatch.ts";
import type { UrlParameters } from "../routing/pattern.ts";
import type { UrlQuery } from "../routing/url_query.ts";

export const defaults: Defaults = {
  components,
  methods: {
    start,
    stop,
    halt,
    redirect,
    render,
    error,
    notFound,
    etag,
    lastModified,
    json,
    jsonp,
    getUrl,
    route: onRouter("route"),
    group: onRouter("group"),
    post: onRouter("post"),
    put: onRouter("put"),
    patch: onRouter("patch"),
    delete: onRouter("delete"),
    mount: onRouter("mount"),
    defer,
    send: (_app, response) => response,
  },
  wrappers: {
    start: startBehindFilters,
    stop: ending("stop"),
    halt: ending("halt"),
    redirect: sealing("redirect"),
    render: renderInPlace,
    error: onPage("error"),
    notFound: onPage("notFound"),
    // These two end a request whose client has the content already: no guard refuses one by them.
    etag: undefined,
    lastModified: undefined,
    json: sealing("json"),
    jsonp: sealing("jsonp"),
    getUrl: undefined,
    route: undefined,
    group: undefined,
    post: undefined,
    put: undefined,
    patch: undefined,
    delete: undefined,
    mount: undefined,
    defer: undefined,
    send: undefined, // `handling/send.ts` runs it
  },
};

/** The URL of a route: the base, and the path of the route below it. */
function getUrl(
  app: Application,
  alias: string,
  params?: UrlParameters,
  query?: UrlQuery,
): string {
  const base = app.context()?.exchange.base ?? app.plan.strippedBase;
  return base + app.router().getUrl(alias, params, query);
}

/** The router's method of the same name. The router that a group passes is called past this, and past its filters. */
function onRouter(
  name: "route" | "group" | "post" | "put" | "patch" | "delete" | "mount",
): DefaultMethod {
  return (app, ...params) => {
    const router: Record<typeof name, Method> = app.router();
    return router[name](...params);
  };
}
