/** The blog over PostgreSQL: the same pages, many processes, and a database that comes and goes. */

import {
  assert,
  assertEquals,
  assertFalse,
  assertStringIncludes,
} from "@std/assert";
import { PostTable } from "../../blog/postgres/table.ts";
import {
  BlogCopy,
  BlogProcess,
  createPost,
  OVER_POSTGRES,
  runArguments,
  statusesOf,
  taskFlags,
} from "../support/blog_child.ts";
import { isMissing, PostgresServer } from "../support/postgres.ts";

let server: PostgresServer;

Deno.test.beforeAll(async () => {
  if (!isMissing) server = await PostgresServer.create();
});

Deno.test.afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
});

/** An empty database, and a copy of the blog to run over it. */
interface Site {
  readonly copy: BlogCopy;
  readonly database: string;
  readonly url: string;
}

function databaseTest(name: string, test: (site: Site) => Promise<void>): void {
  Deno.test({ name, ignore: isMissing }, async () => {
    const database = await server.createDatabase();
    await using copy = await BlogCopy.make();
    await test({ copy, database, url: server.url(database) });
  });
}

async function titles(database: string): Promise<string[]> {
  const statement = "select title from blog_posts order by id";
  return (await server.execute(statement, database)).split("\n");
}

databaseTest(
  "the table stores posts as the file does",
  async ({ url }) => {
    await using posts = await PostTable.open(url);
    const texts = [
      `It's "quoted" \\ and \\\\ twice`,
      "'); drop table blog_posts; --",
      "$1 ${2} :three ? {}",
      "ÄRGER Straße ✓ 日本語 👩‍👩‍👧",
      "x".repeat(100_000),
    ];
    for (const text of texts) {
      const post = await posts.create(text, text);
      const slug = text.toLowerCase().replaceAll(" ", "-");
      assertEquals(post, { slug, title: text, content: text });
      assertEquals(await posts.find(slug), post);
    }
    assertEquals((await posts.all()).map(({ title }) => title), texts);
    for (const slug of ["", "%", "_", "' or '1'='1"]) {
      assertEquals(await posts.find(slug), undefined, slug);
    }
  },
);

databaseTest(
  "`deno task blog:postgres` works with the permissions it has, and needs that for its database",
  async ({ copy, database, url }) => {
    {
      await using blog = await copy.startOver(url);
      assertEquals(await statusesOf(blog.origin), [200, 200, 200, 303, 200]);
      assertEquals(await titles(database), ["One more"]);
      assertEquals(await blog.end("SIGTERM"), 0);
    }
    const flags = (await taskFlags(url))
      .map((flag) => flag.replace(`,127.0.0.1:${server.port}`, ""));
    const args = runArguments(flags, 0, OVER_POSTGRES);
    const env = { DATABASE_URL: url };
    await using blog = new BlogProcess(copy.folder, args, env);
    await blog.listening;
    assertEquals(blog.origin, "");
    assertStringIncludes(blog.printed, "Requires net access");
  },
);

databaseTest(
  "`deno task blog:postgres` says in one line why it cannot start, without the password",
  async ({ copy, url }) => {
    const missing = url.replace(/[^/]+$/, "none");
    const args = runArguments(await taskFlags(missing), 0, OVER_POSTGRES);
    const env = { DATABASE_URL: missing };
    await using blog = new BlogProcess(copy.folder, args, env);
    await blog.listening;
    assertStringIncludes(blog.printed, `"none"`);
    assertEquals(blog.printed.split("\n").length, 2, blog.printed);
    assertFalse(blog.printed.includes("secret"));
    assertEquals(await blog.end(), 1);
  },
);

databaseTest(
  "a database that stops is a 503 until it is back, and loses no acknowledged post",
  async ({ copy, database, url }) => {
    await using blog = await copy.startOver(url);
    assertEquals(await blog.create("Before"), 303);
    await server.stop();
    try {
      const response = await fetch(blog.origin);
      await response.body?.cancel();
      assertEquals(response.status, 503);
      assert(response.headers.has("retry-after"));
      assertEquals(await blog.create("Meanwhile"), 503);
    } finally {
      await server.start();
    }
    await untilCreated(blog.origin, "After");
    assertEquals(await titles(database), ["Before", "After"]);
  },
);

databaseTest(
  "three processes lose no acknowledged post when one of them is killed",
  async ({ copy, database, url }) => {
    const starting = [1, 2, 3].map(() => copy.startOver(url));
    await using stack = new AsyncDisposableStack();
    const blogs = await Promise.all(starting);
    for (const blog of blogs) stack.use(blog);
    const acknowledged: string[] = [];
    const writers = Array.from({ length: 16 }, async (_, writer) => {
      for (let index = 0; index < 20; index++) {
        const title = `Post ${index} of writer ${writer}`;
        const { origin } = blogs[index % 3]!;
        if (await createPost(origin, title) !== 303) continue;
        acknowledged.push(title);
        if (acknowledged.length === 100) await blogs[1]!.end("SIGKILL");
      }
    });
    await Promise.all(writers);
    const saved = await titles(database);
    assertEquals(acknowledged.filter((title) => !saved.includes(title)), []);
    assertEquals(new Set(saved).size, saved.length);
    assert(acknowledged.length >= 200, `${acknowledged.length} posts`);
  },
);

/** Creates a post once the blog has its database again. */
async function untilCreated(origin: string, title: string): Promise<void> {
  for (let attempt = 0; await createPost(origin, title) !== 303; attempt++) {
    assert(attempt < 50, "The blog does not connect");
  }
}
