/**
 * Vento for the contenders that have no view of their own, and the schema that all validate by. Both are imported
 * with the first request for them, so that they have no part in the start.
 */

import { ITEMS } from "../rows.ts";

const VIEWS = new URL("../views", import.meta.url).pathname;

let templates: ReturnType<typeof import("ventojs").default> | undefined;
let schema: typeof import("./schema.ts").CUSTOMER | undefined;

/** Renders the page. */
export async function renderPage(): Promise<string> {
  templates ??= (await import("ventojs")).default({
    autoescape: true,
    includes: VIEWS,
  });
  const data = { title: "Things", items: ITEMS };
  const { content } = await templates.run("page.vto", data);
  return content;
}

/** The schema of the JSON that is validated. */
export async function loadSchema(): Promise<
  typeof import("./schema.ts").CUSTOMER
> {
  return schema ??= (await import("./schema.ts")).CUSTOMER;
}
