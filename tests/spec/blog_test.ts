/** The sample blog's pages: SPEC "A. Sample blog HTTP routes", and DESIGN 7. */

import {
  assert,
  assertEquals,
  assertFalse,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { Framework } from "@framework/core";
import "../../blog/app.ts";
import { PostFile } from "../../blog/posts.ts";
import { logOf } from "../support/log.ts";

/** A visitor of the blog, over a temporary file of posts. */
class Blog implements AsyncDisposable {
  readonly posts: PostFile;

  private constructor(readonly folder: string) {
    this.posts = new PostFile(this.file);
  }

  static async open(): Promise<Blog> {
    return new Blog(await Deno.makeTempDir({ prefix: "blog" }));
  }

  get file(): string {
    return `${this.folder}/posts.json`;
  }

  async get(path: string): Promise<Response> {
    return await this.send(new Request(`http://localhost${path}`));
  }

  async text(path: string): Promise<string> {
    return await (await this.get(path)).text();
  }

  /** Sends the form of `/create`. */
  async create(
    fields: Record<string, string>,
    headers: HeadersInit = {},
  ): Promise<Response> {
    const body = new URLSearchParams(fields);
    const init = { method: "POST", body, headers };
    return await this.send(new Request("http://localhost/create", init));
  }

  async send(request: Request): Promise<Response> {
    Framework.configure(() => Framework.map("posts", () => this.posts));
    return await Framework.fetch(request);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** The links to posts on a page, each with its text. */
function linksOf(page: string): [path: string, text: string][] {
  const links = page.matchAll(/<a href="(\/post\/[^"]*)">([^<]*)</g);
  return [...links].map(([, path, text]) => [path!, text!]);
}

Deno.test("`GET /` lists the posts in the order of the file, each with a link", async () => {
  await using blog = await Blog.open();
  await blog.create({ title: "Second Thoughts", content: "b" });
  await blog.create({ title: "A First", content: "a" });
  const page = await blog.text("/");
  assertEquals(linksOf(page), [
    ["/post/second-thoughts", "Second Thoughts"],
    ["/post/a-first", "A First"],
  ]);
  assertMatch(page, /<title>[^<]+<\/title>/);
  assertStringIncludes(page, `href="/create"`);
});

Deno.test("`GET /` shows at most 200 characters of a post", async () => {
  await using blog = await Blog.open();
  await blog.posts.create("Long", "x".repeat(1_000_000));
  const page = await blog.text("/");
  assertEquals(/x{100,}/.exec(page)?.[0].length, 200);
});

Deno.test("`GET /post/@slug` shows the post, escaped", async () => {
  await using blog = await Blog.open();
  await blog.create({ title: "A <b> & C", content: "One\n\n<script>Two" });
  const page = await blog.text("/post/a-%3Cb%3E-%26-c");
  assertStringIncludes(page, "<title>A &lt;b&gt; &amp; C</title>");
  assertStringIncludes(page, "One\n\n&lt;script&gt;Two");
  assertFalse(page.includes("<script"));
});

for (const path of ["/post/nothing", "/nowhere", "/post", "/post/a/b"]) {
  Deno.test(`\`GET ${path}\` is the blog's 404 page and nothing else`, async () => {
    await using blog = await Blog.open();
    const response = await blog.get(path);
    assertEquals(response.status, 404);
    const page = await response.text();
    assertEquals(page.split("<!doctype html>").length, 2);
    const [, title = ""] = /<title>([^<]+)<\/title>/.exec(page)!;
    const text = page.replace(/<[^>]+>/g, " ").replace(/\s+/g, " ");
    assertStringIncludes(text, `404 ${title}`);
  });
}

Deno.test("`GET /create` shows a form that posts to `/create`, both fields required", async () => {
  await using blog = await Blog.open();
  const page = await blog.text("/create");
  assertMatch(page, /<title>[^<]+<\/title>/);
  assertMatch(page, /<form[^>]* method="post"[^>]* action="\/create"/);
  assertMatch(page, /<input[^>]* name="title"[^>]* type="text"[^>]* required/);
  assertMatch(page, /<textarea[^>]* name="content"[^>]* required/);
});

Deno.test("`POST /create` appends the post and redirects to `/` with 303", async () => {
  await using blog = await Blog.open();
  await blog.create({ title: "One", content: "1" });
  const response = await blog.create({ title: "My Second", content: "2" });
  assertEquals(response.status, 303);
  assertEquals(response.headers.get("location"), "/");
  assertEquals(JSON.parse(await Deno.readTextFile(blog.file)), [
    { slug: "one", title: "One", content: "1" },
    { slug: "my-second", title: "My Second", content: "2" },
  ]);
});

Deno.test("`POST /create` checks nothing: fields that were not sent, or are no text, are empty", async () => {
  await using blog = await Blog.open();
  assertEquals((await blog.create({})).status, 303);
  assertEquals((await blog.create({ "title[a]": "list" })).status, 303);
  const empty = { slug: "", title: "", content: "" };
  assertEquals(await blog.posts.all(), [empty, empty]);
  assertEquals((await blog.get("/")).status, 200);
});

Deno.test("`POST /create` takes 1 MiB at most", async () => {
  await using blog = await Blog.open();
  const statusOf = async (size: number): Promise<number> => {
    const content = "x".repeat(size - "title=A&content=".length);
    return (await blog.create({ title: "A", content })).status;
  };
  assertEquals(await statusOf(1024 * 1024), 303);
  assertEquals(await statusOf(1024 * 1024 + 1), 413);
  assertEquals((await blog.posts.all()).length, 1);
});

const TITLES = [
  "C/C++ & 100%?",
  `"Quoted" 'twice'`,
  "<script>alert(1)</script>",
  "Straße ✓ 日本語",
  "../../up",
  "{{ title }}",
  "  spaced  ",
  "\ud800 half",
];

for (const title of TITLES) {
  Deno.test(`\`GET /\` links the page of a post with the title ${JSON.stringify(title)}`, async () => {
    await using blog = await Blog.open();
    const init = {
      method: "POST",
      body: JSON.stringify({ title, content: "The content" }),
      headers: { "content-type": "application/json" },
    };
    await blog.send(new Request("http://localhost/create", init));
    const home = await blog.text("/");
    assertFalse(home.includes("<script>alert"));
    const [[path] = [""]] = linksOf(home);
    const response = await blog.get(path.replaceAll(/&apos;|&#39;/g, "'"));
    assertEquals(response.status, 200);
    assertStringIncludes(await response.text(), "The content");
  });
}

Deno.test("every page has the layout, with title, description and style sheet", async () => {
  await using blog = await Blog.open();
  await blog.create({ title: "A", content: "text" });
  for (const path of ["/", "/post/a", "/create", "/nowhere"]) {
    const page = await blog.text(path);
    assertMatch(page, /^<!doctype html>/, path);
    assertMatch(page, /<title>[^<]+<\/title>/, path);
    assertMatch(page, /<meta name="description" content="[^"]+"/, path);
    assertMatch(page, /<link rel="stylesheet" href="\/public\//, path);
  }
});

Deno.test("the pages of errors look like the blog's other pages", async () => {
  await using blog = await Blog.open();
  await Deno.writeTextFile(blog.file, "{}");
  const pages: Record<number, Response> = {
    400: await blog.get("/post/%zz"),
    403: await blog.create({}, { "sec-fetch-site": "cross-site" }),
    404: await blog.get("/nowhere"),
    413: await blog.create({ content: "x".repeat(1024 * 1024) }),
  };
  await logOf(async () => pages[500] = await blog.get("/"));
  for (const [status, response] of Object.entries(pages)) {
    assertEquals(response.status, Number(status));
    const page = await response.text();
    assertStringIncludes(page, `<link rel="stylesheet" href="/public/`, status);
  }
});

Deno.test("a file that is no array of posts is a 500, and stays as it is", async () => {
  await using blog = await Blog.open();
  await Deno.writeTextFile(blog.file, `[{"slug": "half`);
  const lines = await logOf(async () => {
    for (const visit of [blog.get("/"), blog.create({ title: "A" })]) {
      assertEquals((await visit).status, 500);
    }
  });
  assertEquals(await Deno.readTextFile(blog.file), `[{"slug": "half`);
  for (const line of lines) assertStringIncludes(line, blog.file);
});

Deno.test("a form of another site creates no post", async () => {
  await using blog = await Blog.open();
  const headers = { "sec-fetch-site": "cross-site" };
  const response = await blog.create({ title: "Forged" }, headers);
  assertEquals(response.status, 403);
  assertEquals(await blog.posts.all(), []);
});

Deno.test("every page's policy allows no script", async () => {
  await using blog = await Blog.open();
  for (const path of ["/", "/nowhere", "/post/%zz"]) {
    const { headers } = await blog.get(path);
    const policy = headers.get("content-security-policy") ?? "";
    assertStringIncludes(policy, "default-src 'none'", path);
    assertFalse(/script-src|unsafe/.test(policy), path);
  }
});

Deno.test("`/public/` has the style sheet, and nothing else of the blog", async () => {
  await using blog = await Blog.open();
  const [, path = ""] = /rel="stylesheet" href="([^"]+)"/
    .exec(await blog.text("/"))!;
  const response = await blog.get(path.replaceAll("&amp;", "&"));
  assertEquals(response.status, 200);
  assertMatch(response.headers.get("content-type")!, /^text\/css/);
  await response.body?.cancel();
  for (const path of ["..%2fapp.ts", "%2e%2e%2fapp.ts", ".css", ""]) {
    const response = await blog.get(`/public/${path}`);
    assert(response.status >= 400, path);
  }
});
