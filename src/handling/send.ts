/**
 * Owns `send`, the method that every response passes last: running one that the application has mapped
 * or filtered. The default returns the response as it is.
 */

import type { MappedMethod } from "../application/registry.ts";
import { isStop, reportError } from "../errors.ts";
import { discard } from "../response/stream.ts";
import type { Scope } from "../state/scope.ts";
import type { Steps } from "../steps.ts";

/** Runs a changed `send` in the request's scope. An error in it is logged, and becomes a plain 500. */
export function* send(
  scope: Scope,
  method: MappedMethod,
  response: Response,
): Steps<Response> {
  const given = withMutableHeaders(response);
  try {
    return checkSent(yield method.call([given], scope));
  } catch (thrown) {
    if (isStop(thrown)) return given; // too late for `halt()`: there is a response already
    discard(given);
    const { target } = scope;
    reportError(thrown, `in "send" of ${target.method} ${target.path}`);
    return new Response("Internal Server Error", { status: 500 });
  }
}

/** A redirect, or a response of `fetch()`, has headers that nobody can change; an upgrade cannot be copied. */
function withMutableHeaders(response: Response): Response {
  if (response.status === 101) return response;
  try {
    response.headers.delete("x-probe");
    return response;
  } catch {
    return new Response(response.body, response);
  }
}

function checkSent(sent: unknown): Response {
  if (sent instanceof Response && !sent.bodyUsed) return sent;
  const got = sent instanceof Response
    ? "one whose body was read"
    : Deno.inspect(sent, { depth: 0 });
  throw new TypeError(
    `Cannot send the response: "send" must return a web Response, got ${got}`,
  );
}
