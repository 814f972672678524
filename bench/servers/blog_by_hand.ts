/**
 * The pages of the sample blog, written by hand with Hono and Vento: the same posts, the same
 * templates, the same headers, and nothing that the responses do not need.
 */

import { type Context, Hono } from "npm:hono@4.13.19";
import vento from "npm:ventojs@2.4.0";
import { makePosts } from "./posts.ts";

interface Post {
  readonly slug: string;
  readonly title: string;
  readonly content: string;
}

const blog = new URL("../../blog/", import.meta.url).pathname;
const folder = await makePosts(Number(Deno.args[0]));
const file = `${folder}/posts.json`;
const templates = vento({ autoescape: true, includes: `${blog}views` });
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
  const data = { title: "All posts", posts: await read() };
  return await showPage(context, "home", data);
});

app.get("/post/:slug", async (context) => {
  const slug = context.req.param("slug");
  const post = (await read()).find((each) => each.slug === slug);
  if (!post) return await context.notFound();
  return await showPage(context, "post", { title: post.title, post });
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

app.get("/public/:name{[\\w-]+\\.css}", async (context) => {
  const path = `${blog}public/${context.req.param("name")}`;
  const { mtime } = await Deno.lstat(path);
  const modified = mtime!.toUTCString();
  context.header("Cache-Control", "public, max-age=600");
  context.header("Last-Modified", modified);
  if (context.req.header("if-modified-since") === modified) {
    return context.body(null, 304);
  }
  context.header("Content-Type", "text/css; charset=utf-8");
  return context.body(await Deno.readFile(path));
});

app.notFound(async (context) => {
  const data = { title: "Page not found" };
  const { content } = await templates.run("404.vto", data);
  context.header("Cache-Control", "no-cache");
  return context.html(content, 404);
});

/** Shows a page with its fingerprint, or 304 to a client that has the same. */
async function showPage(
  context: Context,
  name: string,
  data: Record<string, unknown>,
): Promise<Response> {
  const { content } = await templates.run(`${name}.vto`, data);
  const tag = await digest(content);
  context.header("Cache-Control", "no-cache");
  context.header("ETag", tag);
  if (context.req.header("if-none-match") === tag) {
    return context.body(null, 304);
  }
  return context.html(content);
}

async function read(): Promise<Post[]> {
  return JSON.parse(await Deno.readTextFile(file));
}

/** Writes a file beside the posts, syncs it and renames it over them, under a lock. */
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
