/**
 * Vento for the contenders that bring no view of their own, with the page of ten items, and the schema that all
 * validate by. Both are imported with the first request for them, so that they have no part in the start.
 */

import { ITEMS } from "../cases.ts";

type Templates = ReturnType<typeof import("npm:ventojs@2.4.0").default>;

type CustomerSchema = typeof import("./schema.ts").CUSTOMER;

let templates: Templates | undefined;
let schema: CustomerSchema | undefined;

/** Renders the page. */
export async function renderPage(): Promise<string> {
  templates ??= await load();
  const data = { title: "Things", items: ITEMS };
  const { content } = await templates.run("page.vto", data);
  return content;
}

/** The schema of the JSON that is validated. */
export async function loadSchema(): Promise<CustomerSchema> {
  return schema ??= (await import("./schema.ts")).CUSTOMER;
}

async function load(): Promise<Templates> {
  const { default: vento } = await import("npm:ventojs@2.4.0");
  return vento({
    autoescape: true,
    includes: new URL("../views", import.meta.url).pathname,
  });
}
