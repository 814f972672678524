/**
 * Owns running a mapped or filtered `send`, the method that every response passes last. Without either,
 * this step is left out.
 */

import type { MappedMethod } from "../application/callable.ts";
import { isStop, reportError, wrongKind } from "../errors.ts";
import { discard, valueOf } from "../response/stream.ts";
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
    const rule = '"send" must return a web Response that nobody has read';
    const isOpen = sent instanceof Response && !sent.bodyUsed;
    if (!isOpen) throw wrongKind("send the response", rule, sent);
    // A stream in its place may still read it, but a text does not.
    if (valueOf(sent) !== undefined || sent.body === null) discard(response);
    return sent;
  } catch (thrown) {
    if (isStop(thrown)) return response; // too late for `halt()`: there is a response already
    discard(response);
    const { target } = scope;
    reportError(thrown, `in "send" of ${target.method} ${target.path}`);
    return new Response("Internal Server Error", { status: 500 });
  }
}
