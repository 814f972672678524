/** Owns `render`: its output lands in the body where it was called, however late it comes. */

import type { Context } from "../application/exchange.ts";
import type { Rule } from "../application/mapped_method.ts";
import { markup } from "../html.ts";
import { enter } from "../state/current.ts";
import type { View } from "../view/view.ts";

/** The rule of `render`: a mapped or filtered one, too, writes where its output belongs. */
export const placeRule: Rule = (context, method, params) => {
  if (method.isUnchanged) return method.run(params, context);
  const { reply, section } = context;
  const hasKey = typeof params[2] === "string";
  const place = hasKey ? section : reply.openSection(section);
  const own = context.inside(method.name, place);
  return enter(own, () => method.run(params, own));
};

/** Renders a template into the body or, with a key, into a view variable for later templates. */
export async function render(
  { exchange, reply, section }: Context,
  file: string,
  data: Record<string, unknown> = {},
  key: string | null = null,
): Promise<void> {
  const place = key === null ? reply.openSection(section) : section;
  const view = exchange.app.call("view");
  const text = renderText(view, file, data, exchange.storing);
  if (key === null) return reply.write(await text, place);
  const stored = text.then(async (text) =>
    (await view as View).set(key, markup(text))
  );
  exchange.storing = stored.catch(() => {}); // the caller gets the error, and no later render
  await stored;
}

async function renderText(
  made: unknown,
  file: string,
  data: Record<string, unknown>,
  storing: Promise<unknown> | undefined,
): Promise<string> {
  const view = made instanceof Promise ? await made : made;
  if (typeof Object(view).fetch !== "function") {
    throw new TypeError(
      `Cannot render "${file}": the registered view has no method "fetch": add one, or map "render"`,
    );
  }
  if (storing !== undefined) await storing;
  return await view.fetch(file, data);
}
