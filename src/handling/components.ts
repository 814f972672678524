/**
 * Owns the components that the framework brings: the class of each, what its constructor gets, and how
 * long an instance lives. The application registers them as it registers a user's class.
 */

import type { Application, Components } from "../application/application.ts";
import { mountingOf } from "./mount.ts";
import { HttpRequest } from "../request/request.ts";
import { HttpResponse } from "../response/response.ts";
import { Router } from "../routing/router.ts";
import { Tree } from "../routing/tree.ts";
import { Layered, Store } from "../state/layers.ts";
import { View } from "../view/view.ts";

/** The components of an application. */
export function components(app: Application): Components {
  const routes = new Layered(() => new Tree(), app.owner);
  return {
    request: { type: HttpRequest, params: "scope", slot: "httpRequest" },
    response: { type: HttpResponse, params: "scope", slot: "httpResponse" },
    router: {
      type: Router,
      params: [routes, app.autoload, mountingOf(app)],
    },
    view: {
      type: View,
      params: [new Store(app.owner), () => app.planFor().settings],
    },
  };
}
