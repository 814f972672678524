/**
 * Owns the components that the framework brings: the class of each, what its constructor gets, and how
 * long an instance lives. The application registers them as it registers a user's class.
 */

import type { Application } from "../application/application.ts";
import type { Context } from "../application/exchange.ts";
import type { ComponentName } from "../application/names.ts";
import type { Component } from "../application/registered_class.ts";
import { mountingOf } from "./mount.ts";
import { HttpRequest, ownRequest } from "../application/http_request.ts";
import { HttpResponse } from "../response/response.ts";
import { Router } from "../routing/router.ts";
import { Routes } from "../routing/routes.ts";
import { Reply } from "../response/reply.ts";
import { Store } from "../state/layer.ts";
import { View } from "../view/view.ts";

export function components(
  app: Application,
): Record<ComponentName, Component> {
  const routes = new Routes(app);
  const variables = new Store(app);
  return {
    // One object for a whole request: extensions keep what they know of a request by it.
    request: {
      type: HttpRequest,
      params: (context) => [context?.exchange],
      ofRequest: (context, registered) => {
        const { exchange } = context;
        const { type, callback } = registered;
        const isOwn = type === HttpRequest && callback === undefined;
        return exchange.request ??= isOwn
          ? ownRequest(exchange)
          : registered.make(context) as HttpRequest;
      },
      isInUse: ({ exchange }) => exchange.request !== undefined,
    },
    response: {
      type: HttpResponse,
      params: (context, isNew) => [
        isNew ? new Reply() : context?.reply,
        context,
        isNew ? undefined : context?.section,
      ],
      ofRequest: (context, registered) => {
        const owner = ownerOf(context);
        return owner.response ??= registered.make(owner) as HttpResponse;
      },
      isInUse: (context) =>
        [context.exchange.context, ownerOf(context)]
          .some(({ response }) => response !== undefined),
    },
    router: {
      type: Router,
      params: () => [
        routes,
        app.autoload,
        mountingOf(app),
        () => app.currentPlan.settings["framework.case_sensitive"],
      ],
    },
    view: {
      type: View,
      params: () => [
        variables,
        () => app.currentPlan.settings,
        () => {
          const plan = app.currentPlan;
          return plan.isDebugging ? plan.debug ?? plan.loadDebug() : undefined;
        },
      ],
    },
  };
}

/**
 * The context whose response code in a context gets. A part that writes where the request does is a scope of calls
 * alone: to code, it is the same response, unless what it writes is noted.
 */
function ownerOf(context: Context): Context {
  const { exchange: { context: main }, reply, section, writes } = context;
  const isSame = reply === main.reply && section === main.section &&
    writes === undefined;
  return isSame ? main : context;
}
