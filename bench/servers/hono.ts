/** Hono; with the argument "context", its handlers find their request through `contextStorage()`. */

import { type Context, Hono } from "npm:hono@4.13.19";
import { contextStorage, getContext } from "npm:hono@4.13.19/context-storage";
import { HTTPException } from "npm:hono@4.13.19/http-exception";
import { validator } from "npm:hono@4.13.19/validator";
import { LARGE } from "../cases.ts";
import { loadSchema, renderPage } from "./page.ts";

export const app = new Hono();
const stored = Deno.args.includes("context");
const contextOf = (context: Context): Context =>
  stored ? getContext() : context;

if (stored) app.use(contextStorage());
if (Deno.args.includes("filtered")) {
  let count = 0;
  app.use(async (context, next) => {
    count += 1;
    await next();
    contextOf(context).header("x-count", String(count % 10));
  });
}

app.get("/", (c) => contextOf(c).html("Hello, World!"));
app.get("/user/:id", (c) => {
  const context = contextOf(c);
  return context.html(`User ${context.req.param("id")}`);
});
app.get("/header", (c) => {
  const context = contextOf(c);
  context.header("x-version", "1");
  return context.html("Hello, World!");
});
app.get("/json", (c) => contextOf(c).json({ message: "Hello, World!" }));
app.get("/object", (c) => contextOf(c).json({ message: "Hello, World!" }));
app.post("/form", async (c) => {
  const { name } = await contextOf(c).req.parseBody();
  return contextOf(c).html(`Hello, ${name}`);
});
app.post("/document", async (c) => {
  const { name } = await contextOf(c).req.json();
  return contextOf(c).html(`Hello, ${name}`);
});
// As `@hono/zod-validator` does, whose import of zod would have a part in the start.
const validated = validator("json", async (value) => {
  const { data, error } = (await loadSchema()).safeParse(value);
  if (error) throw new HTTPException(422, { message: error.message });
  return data;
});
app.post("/validated", validated, (c) => {
  const { name } = c.req.valid("json");
  return contextOf(c).html(`Hello, ${name}`);
});
app.onError((error, c) => {
  const status = error instanceof HTTPException ? error.status : 500;
  return contextOf(c).json({ error: error.message }, status);
});
app.get("/order/:id", (c) => {
  const message = `No order ${contextOf(c).req.param("id")}`;
  throw new HTTPException(404, { message });
});
app.use("/staff/*", () => {
  throw new HTTPException(401, { message: "Log in first" });
});
app.get("/staff/rota", (c) => contextOf(c).html("The rota"));
app.get("/page", async (c) => contextOf(c).html(await renderPage()));
app.get("/large", (c) => contextOf(c).html(LARGE));
app.get("/async", async (c) => {
  const greeting = await Promise.resolve("Hello");
  const count = await Promise.resolve("three");
  const text = await Promise.resolve(`${greeting} after ${count} awaits`);
  return contextOf(c).html(text);
});

if (!Deno.args.includes("served")) {
  Deno.serve({
    port: 0,
    hostname: "127.0.0.1",
    onListen: ({ port }) => console.log(port),
  }, app.fetch);
}
