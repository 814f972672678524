/**
 * Owns `mount`: handing the requests under a prefix to another application, which gets a web request for the rest of
 * the path, and knows its base.
 */

import type { Application } from "../application/application.ts";
import type { Exchange } from "../application/exchange.ts";
import { mountedAt } from "../request/target.ts";
import { isClass } from "../routing/callback.ts";
import { refusal, wrongKind } from "../errors.ts";
import type { Fetch } from "../http.ts";
import { FORBIDDEN_METHODS } from "../request/target.ts";
import type { Mountable, Mounting } from "../routing/router.ts";
import { declarationOf, type Route } from "../routing/route.ts";
import type { MaybePromise } from "../waiting.ts";

/** Makes callbacks of routes that hand requests over. */
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
): MaybePromise<Response> {
  const { exchange } = app.context("mount()");
  const path = exchange.match!.path.received;
  const [segments = []] = declarationOf(route).pattern.choices;
  const parts = path.split("/");
  const prefix = parts.slice(0, segments.length).join("/");
  const rest = parts.slice(segments.length).join("/");
  const request = requestBelow(exchange, `/${rest}${exchange.target.search}`);
  mountedAt.set(request, exchange.base + prefix);
  const made = fetch(request, exchange.info);
  return made instanceof Promise
    ? made.then((late) => checked(late, route))
    : checked(made, route);
}

function checked(made: unknown, { pattern }: Route): Response {
  if (made instanceof Response) return made;
  const action = `send what the application under "${pattern}" returned`;
  throw wrongKind(action, "it must be a Response", made);
}

/** A request with another target. The body is unread, unless a route that passed on has had it read. */
function requestBelow(exchange: Exchange, target: string): Request {
  const { raw, method } = exchange;
  if (FORBIDDEN_METHODS.has(raw.method)) {
    throw refusal(501, `The method ${raw.method} cannot be forwarded`);
  }
  const { protocol, host } = new URL(raw.url);
  const { body } = exchange.hasBody ? exchange.http.raw : { body: null };
  const made = new Request(`${protocol}//${host}${target}`, {
    method,
    headers: raw.headers,
    body,
  });
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
