/** The blog over PostgreSQL as processes: its tasks, many workers behind a proxy, kills and restarts. */

import {
  assert,
  assertEquals,
  assertFalse,
  assertStringIncludes,
} from "@std/assert";
import {
  BlogCopy,
  BlogProcess,
  createPost,
  runArguments,
  taskFlags,
} from "./blog_child.ts";
import { isMissing } from "./postgres.ts";
import { RoundRobin } from "./round_robin.ts";
import { server } from "./stores.ts";

/** Declares a test with a copy of the blog and an empty database. */
function databaseTest(
  name: string,
  test: (copy: BlogCopy, url: string, database: string) => Promise<void>,
): void {
  Deno.test({ name, ignore: isMissing }, async () => {
    const database = await server().createDatabase();
    await using copy = await BlogCopy.make();
    await test(copy, server().url(database), database);
  });
}

databaseTest(
  "`deno task blog:postgres` serves the blog with the permissions it has",
  async (copy, url, database) => {
    await using blog = await copy.startOver(url);
    assertEquals(await everything(blog.origin), [200, 200, 200, 303, 200]);
    assertEquals(await titles(database), ["One more"]);
    const lines = blog.printed.split("\n");
    const others = lines.filter((line) => !/ \d+\.\d ms /.test(line));
    assertEquals([lines.length, others.length], [7, 2], blog.printed);
    assertEquals(await blog.end("SIGTERM"), 0);
  },
);

databaseTest(
  "`deno task blog:postgres` has no permission that it does not need",
  async (copy, url) => {
    const flags = await taskFlags(url);
    assertEquals(flags, [
      `--allow-net=127.0.0.1:0,127.0.0.1:${server().port}`,
      "--allow-env=DATABASE_URL",
      "--ignore-env=PG*",
      "--allow-read=blog",
      "--allow-write=blog/cache",
    ]);
    const needed = [
      `,127.0.0.1:${server().port}`,
      "--ignore-env=PG*",
      "--allow-read=blog",
    ];
    for (const part of needed) {
      const rest = flags.map((flag) => flag.replace(part, "")).filter(Boolean);
      await using blog = new BlogProcess(copy.folder, runArguments(rest), {
        DATABASE_URL: url,
      });
      await blog.listening;
      assertEquals(blog.origin, "", part);
      assertStringIncludes(blog.printed, "Requires");
    }
    // Without the variable, it serves the file of posts.
    const rest = flags.filter((flag) => !flag.includes("DATABASE_URL"));
    await using blog = new BlogProcess(copy.folder, runArguments(rest), {
      DATABASE_URL: url,
    });
    await blog.listening;
    assertStringIncludes(await (await fetch(blog.origin)).text(), "Post three");
  },
);

databaseTest(
  "`deno task blog:postgres` says why it cannot start, in one line",
  async (copy, url) => {
    const missing = url.replace(/[^/]+$/, "none");
    await using blog = new BlogProcess(
      copy.folder,
      runArguments(await taskFlags(missing)),
      { DATABASE_URL: missing },
    );
    await blog.listening;
    assertEquals(
      blog.printed,
      `Cannot use the database "none" at 127.0.0.1:${server().port}: database "none" does not exist\n`,
    );
    assertEquals(await blog.end(), 1);
  },
);

for (const task of ["blog:postgres", "blog:import"]) {
  databaseTest(
    `\`deno task ${task}\` says that DATABASE_URL is not set`,
    async (copy) => {
      await copy.addProject();
      await using process = new BlogProcess(copy.folder, ["task", "-q", task], {
        DATABASE_URL: "",
      });
      await process.listening;
      assertEquals(
        process.printed,
        "Cannot read DATABASE_URL: it must look like postgres://user:password@host:5432/name\n",
      );
      assertEquals(await process.end(), 1);
    },
  );
}

databaseTest(
  "`deno task blog:import` fills an empty table, and refuses a filled one",
  async (copy, url, database) => {
    await copy.addProject();
    const printed: string[] = [];
    for (const code of [0, 1]) {
      // No registry listens at this address, so that the choice of the standard library takes no time.
      const env = { DATABASE_URL: url, JSR_URL: "http://127.0.0.1:9" };
      await using process = new BlogProcess(copy.folder, [
        "task",
        "-q",
        "blog:import",
      ], env);
      await process.listening;
      printed.push(process.printed);
      assertEquals(await process.end(), code, process.printed);
    }
    assertStringIncludes(printed[0]!, "Imported 3 posts");
    assertStringIncludes(
      printed[1]!,
      "Cannot import the posts: the table is not empty\n",
    );
    assertEquals(await titles(database), await copy.titles());
  },
);

databaseTest(
  "400 creations over four workers and two more processes give 400 posts",
  async (copy, url, database) => {
    await using cluster = await Cluster.start(copy, url);
    const names = Array.from({ length: 400 }, (_, index) => `Post ${index}`);
    const statuses = await Promise.all(
      names.map((name) => createPost(cluster.origin, name)),
    );
    assertEquals(new Set(statuses), new Set([303]));
    assertEquals((await titles(database)).sort(), names.sort());
  },
);

databaseTest(
  "a worker process killed in the middle loses no acknowledged post",
  async (copy, url, database) => {
    await using cluster = await Cluster.start(copy, url);
    const acknowledged = await createWhile(cluster, "kill", async () => {
      await cluster.processes[1]!.end("SIGKILL");
    });
    await assertSaved(acknowledged, database);
  },
);

databaseTest(
  "a restart of the database, also after a crash, loses no acknowledged post",
  async (copy, url, database) => {
    await using cluster = await Cluster.start(copy, url);
    const acknowledged: string[] = [];
    for (const mode of ["fast", "immediate"] as const) {
      const titles = await createWhile(cluster, mode, async () => {
        await server().stop(mode);
        assertEquals(await createPost(cluster.origin, "While it is down"), 503);
        await server().start();
      });
      acknowledged.push(...titles);
    }
    await assertSaved(acknowledged, database);
    assertFalse((await titles(database)).includes("While it is down"));
  },
);

// With one worker: a second one that Deno still loads when the signal comes would never end.
databaseTest(
  "`deno serve` ends with 0 once its connections are idle",
  async (copy, url) => {
    await using blog = await copy.serve(url, 1);
    assertEquals(await everything(blog.origin), [200, 200, 200, 303, 200]);
    assertEquals(await blog.end("SIGTERM"), 0);
  },
);

/** One process with four workers and two with one each, behind a proxy. */
class Cluster implements AsyncDisposable {
  readonly #proxy: RoundRobin;

  private constructor(readonly processes: readonly BlogProcess[]) {
    this.#proxy = new RoundRobin(processes.map(({ origin }) => origin));
  }

  static async start(copy: BlogCopy, url: string): Promise<Cluster> {
    return new Cluster(
      await Promise.all([
        copy.serve(url, 4),
        copy.startOver(url),
        copy.startOver(url),
      ]),
    );
  }

  get origin(): string {
    return this.#proxy.origin;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proxy[Symbol.asyncDispose]();
    await Promise.all(this.processes.map((process) => process.end("SIGKILL")));
  }
}

/**
 * Creates posts without a pause before, while and after something of that name happens; returns the titles of
 * those that were acknowledged.
 */
async function createWhile(
  cluster: Cluster,
  name: string,
  happen: () => Promise<void>,
): Promise<string[]> {
  const acknowledged: string[] = [];
  const enough = async (count: number): Promise<void> => {
    for (let attempt = 0; acknowledged.length < count; attempt++) {
      assert(attempt < 1_000, `${acknowledged.length} of ${count} posts`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  let isOver = false;
  const writers = Array.from({ length: 16 }, async (_, writer) => {
    for (let index = 0; !isOver; index++) {
      const title = `Post ${index} of writer ${writer}, ${name}`;
      const status = await createPost(cluster.origin, title);
      if (status === 303) acknowledged.push(title);
      else await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
  await enough(100);
  await happen();
  await enough(acknowledged.length + 100);
  isOver = true;
  await Promise.all(writers);
  return acknowledged;
}

/** Checks that every acknowledged post is there, and every post once. */
async function assertSaved(
  acknowledged: readonly string[],
  database: string,
): Promise<void> {
  const list = await titles(database);
  const saved = new Set(list);
  assertEquals(acknowledged.filter((title) => !saved.has(title)), []);
  assertEquals(saved.size, list.length);
}

async function titles(database: string): Promise<string[]> {
  const statement = "select title from blog_posts order by id";
  return (await server().execute(statement, database)).split("\n");
}

/** The statuses of home page, form, style sheet, creation and the new post's page. */
async function everything(origin: string): Promise<number[]> {
  const status = async (path: string): Promise<number> => {
    const response = await fetch(origin + path);
    await response.body?.cancel();
    return response.status;
  };
  return [
    await status("/"),
    await status("/create"),
    await status("/public/style.css"),
    await createPost(origin, "One more"),
    await status("/post/one-more"),
  ];
}
