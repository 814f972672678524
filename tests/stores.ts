/**
 * Owns the stores of posts that a test runs on: a temporary file, and a database of a temporary PostgreSQL
 * server, which starts before the tests of the importing file and stops after them.
 */

import postgres from "npm:postgres@^3.4.9";
import { PostTable } from "../blog/postgres/table.ts";
import { type Post, PostFile, type PostStore } from "../blog/posts.ts";
import { isMissing, PostgresServer } from "./postgres.ts";

/** A store that is removed after the test. */
export interface TemporaryStore extends AsyncDisposable {
  readonly posts: PostStore;
  /** Opens the same store once more, as another process would. */
  open(): Promise<PostStore>;
}

/** A kind of store. */
export interface StoreKind {
  readonly name: string;
  /** Whether its tests are skipped. */
  readonly ignore: boolean;
  /** Creates a store that holds the given posts. */
  create(posts?: readonly Post[]): Promise<TemporaryStore>;
}

/** Both kinds: what the blog does on one, it does on the other. */
export const STORES: readonly StoreKind[] = [
  { name: "a file", ignore: false, create: createFile },
  { name: "PostgreSQL", ignore: isMissing, create: createTable },
];

let running: PostgresServer | undefined;

/** The database of the stores, whose table is emptied for each: a new one takes a tenth of a second. */
let shared: string | undefined;

Deno.test.beforeAll(async () => {
  if (!isMissing) running = await PostgresServer.create();
});

Deno.test.afterAll(async () => {
  await running?.[Symbol.asyncDispose]();
});

/** The server of the importing file. */
export function server(): PostgresServer {
  if (running === undefined) throw new Error("The server has not started");
  return running;
}

async function createFile(
  posts: readonly Post[] = [],
): Promise<TemporaryStore> {
  const folder = await Deno.makeTempDir({ prefix: "posts" });
  const path = `${folder}/posts.json`;
  if (posts.length > 0) await Deno.writeTextFile(path, JSON.stringify(posts));
  return {
    posts: new PostFile(path),
    open: () => Promise.resolve(new PostFile(path)),
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

async function createTable(
  posts: readonly Post[] = [],
): Promise<TemporaryStore> {
  const url = shared ??= server().url(await server().createDatabase());
  const opened = new AsyncDisposableStack();
  const open = async (): Promise<PostTable> =>
    opened.use(await PostTable.open(url));
  const table = await open();
  await empty(url);
  if (posts.length > 0) await table.import(posts);
  return {
    posts: table,
    open,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function empty(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, fetch_types: false });
  await sql`truncate blog_posts restart identity`;
  await sql.end();
}
