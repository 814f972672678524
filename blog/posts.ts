/**
 * Owns what a post is, what a store of posts does, and the store that the blog uses by default: one JSON file, read
 * whole on each load and rewritten whole on each save. `postgres/` has the store over PostgreSQL.
 *
 * Saving loses nothing: writers take turns by a lock on a second file, those of other processes too. The new list is
 * written to a third file, synced, and renamed over the old one: readers, or a restart after a crash, find one or the
 * other.
 */

import { dirname } from "@std/path/dirname";

/** One post. */
export interface Post {
  /** The key in the address of the post's page. */
  readonly slug: string;
  readonly title: string;
  readonly content: string;
}

/** A store of posts. */
export interface PostStore {
  /** Reads every post, in the order of creation. */
  all(): Promise<readonly Post[]>;
  /** Finds the first post with that slug. */
  find(slug: string): Promise<Post | undefined>;
  /** Appends a post, and returns it once it is saved. */
  create(title: string, content: string): Promise<Post>;
}

/** Makes a post. Its slug is the title in lower case, with a hyphen for each space. */
export function makePost(title: string, content: string): Post {
  const cleanTitle = cleanText(title);
  return {
    slug: cleanTitle.toLowerCase().replaceAll(" ", "-"),
    title: cleanTitle,
    content: cleanText(content),
  };
}

/** Replaces what neither an address nor PostgreSQL can hold, U+0000 and halves of surrogate pairs, by U+FFFD. */
function cleanText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\ufffd");
}

/** The posts in one JSON file. */
export class PostFile implements PostStore {
  readonly #path: string;
  readonly #seed: string | undefined;
  #lastSave: Promise<void> = Promise.resolve();

  /** Uses the file at a path. While there is none, the posts are those of the seed. */
  constructor(path: string, seed?: string) {
    this.#path = path;
    this.#seed = seed;
  }

  /** Reads every post, in the order of the file. Throws when the file is no JSON array of posts. */
  async all(): Promise<readonly Post[]> {
    const posts = await readPosts(this.#path);
    if (posts !== undefined) return posts;
    return this.#seed && await readPosts(this.#seed) || [];
  }

  /** Finds the first post with that slug. */
  async find(slug: string): Promise<Post | undefined> {
    return (await this.all()).find((post) => post.slug === slug);
  }

  /** Appends a post, and returns it once it is on the disk. */
  async create(title: string, content: string): Promise<Post> {
    const post = makePost(title, content);
    const save = this.#lastSave.then(() => this.#append(post));
    this.#lastSave = save.catch(() => {});
    await save;
    return post;
  }

  async #append(post: Post): Promise<void> {
    const options = { write: true, create: true };
    using lock = await Deno.open(`${this.#path}.lock`, options);
    await lock.lock(true);
    const posts = [...await this.all(), post];
    await replaceFile(this.#path, JSON.stringify(posts, null, 2) + "\n");
  }
}

/** Reads the posts in a file; undefined when there is no such file. */
async function readPosts(path: string): Promise<Post[] | undefined> {
  try {
    const bytes = await Deno.readFile(path);
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    const posts: unknown = JSON.parse(text);
    if (Array.isArray(posts) && posts.every(isPost)) return posts;
    throw new TypeError("it must be a JSON array of posts");
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return undefined;
    const { message } = cause as Error;
    throw new Error(`Cannot read the posts in "${path}": ${message}`, {
      cause,
    });
  }
}

function isPost(value: unknown): boolean {
  const post = Object(value);
  return [post.slug, post.title, post.content]
    .every((text) => typeof text === "string");
}

/** Replaces a file in one step. */
async function replaceFile(path: string, text: string): Promise<void> {
  const fresh = `${path}.new`;
  await Deno.writeTextFile(fresh, text);
  await sync(fresh, { write: true });
  await Deno.rename(fresh, path);
  // Syncing the folder makes the rename durable; Windows cannot open a folder.
  if (Deno.build.os !== "windows") await sync(dirname(path));
}

async function sync(path: string, options?: Deno.OpenOptions): Promise<void> {
  using file = await Deno.open(path, options);
  await file.sync();
}
