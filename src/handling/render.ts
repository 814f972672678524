/**
 * Owns `render`: the default one, and the rule that the output of any `render` lands in the body where it was
 * called, however late it comes.
 */

import type { Application, RequestScope } from "../application/application.ts";
import type { MappedMethod } from "../application/callable.ts";
import { MissingTemplate } from "../errors.ts";
import { markup } from "../html.ts";
import { callSite } from "../stack.ts";
import type { View } from "../view/view.ts";

/** The key of a request's renders into variables: later renders wait for them. */
const STORING = {};

/** Runs a mapped or filtered `render` in a section of the body, kept at the place of the call. */
export function renderInPlace(
  method: MappedMethod,
  params: unknown[],
  scope: RequestScope,
): unknown {
  if (method.isUnchanged) return method.run(params);
  const response = scope.app.response(scope).section();
  return scope.with({ response }, () => method.run(params));
}

/** Renders a template into a section or, with a key, into a view variable for later templates. */
export function render(
  app: Application,
  file: string,
  data: Record<string, unknown> = {},
  key: string | null = null,
): Promise<void> {
  const scope = app.scope("render()");
  const view = app.call("view") as View;
  if (typeof view.fetch !== "function") {
    throw new TypeError(
      `Cannot render "${file}": the registered view has no method "fetch", so that "render" must be mapped`,
    );
  }
  const stored = scope.root.own?.get(STORING);
  const isDebugging = scope.root.plan.settings["framework.debug"];
  const place = isDebugging ? callSite() : "";
  const renderText = async (): Promise<string> => {
    if (stored) await stored;
    try {
      return await view.fetch(file, data);
    } catch (error) {
      throw error instanceof MissingTemplate ? error.calledAt(place) : error;
    }
  };
  if (key === null) {
    const section = app.response(scope).section();
    return renderText().then((text) => void section.write(text));
  }
  const storing = renderText().then((text) => view.set(key, markup(text)));
  scope.setOwn(STORING, storing.catch(() => {}));
  return storing;
}
