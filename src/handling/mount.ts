/**
 * Owns `mount`: handing the requests under a prefix to another application, in these steps:
 *
 * 1. Declaring: `Router.mount` makes a streamed route for everything below the prefix, with a callback of
 *    `mountingOf()`. The body stays unread, unless an earlier route that passed on had it read.
 * 2. `handOver` makes a web request for the rest of the path. In `mountPoints` it notes under which base the other
 *    application lies; `Exchange.base` puts that in front of its URLs.
 * 3. It calls `fetch` in the context of the outer request. The constructor of the inner `Exchange`, if it is an engine
 *    that is mounted, finds that context as its `outer` one, takes its mount point, and becomes the `inner` one of the
 *    outer exchange. Thus `nesting` leads outwards, to the request's id and server, and `patterns` leads inwards, to
 *    the routes that log and telemetry name by `wholePattern()` (`route_patterns.ts`).
 * 4. The web response of the inner application is what the route's callback returns.
 *
 * An application that is called by other means, as by a callback that calls its `fetch`, has an `outer` context, too,
 * but no mount point.
 */

import type { Application } from "../application/application.ts";
import { type Exchange, mountPoints } from "../application/exchange.ts";
import { isClass } from "../callback.ts";
import { HttpError, wrongKind } from "../errors.ts";
import type { Mountable, Mounting } from "../routing/mountable.ts";
import { declared, type Route } from "../routing/route.ts";
import { forwardUpgrade } from "../runtime.ts";
import type { Fetch } from "../fetch.ts";

/** Methods of which no web request can be made. */
const FORBIDDEN = new Set(["CONNECT", "TRACE", "TRACK"]);

/** How deeply applications may be mounted in each other: deeper counts as a loop. */
const MAX_DEPTH = 32;

/** Makes callbacks of routes that hand requests over; an application's router mounts by it. */
export function mountingOf(app: Application): Mounting {
  return (prefix, mounted) => {
    const fetch = fetchOf(mounted, prefix);
    return (...params) => handOver(app, fetch, params.at(-1) as Route);
  };
}

function handOver(
  app: Application,
  fetch: Fetch,
  route: Route,
): Response | Promise<Response> {
  const { exchange } = app.context("mount()");
  const { target, nesting, info } = exchange;
  if (FORBIDDEN.has(target.method)) {
    throw new HttpError(501, `The method ${target.method} cannot be forwarded`);
  }
  if (nesting.length > MAX_DEPTH) {
    throw new HttpError(508, "The applications are mounted in a loop");
  }
  const [prefix, path] = splitAt(exchange.pathBelowBase, route);
  const request = forwarded(exchange, path + target.search);
  const { base, origin } = exchange;
  mountPoints.set(request, { base: base + prefix, origin });
  const made = fetch(request, info);
  return made instanceof Promise
    ? made.then((response) => checkedResponse(response, route))
    : checkedResponse(made, route);
}

function checkedResponse(made: Response, { pattern }: Route): Response {
  if (made instanceof Response) return made;
  const action = `send what the application under "${pattern}" returned`;
  throw wrongKind(action, "it must be a Response", made);
}

/** The prefix of a path and what the star takes, still encoded. */
function splitAt(path: string, route: Route): [string, string] {
  const [segments = []] = declared(route).pattern.choices;
  const depth = segments.length - 1;
  const parts = path.split("/");
  const prefix = parts.slice(0, depth + 1).join("/");
  return [prefix, "/" + parts.slice(depth + 1).join("/")];
}

/** A request with another target. The body is unread, unless a route that passed on has had it read. */
function forwarded({ raw, body }: Exchange, target: string): Request {
  const { protocol, host } = new URL(raw.url);
  const { method, headers } = raw;
  const init = { method, headers, body: body ?? raw.body };
  const made = new Request(`${protocol}//${host}${target}`, init);
  if (headers.has("upgrade")) forwardUpgrade(raw, made); // a WebSocket may open here: see `runtime.ts`
  // Given to the constructor, the signal would cost more than the rest.
  return Object.defineProperty(made, "signal", { get: () => raw.signal });
}

function fetchOf(mounted: Mountable, prefix: string): Fetch {
  const fetch: unknown = Object(mounted).fetch ?? mounted;
  const isFetch = typeof fetch === "function" && !isClass(fetch);
  if (isFetch) return fetch.bind(mounted);
  const rule = 'it must be a function or have a method "fetch"';
  throw wrongKind(`mount an application under "${prefix}"`, rule, mounted);
}
