/** Owns the lifecycle of a request: the order of its steps, and what happens when one throws. */

import type { Application } from "../application/application.ts";
import { debugTools } from "../application/debug_tools.ts";
import { type Context, Exchange } from "../application/exchange.ts";
import { isRefusal, isStop, toError } from "../errors.ts";
import type { ConnectionInfo } from "../http.ts";
import { checkHost } from "../request/headers.ts";
import { checkScheme, targetOf } from "../request/target.ts";
import { webResponse } from "../response/web_response.ts";
import { enter } from "../state/current.ts";
import "../state/uncaught.ts"; // which notices rejected promises that nobody awaits
import type { MaybePromise, Waiting } from "../waiting.ts";
import { dispatch } from "./dispatch.ts";
import { settle, startDeferred } from "./unfinished.ts";
import { logErrors, noteError, showPlainly } from "./pages.ts";
import { receive } from "./receive.ts";
import { send } from "./send.ts";

/** Handles a request; returns a promise only when something has to be waited for. */
export function handleRequest(
  app: Application,
  raw: Request,
  info?: ConnectionInfo,
): MaybePromise<Response> {
  const exchange = new Exchange(app, raw, info);
  if (!app.isServing && exchange.isServed) app.isServing = true;
  return exchange.settings["framework.debug"]
    ? enter(exchange.main, handleUnderDebug)
    : enter(exchange.main, handle);
}

async function handleUnderDebug(context: Context): Promise<Response> {
  const { exchange } = context;
  const debug = exchange.debug = await debugTools();
  return debug.handle(exchange, () => handle(context));
}

/** The steps of a request. What throws leads to `recover`. */
function handle({ exchange }: Context): MaybePromise<Response> {
  let waiting: Waiting;
  try {
    exchange.target = targetOf(exchange.raw, exchange.method);
    admit(exchange);
    waiting = exchange.hasBody
      ? receiveAndDispatch(exchange)
      : dispatch(exchange);
  } catch (thrown) {
    return recover(exchange, thrown);
  }
  if (waiting === undefined) return finishSettled(exchange);
  return waiting
    .then(() => finishSettled(exchange), (thrown) => recover(exchange, thrown));
}

/** Throws {@linkcode HttpError} for what the server must not take. */
function admit(exchange: Exchange): void {
  const { isSecure } = exchange.app;
  if (isSecure !== undefined) checkScheme(exchange.raw, isSecure);
  const hosts = exchange.settings["framework.hosts"];
  if (hosts !== null) checkHost(exchange.raw, hosts, exchange.proxies);
}

async function receiveAndDispatch(exchange: Exchange): Promise<void> {
  await receive(exchange);
  await dispatch(exchange);
}

/** Finishes once the calls of the framework have ended that no code has awaited. */
function finishSettled(exchange: Exchange): MaybePromise<Response> {
  if (exchange.pending === undefined) return finish(exchange);
  return settle(exchange.main)
    .then(() => finish(exchange), (thrown) => recover(exchange, thrown));
}

async function recover(
  exchange: Exchange,
  thrown: unknown,
): Promise<Response> {
  try {
    await showError(exchange, thrown);
  } catch (unhandled) {
    complete(exchange);
    throw unhandled;
  }
  return finish(exchange);
}

/**
 * Shows the page of what was thrown; the signal of `halt` and `stop` is no error. Rethrows under
 * `framework.handle_errors` false.
 */
async function showError(exchange: Exchange, thrown: unknown): Promise<void> {
  const error = toError(thrown);
  const isHandled = exchange.settings["framework.handle_errors"] ||
    isStop(thrown) || isRefusal(error);
  if (!isHandled) throw thrown;
  const { app, main } = exchange;
  try {
    if (!isStop(thrown)) await app.call("error", [error], main);
    if (exchange.pending !== undefined) await settle(main);
  } catch (late) {
    if (isStop(late)) return;
    if (isStop(thrown)) return await showError(exchange, late);
    noteError(exchange, toError(late));
    showPlainly(exchange); // `error` itself has failed
  }
}

/** Makes the response, and passes it through `send`. */
function finish(exchange: Exchange): MaybePromise<Response> {
  const response = makeResponse(exchange);
  if (exchange.errors !== undefined) logErrors(exchange, response.status);
  const method = exchange.app.method("send", exchange.layer);
  if (method !== undefined && !method.isUnchanged) {
    const own = exchange.main.inside("send");
    return enter(own, () => send(exchange, method, response))
      .then((sent) => sendUpgrade(exchange, sent))
      .finally(() => complete(exchange));
  }
  complete(exchange);
  return sendUpgrade(exchange, response);
}

function makeResponse(exchange: Exchange): Response {
  try {
    return webResponse(exchange.reply, exchange);
  } catch (thrown) { // a body that was read since it was given, for one
    noteError(exchange, toError(thrown));
    showPlainly(exchange);
    return webResponse(exchange.reply, exchange);
  }
}

/** Once a request is a WebSocket, Deno closes its server when anything else is sent: the socket is closed instead. */
function sendUpgrade({ upgrade }: Exchange, sent: Response): Response {
  if (upgrade === undefined) return sent;
  const { response, socket } = upgrade;
  if (sent.status !== 101) socket.onopen = () => socket.close(1011);
  return response;
}

/** Starts deferred work. The request is over, unless that or a stream holds it. */
function complete(exchange: Exchange): void {
  exchange.pending?.report();
  if (exchange.deferred !== undefined) startDeferred(exchange);
  exchange.conclude();
}
