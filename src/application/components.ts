/**
 * Owns the components that the framework brings: the class of each, what its constructor is given, and
 * how long an instance lives. They are registered through the same door as a user's class.
 */

import type { Application } from "./application.ts";
import type { BackgroundWork } from "../state/background.ts";
import type { Class, Classes } from "../callback.ts";
import { Layered, Store } from "../state/layers.ts";
import type { Registration } from "./loader.ts";
import { HttpRequest, type RequestContext } from "../request/request.ts";
import { HttpResponse, type ResponseContext } from "../response/response.ts";
import { Router, RouteTable } from "../routing/router.ts";
import { View, type ViewContext } from "../view/view.ts";

/** A component: how instances of its default class are made. */
export interface Component extends Registration {
  readonly type: Class;
}

/** The components of an application. */
export function defaultComponents(
  app: Application,
  owner: object,
  work: BackgroundWork,
  classes: Classes,
): Record<string, Component> {
  const response = responseContext(app, work);
  return {
    request: {
      type: HttpRequest,
      params: () => requestParams(app),
      lifetime: "each request",
    },
    response: {
      type: HttpResponse,
      params: [response],
      lifetime: "each request",
    },
    router: {
      type: Router,
      params: [new Layered(owner, () => new RouteTable()), classes],
    },
    view: { type: View, params: [viewContext(app, new Store(owner))] },
  };
}

/** The component's own parameters, for its default class and those that extend it and are given none. */
export function paramsOf(
  component: Component | undefined,
  type: Class | string,
  params: readonly unknown[],
): Registration["params"] {
  const isDefault = component !== undefined && params.length === 0 &&
    typeof type === "function" &&
    (type === component.type || type.prototype instanceof component.type);
  return isDefault ? component.params : params;
}

function requestParams(app: Application): [Request, RequestContext] {
  const { visit } = app.scope("request()");
  visit.remember();
  const { request, target, remote, body } = visit;
  return [request, {
    path: target.path,
    search: target.search,
    base: app.base(),
    remote,
    trustProxy: app.setting("framework.trust_proxy"),
    methodOverride: app.setting("framework.method_override"),
    body,
  }];
}

function responseContext(
  app: Application,
  work: BackgroundWork,
): ResponseContext {
  return {
    secure: () => app.request().secure,
    debug: () => app.setting("framework.debug"),
    coalesce: () =>
      app.scope("response()").visit.isServed &&
      app.setting("framework.coalesce"),
    hold: (abort) => work.hold(app.scope("response()"), abort),
  };
}

function viewContext(
  app: Application,
  variables: Store<unknown>,
): ViewContext {
  return {
    variables,
    path: () => app.setting("framework.views.path"),
    extension: () => app.setting("framework.views.extension"),
    debug: () => app.setting("framework.debug"),
  };
}
