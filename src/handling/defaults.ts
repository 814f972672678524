/** Owns the tables of what an application declares first, by the same ways as its author. */

import type { Application, Defaults } from "../application/application.ts";
import type { Component } from "../application/registered_class.ts";
import type { ComponentName } from "../application/names.ts";
import { basePath } from "../paths.ts";
import type { Method } from "../routing/callback.ts";
import { HttpRequest } from "../application/request.ts";
import { Reply } from "../response/reply.ts";
import { HttpResponse } from "../response/response.ts";
import type { UrlParameters } from "../routing/pattern.ts";
import { Router } from "../routing/router.ts";
import type { UrlQuery } from "../routing/pattern.ts";
import { Store } from "../state/layer.ts";
import { View } from "../view/view.ts";
import { etag, lastModified } from "./caching.ts";
import { defer } from "./unfinished.ts";
import { start } from "./dispatch.ts";
import { sendFile } from "./file.ts";
import { json, jsonp } from "./json.ts";
import { mountingOf } from "./mount.ts";
import { error, halt, notFound, pageRule } from "./pages.ts";
import { placeRule, render } from "./render.ts";
import { endingRule, redirect, sealingRule, stop } from "./respond.ts";

export const defaults: Defaults = {
  components,
  ofRequest: {
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
    defer,
  },
  ofApplication: {
    route: onRouter("route"),
    group: onRouter("group"),
    post: onRouter("post"),
    put: onRouter("put"),
    patch: onRouter("patch"),
    delete: onRouter("delete"),
    mount: onRouter("mount"),
    getUrl,
    send: (_app, response) => response,
  },
  rules: {
    stop: endingRule,
    halt: endingRule,
    redirect: sealingRule,
    json: sealingRule,
    jsonp: sealingRule,
    render: placeRule,
    error: pageRule,
    notFound: pageRule,
  },
};

function components(app: Application): Record<ComponentName, Component> {
  const variables = new Store<unknown>(app);
  return {
    request: {
      type: HttpRequest,
      params: ({ exchange }) => [exchange],
      scope: "request",
    },
    response: {
      type: HttpResponse,
      params: (context, isNew) => {
        if (isNew) return [new Reply()];
        const { exchange, reply, section } = context;
        const of = {
          isSecure: () => exchange.http.secure,
          sendFile: (path: string) =>
            context.track("file", sendFile(context, path)),
        };
        return [reply, of, section];
      },
      scope: "context",
    },
    router: { type: Router, params: () => [app, mountingOf(app)] },
    view: { type: View, params: () => [variables, app] },
  };
}

/** The URL of a route: the base, and the path of the route below it. */
function getUrl(
  app: Application,
  alias: string,
  params?: UrlParameters,
  query?: UrlQuery,
): string {
  const base = app.context()?.exchange.base ??
    basePath(app.settings["framework.base_url"]);
  return base + app.router().getUrl(alias, params, query);
}

/** The router's method of the same name. */
function onRouter(
  name: "route" | "group" | "post" | "put" | "patch" | "delete" | "mount",
): (app: Application, ...params: unknown[]) => unknown {
  return (app, ...params) => {
    const router: Record<typeof name, Method> = app.router();
    return router[name](...params);
  };
}
