/**
 * The same page with Hono: its `secureHeaders`, `csrf` and `logger`, Vento, and a session in a cookie that is sealed in the
 * same way.
 */

import { Hono } from "npm:hono@4.13.19";
import { getCookie, setCookie } from "npm:hono@4.13.19/cookie";
import { csrf } from "npm:hono@4.13.19/csrf";
import { logger } from "npm:hono@4.13.19/logger";
import { secureHeaders } from "npm:hono@4.13.19/secure-headers";
import { defaults, seal, unseal } from "npm:iron-webcrypto@2.0.0";
import vento from "npm:ventojs@2.4.0";
import { ITEMS, SECRET, SECTIONS } from "../cases.ts";

interface Session {
  readonly user?: string;
}

const templates = vento({
  autoescape: true,
  includes: new URL("../views", import.meta.url).pathname,
});
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
    sections: SECTIONS,
    user,
  });
  context.header("Vary", "Cookie");
  return context.html(content);
});

Deno.serve({
  port: 0,
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(port),
}, app.fetch);
