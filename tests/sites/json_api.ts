/** A JSON API of notes: schema, CORS, bearer token, log and a rate limit. `json_api_hono.ts` is its twin. */

import { hash } from "node:crypto";
import { Engine, HttpError } from "@framework/core";
import { cors } from "@framework/core/cors";
import { limit } from "@framework/core/limit";
import { log } from "@framework/core/log";
import { z } from "npm:zod@^4.6.7";

const Note = z.object({
  text: z.string().min(1).max(200),
  done: z.boolean().default(false),
});

/** The API for who has the token; each address may send so many requests a minute. */
export function notesApi(token: string, requests: number): Engine {
  const app = new Engine();
  const notes = new Map<string, z.infer<typeof Note>>();

  cors(app, { origins: ["https://app.example"], expose: ["location"] });
  log(app);
  const slow = limit(app, { requests, seconds: 60 });

  app.group("/notes", (router) => {
    router.get("/", () => [...notes].map(([id, note]) => ({ id, ...note })));
    router.post("/", async () => {
      const note = await app.request().validate(Note);
      const id = crypto.randomUUID();
      notes.set(id, note);
      app.response().header("location", `/notes/${id}`);
      app.json({ id, ...note }, 201);
    });
    router.get("/@id", (id) => notes.get(id) ?? app.notFound());
    router.put("/@id", async (id) => {
      if (!notes.has(id)) return app.notFound();
      const note = await app.request().validate(Note);
      notes.set(id, note);
      return { id, ...note };
    });
    router.delete("/@id", (id) => {
      if (notes.delete(id)) app.halt(204);
      app.notFound();
    });
  }, [slow, bearer(app, token)]);
  return app;
}

/** Asks for the token; hashes are compared, so that the time tells nothing of it. */
function bearer(app: Engine, token: string) {
  const expected = hash("sha256", `Bearer ${token}`);
  const headers = { "www-authenticate": "Bearer" };
  return () => {
    const given = app.request().getHeader("authorization");
    if (hash("sha256", given) === expected) return;
    throw new HttpError(401, "A bearer token is needed", { headers });
  };
}
