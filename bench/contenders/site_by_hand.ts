/** The same page with Hono: its `secureHeaders`, `csrf` and `logger`, Vento, and a session in a cookie sealed alike. */

import { Hono } from "npm:hono@^4";
import { getCookie, setCookie } from "npm:hono@^4/cookie";
import { csrf } from "npm:hono@^4/csrf";
import { logger } from "npm:hono@^4/logger";
import { secureHeaders } from "npm:hono@^4/secure-headers";
import { defaults, seal, unseal } from "npm:iron-webcrypto@^2.0.0";
import vento from "ventojs";
import { ITEMS } from "../rows.ts";

interface Session {
  readonly user?: string;
}

const SECRET = "nobody guesses these 32 characters";
const VIEWS = new URL("../views", import.meta.url).pathname;

const templates = vento({ autoescape: true, includes: VIEWS });
const app = new Hono<{ Variables: { session: Session } }>();

app.use(logger());
app.use(secureHeaders());
app.use(csrf());
app.use(async (context, next) => {
  const cookie = getCookie(context, "session");
  const session = cookie && await unseal(cookie, SECRET, defaults)
    .catch(() => undefined);
  context.set("session", session as Session ?? {});
  await next();
});

app.get("/login", async (context) => {
  const sealed = await seal({ user: "Ada" }, SECRET, defaults);
  const options = { httpOnly: true, sameSite: "Lax", maxAge: 604_800 } as const;
  setCookie(context, "session", sealed, options);
  return context.html("Welcome");
});
app.get("/", async (context) => {
  const { user } = context.get("session");
  const { content } = await templates.run("site/page.vto", {
    title: "Things",
    items: ITEMS,
    sections: ["home", "things", "about"],
    user,
  });
  context.header("Vary", "Cookie");
  return context.html(content);
});

export const fetch = app.fetch;
