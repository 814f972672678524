/** Tests `sessions` and `limit` with stores in PostgreSQL that two processes share. */

import { Visitor } from "@framework/core/testing";
import { assertEquals } from "@std/assert";
import { isMissing } from "./postgres.ts";
import { ServerProcess } from "./server_child.ts";
import { server } from "./stores.ts";

/**
 * The tables. A row without content is that of a session that has ended: it stays until it expires, so that a
 * change that comes late, from another process, does not bring the session back.
 */
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
  );
  create table slow_requests (id integer)`;

/** An application over the tables. */
const SOURCE = `
  import { Engine } from "@framework/core";
  import { limit } from "@framework/core/limit";
  import { sessions } from "@framework/core/sessions";
  import postgres from "npm:postgres@^3.4.9";

  const sql = postgres("DATABASE", { max: 4, fetch_types: false });
  const app = new Engine();

  const session = sessions<{ user: string; role: string }>(app, {
    secret: "the one secret of all processes, at least 32 characters",
    maxAge: SECONDS,
    store: {
      async read(id) {
        const [row] = await sql\`
          select content from sessions where id = \${id}\`;
        return row?.content;
      },
      async write(id, values, expires) {
        await sql\`
          insert into sessions as kept
          values (\${id}, \${sql.json(values as postgres.JSONValue)}, \${expires})
          on conflict (id) do update
          set content = excluded.content, expires = excluded.expires
          where kept.content is not null\`;
      },
      async remove(id) {
        await sql\`update sessions set content = null where id = \${id}\`;
        await sql\`delete from sessions where expires <= now()\`;
      },
    },
  });
  app.route("/login/@user", (user) => void session().renew().set("user", user));
  app.route("/user", () => session().get("user") ?? "nobody");
  app.route("/role/@role", (role) => void session().set("role", role));
  app.route("/logout", () => session().clear());
  app.route("/slow", async () => {
    const user = session().get("user")!;
    await sql\`insert into slow_requests values (1)\`;
    for (let row; row?.content !== null;) {
      [row] = await sql\`select content from sessions\`;
    }
    session().set("role", "admin");
    return user;
  });

  const slow = limit(app, {
    requests: 5,
    seconds: SECONDS,
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

/** Two processes with a database of their own. */
class Pair implements AsyncDisposable {
  readonly #processes: readonly ServerProcess[];

  private constructor(
    processes: readonly ServerProcess[],
    readonly database: string,
    readonly origins: readonly [string, string],
  ) {
    this.#processes = processes;
  }

  /** Sessions and windows of the processes end after some seconds. */
  static async start(seconds: number): Promise<Pair> {
    const database = await server().createDatabase();
    await server().execute(TABLES, database);
    const source = SOURCE.replaceAll("SECONDS", String(seconds))
      .replace("DATABASE", server().url(database));
    const permissions = ["--allow-net=127.0.0.1", "--ignore-env=PG*"];
    const processes = await Promise.all(
      [1, 2].map(() => ServerProcess.start(source, { permissions })),
    );
    const [first, second] = await Promise.all(
      processes.map(async (process) =>
        `http://127.0.0.1:${await process.port()}`
      ),
    );
    return new Pair(processes, database, [first!, second!]);
  }

  /** Executes a statement in the database. */
  async execute(statement: string): Promise<string> {
    return await server().execute(statement, this.database);
  }

  /** How many sessions there are, and how many of them have ended. */
  async rows(): Promise<string> {
    return await this.execute(
      "select count(*), count(*) - count(content) from sessions",
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const process of this.#processes) await process[Symbol.asyncDispose]();
  }
}

/** The visitor at another process, as from a copy of the cookies. */
function copyOf(visitor: Visitor, origin: string): Visitor {
  const cookie = Object.entries(visitor.cookies)
    .map(([name, value]) => `${name}=${value}`).join("; ");
  return new Visitor({ fetch }, { origin, headers: { cookie } });
}

let patient: Pair;
let hasty: Pair;

Deno.test.beforeAll(async () => {
  if (isMissing) return;
  [patient, hasty] = await Promise.all([Pair.start(600), Pair.start(2)]);
});

Deno.test.afterAll(async () => {
  if (isMissing) return;
  for (const pair of [patient, hasty]) await pair[Symbol.asyncDispose]();
});

/** Declares a test with empty tables, on processes whose sessions and windows last so long. */
function pairTest(
  name: string,
  length: "10 minutes" | "2 seconds",
  test: (pair: Pair, first: Visitor) => Promise<void>,
): void {
  Deno.test({ name, ignore: isMissing }, async () => {
    const pair = length === "2 seconds" ? hasty : patient;
    await pair.execute("truncate sessions, limits, slow_requests");
    await test(pair, new Visitor({ fetch }, { origin: pair.origins[0] }));
  });
}

pairTest(
  "a login in one process is one in the other, and so is a logout",
  "10 minutes",
  async (pair, first) => {
    await first.visit("/login/Ada");
    const second = copyOf(first, pair.origins[1]);
    assertEquals((await second.visit("/user")).text, "Ada");
    await second.visit("/logout");
    assertEquals((await first.visit("/user")).text, "nobody");
  },
);

pairTest(
  "the change of a slow request is dropped after a logout in the other process",
  "10 minutes",
  async (pair, first) => {
    await first.visit("/login/Ada");
    const second = copyOf(first, pair.origins[1]);
    const slow = second.visit("/slow");
    const begun = "select count(*) from slow_requests";
    while (await pair.execute(begun) !== "1");
    await first.visit("/logout");
    assertEquals((await slow).response.headers.getSetCookie(), []);
    assertEquals(await pair.rows(), "1|1");
    assertEquals((await second.visit("/user")).text, "nobody");
  },
);

pairTest(
  "a logout in one process and changes in the other at once end in no session",
  "10 minutes",
  async (pair, first) => {
    for (let round = 0; round < 20; round++) {
      await first.visit("/login/Ada");
      const copies = [1, 2, 3].map(() => copyOf(first, pair.origins[1]));
      await Promise.all([
        first.visit("/logout"),
        ...copies.map((copy) => copy.visit("/role/admin")),
      ]);
      assertEquals((await copies[0]!.visit("/user")).text, "nobody");
    }
  },
);

pairTest(
  "a session that has expired loses its row",
  "2 seconds",
  async (pair, first) => {
    await first.visit("/login/Ada");
    const second = copyOf(first, pair.origins[1]);
    await new Promise((resolve) => setTimeout(resolve, 2000));
    assertEquals((await second.visit("/user")).text, "nobody");
    assertEquals(await pair.rows(), "0|0");
  },
);

pairTest(
  "two processes count in one window, which begins anew when it is over",
  "2 seconds",
  async (pair) => {
    for (const _ of [1, 2]) {
      const visits = Array.from({ length: 20 }, async (_, index) => {
        const response = await fetch(`${pair.origins[index % 2]}/limited`);
        const wait = response.headers.get("retry-after");
        await response.body?.cancel();
        return [response.status, wait] as const;
      });
      const responses = await Promise.all(visits);
      responses.sort(([one], [other]) => one - other);
      assertEquals(responses.slice(0, 5), Array(5).fill([200, null]));
      assertEquals(responses.slice(5), Array(15).fill([429, "2"]));
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  },
);
