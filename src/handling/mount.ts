/**
 * Owns `mount`: handing the requests under a prefix to another application, in these steps:
 *
 * 1. `Router.mount` declares a streamed route for everything below the prefix. Its callback is made by `mountingOf()`.
 * 2. `handOver` makes a web request for the rest of the path. In `mountPoints` it notes the base of the other
 *    application, which `Exchange.base` puts in front of its URLs.
 * 3. It calls the other application's `fetch` in the context of the outer request. Where that is an engine, the
 *    constructor of its `Exchange` finds the context, which becomes its `outerContext`, and the mount point, for which it
 *    becomes the `inner` exchange of the outer one.
 * 4. The callback returns the web response of the other application, unless code of that has responded by this one.
 *
 * Outwards, by `outerContext` and `nesting`, requests find their id and whether a server has sent them, and sessions, by
 * `OUTER_REQUEST`, the session of the outer one; inwards, by `patterns`, log and telemetry find all that
 * `wholePattern()` joins.
 *
 * An application that is called by other means, as by a callback that calls its `fetch`, has an `outerContext`, too,
 * but no mount point.
 */

import type { Application } from "../application/application.ts";
import { type Exchange, mountPoints } from "../application/exchange.ts";
import { ownRequest } from "../application/http_request.ts";
import { isClass } from "../callback.ts";
import { refusal, wrongKind } from "../errors.ts";
import { FORBIDDEN_METHODS } from "../request/web_request.ts";
import type { Reply } from "../response/reply.ts";
import type { Mountable, Mounting } from "../routing/mountable.ts";
import { declarationOf, type Route } from "../routing/route.ts";
import { forwardUpgrade } from "../runtime.ts";
import type { Fetch } from "../fetch.ts";
import { run, type Steps } from "../steps.ts";

/** Makes callbacks of routes that hand requests over; an application's router mounts by it. */
export function mountingOf(app: Application): Mounting {
  return (prefix, mounted) => {
    const fetch = fetchOf(mounted, prefix);
    return (...params) => run(handOver(app, fetch, params.at(-1) as Route));
  };
}

function* handOver(
  app: Application,
  fetch: Fetch,
  route: Route,
): Steps<Response | undefined> {
  const { exchange, reply } = app.context("mount()");
  const { raw, target, info } = exchange;
  if (FORBIDDEN_METHODS.has(raw.method)) {
    throw refusal(501, `The method ${raw.method} cannot be forwarded`);
  }
  // As the route was matched: middleware may have changed the base.
  const received = exchange.match?.path.received ?? exchange.pathBelowBase;
  const [prefix, path] = splitBehindPrefix(received, route);
  const request = forwarded(exchange, path + target.search);
  const { base, origin } = exchange;
  const point = { base: base + prefix, origin, isDone: false };
  mountPoints.set(request, point);
  try {
    const made: unknown = yield fetch(request, info);
    if (made instanceof Response) return unlessSealed(reply, made);
    const action =
      `send what the application under "${route.pattern}" returned`;
    throw wrongKind(action, "it must be a Response", made);
  } finally {
    point.isDone = true;
  }
}

/**
 * The response of the other application. Where its code has responded by this one, as by `redirect()`, its cookies are
 * added to that, and the rest is ignored, as what any callback returns then; without a body, there is nothing to ignore.
 */
function unlessSealed(reply: Reply, made: Response): Response | undefined {
  if (!reply.isSealed) return made;
  for (const line of made.headers.getSetCookie()) reply.addCookie(line);
  return made.body === null ? undefined : made;
}

/** The prefix of a path and what the star takes, still encoded. */
function splitBehindPrefix(path: string, route: Route): [string, string] {
  const [segments = []] = declarationOf(route).pattern.choices;
  const depth = segments.length - 1;
  const parts = path.split("/");
  const prefix = parts.slice(0, depth + 1).join("/");
  return [prefix, "/" + parts.slice(depth + 1).join("/")];
}

/**
 * A request with another target, and the method that routes were searched for. The body is unread, unless a route that
 * passed on has had it read.
 */
function forwarded(exchange: Exchange, target: string): Request {
  const { raw, method, isReceiving } = exchange;
  const { protocol, host } = new URL(raw.url);
  const { headers } = raw;
  // Within the limit of the mount's route, if that has one.
  const unread = isReceiving ? ownRequest(exchange).raw : undefined;
  if (unread?.bodyUsed) {
    throw new TypeError(
      "Cannot hand the request on: its body was read from raw.body before",
    );
  }
  const init = { method, headers, body: exchange.body ?? unread?.body ?? null };
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
