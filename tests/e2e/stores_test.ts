/** Tests `sessions` and `limit` with stores in PostgreSQL that two processes share. */

import { Visitor } from "@framework/core/testing";
import { assertEquals } from "@std/assert";
import { isMissing, PostgresServer } from "../support/postgres.ts";
import { ServerProcess } from "../support/server_child.ts";

const TABLES = `
  create table sessions (
    id uuid primary key,
    content jsonb,
    expires timestamptz not null
  );
  create table limits (
    key text primary key,
    count integer not null,
    resets timestamptz not null
  )`;

/** An application over the tables. */
const SOURCE = `
  import { Engine } from "@framework/core";
  import { limit } from "@framework/core/limit";
  import { sessions } from "@framework/core/sessions";
  import postgres from "npm:postgres@^3.4.9";

  const sql = postgres("DATABASE", { max: 4, fetch_types: false });
  const app = new Engine();

  const session = sessions<{ user: string }>(app, {
    secret: "the one secret of all processes, at least 32 characters",
    store: {
      async read(id) {
        const [row] = await sql\`
          select content from sessions where id = \${id}\`;
        return row?.content;
      },
      async write(id, values, expires) {
        await sql\`
          insert into sessions
          values (\${id}, \${sql.json(values as postgres.JSONValue)}, \${expires})
          on conflict (id) do update
          set content = excluded.content, expires = excluded.expires\`;
      },
      async remove(id) {
        await sql\`delete from sessions where id = \${id}\`;
      },
    },
  });
  app.route("/login/@user", (user) => void session().renew().set("user", user));
  app.route("/user", () => session().get("user") ?? "nobody");
  app.route("/logout", () => session().clear());
  const slow = limit(app, {
    requests: 5,
    seconds: 600,
    store: {
      async add(key, seconds) {
        const [row] = await sql\`
          insert into limits as known
          values (\${key}, 1, now() + make_interval(secs => \${seconds}))
          on conflict (key) do update set
            count = case when known.resets > now() then known.count + 1 else 1 end,
            resets = case when known.resets > now() then known.resets else excluded.resets end
          returning count, resets\`;
        return row as postgres.Row & { count: number; resets: Date };
      },
    },
  });
  app.route("/limited", () => "done").addMiddleware(slow);

  app.start({ port: 0 });
`;

/** Two processes, and the database that they share. */
class Pair implements AsyncDisposable {
  private constructor(
    readonly resources: AsyncDisposableStack,
    readonly execute: (statement: string) => Promise<string>,
    readonly origins: readonly string[],
  ) {}

  static async start(): Promise<Pair> {
    const resources = new AsyncDisposableStack();
    const server = resources.use(await PostgresServer.create());
    const database = await server.createDatabase();
    await server.execute(TABLES, database);
    const source = SOURCE.replace("DATABASE", server.url(database));
    const permissions = ["--allow-net=127.0.0.1", "--ignore-env=PG*"];
    const origins: string[] = [];
    for (const _ of [1, 2]) {
      const started = await ServerProcess.start(source, { permissions });
      const process = resources.use(started);
      origins.push(`http://127.0.0.1:${await process.port()}`);
    }
    const execute = (statement: string) => server.execute(statement, database);
    return new Pair(resources, execute, origins);
  }

  /** A visitor of the first process, and the same one at the second, as from a copy of the cookies. */
  async login(): Promise<[first: Visitor, second: Visitor]> {
    const [origin, other] = this.origins as [string, string];
    const first = new Visitor({ fetch }, { origin });
    await first.visit("/login/Ada");
    const cookie = `session=${first.cookies.session}`;
    const headers = { cookie };
    return [first, new Visitor({ fetch }, { origin: other, headers })];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.resources.disposeAsync();
  }
}

let pair: Pair;

Deno.test.beforeAll(async () => {
  if (!isMissing) pair = await Pair.start();
});

Deno.test.afterAll(async () => {
  if (!isMissing) await pair[Symbol.asyncDispose]();
});

/** Declares a test with empty tables, which is skipped where PostgreSQL is not installed. */
function pairTest(name: string, test: () => Promise<void>): void {
  Deno.test({ name, ignore: isMissing }, async () => {
    await pair.execute("truncate sessions, limits");
    await test();
  });
}

pairTest(
  "a login in one process is one in the other, and so is a logout",
  async () => {
    const [first, second] = await pair.login();
    assertEquals((await second.visit("/user")).text, "Ada");
    await second.visit("/logout");
    assertEquals((await first.visit("/user")).text, "nobody");
  },
);

pairTest("two processes count in one window", async () => {
  const visits = Array.from({ length: 20 }, async (_, index) => {
    const response = await fetch(`${pair.origins[index % 2]}/limited`);
    await response.body?.cancel();
    return response.status;
  });
  const statuses = (await Promise.all(visits)).sort();
  assertEquals(statuses, [...Array(5).fill(200), ...Array(15).fill(429)]);
});
