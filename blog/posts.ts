/**
 * Owns what a post is, what a store of posts does, and the store that the blog uses by default: one JSON
 * file, read whole on each load and rewritten whole on each save. `postgres/` has the store over PostgreSQL,
 * `app.ts` the pages that show posts.
 *
 * Saving to the file loses nothing: a lock on a second file lets writers take turns, including those of several
 * processes. The new list is written to a third file, synced to the disk and renamed over the old list, so
 * that a reader, or a restart after a crash, finds either the old list or the new one.
 */

import { dirname } from "@std/path/dirname";
import { resolve } from "@std/path/resolve";

/** One post; fields that the blog does not know are kept. */
export interface Post {
  /** The key in the address of the post's page. */
  slug: string;
  title: string;
  content: string;
  [field: string]: unknown;
}

/** One page of the list of posts, and the places of the pages before and after it. */
export interface PostList {
  /** Summaries of the posts, in the order of creation. */
  readonly posts: readonly Post[];
  /** The place where the page before this one ends; undefined on the first page. */
  readonly earlier?: string | undefined;
  /** The place where the page after this one begins; undefined on the last page. */
  readonly later?: string | undefined;
}

/**
 * Which page of the list: the one after a place, or the one before it; without either the first. The places
 * come from an address: anything but text counts as not given.
 */
export interface PostRange {
  readonly after?: unknown;
  readonly before?: unknown;
}

/** A store of posts. */
export interface PostStore {
  /** Reads every post, in the order of creation. */
  all(): Promise<readonly Post[]>;
  /** Reads the part of the list that one page shows. */
  list(range?: PostRange): Promise<PostList>;
  /** Finds the first post with that slug. */
  find(slug: string): Promise<Post | undefined>;
  /** Appends a post, and returns it once it is saved. */
  create(title: string, content: string): Promise<Post>;
}

/** The fields that every post has, each of them text. */
export const FIELDS = ["slug", "title", "content"] as const;

/** Makes the slug of a title: lower case, a hyphen for each space, and nothing else changed. */
export function slugOf(title: string): string {
  return title.toLowerCase().replaceAll(" ", "-");
}

/** Replaces what neither an address nor PostgreSQL can hold, U+0000 and halves of surrogate pairs, by U+FFFD. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\ufffd");
}

/** The most characters of a title, or of the first line of a content, that a list shows. */
export const SUMMARY_LENGTH = 200;

/** The most characters of a slug in an address: Deno reads at most 64 KiB of a request's head. */
export const ADDRESS_LENGTH = 60_000;

/**
 * A post as a list shows it: the beginnings of its title and of the first line of its content, and of a slug
 * that no address can hold.
 */
export function summaryOf(post: Post): Post {
  const start = post.content.trimStart().slice(0, 2 * SUMMARY_LENGTH);
  const [firstLine = ""] = start.split("\n", 1);
  return {
    ...post,
    slug: hasAddress(post.slug) ? post.slug : beginningOf(post.slug),
    title: beginningOf(post.title),
    content: beginningOf(firstLine),
  };
}

/** Whether the page of a slug can be asked for; a character takes nine in an address at most. */
function hasAddress(slug: string): boolean {
  if (slug.length <= ADDRESS_LENGTH / 9) return true;
  return slug.length <= ADDRESS_LENGTH &&
    encodeURIComponent(slug).length <= ADDRESS_LENGTH;
}

/** The beginning of a text; no character is cut in half. */
function beginningOf(text: string): string {
  if (text.length <= SUMMARY_LENGTH) return text;
  const characters = [...text.slice(0, 2 * SUMMARY_LENGTH)];
  return characters.slice(0, SUMMARY_LENGTH).join("");
}

/** A post to be saved, and the promise of its `create()`. */
interface Pending {
  readonly post: Post;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** The posts in one JSON file. */
export class PostFile implements PostStore {
  readonly #path: string;
  #load: Promise<readonly Post[]> | undefined;
  #nextLoad: Promise<readonly Post[]> | undefined;
  #queue: Pending[] = [];
  #isSaving = false;

  /** Uses the file at that path; it need not exist, its folder must. */
  constructor(path: string) {
    this.#path = path;
  }

  /** Makes the file by copying another one, unless it exists. */
  async seed(from: string): Promise<void> {
    if (await this.#read() !== undefined) return;
    const text = await Deno.readTextFile(from);
    const path = await targetOf(this.#path);
    using _lock = await lock(path);
    if (await this.#read() === undefined) await replace(path, text);
  }

  /** Reads every post, in the order of the file; none when there is no file. */
  async all(): Promise<readonly Post[]> {
    this.#nextLoad ??= this.#load = this.#loadAfter(this.#load);
    return await this.#nextLoad;
  }

  /**
   * Loads the file once the previous load has ended. Everyone who asks until then shares this load, so that a crowd of
   * visitors does not have the whole file in memory for each of them.
   */
  async #loadAfter(
    before: Promise<unknown> | undefined,
  ): Promise<readonly Post[]> {
    await before?.catch(() => {});
    this.#nextLoad = undefined;
    return parse(await this.#read(), this.#path);
  }

  /** Reads every post for another store; `JSON.stringify()` then spells numbers as the file does. */
  async export(): Promise<Post[]> {
    return parseExact(await this.#read(), this.#path);
  }

  /** Lists every post on one page: the whole file is read in any case. */
  async list(): Promise<PostList> {
    return { posts: (await this.all()).map(summaryOf) };
  }

  /** Finds the first post with that slug. */
  async find(slug: string): Promise<Post | undefined> {
    return (await this.all()).find((post) => post.slug === slug);
  }

  /** Appends a post, and returns it once it is on the disk. */
  async create(title: string, content: string): Promise<Post> {
    const post: Post = { slug: slugOf(title), title, content };
    await new Promise<void>((resolve, reject) => {
      this.#queue.push({ post, resolve, reject });
      if (!this.#isSaving) this.#saveQueue();
    });
    return post;
  }

  /** Saves until the queue is empty; posts that arrive during one save share the next. */
  async #saveQueue(): Promise<void> {
    this.#isSaving = true;
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      try {
        await this.#append(batch.map(({ post }) => post));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isSaving = false;
  }

  async #append(added: Post[]): Promise<void> {
    const path = await targetOf(this.#path);
    using _lock = await lock(path);
    const posts = parseExact(await this.#read(), this.#path);
    await replace(path, JSON.stringify([...posts, ...added], null, 2) + "\n");
  }

  async #read(): Promise<Uint8Array | undefined> {
    return await found(Deno.readFile(this.#path));
  }
}

/** Follows symbolic links to the file that is meant, which need not exist. */
async function targetOf(path: string): Promise<string> {
  const { isSymlink = false } = await found(Deno.lstat(path)) ?? {};
  if (!isSymlink) return path;
  await found(Deno.stat(path)); // throws where links lead in a circle
  const folder = await Deno.realPath(dirname(path));
  return await targetOf(resolve(folder, await Deno.readLink(path)));
}

/** Waits until no other writer holds the lock of a file; closing the returned file releases it. */
async function lock(path: string): Promise<Deno.FsFile> {
  const options = { write: true, create: true };
  const file = await Deno.open(`${path}.lock`, options);
  await file.lock(true);
  return file;
}

/** Replaces the text of a file in one step; its mode stays. */
async function replace(path: string, text: string): Promise<void> {
  const fresh = `${path}.new`;
  const mode = (await found(Deno.stat(path)))?.mode;
  const options = typeof mode === "number" ? { mode: mode & 0o777 } : {};
  await Deno.writeTextFile(fresh, text, options);
  await sync(fresh);
  await Deno.rename(fresh, path);
  // Syncing the folder makes the rename durable; Windows cannot open a folder.
  if (Deno.build.os !== "windows") await sync(dirname(path));
}

async function sync(path: string): Promise<void> {
  using file = await Deno.open(path);
  await file.sync();
}

/** What is known of a file, or read from it; undefined when the file does not exist. */
async function found<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

type Reviver = (
  key: string,
  value: unknown,
  context: { source?: string },
) => unknown;

/** Parses posts so that `JSON.stringify()` spells their numbers as the file does. */
function parseExact(bytes: Uint8Array | undefined, path: string): Post[] {
  const posts = parse(bytes, path);
  const isText = (value: unknown): boolean => typeof value === "string";
  // The reviver takes twice the time, and few files hold anything but text.
  return posts.every((post) => Object.values(post).every(isText))
    ? posts
    : parse(bytes, path, exactNumbers);
}

/** Keeps the source text of a number: `1.0` and long integers stay what they are. */
const exactNumbers: Reviver = (_key, value, { source }) =>
  typeof value === "number" ? rawJson.call(JSON, source ?? `${value}`) : value;

/** `JSON.rawJSON`, which TypeScript does not know yet: text that `JSON.stringify()` leaves as it is. */
const rawJson: (text: string) => unknown = Reflect.get(JSON, "rawJSON");

/** Throws when the bytes are not a JSON array of posts, so that such a file is never overwritten. */
function parse(
  bytes: Uint8Array | undefined,
  path: string,
  reviver?: Reviver,
): Post[] {
  if (bytes === undefined) return [];
  const refusal = (state: string, options?: ErrorOptions): Error =>
    new Error(`Cannot read the posts in "${path}": ${state}`, options);
  let value: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    value = JSON.parse(text, reviver as Parameters<typeof JSON.parse>[1]);
  } catch (cause) {
    throw refusal((cause as Error).message, { cause });
  }
  if (!Array.isArray(value)) throw refusal("it must contain a JSON array");
  for (const [index, post] of value.entries()) {
    const missing = FIELDS.find((field) => typeof post?.[field] !== "string");
    if (missing === undefined) continue;
    throw refusal(`post ${index + 1} must have a text "${missing}"`);
  }
  return value;
}
