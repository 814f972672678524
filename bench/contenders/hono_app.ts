/** Hono's application; its handlers find their context by the function that is given. */

import type { Context, Hono } from "npm:hono@^4";
import { HTTPException } from "npm:hono@^4/http-exception";
import { validator } from "npm:hono@^4/validator";
import { LARGE } from "../rows.ts";
import { loadSchema, renderPage } from "./page.ts";

/** Adds the routes. */
export function addRoutes(
  app: Hono,
  contextOf: (context: Context) => Context,
): void {
  app.get("/", (c) => contextOf(c).html("Hello, World!"));
  app.get("/user/:id", (c) => {
    const context = contextOf(c);
    return context.html(`User ${context.req.param("id")}`);
  });
  app.get("/json", (c) => contextOf(c).json({ message: "Hello, World!" }));
  app.get("/object", (c) => contextOf(c).json({ message: "Hello, World!" }));
  app.get("/async", async (c) => {
    const greeting = await Promise.resolve("Hello");
    const count = await Promise.resolve("three");
    const text = await Promise.resolve(`${greeting} after ${count} awaits`);
    return contextOf(c).html(text);
  });
  app.get("/header", (c) => {
    const context = contextOf(c);
    context.header("x-version", "1");
    return context.html("Hello, World!");
  });
  app.get("/large", (c) => contextOf(c).html(LARGE));
  app.get("/vento", async (c) => contextOf(c).html(await renderPage()));
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
  app.post("/body", async (c) => {
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
  app.post("/form", async (c) => {
    const { name } = await contextOf(c).req.parseBody();
    return contextOf(c).html(`Hello, ${name}`);
  });
  app.post("/upload", async (c) => {
    const { file } = await contextOf(c).req.parseBody();
    return contextOf(c).html(`${(file as File).size} bytes`);
  });
}
