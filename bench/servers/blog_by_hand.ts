/**
 * The home page and the creation of the sample blog, written by hand with Hono and Vento: the same
 * file, the same templates, the same headers, and nothing that the answers do not need.
 */

import { Hono } from "npm:hono@4.13.19";
import vento from "npm:ventojs@2.4.0";
import { makePosts } from "./posts.ts";

interface Post {
  readonly slug: string;
  readonly title: string;
  readonly content: string;
}

const folder = await makePosts(Number(Deno.args[0]));
const file = `${folder}/posts.json`;
const templates = vento({
  autoescape: true,
  includes: new URL("../../blog/views", import.meta.url).pathname,
});
const app = new Hono();

app.use(async (context, next) => {
  await next();
  context.header(
    "Content-Security-Policy",
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  );
  context.header("Referrer-Policy", "same-origin");
  context.header("X-Content-Type-Options", "nosniff");
});

app.get("/", async (context) => {
  const { content } = await templates.run("home.vto", {
    title: "All posts",
    posts: await read(),
  });
  const tag = await digest(content);
  context.header("Cache-Control", "no-cache");
  context.header("ETag", tag);
  if (context.req.header("if-none-match") === tag) {
    return context.body(null, 304);
  }
  return context.html(content);
});

app.post("/create", async (context) => {
  const { title, content } = await context.req.parseBody();
  const slug = String(title).toLowerCase().replaceAll(" ", "-");
  await save([...await read(), {
    slug,
    title: String(title),
    content: String(content),
  }]);
  return context.redirect("/", 303);
});

async function read(): Promise<Post[]> {
  return JSON.parse(await Deno.readTextFile(file));
}

/** Writes beside the file, brings it to the disk and puts it in the file's place, under a lock. */
async function save(posts: readonly Post[]): Promise<void> {
  using lock = await Deno.open(`${file}.lock`, { write: true, create: true });
  await lock.lock(true);
  await Deno.writeTextFile(`${file}.new`, JSON.stringify(posts, null, 2));
  await sync(`${file}.new`);
  await Deno.rename(`${file}.new`, file);
  await sync(folder);
}

async function sync(path: string): Promise<void> {
  using opened = await Deno.open(path);
  await opened.sync();
}

async function digest(content: string): Promise<string> {
  const bytes = new TextEncoder().encode(content);
  const hash = await crypto.subtle.digest("SHA-256", bytes);
  return `"${new Uint8Array(hash).toBase64({ alphabet: "base64url" })}"`;
}

Deno.serve({
  port: 0,
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(port),
}, app.fetch);
