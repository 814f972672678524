/**
 * Owns the posts: one JSON file, read whole on each load and rewritten whole on each save. How a post
 * is shown, and under which address, is `routes.ts`'s.
 *
 * Saving loses nothing: writers take turns, also between processes, by a lock on a file beside the
 * posts; the new list is written beside the old one, brought to the disk and then renamed over it, so
 * that whoever reads, or finds the file after a crash, sees the old list or the new one.
 */

import { dirname } from "@std/path/dirname";

/** One post; fields that the blog does not know are kept. */
export interface Post {
  /** The key in the address of the post's page. */
  slug: string;
  title: string;
  content: string;
  [field: string]: unknown;
}

/** The fields every post has, each of them text. */
const FIELDS = ["slug", "title", "content"] as const;

/** A post on its way into the file, and whoever waits for it. */
interface Pending {
  readonly post: Post;
  readonly done: () => void;
  readonly failed: (reason: unknown) => void;
}

/** The posts of one file. */
export class Posts {
  readonly #file: string;
  #queue: Pending[] = [];
  #saving = false;

  /** Uses the file of that path; it need not exist, its folder must. */
  constructor(file: string) {
    this.#file = file;
  }

  /** Reads every post, in the order of the file; none when there is no file. */
  async all(): Promise<Post[]> {
    return parse(await this.#read(), this.#file);
  }

  /** Finds the first post with that slug. */
  async find(slug: string): Promise<Post | undefined> {
    return (await this.all()).find((post) => post.slug === slug);
  }

  /** Appends a post, and answers it once it is on the disk. */
  async create(title: string, content: string): Promise<Post> {
    const post: Post = { slug: slugOf(title), title, content };
    await new Promise<void>((done, failed) => {
      this.#queue.push({ post, done, failed });
      if (!this.#saving) this.#saveQueue();
    });
    return post;
  }

  /** Saves until nobody waits; posts that came while one save was under way share the next. */
  async #saveQueue(): Promise<void> {
    this.#saving = true;
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      try {
        await this.#append(batch.map(({ post }) => post));
        for (const { done } of batch) done();
      } catch (error) {
        for (const { failed } of batch) failed(error);
      }
    }
    this.#saving = false;
  }

  async #append(added: Post[]): Promise<void> {
    using lock = await Deno.open(`${this.#file}.lock`, {
      write: true,
      create: true,
    });
    await lock.lock(true);
    const posts = toKeep(await this.#read(), this.#file);
    await this.#replace(JSON.stringify([...posts, ...added], null, 2) + "\n");
  }

  async #read(): Promise<Uint8Array | undefined> {
    try {
      return await Deno.readFile(this.#file);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  }

  /** Puts a text in the place of the file, all at once. */
  async #replace(text: string): Promise<void> {
    const beside = `${this.#file}.new`;
    await Deno.writeTextFile(beside, text);
    await sync(beside);
    await Deno.rename(beside, this.#file);
    // What a folder lists is brought to the disk on its own; Windows knows no such thing.
    if (Deno.build.os !== "windows") await sync(dirname(this.#file));
  }
}

async function sync(path: string): Promise<void> {
  using file = await Deno.open(path);
  await file.sync();
}

/** The slug of a title: lower case, a hyphen for each space, and nothing else changed. */
export function slugOf(title: string): string {
  return title.toLowerCase().replaceAll(" ", "-");
}

type Reviver = (
  key: string,
  value: unknown,
  context: { source?: string },
) => unknown;

/** Every post, to be written as it was; keeping numbers takes twice the time, and few files have any. */
function toKeep(bytes: Uint8Array | undefined, file: string): Post[] {
  const posts = parse(bytes, file);
  const isText = (value: unknown): boolean => typeof value === "string";
  return posts.every((post) => Object.values(post).every(isText))
    ? posts
    : parse(bytes, file, exactNumbers);
}

/** Reads a number so that it is written as it was: `1.0` and long integers stay what they are. */
const exactNumbers: Reviver = (_key, value, { source }) =>
  typeof value === "number" ? rawJson.call(JSON, source ?? `${value}`) : value;

/** `JSON.rawJSON`, which TypeScript does not know yet: text that is written as it is. */
const rawJson: (text: string) => unknown = Reflect.get(JSON, "rawJSON");

/** Throws when the bytes are not a JSON array of posts, so that what is there is never overwritten. */
function parse(
  bytes: Uint8Array | undefined,
  file: string,
  reviver?: Reviver,
): Post[] {
  if (bytes === undefined) return [];
  let value: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    value = JSON.parse(text, reviver as Parameters<typeof JSON.parse>[1]);
  } catch (cause) {
    throw new Error(
      `Cannot read the posts in "${file}": ${(cause as Error).message}`,
      { cause },
    );
  }
  if (!Array.isArray(value)) {
    throw new Error(
      `Cannot read the posts in "${file}": it must hold a JSON array`,
    );
  }
  value.forEach((post, index) => {
    const missing = FIELDS.find((field) => typeof post?.[field] !== "string");
    if (missing === undefined) return;
    throw new Error(
      `Cannot read the posts in "${file}": post ${
        index + 1
      } has no text "${missing}"`,
    );
  });
  return value;
}
