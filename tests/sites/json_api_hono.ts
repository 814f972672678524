/** The JSON API of `json_api.ts`, written with Hono and its middleware. */

import { zValidator } from "npm:@hono/zod-validator@^0.9.1";
import { Hono } from "npm:hono@^4.13.19";
import { bearerAuth } from "npm:hono@^4.13.19/bearer-auth";
import { cors } from "npm:hono@^4.13.19/cors";
import { getConnInfo } from "npm:hono@^4.13.19/deno";
import { createMiddleware } from "npm:hono@^4.13.19/factory";
import { logger } from "npm:hono@^4.13.19/logger";
import { z } from "npm:zod@^4.6.7";

const Note = z.object({
  text: z.string().min(1).max(200),
  done: z.boolean().default(false),
});

/** The API for who has the token; each address may send `limit` requests a minute. */
export function notesApi(token: string, limit: number): Hono {
  const app = new Hono();
  const notes = new Map<string, z.infer<typeof Note>>();

  app.use(cors({
    origin: ["https://app.example"],
    exposeHeaders: ["location"],
  }));
  app.use(logger());
  app.use(limitRate(limit));
  app.use("/notes/*", bearerAuth({ token }));

  app.get("/notes", (c) => {
    return c.json([...notes].map(([id, note]) => ({ id, ...note })));
  });
  app.post("/notes", validNote(), (c) => {
    const note = c.req.valid("json");
    const id = crypto.randomUUID();
    notes.set(id, note);
    c.header("location", `/notes/${id}`);
    return c.json({ id, ...note }, 201);
  });
  app.get("/notes/:id", (c) => {
    const note = notes.get(c.req.param("id"));
    return note ? c.json(note) : c.notFound();
  });
  app.put("/notes/:id", validNote(), (c) => {
    const id = c.req.param("id");
    if (!notes.has(id)) return c.notFound();
    const note = c.req.valid("json");
    notes.set(id, note);
    return c.json({ id, ...note });
  });
  app.delete("/notes/:id", (c) => {
    return notes.delete(c.req.param("id")) ? c.body(null, 204) : c.notFound();
  });

  app.notFound((c) => c.json({ title: "Not Found", status: 404 }, 404));
  return app;
}

/** Checks the body by the schema; without the hook, the response would be a 400. */
function validNote() {
  return zValidator("json", Note, (result, c) => {
    if (result.success) return;
    return c.json({ status: 422, errors: result.error.issues }, 422);
  });
}

function limitRate(limit: number) {
  const counts = new Map<string, number>();
  let minute = 0;
  return createMiddleware(async (c, next) => {
    const now = Math.floor(Date.now() / 60_000);
    if (now !== minute) counts.clear();
    minute = now;
    const ip = getConnInfo(c).remote.address ?? "";
    const count = (counts.get(ip) ?? 0) + 1;
    counts.set(ip, count);
    if (count <= limit) return await next();
    c.header("retry-after", "60");
    return c.json({ status: 429, detail: "Too many requests" }, 429);
  });
}
