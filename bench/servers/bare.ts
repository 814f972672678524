/** `Deno.serve` with nothing but conditions: the same responses with the least work. */

import { LARGE } from "../cases.ts";
import { loadSchema, renderPage } from "./page.ts";

const HTML = { headers: { "content-type": "text/html; charset=utf-8" } };
const VERSIONED = { headers: { ...HTML.headers, "x-version": "1" } };

function handle(request: Request): Response | Promise<Response> {
  const path = request.url.slice(request.url.indexOf("/", 8));
  if (path === "/") return new Response("Hello, World!", HTML);
  if (path.startsWith("/user/")) {
    return new Response(`User ${decodeURIComponent(path.slice(6))}`, HTML);
  }
  if (path === "/header") return new Response("Hello, World!", VERSIONED);
  if (path === "/json" || path === "/object") {
    return Response.json({ message: "Hello, World!" });
  }
  if (path === "/form") return readForm(request);
  if (path === "/document") return readDocument(request);
  if (path === "/validated") return validate(request);
  if (path.startsWith("/order/")) {
    const error = `No order ${decodeURIComponent(path.slice(7))}`;
    return Response.json({ error }, { status: 404 });
  }
  if (path.startsWith("/staff/")) {
    return Response.json({ error: "Log in first" }, { status: 401 });
  }
  if (path === "/page") return page();
  if (path === "/large") return new Response(LARGE, HTML);
  if (path === "/async") return wait();
  return new Response("Not found", { ...HTML, status: 404 });
}

async function readForm(request: Request): Promise<Response> {
  const form = new URLSearchParams(await request.text());
  return new Response(`Hello, ${form.get("name")}`, HTML);
}

async function readDocument(request: Request): Promise<Response> {
  const { name } = await request.json();
  return new Response(`Hello, ${name}`, HTML);
}

async function validate(request: Request): Promise<Response> {
  const schema = await loadSchema();
  const { data, error } = schema.safeParse(await request.json());
  return data === undefined
    ? Response.json({ error: error.message }, { status: 422 })
    : new Response(`Hello, ${data.name}`, HTML);
}

async function page(): Promise<Response> {
  return new Response(await renderPage(), HTML);
}

async function wait(): Promise<Response> {
  const greeting = await Promise.resolve("Hello");
  const count = await Promise.resolve("three");
  const text = await Promise.resolve(`${greeting} after ${count} awaits`);
  return new Response(text, HTML);
}

let count = 0;

async function filtered(request: Request): Promise<Response> {
  count += 1;
  const response = await handle(request);
  response.headers.set("x-count", String(count % 10));
  return response;
}

const fetch = Deno.args.includes("filtered") ? filtered : handle;

export const app = { fetch };

if (!Deno.args.includes("served")) {
  Deno.serve({
    port: 0,
    hostname: "127.0.0.1",
    onListen: ({ port }) => console.log(port),
  }, fetch);
}
