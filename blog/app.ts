/**
 * The blog: its views, its pages and its routes. `main.ts` starts it, and `serve.ts` is for `deno serve`.
 */

import { Framework, HttpError } from "@framework/core";
import { files } from "@framework/core/files";
import { guard } from "@framework/core/guard";
import { join } from "@std/path/join";
import { cleanText, PostFile, type PostStore } from "./posts.ts";
import { TemplateEngine } from "./view.ts";

/** The headers of every response: pages may use this site's style sheet and images, and no script at all. */
const HEADERS = {
  "Content-Security-Policy":
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "same-origin",
};

const folder = import.meta.dirname!;
const cacheControl = "public, max-age=600";

guard(Framework, { headers: HEADERS });
files(Framework, "/public", join(folder, "public"), { cacheControl });

Framework.register("posts", PostFile, [join(folder, "data", "posts.json")]);
Framework.register("view", TemplateEngine, [{
  views: join(folder, "views"),
  cache: join(folder, "cache"),
}]);

Framework.map("render", async (template: string, data: Data) => {
  const view = Framework.view<TemplateEngine>();
  const page = await view.assign(data).display(template);
  const response = Framework.response().write(page);
  response.header("Cache-Control", "no-cache");
  if (response.status() === 200) await Framework.etag(await hashOf(page));
});

Framework.map("notFound", async () => {
  await Framework.render("404", { title: "Page not found" });
});

Framework.route("GET /", async () => {
  const list = await posts().list(Framework.request().query);
  await Framework.render("home", { title: "All posts", ...list });
});

Framework.route("GET /post/@slug", async (slug) => {
  const post = await posts().find(slug);
  if (post === undefined) return Framework.notFound();
  await Framework.render("post", { title: post.title, post });
});

Framework.route("GET /create", async () => {
  await Framework.render("create", { title: "Write a post" });
});

Framework.route("POST /create", async () => {
  await posts().create(field("title"), field("content"));
  Framework.redirect("/");
}).bodyLimit(256 * 1024);

/** What a page shows. */
type Data = Record<string, unknown>;

/** The store that is registered above, or the one that `serve.ts` or a test has mapped in its place. */
function posts(): PostStore {
  return Framework.posts();
}

/** A field of the form as clean text; a field that was not sent is empty. */
function field(name: string): string {
  const { data, files } = Framework.request();
  const value = data[name] ?? files[name];
  if (typeof value === "object" && value !== null) {
    throw new HttpError(400, `The field "${name}" must be text`);
  }
  return cleanText(String(value ?? ""));
}

/** The hash of a page, by which a client asks whether the one it has is current. */
async function hashOf(page: string): Promise<string> {
  const bytes = new TextEncoder().encode(page);
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}
