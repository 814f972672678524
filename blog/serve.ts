/**
 * Owns the blog as it is served: which store it uses, where its files are, and the log of its requests. The
 * default export is for `deno serve`, also with `--parallel`; `main.ts` starts it on a port of its own.
 */

import { Framework } from "@framework/core";
import { log } from "@framework/core/log";
import { join } from "@std/path/join";
import { PostFile, type PostStore } from "./posts.ts";
import { declareBlog } from "./routes.ts";

const folder = import.meta.dirname!;

declareBlog(Framework.app(), await openStore(), {
  views: join(folder, "views"),
  cache: join(folder, "cache"),
  public: join(folder, "public"),
});

log(Framework);

export default Framework;

/** Opens the database if `DATABASE_URL` is set and may be read, and the file of posts otherwise. */
async function openStore(): Promise<PostStore> {
  const variable = "DATABASE_URL";
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  const url = state === "granted" ? Deno.env.get(variable) : undefined;
  return url === undefined ? await openFile() : await openDatabase(url);
}

async function openFile(): Promise<PostStore> {
  const posts = new PostFile(join(folder, "data", "posts.json"));
  await posts.seed(join(folder, "data", "seed.json"));
  return posts;
}

async function openDatabase(url: string): Promise<PostStore> {
  // With a literal, Deno would download the driver also for those who use the file.
  const address = import.meta.resolve("./postgres.ts");
  const { PostTable }: typeof import("./postgres.ts") = await import(address);
  try {
    return await PostTable.open(url);
  } catch (error) {
    console.error((error as Error).message);
    Deno.exit(1);
  }
}
