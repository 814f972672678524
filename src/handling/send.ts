/**
 * Owns running a mapped or filtered `send`, the method that every response passes last. Without either,
 * this step is left out.
 */

import type { MappedMethod } from "../application/callable.ts";
import { isStop, reportError, wrongKind } from "../errors.ts";
import { discard } from "../response/stream.ts";
import type { Scope } from "../state/scope.ts";
import type { Steps } from "../steps.ts";

/** Runs a changed `send` in the request's scope. An error in it is logged, and becomes a plain 500. */
export function* send(
  scope: Scope,
  method: MappedMethod,
  response: Response,
): Steps<Response> {
  try {
    const sent = yield method.call([response], scope);
    if (sent instanceof Response && !sent.bodyUsed) return sent;
    const rule = '"send" must return a web Response that nobody has read';
    throw wrongKind("send the response", rule, sent);
  } catch (thrown) {
    if (isStop(thrown)) return response; // too late for `halt()`: there is a response already
    discard(response);
    const { target } = scope;
    reportError(thrown, `in "send" of ${target.method} ${target.path}`);
    return new Response("Internal Server Error", { status: 500 });
  }
}
