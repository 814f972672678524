/** The posts in PostgreSQL: pages of the list, migrations, import, and a database that comes and goes. */

import {
  assert,
  assertEquals,
  assertFalse,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Framework } from "@framework/core";
import postgres from "npm:postgres@^3.4.9";
import "../blog/app.ts";
import { addressOf } from "../blog/postgres/address.ts";
import { type Post, PostFile } from "../blog/posts.ts";
import { PostTable, type PostTableOptions } from "../blog/postgres/table.ts";
import { isBefore29 } from "./deno_version.ts";
import { logOf } from "./log.ts";
import { isMissing } from "./postgres.ts";
import { server } from "./stores.ts";

/** Every character that `trim()` may remove. */
const WHITE_SPACE = Array.from(
  { length: 0x10000 },
  (_, code) => String.fromCharCode(code),
).filter((character) => character.trim() === "");

/** Declares a test with an empty database, named by its URL. */
function databaseTest(
  name: string,
  test: (url: string, database: string) => Promise<void>,
  ignore = isMissing,
): void {
  Deno.test({ name, ignore }, async () => {
    const database = await server().createDatabase();
    await test(server().url(database), database);
  });
}

/** The blog over a database. */
class Blog implements AsyncDisposable {
  private constructor(readonly posts: PostTable) {}

  static async open(url: string, options?: PostTableOptions): Promise<Blog> {
    return new Blog(await PostTable.open(url, options));
  }

  async get(path: string): Promise<Response> {
    Framework.configure(() => Framework.map("posts", () => this.posts));
    return await Framework.fetch(new Request(`http://localhost${path}`));
  }

  async text(path: string): Promise<string> {
    return await (await this.get(path)).text();
  }

  /** The status of the home page, and when a client may try again. */
  async status(path = "/"): Promise<[number, string | null]> {
    const response = await this.get(path);
    await response.body?.cancel();
    return [response.status, response.headers.get("retry-after")];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.posts[Symbol.asyncDispose]();
  }
}

function manyPosts(count: number): Post[] {
  return Array.from({ length: count }, (_, index) => ({
    slug: `post-${index}`,
    title: `Post ${index}`,
    content: `\n Line one of ${index} \nLine two`,
  }));
}

databaseTest(
  "`list()` reads the first line of each content alone",
  async (url) => {
    await using posts = await PostTable.open(url);
    const contents = [
      "",
      "\n",
      "One\nTwo",
      " \r\n One \r\nTwo",
      ..."bfnrtuvx0\\",
      ...WHITE_SPACE.map((space) => `${space}One`),
    ];
    for (const content of contents) await posts.create("A", content);
    const { posts: listed } = await posts.list();
    assertEquals(
      listed.map(({ content }) => content),
      contents.map((content) => content.trimStart().split("\n")[0]!),
    );
  },
);

databaseTest(
  "`GET /` leads through all posts in pages of 50, forth and back",
  async (url) => {
    await using blog = await Blog.open(url);
    await blog.posts.import(manyPosts(125));
    const follow = async (path: string, link: string): Promise<string[][]> => {
      const page = await blog.text(path);
      const titles = [...page.matchAll(/">(Post \d+)</g)].map(([, title]) =>
        title!
      );
      assertStringIncludes(page, "Line one of");
      assertFalse(page.includes("Line two"));
      const next = new RegExp(`href="([^"]+)">${link}<`).exec(page)?.[1];
      return [titles, ...(next ? await follow(next, link) : [])];
    };
    const forth = await follow("/", "Later posts");
    assertEquals(forth.map(({ length }) => length), [50, 50, 25]);
    assertEquals(forth.flat(), manyPosts(125).map(({ title }) => title));
    const back = await follow("/?before=end", "Earlier posts");
    assertEquals(back.map(({ length }) => length), [50, 50, 25]);
    assertEquals(back.reverse().flat(), forth.flat());
  },
);

databaseTest(
  "`GET /` has no links to other pages when all posts are on one",
  async (url) => {
    await using blog = await Blog.open(url);
    await blog.posts.import(manyPosts(50));
    for (const path of ["/", "/?before=end"]) {
      assertFalse((await blog.text(path)).includes("posts</a>"), path);
    }
  },
);

for (const place of ["x", "-1", "1;", "99999999999999999999", "1'", "%00"]) {
  databaseTest(`\`GET /?after=${place}\` is a 400`, async (url) => {
    await using blog = await Blog.open(url);
    assertEquals(await blog.status(`/?after=${place}`), [400, null]);
    assertEquals(await blog.status(`/?before=${place}`), [400, null]);
  });
}

databaseTest(
  "`list()` and `find()` read only the rows that they need",
  async (url, database) => {
    {
      await using posts = await PostTable.open(url);
      await posts.import(manyPosts(5_000));
    }
    await server().execute("analyze", database);
    await server().execute("select pg_stat_reset()", database);
    {
      await using posts = await PostTable.open(url);
      await posts.list();
      await posts.list({ before: "end" });
      assertEquals((await posts.find("post-4321"))?.title, "Post 4321");
      assertEquals(await posts.find("none"), undefined);
    }
    const read = await until(async () => {
      const counts = await server().execute(
        "select seq_tup_read, idx_tup_fetch from pg_stat_user_tables where relname = 'blog_posts'",
        database,
      );
      const [whole = 0, byIndex = 0] = counts.split("|").map(Number);
      return byIndex > 0 ? { whole, byIndex } : undefined;
    });
    // The planner looks at the ends of the index, too.
    assert(read.byIndex < 110, `${read.byIndex} rows`);
    assertEquals(read.whole, 0);
  },
);

databaseTest(
  "`open()` migrates once when ten processes start at the same time",
  async (url, database) => {
    const tables = await Promise.all(
      Array.from({ length: 10 }, () => PostTable.open(url)),
    );
    await Promise.all(
      tables.map((table, index) => table.create(`${index}`, "")),
    );
    assertEquals((await tables[0]!.all()).length, 10);
    for (const table of tables) await table[Symbol.asyncDispose]();
    const statement =
      "select count(*), count(distinct number) from blog_migrations";
    assertEquals(await server().execute(statement, database), "2|2");
  },
);

databaseTest("`open()` keeps the posts that are there", async (url) => {
  for (const title of ["One", "Two"]) {
    await using posts = await PostTable.open(url);
    await posts.create(title, "");
  }
  await using posts = await PostTable.open(url);
  assertEquals((await posts.all()).map(({ title }) => title), ["One", "Two"]);
});

databaseTest(
  "`import()` keeps order, slugs, unknown fields and the spelling of numbers",
  async (url, database) => {
    const file = await Deno.makeTempFile();
    await Deno.writeTextFile(
      file,
      `[{"slug":"Own Slug","title":"B","content":"2","id":12345678901234567890,"rating":1.0,
    "__proto__":{"x":[null,"'"]}},{"slug":"a","title":"A","content":"1"}]`,
    );
    await using posts = await PostTable.open(url);
    await posts.import(await new PostFile(file).export());
    await Deno.remove(file);
    const [first, second] = await posts.all();
    assertEquals([first!.slug, second!.slug], ["Own Slug", "a"]);
    assertEquals(Object.hasOwn(first!, "__proto__"), true);
    assertEquals(
      await server().execute(
        "select fields from blog_posts order by id",
        database,
      ),
      `{"id": 12345678901234567890, "rating": 1.0, "__proto__": {"x": [null, "'"]}}\n{}`,
    );
  },
);

databaseTest(
  "`import()` refuses a table with posts, also when two run at once",
  async (url) => {
    await using posts = await PostTable.open(url);
    await using other = await PostTable.open(url);
    const outcomes = await Promise.allSettled([
      posts.import(manyPosts(1_500)),
      other.import(manyPosts(1_500)),
    ]);
    assertEquals(outcomes.map(({ status }) => status).sort(), [
      "fulfilled",
      "rejected",
    ]);
    await assertRejects(
      () => posts.import(manyPosts(1)),
      Error,
      "the table is not empty",
    );
    assertEquals(await posts.all(), manyPosts(1_500));
  },
);

const unstorable: [what: string, post: Post][] = [
  ["U+0000", { slug: "a", title: "a\0", content: "" }],
  ["half a surrogate pair", { slug: "a", title: "a", content: "\ud800" }],
  ["U+0000 in another field", { slug: "", title: "", content: "", x: "\0" }],
];

for (const [what, post] of unstorable) {
  databaseTest(
    `\`import()\` adds no post when one holds ${what}`,
    async (url) => {
      await using posts = await PostTable.open(url);
      await assertRejects(() => posts.import([...manyPosts(3), post]), Error);
      assertEquals(await posts.all(), []);
    },
  );
}

const startErrors: [what: string, url: (url: URL) => void, message: string][] =
  [
    [
      "the database is missing",
      (url) => url.pathname = "/none",
      `database "none" does not exist`,
    ],
    [
      "the password is wrong",
      (url) => url.password = "wrong",
      "password authentication failed",
    ],
    ["no server listens", (url) => url.port = "1", "ECONNREFUSED"],
  ];

for (const [what, change, message] of startErrors) {
  databaseTest(
    `\`open()\` names the database and the cause when ${what}`,
    async (right) => {
      const url = new URL(right);
      change(url);
      const error = await assertRejects(() => PostTable.open(url.href), Error);
      const { name } = addressOf(url.href);
      assertStringIncludes(error.message, `Cannot use the database ${name}: `);
      assertStringIncludes(error.message, message);
      assertFalse(error.message.includes("secret"));
    },
  );
}

databaseTest(
  "`open()` refuses a database that cannot store every text",
  async () => {
    const database = await server().createDatabase(
      "encoding 'LATIN1' template template0",
    );
    await assertRejects(
      () => PostTable.open(server().url(database)),
      Error,
      "its encoding is LATIN1, not UTF8",
    );
  },
);

const malformed = [
  "",
  "secret",
  "mysql://me:secret@host/blog",
  "postgres://me:secret@host",
  "postgres://host/blog?password=secret",
  "postgres://me:secret@/blog",
];

for (const url of malformed) {
  Deno.test(`\`addressOf()\` refuses "${url}" without quoting it`, () => {
    const { message } = assertThrows(() => addressOf(url), TypeError);
    assertStringIncludes(message, "Cannot read DATABASE_URL: ");
    assertFalse(message.includes("secret"));
  });
}

Deno.test("`addressOf()` returns host and port, 5432 where none is given", () => {
  assertEquals(addressOf("postgres://me:secret@db.example/my%20blog"), {
    host: "db.example:5432",
    name: `"my blog" at db.example:5432`,
  });
  assertEquals(addressOf("postgresql://me@[::1]:7/x").host, "[::1]:7");
});

for (const mode of ["fast", "immediate"] as const) {
  databaseTest(
    `a database that stops (${mode}) is a 503 until it is back`,
    async (url) => {
      await using blog = await Blog.open(url);
      await blog.posts.create("One", "");
      await server().stop(mode);
      const log = await logOf(async () => {
        try {
          const down = await Promise.all(
            Array.from({ length: 30 }, () => blog.status()),
          );
          assertEquals(new Set(down.map(String)), new Set(["503,5"]));
          assertEquals(await blog.status("/post/one"), [503, "5"]);
          assertEquals(await blog.status("/create"), [200, null]);
        } finally {
          await server().start();
        }
        assertEquals(await blog.status("/post/one"), [200, null]);
        assertEquals(await blog.status(), [200, null]);
      });
      assertEquals(log.length, 2, log.join("\n"));
      assertStringIncludes(log[0]!, "The database is unreachable: ");
      assertEquals(log[1], "The database is reachable again");
    },
  );
}

databaseTest(
  "a database that does not respond is a 503 until it does",
  async (url) => {
    await using blog = await Blog.open(url, { timeout: 1 });
    await blog.posts.create("One", "");
    await server().signal("SIGSTOP");
    try {
      assertEquals(await blog.status(), [503, "5"]);
    } finally {
      await server().signal("SIGCONT");
    }
    assertEquals(await blog.status(), [200, null]);
  },
);

databaseTest(
  "connections to a machine that has vanished are replaced",
  async (_url, database) => {
    using proxy = new Proxy();
    const proxied = server().url(database, proxy.port);
    await using blog = await Blog.open(proxied, { timeout: 1 });
    assertEquals(await blog.status(), [200, null]);
    proxy.vanish();
    assertEquals(await blog.status(), [503, "5"]);
    assertEquals(await blog.status(), [200, null]);
  },
  isMissing || isBefore29,
);

/** Waits until a blog has its posts: on a busy machine, a connection may take longer than its time-out. */
async function connects(blog: Blog): Promise<void> {
  for (let attempt = 1; (await blog.status())[0] !== 200; attempt++) {
    assert(attempt < 20, "The blog does not connect");
  }
}

databaseTest(
  "connections to a machine that has vanished are closed before others are made",
  async (_url, database) => {
    using proxy = new Proxy();
    const proxied = server().url(database, proxy.port);
    const options = { connections: 2, timeout: 0.5 };
    await using blog = await Blog.open(proxied, options);
    for (let round = 0; round < 3; round++) {
      await connects(blog);
      assert(await socketsTo(proxy.port) <= 2);
      proxy.vanish();
      assertEquals(await blog.status(), [503, "5"]);
    }
  },
  isMissing || isBefore29,
);

databaseTest(
  "a lock in the database takes no connection beyond `connections`, and stops no reader",
  async (url, database) => {
    const options = { connections: 4, timeout: 1 };
    await using one = await Blog.open(url, options);
    await using two = await Blog.open(url, options);
    {
      await using _lock = await lockPosts(url);
      const creations = Array.from(
        { length: 80 },
        (_, index) => (index % 2 ? one : two).posts.create(`${index}`, ""),
      );
      const outcomes = Promise.allSettled(creations);
      for (let second = 0; second < 3; second++) {
        assertEquals(await one.status(), [200, null]);
        const count = await server().execute(
          `select count(*) from pg_stat_activity
            where application_name = 'blog' and datname = '${database}'`,
        );
        assert(Number(count) <= 8, `${count} connections`);
        await new Promise((resolve) => setTimeout(resolve, 1_000));
      }
      for (const outcome of await outcomes) {
        assertEquals((outcome as PromiseRejectedResult).reason.status, 503);
      }
    }
    await one.posts.create("After the lock", "");
    assertEquals(await two.status("/post/after-the-lock"), [200, null]);
    assertEquals((await one.posts.all()).length, 1);
  },
);

databaseTest(
  "a statement that takes too long is ended in the database itself",
  async (url, database) => {
    await using posts = await PostTable.open(url, { timeout: 1 });
    await using _lock = await lockPosts(url);
    const error = await assertRejects(() => posts.create("A", "")) as Error;
    assertStringIncludes(`${error.cause}`, "statement timeout");
    const waiting = await server().execute(
      `select count(*) from pg_stat_activity
        where datname = '${database}' and wait_event_type = 'Lock'`,
    );
    assertEquals(waiting, "0");
  },
);

Deno.test("`open()` refuses fewer connections than one for reads and one for writes", async () => {
  for (const connections of [1, 0, NaN]) {
    const url = "postgres://me@127.0.0.1:1/none";
    await assertRejects(() => PostTable.open(url, { connections }), RangeError);
  }
});

databaseTest(
  "a standby, which takes no posts, is a 503 for a post and no error for a reader",
  async (url, database) => {
    await (await PostTable.open(url))[Symbol.asyncDispose]();
    await using posts = await PostTable.open(url);
    const readOnly =
      `alter database ${database} set default_transaction_read_only = on`;
    await server().execute(readOnly);
    await server().execute(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`,
    );
    await assertRejects(() => posts.create("One", ""), Error, "unavailable");
    assertEquals((await posts.list()).posts, []);
  },
);

databaseTest(
  "an error that is not the connection's is a 500",
  async (url, database) => {
    await using blog = await Blog.open(url);
    await server().execute("drop table blog_posts", database);
    assertEquals(await blog.status(), [500, null]);
  },
);

/** How many open sockets lead to a port of this machine. */
async function socketsTo(port: number): Promise<number> {
  const { stdout } = await new Deno.Command("cat", {
    args: ["/proc/net/tcp"],
  }).output();
  const remote = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return new TextDecoder().decode(stdout).split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , address, , , , , , , inode]) =>
      address?.endsWith(remote) && inode !== "0"
    ).length;
}

/** Locks the table against new posts until it is disposed of. */
async function lockPosts(url: string): Promise<AsyncDisposable> {
  const sql = postgres(url, { max: 1, fetch_types: false });
  const isLocked = Promise.withResolvers<void>();
  const isOver = Promise.withResolvers<void>();
  const transaction = sql.begin(async (sql) => {
    await sql`lock table blog_posts in exclusive mode`;
    isLocked.resolve();
    await isOver.promise;
  });
  await isLocked.promise;
  return {
    async [Symbol.asyncDispose]() {
      isOver.resolve();
      await transaction;
      await sql.end();
    },
  };
}

/** A proxy in front of the server. */
class Proxy implements Disposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #connections: Deno.Conn[] = [];
  #isGone = new AbortController();

  constructor() {
    this.#accept();
  }

  get port(): number {
    return this.#listener.addr.port;
  }

  /** Passes on nothing more on the present connections, and leaves them open. */
  vanish(): void {
    this.#isGone.abort();
    this.#isGone = new AbortController();
  }

  [Symbol.dispose](): void {
    this.#listener.close();
    for (const connection of this.#connections) connection.close();
  }

  async #accept(): Promise<void> {
    for await (const client of this.#listener) {
      const target = await Deno.connect({
        hostname: "127.0.0.1",
        port: server().port,
      });
      this.#connections.push(client, target);
      const { signal } = this.#isGone;
      this.#pass(client, target, signal);
      this.#pass(target, client, signal);
    }
  }

  async #pass(
    from: Deno.Conn,
    to: Deno.Conn,
    signal: AbortSignal,
  ): Promise<void> {
    const buffer = new Uint8Array(65_536);
    try {
      for (let count; (count = await from.read(buffer)) !== null;) {
        if (!signal.aborted) await to.write(buffer.subarray(0, count));
      }
    } catch {
      // closed
    }
  }
}

/** Calls a function until it returns a value, for ten seconds at most. */
async function until<T>(work: () => Promise<T | undefined>): Promise<T> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const value = await work();
    if (value !== undefined) return value;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("It did not come");
}
