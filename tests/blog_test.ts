/** The blog as its visitors see it: web requests in, pages out. */

import {
  assert,
  assertEquals,
  assertFalse,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { Framework } from "@framework/core";
import "../blog/app.ts";
import { type Post, PostFile, type PostStore } from "../blog/posts.ts";
import { type StoreKind, STORES } from "./stores.ts";

const FOLDER = new URL("../blog/", import.meta.url);

/** A blog over a temporary store, with the real pages. */
class Visit {
  constructor(readonly posts: PostStore) {}

  async get(address: string, headers: HeadersInit = {}): Promise<Response> {
    return await this.#fetch(
      new Request(`http://localhost${address}`, { headers }),
    );
  }

  async text(address: string): Promise<string> {
    return await (await this.get(address)).text();
  }

  async post(fields: Record<string, string>): Promise<Response> {
    return await this.send(new URLSearchParams(fields));
  }

  async send(body: BodyInit, headers: HeadersInit = {}): Promise<Response> {
    return await this.#fetch(
      new Request("http://localhost/create", { method: "POST", body, headers }),
    );
  }

  async #fetch(request: Request): Promise<Response> {
    Framework.configure(() => Framework.map("posts", () => this.posts));
    return await Framework.fetch(request);
  }
}

/** The kinds of stores for tests of what is the same on any. */
const ANY = STORES.slice(0, 1);

const JSON_TYPE = { "content-type": "application/json" };

function path(name: string): string {
  return decodeURIComponent(new URL(name, FOLDER).pathname);
}

/** Declares a test of a blog, without posts unless some are given, on the given kinds of stores. */
function blogTest(
  name: string,
  test: (blog: Visit) => Promise<void>,
  kinds: readonly StoreKind[] = STORES,
  posts: readonly Post[] = [],
): void {
  for (const kind of kinds) {
    Deno.test({
      name: `${name}, on ${kind.name}`,
      ignore: kind.ignore,
    }, async () => {
      await using store = await kind.create(posts);
      await test(new Visit(store.posts));
    });
  }
}

blogTest(
  "`GET /` lists the posts in the order of creation, each with a link",
  async (blog) => {
    await blog.post({ title: "Second Thoughts", content: "b" });
    await blog.post({ title: "A First", content: "a" });
    const page = await blog.text("/");
    const links = [...page.matchAll(/<a href="(\/post\/[^"]*)">([^<]*)</g)].map(
      ([, ...parts]) => parts,
    );
    assertEquals(links, [["/post/second-thoughts", "Second Thoughts"], [
      "/post/a-first",
      "A First",
    ]]);
    assertStringIncludes(page, `href="/create"`);
    assertStringIncludes(page, "<title>All posts</title>");
  },
);

blogTest("`GET /` invites to write when there are no posts", async (blog) => {
  const response = await blog.get("/");
  assertEquals(response.status, 200);
  assertStringIncludes(await response.text(), "There are no posts yet");
});

blogTest(
  "`GET /` links every post that comes with the blog",
  async (blog) => {
    const seed: Post[] = JSON.parse(
      await Deno.readTextFile(path("data/seed.json")),
    );
    for (const { title, content } of seed) await blog.post({ title, content });
    const page = await blog.text("/");
    const slugs = [...page.matchAll(/href="(\/post\/[^"]*)"/g)].map((
      [, address],
    ) => address!);
    assertEquals(await blog.posts.all(), seed);
    assertEquals(slugs.length, seed.length);
    for (const address of slugs) {
      assertEquals((await blog.get(address)).status, 200);
    }
  },
);

blogTest(
  "`GET /post/@slug` shows the post with its line breaks, escaped",
  async (blog) => {
    await blog.post({ title: "A <b> & C", content: "One\n\n<script>Two" });
    const page = await blog.text("/post/a-%3Cb%3E-%26-c");
    assertStringIncludes(page, "<title>A &lt;b&gt; &amp; C</title>");
    assertStringIncludes(page, "One\n\n&lt;script&gt;Two");
    assertFalse(page.includes("<script"));
  },
);

blogTest(
  "`GET /post/@slug` responds with the blog's 404 page for an unknown slug",
  async (blog) => {
    const response = await blog.get("/post/nothing");
    assertEquals(response.status, 404);
    const text = (await response.text()).replace(/<[^>]+>/g, "");
    assertMatch(text, /404\s+Page not found/);
  },
);

blogTest(
  "`notFound()` shows the page of the blog for any other address, too",
  async (blog) => {
    for (
      const address of [
        "/nowhere",
        "/post",
        "/post/a/b",
        "/public/",
        "/blog/data/posts.json",
      ]
    ) {
      const response = await blog.get(address);
      assertEquals(response.status, 404, address);
      assertStringIncludes(await response.text(), "Page not found");
      assertEquals(response.headers.get("etag"), null);
    }
  },
  ANY,
);

blogTest(
  "`GET /create` shows a form that posts to `/create`, both fields required",
  async (blog) => {
    const page = await blog.text("/create");
    assertMatch(page, /<form[^>]* method="post"[^>]* action="\/create"/);
    assertMatch(page, /<input[^>]* name="title"[^>]* required/);
    assertMatch(page, /<textarea[^>]* name="content"[^>]* required/);
  },
  ANY,
);

blogTest("`render()` sends each page once", async (blog) => {
  await blog.post({ title: "A", content: "" });
  for (const address of ["/", "/post/a", "/create", "/post/none", "/none"]) {
    const page = await blog.text(address);
    assertEquals(page.split("<!doctype html>").length, 2, address);
  }
});

blogTest(
  "`POST /create` appends the post and leads home with 303",
  async (blog) => {
    await blog.post({ title: "One", content: "1" });
    const response = await blog.post({ title: "My Second Post", content: "2" });
    assertEquals([response.status, response.headers.get("location")], [
      303,
      "/",
    ]);
    assertEquals(await blog.posts.all(), [
      { slug: "one", title: "One", content: "1" },
      { slug: "my-second-post", title: "My Second Post", content: "2" },
    ]);
  },
);

blogTest(
  "`GET /` stays small over eight posts of 1 MB",
  async (blog) => {
    const page = await blog.text("/");
    assertStringIncludes(page, `<p>${"x".repeat(200)}</p>`);
    assert(page.length < 10_000, `${page.length} characters`);
  },
  STORES,
  Array.from({ length: 8 }, (_, index) => ({
    slug: `post-${index}`,
    title: `Post ${index}`,
    content: "x".repeat(1024 * 1024),
  })),
);

blogTest(
  "`POST /create` takes 256 KiB at most",
  async (blog) => {
    const post = async (size: number): Promise<number> =>
      (await blog.send("title=A&content=".padEnd(size, "x"), {
        "content-type": "application/x-www-form-urlencoded",
      })).status;
    assertEquals(await post(256 * 1024), 303);
    assertEquals(await post(256 * 1024 + 1), 413);
    assertEquals((await blog.posts.all()).length, 1);
  },
);

blogTest("`POST /create` reads JSON as well", async (blog) => {
  const body = JSON.stringify({ title: "From JSON", content: "text" });
  await blog.send(body, JSON_TYPE);
  assertEquals(await blog.posts.all(), [{
    slug: "from-json",
    title: "From JSON",
    content: "text",
  }]);
});

blogTest(
  "`POST /create` takes a field that was not sent as empty",
  async (blog) => {
    assertEquals((await blog.post({})).status, 303);
    assertEquals(await blog.posts.all(), [{
      slug: "",
      title: "",
      content: "",
    }]);
    assertStringIncludes(await blog.text("/"), ">Untitled</a>");
  },
);

const malformed: [what: string, type: string, body: string][] = [
  ["a list", "application/x-www-form-urlencoded", "title[]=a&content=b"],
  ["a group of fields", "application/x-www-form-urlencoded", "title[a]=1"],
  ["a JSON object", "application/json", `{"title":{"a":1}}`],
  ["a JSON array", "application/json", `{"title":"a","content":[1]}`],
];

for (const [what, type, body] of malformed) {
  blogTest(
    `\`POST /create\` refuses ${what} in place of text`,
    async (blog) => {
      const response = await blog.send(body, { "content-type": type });
      assertEquals(response.status, 400);
      assertStringIncludes(await response.text(), "must be text");
      assertStringIncludes(await blog.text("/"), "There are no posts yet");
    },
    ANY,
  );
}

blogTest(
  "`POST /create` refuses a file in place of text",
  async (blog) => {
    const form = new FormData();
    form.set("title", new File(["text"], "title.txt"));
    const response = await blog.send(form);
    assertEquals(response.status, 400);
    assertStringIncludes(
      await response.text(),
      "The field &quot;title&quot; must be text",
    );
    assertStringIncludes(await blog.text("/"), "There are no posts yet");
  },
  ANY,
);

const titles = [
  "C/C++ & 100%?",
  `"Quoted" 'twice'`,
  "<script>alert(1)</script>",
  "Straße ✓ 日本語",
  "a+b=c#d;e@f",
  "..\\..\\up",
  "{{ title }}",
  "constructor",
  "  spaced  ",
  "\ud800 half",
  "\0 none",
];

for (const title of titles) {
  blogTest(
    `\`POST /create\` makes a page that the home page leads to for ${
      JSON.stringify(title)
    }`,
    async (blog) => {
      const body = JSON.stringify({ title, content: "The content" });
      await blog.send(body, JSON_TYPE);
      const link = /href="(\/post\/[^"]*)"/.exec(await blog.text("/"))![1]!;
      const response = await blog.get(link.replaceAll("&apos;", "'"));
      assertEquals(response.status, 200);
      assertStringIncludes(await response.text(), "The content");
    },
  );
}

blogTest("`GET /` responds with 304 until a post is added", async (blog) => {
  await blog.post({ title: "One", content: "1" });
  const first = await blog.get("/");
  await first.body?.cancel();
  const tag = first.headers.get("etag")!;
  assertEquals(first.headers.get("cache-control"), "no-cache");
  const again = await blog.get("/", { "if-none-match": tag });
  assertEquals(
    [again.status, await again.text(), again.headers.get("etag")],
    [304, "", tag],
  );
  await blog.post({ title: "Two", content: "2" });
  const changed = await blog.get("/", { "if-none-match": tag });
  assertEquals(changed.status, 200);
  assertStringIncludes(await changed.text(), "Two");
});

blogTest("a form of another site creates no post", async (blog) => {
  for (const site of ["cross-site", "same-site"]) {
    const body = new URLSearchParams({ title: "Forged", content: "1" });
    const response = await blog.send(body, { "sec-fetch-site": site });
    await response.body?.cancel();
    assertEquals(response.status, 403);
  }
  assertFalse((await blog.text("/")).includes("Forged"));
});

Deno.test("every response has a policy that allows no script", async () => {
  const folder = await Deno.makeTempDir({ prefix: "blog" });
  const blog = new Visit(new PostFile("no/such/folder/posts.json"));
  const writable = new Visit(new PostFile(`${folder}/posts.json`));
  try {
    const responses = {
      200: await blog.get("/create"),
      303: await writable.post({}),
      304: await blog.get("/public/style.css", {
        "if-modified-since": new Date().toUTCString(),
      }),
      400: await blog.get("/post/%zz"),
      404: await blog.get("/nowhere"),
      413: await blog.send("x".repeat(9 * 1024 * 1024)),
      500: await blog.post({ title: "a", content: "" }),
    };
    for (const [status, response] of Object.entries(responses)) {
      await response.body?.cancel();
      assertEquals(response.status, Number(status));
      const policy = response.headers.get("content-security-policy") ?? "";
      assertStringIncludes(policy, "default-src 'none'", status);
      assertFalse(/script-src|unsafe/.test(policy), status);
      assertEquals(response.headers.get("x-content-type-options"), "nosniff");
      assertEquals(response.headers.get("referrer-policy"), "same-origin");
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

blogTest(
  "`GET /public/style.css` responds with the style sheet, and 304 when it has not changed",
  async (blog) => {
    const response = await blog.get("/public/style.css");
    assertMatch(
      response.headers.get("content-type")!,
      /^text\/css; charset=utf-8$/i,
    );
    assertEquals(
      await response.text(),
      await Deno.readTextFile(path("public/style.css")),
    );
    const date = response.headers.get("last-modified")!;
    const again = await blog.get("/public/style.css", {
      "if-modified-since": date,
    });
    assertEquals([again.status, await again.text()], [304, ""]);
    assertEquals(again.headers.get("cache-control"), "public, max-age=600");
  },
  ANY,
);

const escapes: Readonly<Record<string, number>> = {
  "/public/..%2fmain.ts": 400,
  "/public/%2e%2e%2fmain.ts": 400,
  "/public/..%5cmain.ts": 400,
  "/public/../main.ts": 404,
  "/public//etc/passwd": 404,
  "/public/.css": 404,
  "/public/missing.css": 404,
  [`/public/${"a".repeat(300)}.css`]: 404,
};

for (const [address, status] of Object.entries(escapes)) {
  blogTest(
    `the folder of the static files has nothing for ${address.slice(0, 40)}`,
    async (blog) => {
      const response = await blog.get(address);
      await response.body?.cancel();
      assertEquals(response.status, status);
    },
    ANY,
  );
}

Deno.test("a corrupt file of posts is a 500 on every page that needs it, and stays as it is", async () => {
  const file = await Deno.makeTempFile({ prefix: "posts" });
  await Deno.writeTextFile(file, `[{"slug": "half`);
  try {
    const blog = new Visit(new PostFile(file));
    const responses = [
      await blog.get("/"),
      await blog.get("/post/half"),
      await blog.post({ title: "a", content: "" }),
    ];
    for (const response of responses) await response.body?.cancel();
    assertEquals(responses.map(({ status }) => status), [500, 500, 500]);
    assertEquals(await Deno.readTextFile(file), `[{"slug": "half`);
    assertEquals((await blog.get("/create")).status, 200);
  } finally {
    await Deno.remove(file);
  }
});

blogTest("100 posts created at once are all there", async (blog) => {
  const names = Array.from({ length: 100 }, (_, index) => `Post ${index}`);
  const responses = await Promise.all(
    names.map((title) => blog.post({ title, content: title })),
  );
  assert(responses.every(({ status }) => status === 303));
  const saved = await blog.posts.all();
  assertEquals(new Set(saved.map(({ title }) => title)), new Set(names));
});

blogTest("pages of overlapping visitors do not mix", async (blog) => {
  for (const name of ["one", "two", "three"]) {
    await blog.post({ title: name, content: `content of ${name}` });
  }
  const wanted = Array.from(
    { length: 60 },
    (_, index) => ["one", "two", "three", "none"][index % 4]!,
  );
  const pages = await Promise.all(
    wanted.map((name) => blog.text(`/post/${name}`)),
  );
  for (const [index, name] of wanted.entries()) {
    assertStringIncludes(
      pages[index]!,
      name === "none" ? "Page not found" : `content of ${name}<`,
    );
  }
});
