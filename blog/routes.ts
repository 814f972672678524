/**
 * Owns the blog as an application: its routes, its pages and the headers of its responses. It is declared
 * on a given application over a given store, so that `serve.ts` can serve it and a test can visit it.
 */

import { type Engine, HttpError } from "@framework/core";
import { files } from "@framework/core/files";
import { guard } from "@framework/core/guard";
import { cleanText, type PostStore } from "./posts.ts";
import { TemplateEngine, type TemplateFolders } from "./view.ts";

/** The folders that the blog reads its pages from. */
export interface BlogFolders extends TemplateFolders {
  /** The folder of the static files. */
  readonly public: string;
}

/** The headers of every response: pages may use this site's style sheet and images, and no script at all. */
const HEADERS: Readonly<Record<string, string>> = {
  "Content-Security-Policy":
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "same-origin",
};

/** Declares the blog on an application. */
export function declareBlog(
  app: Engine,
  posts: PostStore,
  folders: BlogFolders,
): void {
  guard(app, { headers: HEADERS });
  declareViews(app, folders);
  declarePages(app, posts);
  const cacheControl = "public, max-age=600";
  files(app, "/public", folders.public, { cacheControl });
}

/**
 * Registers the blog's template engine as the view, and maps `render` to use it. A page has its hash as the
 * ETag, so that a client with the current page does not load it again.
 */
function declareViews(app: Engine, folders: TemplateFolders): void {
  app.register("view", TemplateEngine, [folders]);
  app.map("render", async (template: string, data: Record<string, unknown>) => {
    const engine = app.view<TemplateEngine>();
    const page = await engine.assign(data).display(template);
    const response = app.response().write(page);
    response.header("Cache-Control", "no-cache");
    if (response.status() !== 200) return;
    const bytes = new TextEncoder().encode(page);
    const digest = await crypto.subtle.digest("SHA-256", bytes);
    await app.etag(new Uint8Array(digest).toHex());
  });
  app.map("notFound", () => app.render("404", { title: "Page not found" }));
}

function declarePages(app: Engine, store: PostStore): void {
  app.route("GET /", async () => {
    const { after, before } = app.request().query;
    const list = await store.list({ after: text(after), before: text(before) });
    await app.render("home", { title: "All posts", ...list });
  });

  app.route("GET /post/@slug", async (slug) => {
    const post = await store.find(slug);
    if (post === undefined) return app.notFound();
    await app.render("post", { title: post.title, post });
  });

  app.route(
    "GET /create",
    () => app.render("create", { title: "Write a post" }),
  );

  app.route("POST /create", async () => {
    const { title, content } = app.request().data;
    await store.create(field("title", title), field("content", content));
    app.redirect("/");
  });
}

/** A parameter of the query; anything but text counts as not given. */
function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A field of the form as clean text; a field that was not sent is empty. */
function field(name: string, value: unknown): string {
  if (typeof value === "object" && value !== null) {
    throw new HttpError(400, `The field "${name}" must be text`);
  }
  return cleanText(String(value ?? ""));
}
