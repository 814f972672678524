/**
 * Vento for the contenders that bring no view of their own: the page with ten items. It is imported
 * with the first page, so that it has no part in the start.
 */

import { ITEMS } from "../cases.ts";

type Templates = ReturnType<typeof import("npm:ventojs@2.4.0").default>;

let templates: Templates | undefined;

/** Renders the page. */
export async function renderPage(): Promise<string> {
  templates ??= await load();
  const data = { title: "Things", items: ITEMS };
  const { content } = await templates.run("page.vto", data);
  return content;
}

async function load(): Promise<Templates> {
  const { default: vento } = await import("npm:ventojs@2.4.0");
  return vento({
    autoescape: true,
    includes: new URL("../views", import.meta.url).pathname,
  });
}
