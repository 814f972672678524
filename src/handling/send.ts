/**
 * Owns running a mapped or filtered `send`, the method that every response passes last. Without either,
 * this step is left out.
 */

import type { Exchange } from "../application/exchange.ts";
import type { MappedMethod } from "../application/mapped_method.ts";
import { isStop, toError, wrongKind } from "../errors.ts";
import { mutable } from "../response/web_response.ts";
import { discard, valueOf } from "../response/stream.ts";
import type { Steps } from "../steps.ts";
import { logError } from "./error_log.ts";

/** The headers that describe a body, let clients store it, or lead elsewhere. */
const OF_CONTENT =
  /^(?:content-.*|location|transfer-encoding|etag|last-modified|cache-control|expires|connection|upgrade|sec-websocket-.*)$/;

/**
 * Runs a changed `send` in the request's context. When a filter or the method fails, the error is logged, and
 * what follows gets a plain 500 with the headers so far: filters further on still add theirs.
 */
export function* send(
  exchange: Exchange,
  { method, filters }: MappedMethod,
  response: Response,
): Steps<Response> {
  let current = mutable(response);
  const params: unknown[] = [current];
  const output: { value: unknown } = { value: undefined };
  for (const filter of filters.before) {
    const call = () => filter(params, output);
    const returned = yield* attempt(call, () => params[0]);
    params[0] = current;
    if (returned === false) break;
  }
  yield* attempt(() => method(...params), (returned) => returned);
  for (const filter of filters.after) {
    output.value = current;
    const call = () => filter(params, output);
    const returned = yield* attempt(call, () => output.value);
    if (returned === false) break;
  }
  // A stream in its place may still read it, but a text does not.
  if (valueOf(current) !== undefined || current.body === null) {
    discard(response);
  }
  return current;

  /** Takes over the response that is there after a call. It is too late for `halt()`: that only ends the call. */
  function* attempt(
    call: () => unknown,
    result: (returned: unknown) => unknown,
  ): Steps<unknown> {
    try {
      const returned = yield call();
      const next = result(returned);
      checkOpen(next);
      if (next !== current) current = mutable(next);
      return returned;
    } catch (thrown) {
      if (isStop(thrown)) return;
      logError(exchange, toError(thrown));
      discard(current);
      current = failed(current);
    }
  }
}

function checkOpen(sent: unknown): asserts sent is Response {
  if (sent instanceof Response && !sent.bodyUsed) return;
  const rule = '"send" must return a web Response that nobody has read';
  throw wrongKind("send the response", rule, sent);
}

/** A plain 500 with the headers of a response that could not be sent. */
function failed(response: Response): Response {
  const headers = [...response.headers].filter(([name]) =>
    !OF_CONTENT.test(name)
  );
  return new Response("Internal Server Error", { status: 500, headers });
}
