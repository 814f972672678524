/**
 * Owns the posts in a table of PostgreSQL, and its statements: every value is a parameter, never part of their text.
 *
 * A post is saved once the database has confirmed its `insert`. When the connection is lost before, it may or may not
 * be saved, and the client gets a 503.
 */

import { HttpError } from "@framework/core";
import postgres from "npm:postgres@^3.4.9";
import { makePost, type Post, type PostStore } from "../posts.ts";

type Sql = ReturnType<typeof postgres>;

/** Seconds that connecting may take, and a statement on the server. */
const TIMEOUT = 5;

/** Seconds after which a request gives up waiting for a connection and its statement: the server may have vanished. */
const PATIENCE = 2 * TIMEOUT;

/**
 * The classes of SQLSTATE for a database that cannot be used at the moment: connection exception, insufficient
 * resources, operator intervention (a shutdown, or a statement that took too long), system error.
 */
const UNAVAILABLE = /^(?:08|53|57|58)/;

/** Any number that nothing else in the database locks: processes that start together take turns by it. */
const LOCK = 20_250_711;

/** A slug may be too long for any index but one of hashes. */
const TABLE = `
  create table if not exists blog_posts (
    id bigint generated always as identity primary key,
    slug text not null,
    title text not null,
    content text not null
  );
  create index if not exists blog_posts_by_slug on blog_posts using hash (slug)`;

/** The posts in one table. */
export class PostTable implements PostStore, AsyncDisposable {
  readonly #sql: Sql;

  private constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Connects to a database and makes the table unless it exists. */
  static async open(url: string): Promise<PostTable> {
    const sql = postgres(url, {
      backoff: () => 0.1, // seconds between attempts to connect; the driver's own grow up to 20
      connect_timeout: TIMEOUT,
      connection: { statement_timeout: TIMEOUT * 1_000 },
      idle_timeout: TIMEOUT, // an open connection keeps a process alive
      onnotice: () => {}, // the table exists
    });
    try {
      await sql.begin(async (sql) => {
        await sql`select pg_advisory_xact_lock(${LOCK})`;
        await sql.unsafe(TABLE);
      });
    } catch (error) {
      await sql.end();
      throw error;
    }
    return new PostTable(sql);
  }

  /** Reads every post, in the order of creation. */
  async all(): Promise<readonly Post[]> {
    return await available(this.#sql<Post[]>`
      select slug, title, content from blog_posts order by id`);
  }

  /** Finds the first post with that slug. */
  async find(slug: string): Promise<Post | undefined> {
    const [post] = await available(this.#sql<Post[]>`
      select slug, title, content from blog_posts
      where slug = ${slug} order by id limit 1`);
    return post;
  }

  /** Appends a post, and returns it once the database has confirmed it. */
  async create(title: string, content: string): Promise<Post> {
    const post = makePost(title, content);
    await available(this.#sql`insert into blog_posts ${this.#sql(post)}`);
    return post;
  }

  /** Adds posts in their order, all or none; throws unless the table is empty. */
  async import(posts: readonly Post[]): Promise<void> {
    await this.#sql.begin(async (sql) => {
      await sql`lock table blog_posts in exclusive mode`;
      const [first] = await sql`select from blog_posts limit 1`;
      if (first !== undefined) throw new Error("the table is not empty");
      for (const { slug, title, content } of posts) {
        await sql`insert into blog_posts ${sql({ slug, title, content })}`;
      }
    });
  }

  /** Closes the connections, once running statements have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sql.end({ timeout: TIMEOUT });
  }
}

/** Waits for a statement; rejects with a 503 when the database cannot be used at the moment. */
async function available<T>(statement: PromiseLike<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new Deno.errors.TimedOut(`No result within ${PATIENCE} s`));
  }, PATIENCE * 1_000);
  try {
    return await Promise.race([statement, late]);
  } catch (cause) {
    if (!isUnavailable(cause)) throw cause;
    const headers = { "retry-after": `${TIMEOUT}` };
    const message = "The posts are unavailable at the moment";
    throw new HttpError(503, message, { cause, headers });
  } finally {
    clearTimeout(timer);
  }
}

/** Whether the database is the reason, and not a statement that is wrong. */
function isUnavailable(error: unknown): boolean {
  return !(error instanceof postgres.PostgresError) ||
    UNAVAILABLE.test(error.code);
}
