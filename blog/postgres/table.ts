/**
 * Owns the posts in a table of PostgreSQL: its migrations, its statements, and the 503 for requests while the
 * database is out of reach. The module is loaded only when `DATABASE_URL` is set.
 *
 * Every value is a parameter of a statement, never part of its text. A post is saved once its `insert`
 * has been confirmed; if the connection is lost before, it may or may not be saved, and the client gets a 503.
 */

import { HttpError } from "@framework/core";
import postgres from "npm:postgres@^3.4.9";
import { addressOf } from "./address.ts";
import {
  cleanText,
  FIELDS,
  type Post,
  type PostList,
  type PostRange,
  type PostStore,
  slugOf,
} from "../posts.ts";

/** Limits that tests set lower. */
export interface PostTableOptions {
  /** The most connections of this process, 10 when not given. */
  readonly connections?: number;
  /** Seconds that a statement may take, 5 when not given. */
  readonly timeout?: number;
}

type Sql = ReturnType<typeof postgres>;

/** A row of the table; `fields` holds the fields of a post that the blog does not know. */
interface Row {
  readonly id: string;
  readonly slug: string;
  readonly title: string;
  readonly content: string;
  readonly fields: Record<string, unknown>;
}

/** The white space that `String.prototype.trim()` removes, in the notation of SQL. */
const WHITE_SPACE =
  "\\t\\n\\u000b\\f\\r \\u00a0\\u1680\\u2000\\u2001\\u2002\\u2003\\u2004\\u2005\\u2006\\u2007\\u2008\\u2009\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff";

/**
 * The changes that make the tables what they are now. Each runs once, in this order; a change of the
 * tables is a new one at the end. The index is on a hash, since a slug may be too long for an index.
 */
const MIGRATIONS: readonly string[] = [
  `create table blog_posts (
    id bigint generated always as identity primary key,
    slug text not null,
    title text not null,
    content text not null,
    first_line text not null generated always as
      (split_part(ltrim(content, E'${WHITE_SPACE}'), E'\\n', 1)) stored,
    fields jsonb not null default '{}'
  )`,
  `create index blog_posts_by_slug on blog_posts (md5(slug), id)`,
];

/** The key of the lock by which two starting processes take turns: any number that is used only here. */
const MIGRATION_LOCK = 20_250_711;

/** How many posts a page lists. */
const PAGE_SIZE = 50;

/** The place at the end of the list, in an address; and the largest number that a post can have. */
const END = "end";
const LAST_ID = "9223372036854775807";

/** How many posts one statement imports: a statement takes at most 65,534 parameters. */
const IMPORT_SIZE = 1_000;

/** Seconds after which a connection that nothing uses is closed. */
const IDLE_TIMEOUT = 5;

/** Seconds after which a client may try again. */
const RETRY_AFTER = 5;

/**
 * The classes of SQLSTATE for a database that cannot be used at the moment: connection exception, invalid
 * authorization, unknown database, insufficient resources, operator intervention, system error; and the state
 * of a standby, which takes no writes.
 */
const UNAVAILABLE = /^(?:08|28|3D|53|57|58)|^25006$/;

/** The posts in one table. */
export class PostTable implements PostStore, AsyncDisposable {
  readonly #connect: () => Sql;
  readonly #timeout: number;
  #sql: Sql;
  #isReachable = true;

  private constructor(url: string, options: PostTableOptions) {
    const { connections = 10, timeout = 5 } = options;
    this.#timeout = timeout;
    this.#connect = () =>
      postgres(url, {
        max: connections,
        connect_timeout: timeout,
        // An open connection keeps the process alive, also when its server has been drained.
        idle_timeout: IDLE_TIMEOUT,
        fetch_types: false,
        // Seconds between two attempts to connect; the driver's own grow up to 20.
        backoff: () => 0.1,
        connection: { application_name: "blog" },
        onnotice: () => {},
      });
    this.#sql = this.#connect();
  }

  /**
   * Connects to the database and brings its tables up to date. Throws an error that names the database
   * and the cause when it cannot be used.
   */
  static async open(
    url: string,
    options: PostTableOptions = {},
  ): Promise<PostTable> {
    const { name } = addressOf(url);
    const table = new PostTable(url, options);
    try {
      await table.#migrate();
      return table;
    } catch (cause) {
      await table.#sql.end({ timeout: table.#timeout });
      const { message } = cause as Error;
      throw new Error(`Cannot use the database ${name}: ${message}`, { cause });
    }
  }

  /** Reads every post, in the order of creation. */
  async all(): Promise<Post[]> {
    const rows = await this.#query((sql) =>
      sql<Row[]>`
        select id, slug, title, content, fields from blog_posts order by id`
    );
    return rows.map(toPost);
  }

  /** Reads one page of the list, with only the first line of each content. */
  async list({ after = "0", before }: PostRange = {}): Promise<PostList> {
    const isBackward = before !== undefined;
    const place = toId(before ?? after);
    const rows = await this.#query((sql) => {
      const range = isBackward
        ? sql`where id < ${place} order by id desc`
        : sql`where id > ${place} order by id`;
      return sql<Row[]>`
        select id, slug, title, first_line as content from blog_posts
        ${range} limit ${PAGE_SIZE + 1}`;
    });
    const hasMore = rows.length > PAGE_SIZE;
    const page = rows.slice(0, PAGE_SIZE);
    if (isBackward) page.reverse();
    return {
      posts: page.map(toPost),
      earlier: (isBackward ? hasMore : after !== "0") ? page[0]?.id : undefined,
      later: (isBackward ? before !== END : hasMore)
        ? page.at(-1)?.id
        : undefined,
    };
  }

  /** Finds the first post with that slug. */
  async find(slug: string): Promise<Post | undefined> {
    const [row] = await this.#query((sql) =>
      sql<Row[]>`
        select id, slug, title, content, fields from blog_posts
        where md5(slug) = md5(${slug}) and slug = ${slug}
        order by id limit 1`
    );
    return row && toPost(row);
  }

  /** Appends a post, and returns it once the database has confirmed it. */
  async create(title: string, content: string): Promise<Post> {
    const post = { slug: slugOf(title), title, content };
    await this.#query((sql) =>
      sql`insert into blog_posts ${sql(post, ...FIELDS)}`
    );
    return post;
  }

  /** Adds the posts of another store in their order, all or none; throws unless the table is empty. */
  async import(posts: readonly Post[]): Promise<void> {
    const rows = posts.map(toRow);
    await this.#sql.begin(async (sql) => {
      await sql`lock table blog_posts in exclusive mode`;
      const [first] = await sql`select from blog_posts limit 1`;
      if (first !== undefined) throw new Error("the table is not empty");
      for (let start = 0; start < rows.length; start += IMPORT_SIZE) {
        const part = rows.slice(start, start + IMPORT_SIZE)
          .map((row) => ({ ...row, fields: sql.json(row.fields as never) }));
        await sql`insert into blog_posts ${sql(part, ...FIELDS, "fields")}`;
      }
    });
  }

  /** Closes the connections, once running statements have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sql.end({ timeout: this.#timeout });
  }

  /** Runs the migrations that have not run yet; processes that start together take turns. */
  async #migrate(): Promise<void> {
    await this.#sql.begin(async (sql) => {
      await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`;
      const [database] = await sql`
        select current_setting('server_encoding') as encoding`;
      if (database?.encoding !== "UTF8") {
        throw new Error(`its encoding is ${database?.encoding}, not UTF8`);
      }
      await sql`
        create table if not exists blog_migrations (number integer primary key)`;
      const done = await sql`select number from blog_migrations`;
      for (const [index, statement] of MIGRATIONS.entries()) {
        if (done.some(({ number }) => number === index)) continue;
        await sql.unsafe(statement);
        await sql`insert into blog_migrations values (${index})`;
      }
    });
  }

  /** Runs a statement of a request; rejects with a 503 when the database cannot be used. */
  async #query<T>(statement: (sql: Sql) => Promise<T>): Promise<T> {
    const sql = this.#sql;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      this.#reconnect(sql);
      reject(new Deno.errors.TimedOut(`No result within ${this.#timeout} s`));
    }, this.#timeout * 1_000);
    try {
      const result = await Promise.race([statement(sql), late]);
      this.#report(undefined);
      return result;
    } catch (cause) {
      if (!isUnavailable(cause)) throw cause;
      this.#report((cause as Error).message);
      throw new HttpError(503, "The posts are out of reach at the moment", {
        cause,
        headers: { "retry-after": `${RETRY_AFTER}` },
      });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Logs when the database goes out of reach and when it is back, but not each request in between. */
  #report(problem: string | undefined): void {
    if (this.#isReachable === (problem === undefined)) return;
    this.#isReachable = !this.#isReachable;
    const state = this.#isReachable ? "back" : `out of reach: ${problem}`;
    console.error(`${new Date().toISOString()} The database is ${state}`);
  }

  /** Replaces the connections: those to a machine that has vanished would stay open for many minutes. */
  #reconnect(stale: Sql): void {
    if (this.#sql !== stale) return;
    this.#sql = this.#connect();
    stale.end({ timeout: this.#timeout });
  }
}

/** The number of the post at a place in an address; throws a 400 for a malformed place. */
function toId(place: string): string {
  if (place === END) return LAST_ID;
  if (/^\d{1,18}$/.test(place)) return place;
  throw new HttpError(
    400,
    `Cannot list the posts: there is no place "${place}"`,
  );
}

function toPost({ slug, title, content, fields }: Row): Post {
  return { ...fields, slug, title, content };
}

function toRow(
  { slug, title, content, ...fields }: Post,
  index: number,
): Omit<Row, "id"> {
  for (const [name, text] of Object.entries({ slug, title, content })) {
    if (text === cleanText(text)) continue;
    throw new Error(
      `the "${name}" of post ${
        index + 1
      } holds U+0000 or half a surrogate pair, which PostgreSQL cannot store`,
    );
  }
  return { slug, title, content, fields };
}

/** Whether an error says that the database cannot be used at the moment, and not that a statement is wrong. */
function isUnavailable(error: unknown): boolean {
  if (error instanceof Deno.errors.TimedOut) return true;
  const { code } = error as { code?: unknown };
  if (error instanceof postgres.PostgresError) {
    return UNAVAILABLE.test(`${code}`);
  }
  return typeof code === "string"; // of the socket, or of the driver's connection
}
