/** The blog as its visitors see it: web requests in, pages out. */

import {
  assert,
  assertEquals,
  assertFalse,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { Engine } from "@framework/core";
import { PostFile } from "../blog/posts.ts";
import { declareBlog } from "../blog/routes.ts";

const FOLDER = new URL("../blog/", import.meta.url);

/** A blog over a temporary file of posts, with the real pages. */
class Visit {
  readonly app = new Engine();

  constructor(readonly folder: string, files: string = path("public")) {
    declareBlog(this.app, new PostFile(`${folder}/posts.json`), {
      views: path("views"),
      cache: `${folder}/cache`,
      public: files,
    });
  }

  async get(address: string, headers: HeadersInit = {}): Promise<Response> {
    return await this.app.fetch(
      new Request(`http://localhost${address}`, { headers }),
    );
  }

  async text(address: string): Promise<string> {
    return await (await this.get(address)).text();
  }

  async post(fields: Record<string, string>): Promise<Response> {
    const body = new URLSearchParams(fields);
    return await this.app.fetch(
      new Request("http://localhost/create", { method: "POST", body }),
    );
  }

  async saved(): Promise<unknown> {
    return JSON.parse(await Deno.readTextFile(`${this.folder}/posts.json`));
  }
}

function path(name: string): string {
  return decodeURIComponent(new URL(name, FOLDER).pathname);
}

async function visiting(
  test: (blog: Visit, folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "blog" });
  try {
    await test(new Visit(folder), folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("`GET /` lists the posts in the order of the file, each with a link", async () => {
  await visiting(async (blog) => {
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
  });
});

Deno.test("`GET /` invites to write when there are no posts", async () => {
  await visiting(async (blog) => {
    const response = await blog.get("/");
    assertEquals(response.status, 200);
    assertStringIncludes(await response.text(), "There are no posts yet");
  });
});

Deno.test("`GET /` links every post that comes with the blog", async () => {
  await visiting(async (blog, folder) => {
    await Deno.copyFile(path("data/seed.json"), `${folder}/posts.json`);
    const page = await blog.text("/");
    const slugs = [...page.matchAll(/href="(\/post\/[^"]*)"/g)].map((
      [, address],
    ) => address!);
    assertEquals(slugs.length, (await blog.saved() as unknown[]).length);
    for (const address of slugs) {
      assertEquals((await blog.get(address)).status, 200);
    }
  });
});

Deno.test("`GET /post/@slug` shows the post with its line breaks, escaped", async () => {
  await visiting(async (blog) => {
    await blog.post({ title: "A <b> & C", content: "One\n\n<script>Two" });
    const page = await blog.text("/post/a-%3Cb%3E-%26-c");
    assertStringIncludes(page, "<title>A &lt;b&gt; &amp; C</title>");
    assertStringIncludes(page, "One\n\n&lt;script&gt;Two");
    assertFalse(page.includes("<script"));
  });
});

Deno.test("`GET /post/@slug` responds with the blog's 404 page for an unknown slug", async () => {
  await visiting(async (blog) => {
    const response = await blog.get("/post/nothing");
    assertEquals(response.status, 404);
    const text = (await response.text()).replace(/<[^>]+>/g, "");
    assertMatch(text, /404\s+Page not found/);
  });
});

Deno.test("`notFound()` shows the page of the blog for any other address, too", async () => {
  await visiting(async (blog) => {
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
  });
});

Deno.test("`GET /create` shows a form that posts to `/create`, both fields required", async () => {
  await visiting(async (blog) => {
    const page = await blog.text("/create");
    assertMatch(page, /<form[^>]* method="post"[^>]* action="\/create"/);
    assertMatch(page, /<input[^>]* name="title"[^>]* required/);
    assertMatch(page, /<textarea[^>]* name="content"[^>]* required/);
  });
});

Deno.test("`render()` sends each page once", async () => {
  await visiting(async (blog) => {
    await blog.post({ title: "A", content: "" });
    for (const address of ["/", "/post/a", "/create", "/post/none", "/none"]) {
      const page = await blog.text(address);
      assertEquals(page.split("<!doctype html>").length, 2, address);
    }
  });
});

Deno.test("`POST /create` appends the post and leads home with 303", async () => {
  await visiting(async (blog) => {
    await blog.post({ title: "One", content: "1" });
    const response = await blog.post({ title: "My Second Post", content: "2" });
    assertEquals([response.status, response.headers.get("location")], [
      303,
      "/",
    ]);
    assertEquals(await blog.saved(), [
      { slug: "one", title: "One", content: "1" },
      { slug: "my-second-post", title: "My Second Post", content: "2" },
    ]);
  });
});

Deno.test("`POST /create` reads JSON as well", async () => {
  await visiting(async (blog) => {
    const body = JSON.stringify({ title: "From JSON", content: "text" });
    const headers = { "content-type": "application/json" };
    await blog.app.fetch(
      new Request("http://localhost/create", { method: "POST", body, headers }),
    );
    assertEquals(await blog.saved(), [{
      slug: "from-json",
      title: "From JSON",
      content: "text",
    }]);
  });
});

Deno.test("`POST /create` takes a field that was not sent as empty", async () => {
  await visiting(async (blog) => {
    assertEquals((await blog.post({})).status, 303);
    assertEquals(await blog.saved(), [{ slug: "", title: "", content: "" }]);
    assertStringIncludes(await blog.text("/"), ">Untitled</a>");
  });
});

const malformed: [what: string, type: string, body: string][] = [
  ["a list", "application/x-www-form-urlencoded", "title[]=a&content=b"],
  ["a group of fields", "application/x-www-form-urlencoded", "title[a]=1"],
  ["a JSON object", "application/json", `{"title":{"a":1}}`],
  ["a JSON array", "application/json", `{"title":"a","content":[1]}`],
];

for (const [what, type, body] of malformed) {
  Deno.test(`\`POST /create\` refuses ${what} in place of text`, async () => {
    await visiting(async (blog) => {
      const headers = { "content-type": type };
      const response = await blog.app.fetch(
        new Request("http://localhost/create", {
          method: "POST",
          body,
          headers,
        }),
      );
      assertEquals(response.status, 400);
      assertStringIncludes(await response.text(), "must be text");
      assertStringIncludes(await blog.text("/"), "There are no posts yet");
    });
  });
}

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
];

for (const title of titles) {
  Deno.test(`\`POST /create\` makes a page that the home page leads to for ${JSON.stringify(title)}`, async () => {
    await visiting(async (blog) => {
      const body = JSON.stringify({ title, content: "The content" });
      const headers = { "content-type": "application/json" };
      await blog.app.fetch(
        new Request("http://localhost/create", {
          method: "POST",
          body,
          headers,
        }),
      );
      const link = /href="(\/post\/[^"]*)"/.exec(await blog.text("/"))![1]!;
      const response = await blog.get(link.replaceAll("&apos;", "'"));
      assertEquals(response.status, 200);
      assertStringIncludes(await response.text(), "The content");
    });
  });
}

Deno.test("`GET /` responds with 304 until a post is added", async () => {
  await visiting(async (blog) => {
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
});

Deno.test("every response has a policy that allows no script", async () => {
  await visiting(async (blog) => {
    for (const address of ["/", "/create", "/nowhere", "/public/style.css"]) {
      const response = await blog.get(address);
      await response.body?.cancel();
      const policy = response.headers.get("content-security-policy") ?? "";
      assertStringIncludes(policy, "default-src 'none'", address);
      assertFalse(/script-src|unsafe/.test(policy), address);
    }
    assert(
      (await blog.post({ title: "a", content: "" })).headers.has(
        "content-security-policy",
      ),
    );
  });
});

Deno.test("`GET /public/@name` serves the style sheet, and 304 when it has not changed", async () => {
  await visiting(async (blog) => {
    const response = await blog.get("/public/style.css");
    assertEquals(
      response.headers.get("content-type"),
      "text/css; charset=utf-8",
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
  });
});

const escapes = [
  "/public/..%2fmain.ts",
  "/public/%2e%2e%2fmain.ts",
  "/public/..%5cmain.ts",
  "/public/../main.ts",
  "/public//etc/passwd",
  "/public/.css",
  "/public/missing.css",
  `/public/${"a".repeat(300)}.css`,
];

for (const address of escapes) {
  Deno.test(`\`GET /public/@name\` has nothing for ${address.slice(0, 40)}`, async () => {
    await visiting(async (blog) => {
      const response = await blog.get(address);
      await response.body?.cancel();
      assertEquals(response.status, 404);
    });
  });
}

Deno.test("`GET /public/@name` follows no link", async () => {
  await visiting(async (_blog, folder) => {
    const linked = new Deno.Command("ln", {
      args: ["-s", path("main.ts"), `${folder}/style.css`],
    });
    assert((await linked.output()).success);
    const response = await new Visit(folder, folder).get("/public/style.css");
    await response.body?.cancel();
    assertEquals(response.status, 404);
  });
});

Deno.test("a corrupt file of posts is a 500 on every page that needs it, and stays as it is", async () => {
  await visiting(async (blog, folder) => {
    await Deno.writeTextFile(`${folder}/posts.json`, `[{"slug": "half`);
    const responses = [
      await blog.get("/"),
      await blog.get("/post/half"),
      await blog.post({ title: "a", content: "" }),
    ];
    for (const response of responses) await response.body?.cancel();
    assertEquals(responses.map(({ status }) => status), [500, 500, 500]);
    assertEquals(
      await Deno.readTextFile(`${folder}/posts.json`),
      `[{"slug": "half`,
    );
    assertEquals((await blog.get("/create")).status, 200);
  });
});

Deno.test("100 posts created at once are all there", async () => {
  await visiting(async (blog) => {
    const names = Array.from({ length: 100 }, (_, index) => `Post ${index}`);
    const responses = await Promise.all(
      names.map((title) => blog.post({ title, content: title })),
    );
    assert(responses.every(({ status }) => status === 303));
    const saved = await blog.saved() as { title: string }[];
    assertEquals(new Set(saved.map(({ title }) => title)), new Set(names));
  });
});

Deno.test("pages of overlapping visitors do not mix", async () => {
  await visiting(async (blog) => {
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
});
