/** A bare handler with nothing but conditions: the same responses with the least work. */

import { LARGE } from "../rows.ts";
import { loadSchema, renderPage } from "./page.ts";

const HTML = { headers: { "content-type": "text/html; charset=utf-8" } };
const VERSIONED = { headers: { ...HTML.headers, "x-version": "1" } };

const BODIES: Readonly<
  Record<string, (request: Request) => Promise<Response>>
> = {
  "/body": async (request) => html(`Hello, ${(await request.json()).name}`),
  "/form": async (request) => {
    const form = new URLSearchParams(await request.text());
    return html(`Hello, ${form.get("name")}`);
  },
  "/upload": async (request) => {
    const file = (await request.formData()).get("file") as File;
    return html(`${file.size} bytes`);
  },
  "/validated": async (request) => {
    const schema = await loadSchema();
    const { data, error } = schema.safeParse(await request.json());
    return data === undefined
      ? Response.json({ error: error.message }, { status: 422 })
      : html(`Hello, ${data.name}`);
  },
};

export function fetch(request: Request): Response | Promise<Response> {
  const path = request.url.slice(request.url.indexOf("/", 8));
  if (request.method === "POST") {
    return BODIES[path]?.(request) ?? new Response(null, { status: 404 });
  }
  if (path === "/") return html("Hello, World!");
  if (path.startsWith("/user/")) {
    return html(`User ${decodeURIComponent(path.slice(6))}`);
  }
  if (path === "/json" || path === "/object") {
    return Response.json({ message: "Hello, World!" });
  }
  if (path === "/async") return wait();
  if (path === "/header") return new Response("Hello, World!", VERSIONED);
  if (path === "/large") return html(LARGE);
  if (path === "/vento") return renderPage().then(html);
  if (path.startsWith("/order/")) {
    const error = `No order ${decodeURIComponent(path.slice(7))}`;
    return Response.json({ error }, { status: 404 });
  }
  if (path.startsWith("/staff/")) {
    return Response.json({ error: "Log in first" }, { status: 401 });
  }
  return new Response("Not found", { ...HTML, status: 404 });
}

function html(text: string): Response {
  return new Response(text, HTML);
}

async function wait(): Promise<Response> {
  const greeting = await Promise.resolve("Hello");
  const count = await Promise.resolve("three");
  return html(await Promise.resolve(`${greeting} after ${count} awaits`));
}
