/**
 * Owns the components that the framework brings: the class of each, what its constructor gets, and how
 * long an instance lives. They are registered by the same door as a user's class.
 */

import type { Class } from "../callback.ts";
import { HttpRequest, type RequestContext } from "../request/request.ts";
import { HttpResponse, type ResponseContext } from "../response/response.ts";
import type { Outcome } from "../response/outgoing.ts";
import { Router } from "../routing/router.ts";
import { RouteTable } from "../routing/table.ts";
import { Layered, Store } from "../state/layers.ts";
import { View, type ViewContext } from "../view/view.ts";
import type { Scope } from "../state/scope.ts";
import type { Application } from "./application.ts";
import type { Registration } from "./registry.ts";

/** A component: how instances of its default class are made. */
export interface Component extends Registration {
  readonly type: Class;
}

/** The components of an application. */
export function components(app: Application): Record<string, Component> {
  const routes = new Layered(() => new RouteTable(), app.owner);
  return {
    request: {
      type: HttpRequest,
      params: () => requestParams(app),
      slot: "httpRequest",
    },
    response: {
      type: HttpResponse,
      params: [responseContext(app)],
      slot: "httpResponse",
      opened: takeOutcome,
    },
    router: { type: Router, params: [routes, app.autoload] },
    view: { type: View, params: [viewContext(app)] },
  };
}

/** Gives a response what was kept for it. */
export function takeOutcome(response: object, scope: Scope): void {
  const { sealedBy } = scope;
  const outcome = scope.outcome as Outcome | undefined;
  scope.outcome = scope.sealedBy = undefined;
  if (outcome === undefined || !(response instanceof HttpResponse)) return;
  if (sealedBy === undefined) response.write(outcome.text!);
  else response.respond(sealedBy, outcome);
}

function requestParams(app: Application): [Request, RequestContext] {
  const scope = app.scope("request()");
  const { request, target } = scope;
  scope.remember();
  return [request, {
    path: target.path,
    search: target.search,
    base: app.base(scope),
    remote: scope.remote,
    trustProxy: app.setting("framework.trust_proxy", scope),
    methodOverride: app.setting("framework.method_override", scope),
    body: scope.root.body,
    hold: () => scope.hold(),
    began: scope.root.began,
  }];
}

/** What a response asks its application. */
export function responseContext(app: Application): ResponseContext {
  return {
    secure: () => app.request().secure,
    debug: () => app.setting("framework.debug"),
    coalesce: () =>
      app.scope("response()").info !== undefined &&
      app.setting("framework.coalesce"),
    hold: (abort) => app.background.hold(app.scope("response()"), abort),
  };
}

function viewContext(app: Application): ViewContext {
  return {
    variables: new Store(app.owner),
    path: () => app.setting("framework.views.path"),
    extension: () => app.setting("framework.views.extension"),
    debug: () => app.setting("framework.debug"),
  };
}
