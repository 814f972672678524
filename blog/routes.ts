/**
 * Owns the blog as an application: its routes, its pages and what every answer carries. It is declared
 * on whatever application it is given, so that `main.ts` can serve it and a test can visit it.
 */

import type { Engine } from "@framework/core";
import { join } from "@std/path/join";
import { Posts } from "./posts.ts";
import { TemplateEngine } from "./view.ts";

/** Where the blog keeps its things. */
export interface BlogPaths {
  /** The JSON file of the posts. */
  readonly posts: string;
  /** The folder of the templates. */
  readonly views: string;
  /** The folder for compiled templates. */
  readonly cache: string;
  /** The folder of the files that are served as they are. */
  readonly public: string;
}

/** The headers of every answer: pages use this site's style sheet and images, and no script at all. */
const HEADERS: Readonly<Record<string, string>> = {
  "Content-Security-Policy":
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
};

/** The types of the files that are served as they are, by extension. */
const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** Declares the blog on an application. */
export function declareBlog(app: Engine, paths: BlogPaths): void {
  declareViews(app, paths);
  declarePages(app, new Posts(paths.posts));
  declareFiles(app, paths.public);
  app.after("start", () => {
    for (const [name, value] of Object.entries(HEADERS)) {
      app.response().header(name, value);
    }
  });
}

/**
 * Puts the blog's template engine in the place of the default view, and has `render` use it. A page
 * carries its fingerprint, so whoever has the very page already need not load it again.
 */
function declareViews(app: Engine, { views, cache }: BlogPaths): void {
  app.register("view", TemplateEngine, [{ views, cache }]);
  app.map("render", async (template: string, data: Record<string, unknown>) => {
    const engine = app.view<TemplateEngine>();
    const page = await engine.assign(data).display(template);
    const response = app.response().write(page);
    response.header("Cache-Control", "no-cache");
    if (response.status() === 200) await app.etag(await digest(page));
  });
  app.map("notFound", () => app.render("404", { title: "Page not found" }));
}

function declarePages(app: Engine, posts: Posts): void {
  app.route("GET /", async () => {
    await app.render("home", { title: "All posts", posts: await posts.all() });
  });

  app.route("GET /post/@slug", async (slug) => {
    const post = await posts.find(slug);
    if (post === undefined) return app.notFound();
    await app.render("post", { title: post.title, post });
  });

  app.route(
    "GET /create",
    () => app.render("create", { title: "Write a post" }),
  );

  app.route("POST /create", async () => {
    const { title, content } = app.request().data;
    await posts.create(text(title), text(content));
    app.redirect("/");
  });
}

/** Serves the files of one folder; their names have no slash, so that none leads out of it. */
function declareFiles(app: Engine, folder: string): void {
  app.route("GET /public/@name:[\\w-]+\\.(?:css|svg)", async (name) => {
    const file = join(folder, name);
    const modified = await modificationTime(file);
    if (modified === undefined) return app.notFound();
    app.response()
      .header("Content-Type", TYPES[name.split(".").at(-1)!]!)
      .header("Cache-Control", "public, max-age=600");
    app.lastModified(modified);
    return await Deno.readFile(file);
  });
}

/** When a file was modified, in seconds since 1970; undefined when it is missing or a link. */
async function modificationTime(file: string): Promise<number | undefined> {
  try {
    const { isFile, mtime } = await Deno.lstat(file);
    return isFile ? (mtime?.getTime() ?? 0) / 1000 : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** A form field as text that can be part of an address; a field that was not sent is empty. */
function text(field: unknown): string {
  return String(field ?? "").toWellFormed();
}

/** A short fingerprint of a text. */
async function digest(content: string): Promise<string> {
  const hash = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode(content),
  );
  return new Uint8Array(hash).toBase64({ alphabet: "base64url" }).slice(0, 22);
}
