/**
 * The blog: its views, its pages and its routes. `main.ts` starts it, `serve.ts` is for `deno serve`;
 * `Framework.posts()` is where its posts are, by default the file `data/posts.json`.
 */

import { Framework, HttpError } from "@framework/core";
import { files } from "@framework/core/files";
import { guard } from "@framework/core/guard";
import { join } from "@std/path/join";
import { cleanText, PostFile, type PostStore } from "./posts.ts";
import { TemplateEngine } from "./view.ts";

/** Pages may use this site's style sheet and images, and no script at all. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** The most bytes that a new post may have. */
const POST_SIZE = 256 * 1024;

const folder = import.meta.dirname!;

guard(Framework, {
  headers: {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "same-origin",
  },
});
files(Framework, "/public", join(folder, "public"), {
  cacheControl: "public, max-age=600",
});

Framework.register("posts", PostFile, [join(folder, "data", "posts.json")]);
const posts = (): PostStore => Framework.posts();

Framework.register("view", TemplateEngine, [
  { views: join(folder, "views"), cache: join(folder, "cache") },
]);
Framework.map("render", async (template: string, data: Data) => {
  const view = Framework.view<TemplateEngine>();
  const page = await view.assign(data).display(template);
  const response = Framework.response().write(page);
  response.header("Cache-Control", "no-cache");
  if (response.status() === 200) await Framework.etag(await hashOf(page));
});
Framework.map(
  "notFound",
  () => Framework.render("404", { title: "Page not found" }),
);

Framework.route("GET /", async () => {
  const list = await posts().list(Framework.request().query);
  await Framework.render("home", { title: "All posts", ...list });
});

Framework.route("GET /post/@slug", async (slug) => {
  const post = await posts().find(slug);
  if (post === undefined) return Framework.notFound();
  await Framework.render("post", { title: post.title, post });
});

Framework.route(
  "GET /create",
  () => Framework.render("create", { title: "Write a post" }),
);

Framework.route("POST /create", async () => {
  const { title, content } = Framework.request().data;
  await posts().create(field("title", title), field("content", content));
  Framework.redirect("/");
}).bodyLimit(POST_SIZE);

/** What a template is rendered with. */
type Data = Record<string, unknown>;

/** A field of the form as clean text; a field that was not sent is empty. */
function field(name: string, value: unknown): string {
  if (typeof value === "object" && value !== null) {
    throw new HttpError(400, `The field "${name}" must be text`);
  }
  return cleanText(String(value ?? ""));
}

/** The hash of a page: a client that has the current page does not load it again. */
async function hashOf(page: string): Promise<string> {
  const bytes = new TextEncoder().encode(page);
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}
