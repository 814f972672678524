/**
 * Owns the posts in a table of PostgreSQL: its migrations and its statements. The module is loaded only when
 * `DATABASE_URL` is set.
 *
 * Every value is a parameter of a statement, never part of its text. A post is saved once its `insert`
 * has been confirmed; if the connection is lost before, it may or may not be saved, and the client gets a 503.
 */

import { HttpError } from "@framework/core";
import { addressOf } from "./address.ts";
import { Connections } from "./connections.ts";
import {
  ADDRESS_LENGTH,
  cleanText,
  FIELDS,
  type Post,
  type PostList,
  type PostRange,
  type PostStore,
  slugOf,
  SUMMARY_LENGTH,
  summaryOf,
} from "../posts.ts";

/** Limits that tests set lower. */
export interface PostTableOptions {
  /** The most connections of a process, or of each worker of `deno serve --parallel`: 10 by default, 2 at least. */
  readonly connections?: number;
  /** Seconds that a statement waits for a connection, and that it may take then; 5 by default. */
  readonly timeout?: number;
}

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

/** The places before the first post and after the last; and the largest number that a post can have. */
const START = "0";
const END = "end";
const LAST_ID = "9223372036854775807";

/** How many posts one statement imports: a statement takes at most 65,534 parameters. */
const IMPORT_SIZE = 1_000;

/** The posts in one table. */
export class PostTable implements PostStore, AsyncDisposable {
  /** Reads and writes have their own connections: a lock that stops new posts leaves the pages readable. */
  readonly #reads: Connections;
  readonly #writes: Connections;

  private constructor(url: string, options: PostTableOptions) {
    const { connections = 10, timeout = 5 } = options;
    if (!(connections >= 2)) {
      throw new RangeError(
        `Cannot open the posts: it needs at least 2 connections, got ${connections}`,
      );
    }
    const half = Math.floor(connections / 2);
    this.#writes = new Connections(url, half, timeout, " for new posts");
    this.#reads = new Connections(url, connections - half, timeout);
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
      await table[Symbol.asyncDispose]();
      const { message } = cause as Error;
      throw new Error(`Cannot use the database ${name}: ${message}`, { cause });
    }
  }

  /** Reads every post, in the order of creation. */
  async all(): Promise<readonly Post[]> {
    const rows = await this.#reads.run((sql) =>
      sql<Row[]>`
        select id, slug, title, content, fields from blog_posts order by id`
    );
    return rows.map(toPost);
  }

  /** Reads one page of the list, of each post no more than its summary. */
  async list(range: PostRange = {}): Promise<PostList> {
    const after = typeof range.after === "string" ? range.after : START;
    const { before } = range;
    const isBackward = typeof before === "string";
    const place = isBackward ? toId(before) : toId(after);
    const rows = await this.#reads.run((sql) => {
      const range = isBackward
        ? sql`where id < ${place} order by id desc`
        : sql`where id > ${place} order by id`;
      return sql<Row[]>`
        select id, left(slug, ${ADDRESS_LENGTH + 1}) as slug,
          left(title, ${SUMMARY_LENGTH}) as title,
          left(first_line, ${SUMMARY_LENGTH}) as content from blog_posts
        ${range} limit ${PAGE_SIZE + 1}`;
    });
    const hasMore = rows.length > PAGE_SIZE;
    const page = rows.slice(0, PAGE_SIZE);
    if (isBackward) page.reverse();
    return {
      posts: page.map(toPost).map(summaryOf),
      earlier: (isBackward ? hasMore : after !== START)
        ? page[0]?.id
        : undefined,
      later: (isBackward ? before !== END : hasMore)
        ? page.at(-1)?.id
        : undefined,
    };
  }

  /** Finds the first post with that slug. */
  async find(slug: string): Promise<Post | undefined> {
    const [row] = await this.#reads.run((sql) =>
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
    await this.#writes.run((sql) =>
      sql`insert into blog_posts ${sql(post, ...FIELDS)}`
    );
    return post;
  }

  /** Adds the posts of another store in their order, all or none; throws unless the table is empty. */
  async import(posts: readonly Post[]): Promise<void> {
    const rows = posts.map(toRow);
    await this.#writes.transact(async (sql) => {
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
    await this.#reads[Symbol.asyncDispose]();
    await this.#writes[Symbol.asyncDispose]();
  }

  /** Runs the migrations that have not run yet; processes that start together take turns. */
  async #migrate(): Promise<void> {
    await this.#writes.transact(async (sql) => {
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
}

/** The number of the post at a place in an address; throws a 400 for a malformed place. */
function toId(place: string): string {
  if (place === END) return LAST_ID;
  if (/^\d{1,18}$/.test(place)) return place;
  throw new HttpError(
    400,
    `Cannot list the posts: "${place}" is not a position in the list`,
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
      } contains U+0000 or a lone surrogate, which PostgreSQL cannot store`,
    );
  }
  return { slug, title, content, fields };
}
