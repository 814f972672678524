/**
 * Owns where the output of a method lands: a `render` in the place of its call, a `notFound` or
 * `error` on a clean page of its own. A method that a user maps may be asynchronous and need not be
 * awaited; its frame keeps its output apart from what is written meanwhile.
 */

import { addHeaders, answer, logError, statusOf } from "./responders.ts";
import type { Application } from "../application/application.ts";
import type { Method } from "../callback.ts";
import { isStop, toError } from "../errors.ts";
import { enter } from "../state/scope.ts";
import { run, type Steps } from "../steps.ts";
import { markup } from "../html.ts";

/** The method, for requests in its frame; one whose output needs no frame is answered as it is. */
export function framed(
  app: Application,
  name: string,
  method: Method,
): Method {
  const frame = frameOf(app, name, method);
  if (frame === undefined) return method;
  return (...params) => (app.isHandling() ? frame : method)(...params);
}

function frameOf(
  app: Application,
  name: string,
  method: Method,
): Method | undefined {
  switch (name) {
    case "start":
      return (...params) => run(answering(app, () => method(...params)));
    case "render":
      return inPlace(app, method);
    case "notFound":
    case "error":
      return onPage(app, name, method);
  }
}

/** Marks what is still being stored under a key: later renders of the request wait for it. */
const STORING = {};

/** The default `render`: into the body, at the place of the call, or under a key for later templates. */
export function render(
  app: Application,
  file: string,
  data: Record<string, unknown> = {},
  key?: string,
): Promise<void> {
  const scope = app.scope("render()");
  const view = app.view();
  const section = key === undefined ? app.response().section() : undefined;
  const rendered = place(scope.layer(STORING));
  if (key !== undefined) scope.setLayer(STORING, rendered.catch(() => {}));
  return rendered;

  async function place(stored: unknown): Promise<void> {
    if (stored) await stored;
    if (typeof view.fetch !== "function") {
      throw new TypeError(
        `Cannot render "${file}": the registered view has no method "fetch", so that "render" must be mapped`,
      );
    }
    const html = await view.fetch(file, data);
    if (section) section.write(html);
    else view.set(key as string, markup(html));
  }
}

/** What the method writes stands where it was called, however late it is written. */
function inPlace(app: Application, method: Method): Method {
  return (...params) => {
    const section = app.response().section();
    const part = app.scope("render()").part("response", section);
    return enter(part, method, ...params);
  };
}

/**
 * What the method writes is the whole answer; the response it was called on is sealed. The status, and
 * the headers that an `HttpError` asks for, are there before it runs.
 */
function onPage(
  app: Application,
  name: "notFound" | "error",
  method: Method,
): Method {
  const by = `${name}()`;
  return (...params) => {
    const scope = app.scope(by);
    if (scope.component(by)) {
      throw new Error(
        `Cannot call ${by} here: it would call itself, where original("${name}") is meant`,
      );
    }
    const error = name === "error" ? toError(params[0]) : undefined;
    if (error) logError(app, error);
    const response = app.response();
    const page = response.replace(by, statusOf(error));
    if (page === undefined) return;
    addHeaders(page, error);
    const part = scope.part(by, page).part("response", page);
    return enter(part, run, making());

    function* making(): Steps<unknown> {
      try {
        return yield* answering(app, () => method(...params));
      } catch (thrown) {
        if (!isStop(thrown)) response.reopen();
        throw thrown;
      }
    }
  };
}

/** What the method returns is sent as if a callback had returned it. */
function* answering(app: Application, method: () => unknown): Steps<unknown> {
  return yield answer(app, yield method());
}
