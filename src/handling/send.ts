/** Owns running a mapped or filtered `send`, the method that every response passes last. */

import type { Exchange } from "../application/exchange.ts";
import type { MappedMethod } from "../application/mapped_method.ts";
import { isStop, toError, wrongKind } from "../errors.ts";
import { isSealedWithBody, PAGE_HEADERS } from "../response/header.ts";
import { discard } from "../response/stream.ts";
import { copied, mutable } from "../response/web_response.ts";
import { logError } from "./pages.ts";

const OF_TRANSFER =
  /^(?:transfer-encoding|connection|upgrade|sec-websocket-.*)$/;

/**
 * Runs a changed `send`. When a filter or the method fails, the error is logged, and what follows gets a 500 with the
 * headers so far: filters further on still add theirs.
 */
export async function send(
  exchange: Exchange,
  changed: MappedMethod,
  response: Response,
): Promise<Response> {
  const made = mutable(response);
  let current = made;
  const params: unknown[] = [current];
  const output: { value: unknown } = { value: undefined };
  /** Runs a step, and takes the response that it leaves. Returns whether the chain goes on. */
  const step = async (work: () => unknown, left: () => unknown) => {
    try {
      const returned = await work();
      current = replaced(current, left());
      return returned !== false;
    } catch (thrown) {
      if (!isStop(thrown)) current = failed(exchange, current, thrown);
      return true;
    } finally {
      if (current !== made) {
        exchange.reply.status = current.status; // what `response()` tells of
        exchange.reply.content = current;
      }
      params[0] = current;
    }
  };
  const { before, after } = changed.filters;
  for (const filter of before) {
    const goesOn = await step(() => filter(params, output), () => params[0]);
    if (!goesOn) break;
  }
  const method = async () => {
    output.value = await changed.method(...params);
  };
  await step(method, () => output.value);
  for (const filter of after) {
    output.value = current;
    const goesOn = await step(() => filter(params, output), () => output.value);
    if (!goesOn) break;
  }
  return current;
}

/** The response that a filter or the method leaves. Throws `TypeError` when it cannot be sent. */
function replaced(before: Response, sent: unknown): Response {
  if (sent instanceof Response && !sent.bodyUsed) {
    if (sent === before) return before;
    const copy = copied(sent);
    if (sent.body === before.body) return copy;
    discard(before);
    const length = before.headers.get("content-length");
    if (copy.headers.get("content-length") === length) {
      copy.headers.delete("content-length"); // it is true of the other body
    }
    return copy;
  }
  const rule = '"send" must return a web Response whose body has not been read';
  throw wrongKind("send the response", rule, sent);
}

/** Logs an error, and returns a plain 500 with the headers so far. */
function failed(
  exchange: Exchange,
  before: Response,
  thrown: unknown,
): Response {
  logError(exchange, toError(thrown));
  discard(before);
  const headers = [...before.headers].filter(([name]) =>
    !isSealedWithBody(name) && !PAGE_HEADERS.includes(name) &&
    !OF_TRANSFER.test(name)
  );
  const text = exchange.isHead ? null : "Internal Server Error";
  return new Response(text, { status: 500, headers });
}
