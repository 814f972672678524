/** h3. */

import { H3, html, HTTPError, raw } from "npm:h3@2.0.8";
import { LARGE } from "../cases.ts";
import { loadSchema, renderPage } from "./page.ts";

const app = new H3({
  onError: (error) =>
    Response.json({ error: error.message }, { status: error.status }),
});

if (Deno.args.includes("filtered")) {
  let count = 0;
  app.use(async (event, next) => {
    count += 1;
    const body = await next();
    event.res.headers.set("x-count", String(count % 10));
    return body;
  });
}

app.get("/", () => html(raw("Hello, World!")));
app.get("/user/:id", (event) => html(raw(`User ${event.context.params?.id}`)));
app.get("/header", (event) => {
  event.res.headers.set("x-version", "1");
  return html(raw("Hello, World!"));
});
app.get("/json", () => ({ message: "Hello, World!" }));
app.get("/object", () => ({ message: "Hello, World!" }));
app.post("/form", async (event) => {
  const form = new URLSearchParams(await event.req.text());
  return html(raw(`Hello, ${form.get("name")}`));
});
app.post("/document", async (event) => {
  const { name } = await event.req.json() as { name: string };
  return html(raw(`Hello, ${name}`));
});
app.post("/validated", async (event) => {
  const { data, error } = (await loadSchema()).safeParse(
    await event.req.json(),
  );
  if (error) throw new HTTPError({ status: 422, message: error.message });
  return html(raw(`Hello, ${data.name}`));
});
app.get("/order/:id", (event) => {
  const message = `No order ${event.context.params?.id}`;
  throw new HTTPError({ status: 404, message });
});
app.use("/staff/**", () => {
  throw new HTTPError({ status: 401, message: "Log in first" });
});
app.get("/staff/rota", () => html(raw("The rota")));
app.get("/page", async () => html(raw(await renderPage())));
app.get("/large", () => html(raw(LARGE)));
app.get("/async", async () => {
  const greeting = await Promise.resolve("Hello");
  const count = await Promise.resolve("three");
  return html(raw(await Promise.resolve(`${greeting} after ${count} awaits`)));
});

Deno.serve({
  port: 0,
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(port),
}, (request) => app.fetch(request));
