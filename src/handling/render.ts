/**
 * Owns `render`: the default one, and the rule that the output of any `render` lands in the body where it was
 * called, however late it comes.
 */

import type { Application } from "../application/application.ts";
import type { Wrapper } from "../application/mapped_method.ts";
import { markup } from "../html.ts";
import { enter } from "../state/current.ts";
import type { View } from "../view/view.ts";

/** Runs a mapped or filtered `render` in a section of the body, kept at the place of the call. */
export const renderInPlace: Wrapper = {
  responds: false,
  run: (method, params, context) => {
    const { reply, scope } = context;
    const hasKey = typeof params[2] === "string"; // the output goes into a variable
    // In a stream, each part would stay until its end.
    if (hasKey || reply.isMade) return method.run(params);
    const section = reply.openSection(context.section);
    // In the scope of the caller, whose guard waits for what the method has called.
    return enter(context.part({ section, scope }), () => method.run(params));
  },
};

/** Renders a template into a section or, with a key, into a view variable for later templates. */
export function render(
  app: Application,
  file: string,
  data: Record<string, unknown> = {},
  key: string | null = null,
): Promise<void> {
  const context = app.context("render()");
  const { exchange, reply, section } = context;
  const made = app.call("view");
  // That of an autoloaded class is a promise.
  const view = made instanceof Promise
    ? made.then((loaded) => checkedView(loaded, file))
    : checkedView(made, file);
  const { storing: earlier } = exchange;
  const fetch = () =>
    view instanceof Promise
      ? view.then((loaded) => loaded.fetch(file, data))
      : view.fetch(file, data);
  // At once: it notes the line that has called `render()`.
  const timed = exchange.plan.debug?.timedRender(exchange, file, fetch);
  const renderText = async (): Promise<string> => {
    if (earlier !== undefined) await earlier;
    return await (timed ?? fetch)();
  };
  if (key === null) {
    const opened = reply.openSection(section);
    context.noteWrite(reply, "body"); // a mapped `json` that renders has responded: see `mapped_response.ts`
    return renderText().then((text) => reply.write(text, opened));
  }
  const storing = renderText()
    .then(async (text) => (await view).set(key, markup(text)));
  exchange.storing = storing.catch(() => {}); // its caller gets the error, and no later render
  return storing;
}

function checkedView(view: unknown, file: string): View {
  if (typeof Object(view).fetch === "function") return view as View;
  throw new TypeError(
    `Cannot render "${file}": the registered view has no method "fetch": add one, or map "render"`,
  );
}
