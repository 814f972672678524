/** Declares the blog: its pages and routes. `main.ts` starts it, tests call `Framework.fetch()`. */

import { Framework, HttpError } from "@framework/core";
import { files } from "@framework/core/files";
import { guard } from "@framework/core/guard";
import { PostFile, type PostStore } from "./posts.ts";
import { Templates } from "./view.ts";

/** What the pages may load: this site's style sheet and images, and no script at all. */
const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const folder = import.meta.dirname!;
const data = `${folder}/data`;

guard(Framework, { headers: { "content-security-policy": POLICY } });
const asset = files(Framework, "/public", `${folder}/public`);

Framework.register("posts", PostFile, [
  `${data}/posts.json`,
  `${data}/seed.json`,
]);
Framework.register("view", Templates, [`${folder}/views`, `${folder}/cache`]);

Framework.map("render", async (template: string, data: PageData) => {
  const view = Framework.view<Templates>();
  const page = await view.display(template, { asset, ...data });
  Framework.response().write(page);
});

Framework.map("notFound", async () => {
  await Framework.render("404", { title: "Page not found" });
});

Framework.map("error", async (error: Error) => {
  const message = error instanceof HttpError
    ? error.message
    : `Reference: ${Framework.request().id}`;
  const status = Framework.response().status();
  await Framework.render("error", {
    title: "This did not work",
    status,
    message,
  });
});

Framework.route("GET /", async () => {
  const list = await posts().all();
  await Framework.render("home", { title: "All posts", posts: list });
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
  const { title, content } = Framework.request().data;
  await posts().create(textOf(title), textOf(content));
  Framework.redirect("/");
}).bodyLimit(1024 * 1024);

export default Framework;

/** What a page shows. */
type PageData = Readonly<Record<string, unknown>>;

/** The store of the posts: the class above, or the method that `postgres/app.ts` or a test maps in its place. */
function posts(): PostStore {
  return Framework.posts();
}

/** The text of a form field; a field that was not sent is empty. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
