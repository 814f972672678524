/**
 * Owns what holds for the methods that respond when they are mapped or filtered: behind `halt` and `stop` no code runs,
 * and code behind `redirect`, `json` and `jsonp` does not change the response once they have made it.
 */

import {
  type Context,
  pendingOf,
  type Writes,
} from "../application/exchange.ts";
import type { MappedMethod, Wrapper } from "../application/mapped_method.ts";
import { isStop, throwStop } from "../errors.ts";
import { isFrameworkObject } from "../framework_object.ts";
import { Markup } from "../html.ts";
import { JSON_UTF8 } from "../media_type.ts";
import type { HeaderLines } from "../response/header.ts";
import type { Reply } from "../response/reply.ts";
import { enter } from "../state/current.ts";
import {
  isThenable,
  run,
  type Steps,
  type Waiting,
  waitingFor,
} from "../steps.ts";
import { SCRIPT } from "./json.ts";
import { discardReturned, kindOfResult, respondWith } from "./respond.ts";

/** The methods that seal, and let code go on; `halt` and `stop` end the request (`ending`). */
type Sealing = "redirect" | "json" | "jsonp";

/** The content types of text that such a method returns; without one, HTML. */
const TYPES: Readonly<Record<Sealing, string | undefined>> = {
  redirect: undefined,
  json: JSON_UTF8,
  jsonp: SCRIPT,
};

/**
 * Runs a mapped or filtered `halt` or `stop`, which the calling code never goes on after. It writes to a reply of its
 * own, since the one that the caller knows is sealed at once: an asynchronous method is waited for. When it fails after
 * it has sealed that, it has responded all the same.
 */
export function ending(name: "halt" | "stop"): Wrapper {
  const runEnding: Wrapper["run"] = (method, params, context) => {
    const { exchange, reply, section } = context;
    if (reply.isSealed) { // in a stream, each part would stay until its end
      reply.ignore(`${name}()`);
      throwStop();
    }
    const copy = reply.copy();
    const isHalt = name === "halt";
    const replaced = reply.byteHeaders();
    const writes = newWrites();
    const place = isHalt ? undefined : section;
    // A scope of its own: a page that catches the signal does not wait for what the method leaves behind.
    const part = context.part({ reply: copy, section: place, writes }); // may throw: nothing is sealed by now
    reply.giveWay(copy, `${name}()`, section);
    if (isHalt) copy.clearBody();
    let ended: Waiting | void;
    try {
      ended = enter(
        part,
        () => run(endBy(method, params, part, writes, isHalt, replaced)),
      );
    } catch (thrown) {
      if (!copy.final.isSealed) reply.takeBack();
      throw thrown;
    }
    if (ended instanceof Promise) {
      const failed = (): void => {
        if (!copy.final.isSealed) exchange.context.reply.reopen();
      };
      pendingOf(exchange).end(ended, failed);
    }
    throwStop();
  };
  return { responds: true, run: runEnding };
}

function newWrites(): Writes {
  return { head: false, body: false, calls: 0 };
}

/**
 * Ends a request by a method, which need not throw the signal. Where it replaces the content, as `halt` does in any case,
 * headers go with the bytes of that.
 */
function* endBy(
  method: MappedMethod,
  params: unknown[],
  context: Context,
  writes: Readonly<Writes>,
  isHalt: boolean,
  replaced: HeaderLines,
): Steps<void> {
  const { reply } = context;
  let replaces = isHalt;
  try {
    const returned = yield method.run(params, { runsAfterStop: true });
    if (isContent(returned)) {
      // The default one returns nothing: it is the value of a filter, in place of the content.
      if (method.isDefault) reply.reopen();
      // What a method returns that has written the body is for nobody.
      const isFilled = writes.body && !reply.isEmpty;
      if (isFilled) discardReturned(returned);
      else {
        replaces ||= method.isDefault || kindOfResult(returned) !== "text";
        yield respondWith(context, returned);
      }
    }
  } catch (thrown) {
    if (!isStop(thrown)) throw thrown;
  }
  if (replaces) reply.dropByteHeaders(replaced);
}

/** Runs a mapped or filtered method that responds, such as `json`, with the same rules as the default one. */
export function sealing(name: Sealing): Wrapper {
  const runSealing: Wrapper["run"] = (method, params, context) => {
    if (context.reply.isSealed) {
      context.reply.hasIgnored = true;
      return method.run(params);
    }
    return method.isDefault
      ? respondFiltered(name, method, params, context)
      : respondMapped(name, method, params, context);
  };
  return { responds: true, run: runSealing };
}

/**
 * Runs the default method with its filters. It responds unless it fails, so the reply is sealed at once, however long
 * the filters take: the method writes to a copy. When it fails, code that catches the error may respond, unless another
 * response was ignored meanwhile: it is too late for that one, and nothing else may take its place but the error.
 */
function respondFiltered(
  name: Sealing,
  method: MappedMethod,
  params: unknown[],
  context: Context,
): unknown {
  const { exchange, reply, scope } = context;
  const copy = reply.copy();
  const part = context.part({ reply: copy, scope }); // may throw: nothing is sealed by now
  reply.giveWay(copy, `${name}()`);
  const failed = (thrown: unknown): never => {
    if (isStop(thrown) || copy.final.isSealed) throw thrown; // it has a response
    const { hasIgnored } = reply;
    reply.takeBack();
    if (!hasIgnored) throw thrown;
    exchange.context.reply.reopen(); // where this is a page, or a copy, too
    context.fail(thrown); // besides what Deno tells of the call: code that catches that, soon or late, undoes it alone
    throw thrown;
  };
  try {
    const made = enter(part, () => method.run(params));
    if (!(made instanceof Promise)) return made;
    const ended = made.catch(failed);
    const settled = ended.then(() => {}, () => {});
    pendingOf(exchange).end(settled);
    return ended;
  } catch (thrown) {
    return failed(thrown);
  }
}

/**
 * Runs a mapped method. What it has written, or returned, in place of the default is the response all the same: no
 * later code adds to it, and no guard lets pass. What other code writes meanwhile is not the method's.
 */
function respondMapped(
  name: Sealing,
  method: MappedMethod,
  params: unknown[],
  context: Context,
): unknown {
  const { scope, section } = context;
  const writes = newWrites();
  const part = context.part({ section, scope, writes });
  return enter(part, () => run(respondBy(name, method, params, part, writes)));
}

/** Runs a mapped method, and seals the reply where that has responded. */
function* respondBy(
  name: Sealing,
  method: MappedMethod,
  params: unknown[],
  context: Context,
  writes: Readonly<Writes>,
): Steps<unknown> {
  const { caller, exchange, reply, section } = context;
  const writtenTo = watch(reply, writes);
  const replaced = reply.byteHeaders();
  const made = method.run(params);
  // Until it is waited for, no other code runs.
  const isAlone = !isThenable(made);
  const returned = yield made;
  if (reply.isSealed) {
    if (isContent(returned)) reply.hasIgnored = true;
    return returned;
  }
  const written = writtenTo(isAlone);
  // What a method returns that has written the body is for its caller.
  const isBody = !written.body && isContent(returned) &&
    (name !== "redirect" || !written.head || isTextOrBody(returned));
  const waiting = isBody ? replaceBy(context, returned, name) : undefined;
  if (waiting !== undefined) yield waiting; // else sealed at once, before another call responds
  if (isBody || written.body) reply.dropByteHeaders(replaced);
  // Calls that it did not await may still write the body.
  const isWhole = written.body || written.head && writes.calls === 0;
  const isResponse = isBody || isWhole;
  if (isResponse && !reply.isSealed) reply.seal(`${name}()`, section);
  if (!isResponse) {
    const sealLate = (): void => {
      const late = writtenTo(false);
      if (reply.isSealed || !late.head && !late.body) return;
      if (late.body) reply.dropByteHeaders(replaced);
      reply.seal(`${name}()`);
    };
    pendingOf(exchange).beforeGoingOn(sealLate);
    if (caller) pendingOf(caller.exchange).beforeGoingOn(sealLate);
  }
  return isBody ? undefined : returned;
}

/**
 * Returns a function that tells what has been written to a reply since: what is new of it, and noted in `writes` or
 * written while no other code ran.
 */
function watch(
  reply: Reply,
  writes: Readonly<Writes>,
): (isAlone: boolean) => Pick<Writes, "head" | "body"> {
  const { body } = reply;
  const head = headOf(reply);
  return (isAlone) => ({
    head: (isAlone || writes.head) && headOf(reply) !== head,
    body: (isAlone || writes.body) && reply.body !== body,
  });
}

/** The status and the headers as one text. */
function headOf({ status, headers }: Reply): string {
  return JSON.stringify([status, ...headers ?? []]);
}

/** Whether a value is content of a response; numbers, booleans and nothing are for the caller of a method. */
function isContent(value: unknown): boolean {
  return typeof value === "string" ||
    typeof value === "object" && value !== null && !isFrameworkObject(value);
}

function isTextOrBody(value: unknown): boolean {
  return ["text", "body"].includes(kindOfResult(value));
}

/** Responds with what a method has returned instead of the content so far. */
function replaceBy(
  context: Context,
  returned: unknown,
  name: Sealing,
): Waiting {
  const { exchange: { app }, reply } = context;
  if (!isTextOrBody(returned)) {
    return waitingFor(app.original("json")(returned)); // the mapped one has returned this
  }
  if (kindOfResult(returned) === "body") return respondWith(context, returned);
  const hasType = reply.header("content-type") !== null;
  const type = hasType || returned instanceof Markup ? undefined : TYPES[name];
  reply.setBody(String(returned), type);
}
