/**
 * Owns where the output of a mapped method lands: a `render` in the place of its call, a `notFound`
 * or `error` on a clean page of its own. A method that a user maps may be asynchronous and need not
 * be awaited; its frame keeps its output apart from what is written meanwhile.
 */

import type { Method } from "./dispatcher.ts";
import { HttpError, isStop } from "./errors.ts";
import { answer, type Application } from "./methods.ts";
import { enter } from "./scope.ts";
import { run, type Steps } from "./steps.ts";

/** The status that a page has before its method makes it. */
const PAGES: Readonly<Record<string, number>> = { notFound: 404, error: 500 };

/** The method in its frame; one whose output needs no frame is answered as it is. */
export function framed(
  app: Application,
  name: string,
  method: Method,
): Method {
  if (name === "render") return inPlace(app, method);
  const status = PAGES[name];
  return status === undefined ? method : onPage(app, name, status, method);
}

/** What the method writes stands where it was called, however late it is written. */
function inPlace(app: Application, method: Method): Method {
  return (...params) => {
    const section = app.response().section();
    const part = app.scope("render()").part("response", section);
    return enter(part, method, ...params);
  };
}

/** What the method writes is the whole answer; the response it was called on is sealed. */
function onPage(
  app: Application,
  name: string,
  status: number,
  method: Method,
): Method {
  return (...params) => {
    const [error] = params;
    const scope = app.scope(`${name}()`);
    const response = app.response();
    const page = response.replace(
      `${name}()`,
      error instanceof HttpError ? error.status : status,
    );
    if (page === undefined) return;
    const part = scope.part("response", page);
    return enter(part, run, making());

    function* making(): Steps<unknown> {
      try {
        return yield answer(app, yield method(...params));
      } catch (thrown) {
        if (!isStop(thrown)) response.reopen();
        throw thrown;
      }
    }
  };
}
